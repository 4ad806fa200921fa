"""HTTP streams that the client reads while they arrive, recorded or played.

vcrpy reads a whole response before the client sees its beginning. Here the client gets each chunk as it arrives, and
the body is recorded once it is complete. If the client stops early, as the SDKs do after ``[DONE]`` and errors, closing
the response reads the rest, because a cassette holds whole bodies. After an interrupt, nothing is recorded. A recorded
event stream is played one event at a time.

    with cassette_context as cassette, live_streams(cassette): ...
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from typing import Any
from unittest import mock

from vcr.cassette import Cassette
from vcr.request import Request

from ..chunking import events

#: httpx, and the fork of it that newer SDKs use.
_LIBRARIES = ("httpx", "httpx2")


@contextlib.contextmanager
def live_streams(cassette: Cassette) -> Iterator[None]:
    """While the block runs, responses stream instead of being buffered. Enter it inside the recording cassette."""
    with contextlib.ExitStack() as stack:
        for name in _LIBRARIES:
            try:
                library = import_module(name)
            except ImportError:
                continue
            for transport, method, replacement in (
                (library.HTTPTransport, "handle_request", _handle),
                (library.AsyncHTTPTransport, "handle_async_request", _handle_async),
            ):
                buffering = getattr(transport, method)  # vcrpy's wrapper, which keeps the original as __wrapped__
                if not hasattr(buffering, "__wrapped__"):
                    continue  # the cassette leaves this library alone
                wrapper = replacement(cassette, buffering, library)
                stack.enter_context(mock.patch.object(transport, method, wrapper))
        yield


def _handle(cassette: Cassette, buffering: Callable[..., Any], library: Any) -> Callable[[Any, Any], Any]:
    real = buffering.__wrapped__  # type: ignore[attr-defined]

    class Passing(library.SyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, on_end: Callable[[bytes], None]) -> None:
            self._stream = stream
            self._over = on_end
            self._parts: list[bytes] | None = []
            self._iterator = iter(stream)

        def __iter__(self) -> Iterator[bytes]:
            while True:
                try:
                    part = next(self._iterator)
                except StopIteration:
                    break
                except BaseException:
                    self._parts = None  # the stream failed, so the body is incomplete
                    raise
                if self._parts is not None:
                    self._parts.append(part)
                yield part
            self._end()

        def _end(self) -> None:
            if self._parts is not None:
                whole, self._parts = b"".join(self._parts), None
                self._over(whole)

        def close(self) -> None:
            if _interrupted():
                self._parts = None
            try:
                # The client has all it needs: if the rest of the body fails, drop it without an error.
                with contextlib.suppress(library.TransportError, library.StreamError):
                    if self._parts is not None:
                        for _ in self:
                            pass
            finally:
                self._stream.close()

    def handle(transport: Any, request: Any) -> Any:
        body = b"".join(request.stream)
        request.stream = library.ByteStream(body)
        sent = Request(request.method, str(request.url), body, request.headers)
        if not _records(cassette, sent):
            return _by_event(buffering(transport, request), library)
        response = real(transport, request)
        response.stream = Passing(response.stream, lambda whole: _record(cassette, sent, response, whole))
        return response

    return handle


def _handle_async(cassette: Cassette, buffering: Callable[..., Any], library: Any) -> Callable[[Any, Any], Any]:
    real = buffering.__wrapped__  # type: ignore[attr-defined]

    class Passing(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, on_end: Callable[[bytes], None]) -> None:
            self._stream = stream
            self._over = on_end
            self._parts: list[bytes] | None = []
            self._iterator = aiter(stream)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                try:
                    part = await anext(self._iterator)
                except StopAsyncIteration:
                    break
                except BaseException:
                    self._parts = None
                    raise
                if self._parts is not None:
                    self._parts.append(part)
                yield part
            self._end()

        def _end(self) -> None:
            if self._parts is not None:
                whole, self._parts = b"".join(self._parts), None
                self._over(whole)

        async def aclose(self) -> None:
            if _interrupted():
                self._parts = None
            try:
                with contextlib.suppress(library.TransportError, library.StreamError):
                    if self._parts is not None:
                        async for _ in self:
                            pass
            finally:
                await self._stream.aclose()

    async def handle(transport: Any, request: Any) -> Any:
        body = b"".join([part async for part in request.stream])
        request.stream = library.ByteStream(body)
        sent = Request(request.method, str(request.url), body, request.headers)
        if not _records(cassette, sent):
            return _by_event(await buffering(transport, request), library)
        response = await real(transport, request)
        response.stream = Passing(response.stream, lambda whole: _record(cassette, sent, response, whole))
        return response

    return handle


def _records(cassette: Cassette, sent: Request) -> bool:
    """Return whether the cassette has no response to a request and may record one."""
    return not cassette.can_play_response_for(sent) and not cassette.write_protected


def _by_event(response: Any, library: Any) -> Any:
    """Return a played response whose body arrives one event at a time, if it is an event stream."""
    if "event-stream" not in response.headers.get("content-type", "") or response.headers.get("content-encoding"):
        return response

    class Events(library.ByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            yield from events(self._stream)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for event in events(self._stream):
                yield event

    if isinstance(response.stream, library.ByteStream):
        response.stream = Events(response.stream._stream)
    return response


def _interrupted() -> bool:
    """Return whether an interrupt is being handled: Ctrl-C or a cancelled task, not an ordinary exception."""
    error = sys.exc_info()[1]
    return error is not None and not isinstance(error, (Exception, GeneratorExit))


def _record(cassette: Cassette, sent: Request, response: Any, body: bytes) -> None:
    """Append an interaction in vcrpy's form."""
    headers: dict[str, list[str]] = {}
    for name, value in response.headers.multi_items():
        headers.setdefault(name, []).append(value)
    cassette.append(
        sent,
        {
            "status": {"code": response.status_code, "message": response.reason_phrase},
            "headers": headers,
            "body": {"string": body},
        },
    )
