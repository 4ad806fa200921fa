"""One request and its answer, as happenings: what a provider brings, or how it fails, made known to the machine."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, cast

from ..conversation import Encoded, Request
from ..decoder import StreamDecoder
from ..errors import ToolLimitReached
from ..events import Event
from ..model import Error, Response
from ..requests import RequestWriter
from .cancelling import is_failure
from .happenings import Broke, Happening
from .listening import Listener
from .provider import Provider
from .raised import described, message, shortened
from .retry_after import demanded

_log = logging.getLogger("toolparity")

#: Takes what happened; returns when it was dealt with, so that a fast provider does not outrun a slow listener.
Post = Callable[[list[Happening]], Awaitable[None]]


class Decoder(Protocol):
    """What reads an answer: a `StreamDecoder`, or something in its shape around one (`textmode.TextReader`).

    Where its ``feed`` raises ToolLimitReached, the answer is whole there. Where it has ``read`` (Response in, Response
    out), that is asked for answers that come whole.
    """

    def feed(self, data: Any, /) -> list[Event]:
        """Take the next piece."""

    def finish(self) -> Response:
        """The response."""


#: Makes another request of the whole one before it is sent: a shorter history, calls as text. It has to be legal.
Prepare = Callable[[Request], Request]
#: Puts something around the decoder of an answer. The request is the whole one, with its tools.
Reader = Callable[[StreamDecoder, Request], Decoder]


class Asking:
    """Asks one request. ``arrived`` tells what had arrived of the answer, where it is given up."""

    def __init__(
        self,
        provider: Provider,
        writer: RequestWriter,
        request: Request,
        choice: int,
        prepare: Prepare | None = None,
        reader: Reader | None = None,
    ) -> None:
        self.encoded: Encoded = writer.write(prepare(request) if prepare is not None else request)
        self._provider = provider
        decoder = StreamDecoder(provider.wire, provider=provider.name, request=self.encoded.body)
        self._decoder: Decoder = reader(decoder, request) if reader is not None else decoder
        self._listener = Listener(self.encoded, choice)
        self._whole: Response | None = None
        self._response: Response | None = None
        self._finished = False
        #: Seconds that a refusal demands to wait.
        self.retry_after: float | None = None

    async def run(self, post: Post) -> Response | list[Happening]:
        """The whole answer, its blocks told before; or what is to be told where it broke, `Broke` at its end."""
        pieces: AsyncIterator[Any] | None = None
        try:
            pieces = self._provider.ask(self.encoded.body)
            async for piece in pieces:
                if isinstance(piece, Response):
                    self._whole = piece
                    self.retry_after = demanded(piece)
                    continue
                events = [piece] if isinstance(piece, Event) else self._decoder.feed(piece)
                if happened := self._listener.feed(events):
                    await post(happened)
            response = self._finish()
        except ToolLimitReached as reached:
            await close(pieces)  # first: whoever listens may take its time
            await post(self._listener.feed(cast(tuple[Event, ...], reached.events)))
            response = self._finish()
        except BaseException as error:
            if not is_failure(error):
                raise
            return self.broke(error)
        finally:
            await close(pieces)
        await post(self._listener.finish(response))
        return response

    def arrived(self) -> tuple[list[Happening], Response | None]:
        """What had arrived when it was given up; the rows that were open are closed as cut. An answer that is at its
        end had its rows told, or on their way.
        """
        if self._finished:
            return [], self._response
        try:
            response = self._finish()
        except Exception:
            return [], None  # nothing that could be read
        return self._listener.finish(response), response

    def broke(self, error: BaseException) -> list[Happening]:
        """What is to be told where this ended the answer: the rows that were open, and that it broke."""
        happened, response = self.arrived()
        return [*happened, Broke(broken(error), response, demanded(error))]

    def _finish(self) -> Response:
        self._finished = True
        if self._whole is None:
            response = self._decoder.finish()
        else:
            read = getattr(self._decoder, "read", None)
            response = read(self._whole) if read is not None else self._whole
        self._response = self.encoded.restored(response)
        return self._response


async def close(pieces: AsyncIterator[Any] | None) -> None:
    """Close the connection of an answer. A client that fails at that takes nothing from what arrived."""
    ending = getattr(pieces, "aclose", None)
    if ending is None:
        return
    try:
        await ending()
    except BaseException as error:
        if not is_failure(error):
            raise
        _log.warning("closing the provider's answer failed: %s", described(error))


def broken(error: BaseException) -> Error:
    """The error that a client raised. ``retryable``: by its status, None where it has none."""
    status = _status(error)
    retryable = (status in (408, 409, 425, 429) or status >= 500) if status is not None else None
    return Error(type(error).__name__, shortened(message(error)), status, retryable)


def _status(error: BaseException) -> int | None:
    """The HTTP status of a client's exception: ``status_code`` (httpx), ``status`` (aiohttp), ``code`` (urllib)."""
    for name in ("status_code", "status", "code"):
        try:
            status = getattr(error, name, None)
        except Exception:  # a property that fails
            continue
        if isinstance(status, int) and not isinstance(status, bool) and 100 <= status < 600:
            return status
    return None
