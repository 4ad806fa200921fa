"""Copies of exchanges while they pass, in bounded memory.

A copy that exceeds its limit, or the memory of all copies, is discarded: the exchange still passes, and is reported as
not judged. No method of a copy raises.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from .headers import RawHeaders
from .message_count import MessageCount

_log = logging.getLogger(__name__)

#: How an exchange ended. "complete": with the end of the response. "client-left": the client closed its side before.
#: "upstream-broke": the response broke off. "unreached": there was no response. "proxy-stopped": the proxy was stopped.
Ending = Literal["complete", "client-left", "upstream-broke", "unreached", "proxy-stopped"]
#: Why the bodies were not copied: they exceed the limit of one exchange, or the memory for all copies.
Skipped = Literal["too-large", "out-of-memory"]
#: The direction of bytes that pass in a WebSocket session, as the client sees it.
Direction = Literal["sent", "received"]

#: What a piece of a session takes in memory, besides its bytes.
_PIECE_BYTES = 128


class SessionCopy(Struct):
    """A WebSocket session, which begins after the response with status 101.

    ``sent``, ``received``: how many messages of the client and of the upstream began to pass. ``pieces``: the first
    bytes of the session, in order, as far as they are copied.
    """

    sent: int = 0
    received: int = 0
    pieces: list[tuple[Direction, bytearray]] = []


class ExchangeCopy(Struct):
    """One exchange as it passed. Times are seconds since the epoch; ``started`` is when the request began to pass.

    ``number``: counts the exchanges from 1. ``responded``: when the header section of the response arrived.
    ``chunks``: the response body in the pieces that arrived. ``skipped``: why there are no bodies, else None.
    ``session``: the WebSocket session that the response began, or None.
    """

    number: int
    started: float
    method: str
    url: str
    request_headers: RawHeaders
    request: bytes = b""
    status: int | None = None
    response_headers: RawHeaders = []
    chunks: list[bytes] = []
    responded: float | None = None
    ended: float = 0.0
    ending: Ending = "unreached"
    skipped: Skipped | None = None
    session: SessionCopy | None = None


class MemoryBudget:
    """The memory for all copies, in bytes. Threads may share it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._lock = threading.Lock()

    def take(self, size: int, share: float = 1) -> bool:
        """Reserve memory. Return whether there was enough. ``share``: which part of the memory may be in use then."""
        with self._lock:
            if self.used + size > self.limit * share:
                return False
            self.used += size
            return True

    def give_back(self, size: int) -> None:
        """Release memory."""
        with self._lock:
            self.used -= size


class Copying:
    """The copy of one exchange in progress.

    ``limit``: the most bytes of its bodies. ``done``: called once, at the end, with the copy and the bytes that it
    holds of the budget, which the callee releases.
    """

    def __init__(
        self,
        copy: ExchangeCopy,
        limit: int,
        budget: MemoryBudget,
        done: Callable[[ExchangeCopy, int], None],
    ) -> None:
        self._copy = copy
        self._limit = limit
        self._budget = budget
        self._done = done
        self._request: list[bytes] = []
        self._size = 0
        self._over = False
        self._keeps_session = True
        self._session = SessionCopy()
        self._messages: dict[Direction, MessageCount] = {"sent": MessageCount(), "received": MessageCount()}

    def request(self, data: bytes) -> None:
        """Copy a piece of the request body."""
        if self._fits(len(data)):
            self._request.append(data)

    def response(self, status: int, headers: RawHeaders) -> None:
        """Copy the status and the header section of the response."""
        self._copy.status = status
        self._copy.response_headers = headers
        self._copy.responded = time.time()

    def chunk(self, data: bytes) -> None:
        """Copy a piece of the response body."""
        if self._fits(len(data)):
            self._copy.chunks.append(data)

    def piece(self, direction: Direction, data: bytes) -> None:
        """Copy bytes of a WebSocket session. What is above the limit is only counted."""
        self._messages[direction].add(data)
        if not self._keeps_session or self._over:
            return
        pieces = self._session.pieces
        continues = bool(pieces) and pieces[-1][0] == direction
        size = len(data) + (0 if continues else _PIECE_BYTES)
        # Sessions last for long. They leave half of the memory to exchanges, which are judged.
        if self._size + size > self._limit or not self._budget.take(size, share=0.5):
            self._keeps_session = False  # what follows in the other direction would be out of order
            return
        self._size += size
        if continues:
            pieces[-1][1].extend(data)
        else:
            pieces.append((direction, bytearray(data)))

    def end_session(self, ending: Ending) -> None:
        """Finish the copy of a WebSocket session. It is complete if one side has sent a close frame."""
        self._session.sent = self._messages["sent"].messages
        self._session.received = self._messages["received"].messages
        self._copy.session = self._session
        self.end("complete" if any(count.closed for count in self._messages.values()) else ending)

    def end(self, ending: Ending) -> None:
        """Finish the copy. Only the first call counts."""
        if self._over:
            return
        self._over = True
        self._copy.ending = ending
        self._copy.ended = time.time()
        try:
            self._copy.request = b"".join(self._request)
            self._done(self._copy, self._size)
        except Exception as error:  # a fault of the observer must not reach the traffic
            _log.warning("an exchange is lost to the judge: %s", type(error).__name__)

    def _fits(self, size: int) -> bool:
        if self._copy.skipped is not None or self._over:
            return False
        if self._size + size > self._limit:
            self._skip("too-large")
        elif not self._budget.take(size):
            self._skip("out-of-memory")
        else:
            self._size += size
            return True
        return False

    def _skip(self, reason: Skipped) -> None:
        self._copy.skipped = reason
        self._copy.chunks = []
        self._request = []
        self._budget.give_back(self._size)
        self._size = 0
