"""Transports for httpx2 that copy what passes: the proxy uses one, and so can a client in the application.

    with Observer(settings) as observer:
        http_client = httpx2.Client(transport=ObservedTransport(observer))
        client = openai.OpenAI(http_client=http_client)

Bodies are copied as they are on the wire, compressed or not, piece by piece and without delay.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Generic, TypeVar

import httpx2

from .copies import Copying, Ending
from .observer import Observer
from .sessions import EXTENSION

Stream = TypeVar("Stream", httpx2.SyncByteStream, httpx2.AsyncByteStream)


class ClientLeft(Exception):
    """The client closed its connection in the middle of its request."""


class ObservedTransport(httpx2.BaseTransport):
    """A transport that passes everything to another one and copies it for an observer.

    ``transport``: the one that sends, by default a new `httpx2.HTTPTransport`. It is closed with this one.
    """

    def __init__(self, observer: Observer, transport: httpx2.BaseTransport | None = None) -> None:
        self._observer = observer
        self._transport = httpx2.HTTPTransport() if transport is None else transport

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        copying = self._observer.begin(request.method, _address(request), request.headers.raw)
        assert isinstance(request.stream, httpx2.SyncByteStream)
        try:
            response = self._transport.handle_request(_with(request, _RequestBody(request.stream, copying)))
        except BaseException as error:
            copying.end("client-left" if _left(error) else "unreached")
            raise
        copying.response(response.status_code, response.headers.raw)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _ResponseBody(response.stream, copying)
        return response

    def close(self) -> None:
        self._transport.close()


class AsyncObservedTransport(httpx2.AsyncBaseTransport):
    """`ObservedTransport` for asynchronous clients."""

    def __init__(self, observer: Observer, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._observer = observer
        self._transport = httpx2.AsyncHTTPTransport() if transport is None else transport
        self._stopped = False

    def stop(self) -> None:
        """Note that exchanges that end before their response from now on do so because the proxy is stopped."""
        self._stopped = True

    def _cut(self) -> Ending:
        return "proxy-stopped" if self._stopped else "client-left"

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        copying = self._observer.begin(request.method, _address(request), request.headers.raw)
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        try:
            response = await self._transport.handle_async_request(
                _with(request, _AsyncRequestBody(request.stream, copying))
            )
        except BaseException as error:
            copying.end(self._cut() if _left(error) else "unreached")
            raise
        copying.response(response.status_code, response.headers.raw)
        if (session := response.extensions.get(EXTENSION)) is not None:
            session.observe(copying, self._cut)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _AsyncResponseBody(response.stream, copying, self._cut)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class _Copied(Generic[Stream]):
    """A body whose bytes are copied while they pass."""

    def __init__(self, stream: Stream, copying: Copying) -> None:
        self._stream: Stream = stream
        self._copying = copying


class _RequestBody(_Copied[httpx2.SyncByteStream], httpx2.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        for data in self._stream:
            self._copying.request(data)
            yield data

    def close(self) -> None:
        self._stream.close()


class _AsyncRequestBody(_Copied[httpx2.AsyncByteStream], httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._copying.request(data)
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


class _ResponseBody(_Copied[httpx2.SyncByteStream], httpx2.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        try:
            for data in self._stream:
                self._copying.chunk(data)
                yield data
        except Exception:
            self._copying.end("upstream-broke")
            raise
        self._copying.end("complete")

    def close(self) -> None:
        self._copying.end("client-left")
        self._stream.close()


class _AsyncResponseBody(_Copied[httpx2.AsyncByteStream], httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, copying: Copying, cut: Callable[[], Ending]) -> None:
        super().__init__(stream, copying)
        self._cut = cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for data in self._stream:
                self._copying.chunk(data)
                yield data
        except Exception:
            self._copying.end("upstream-broke")
            raise
        self._copying.end("complete")

    async def aclose(self) -> None:
        self._copying.end(self._cut())
        await self._stream.aclose()


def _with(request: httpx2.Request, body: httpx2.SyncByteStream | httpx2.AsyncByteStream) -> httpx2.Request:
    """Return a copy of a request with another body. The constructor would parse its address again."""
    copy = object.__new__(httpx2.Request)
    copy.__dict__.update(request.__dict__, stream=body)
    return copy


def _address(request: httpx2.Request) -> str:
    """Return the URL with the target as it is on the wire."""
    target = request.extensions.get("target")
    if target is None:
        return str(request.url)
    return f"{request.url.scheme}://{request.url.netloc.decode()}{bytes(target).decode('latin-1')}"


def _left(error: BaseException) -> bool:
    """Return whether the request ended because of the client. A transport can wrap the error of the request's body."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ClientLeft, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt)):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
