"""Streams that the upstream holds back until the client in front of the gateway has got content of them.

A gateway that passes a stream on delivers the first content before the last pieces are sent. One that buffers the
stream delivers nothing until then. The sequence decides: time only limits how long the upstream waits in vain.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.model import Wire

#: How many pieces follow the first content before the upstream stops. So a gateway may merge a few events.
MORE_PIECES = 16
#: Seconds until the rest is sent although no content has arrived. Between the pieces before, it is a small part of it.
PATIENCE = 8.0
_SMALL_PART = 80
_POLL_SECONDS = 0.005


class Hold:
    """One stream that is held back. ``first``: the number of pieces up to the first content.

    ``buffered``: whether everything had to be sent before the client got any content.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._arrived = threading.Event()
        self.buffered = False

    def read(self, wire: Wire, provider: str, body: bytes) -> None:
        """Release the stream if the body, as far as the client has got it, has content."""
        if not self._arrived.is_set() and has_content(wire, provider, [body]):
            self._arrived.set()

    async def pieces(self, pieces: Sequence[bytes], patience: float) -> AsyncIterator[bytes]:
        """Yield the pieces when they are due. ``patience``: seconds until the rest is sent in any case."""
        for number, piece in enumerate(pieces):
            if number >= self._first and not self.buffered:
                last = number >= min(self._first + MORE_PIECES, len(pieces) - 1)
                arrived = await self._arrives(patience if last else patience / _SMALL_PART)
                self.buffered = last and not arrived
            yield piece

    async def _arrives(self, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not self._arrived.is_set() and loop.time() < end:
            await asyncio.sleep(_POLL_SECONDS)
        return self._arrived.is_set()


def hold_of(wire: Wire, provider: str, pieces: Sequence[bytes]) -> Hold | None:
    """Return the hold for a stream, or None if it has no content, or too few pieces after it."""
    for count in range(1, len(pieces) - MORE_PIECES // 2):
        if has_content(wire, provider, pieces[:count]):
            return Hold(count)
    return None


def has_content(wire: Wire, provider: str, pieces: Sequence[bytes]) -> bool:
    """Return whether the beginning of a stream has text or a call."""
    decoder = StreamDecoder(wire, provider=provider)
    for piece in pieces:
        decoder.feed(piece)
    return any(choice.text or choice.calls for choice in decoder.finish().choices)
