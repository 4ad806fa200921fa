"""Streams over HTTP that are recorded while the caller reads them.

vcrpy reads a response to its end before the caller sees the beginning. Here the caller gets each piece as it arrives,
and what passed is recorded when the body is over. A caller who leaves early (the SDKs do, behind ``[DONE]`` and errors)
leaves the rest to be read when the response is closed, as a cassette holds whole bodies; one who is interrupted leaves
nothing.

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

#: httpx, and the fork of it that newer SDKs use.
_LIBRARIES = ("httpx", "httpx2")


@contextlib.contextmanager
def live_streams(cassette: Cassette) -> Iterator[None]:
    """While the block runs, what vcrpy would buffer streams. To be entered inside the cassette that records."""
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
                buffering = getattr(transport, method)  # vcrpy's, which keeps what it stands for
                made = replacement(cassette, buffering.__wrapped__, library)
                stack.enter_context(mock.patch.object(transport, method, made))
        yield


def _handle(cassette: Cassette, real: Callable[..., Any], library: Any) -> Callable[[Any, Any], Any]:
    class Passing(library.SyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, over: Callable[[bytes], None]) -> None:
            self._stream = stream
            self._over = over
            self._parts: list[bytes] | None = []
            self._iterator = iter(stream)

        def __iter__(self) -> Iterator[bytes]:
            while True:
                try:
                    part = next(self._iterator)
                except StopIteration:
                    break
                except BaseException:
                    self._parts = None  # it broke: what came is no whole body
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
                # the caller has what it wants: a body that breaks now is not recorded, and nobody's error
                with contextlib.suppress(library.TransportError, library.StreamError):
                    if self._parts is not None:
                        for _ in self:
                            pass
            finally:
                self._stream.close()

    def handle(transport: Any, request: Any) -> Any:
        body = b"".join(request.stream)
        request.stream = library.ByteStream(body)
        asked = Request(request.method, str(request.url), body, request.headers)
        response = real(transport, request)
        response.stream = Passing(response.stream, lambda whole: _record(cassette, asked, response, whole))
        return response

    return handle


def _handle_async(cassette: Cassette, real: Callable[..., Any], library: Any) -> Callable[[Any, Any], Any]:
    class Passing(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, over: Callable[[bytes], None]) -> None:
            self._stream = stream
            self._over = over
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
        asked = Request(request.method, str(request.url), body, request.headers)
        response = await real(transport, request)
        response.stream = Passing(response.stream, lambda whole: _record(cassette, asked, response, whole))
        return response

    return handle


def _interrupted() -> bool:
    """Whether somebody wants out: Ctrl-C, or a task that is cancelled. Who fails, or has enough, can wait."""
    error = sys.exc_info()[1]
    return error is not None and not isinstance(error, (Exception, GeneratorExit))


def _record(cassette: Cassette, asked: Request, response: Any, body: bytes) -> None:
    """An interaction in vcrpy's own shape."""
    headers: dict[str, list[str]] = {}
    for name, value in response.headers.multi_items():
        headers.setdefault(name, []).append(value)
    cassette.append(
        asked,
        {
            "status": {"code": response.status_code, "message": response.reason_phrase},
            "headers": headers,
            "body": {"string": body},
        },
    )
