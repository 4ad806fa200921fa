"""A transport for HTTP/1.1 that passes a response in the pieces in which the network delivers it, through aiohttp.

The transport of httpx2 parses each chunk in Python, and looks at every open connection for each request. aiohttp parses
in C, and finds a connection without looking at the others. It cannot send every request unchanged: it writes fields as
UTF-8, adds a length to a POST or DELETE without a body, and repeats a PUT on a lost connection, although its body has
passed. Such requests, which are rare, use the transport of httpx2.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp
import httpx2
from yarl import URL

from .headers import RawHeaders

#: How long a connection without a request stays open, in seconds.
_IDLE_SECONDS = 30.0
#: More bytes than twice as many wait for the client: nothing is read from the server until it takes them.
_MOST_WAITING = 1 << 15
#: The most bytes of a field of a response's header section, and the most fields.
_LARGEST_FIELD, _MOST_FIELDS = 256 << 10, 4096
#: Methods that aiohttp never sends twice, and methods to which it adds no length.
_WITH_BODY, _WITHOUT_BODY = frozenset(("POST", "PATCH")), frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
#: Fields that aiohttp would add.
_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Http1Transport(httpx2.AsyncBaseTransport):
    """Sends requests over HTTP/1.1. ``context``: how servers prove who they are. Errors are those of httpx2."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._session: aiohttp.ClientSession | None = None
        self._unchanged = httpx2.AsyncHTTPTransport(verify=context, limits=httpx2.Limits(max_connections=None))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        fields = request.headers.raw
        names = {name.lower() for name, _ in fields}
        chunked = b"transfer-encoding" in names
        has_body = chunked or b"content-length" in names
        if request.method not in (_WITH_BODY if has_body else _WITHOUT_BODY) or not _is_utf8(fields):
            return await self._unchanged.handle_async_request(request)
        if self._session is None:  # aiohttp needs the running loop
            self._session = _session(self._context)
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        if not has_body:
            async for _ in request.stream:  # nothing, but its end shows that the request is complete
                pass
        with _errors():
            response = await self._session.request(
                request.method,
                _address(request),
                headers=[(n.decode(), v.decode()) for n, v in fields if n.lower() != b"transfer-encoding"],
                data=aiter(request.stream) if has_body else None,
                chunked=chunked or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(sock_connect=request.extensions["timeout"]["connect"]),
            )
        return httpx2.Response(response.status, headers=response.raw_headers, stream=_ResponseBody(response))

    async def aclose(self) -> None:
        await self._unchanged.aclose()
        if self._session is not None:
            await self._session.close()


def _is_utf8(fields: RawHeaders) -> bool:
    try:
        b"".join(name + value for name, value in fields).decode()
    except UnicodeDecodeError:
        return False
    return True


def _address(request: httpx2.Request) -> URL:
    """Return the address of a request without any change to its target."""
    target: bytes = request.extensions["target"]
    return URL(f"{request.url.scheme}://{request.url.netloc.decode()}{target.decode('latin-1')}", encoded=True)


def _session(context: ssl.SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context, limit=0, keepalive_timeout=_IDLE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=_ADDED,
        auto_decompress=False,
        read_bufsize=_MOST_WAITING,
        max_line_size=_LARGEST_FIELD,
        max_field_size=_LARGEST_FIELD,
        max_headers=_MOST_FIELDS,
    )


class _ResponseBody(httpx2.AsyncByteStream):
    """The body of a response. A connection whose response was read to its end can be used again."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors():
            while data := await self._response.content.readany():
                yield data

    async def aclose(self) -> None:
        self._response.close()


@contextmanager
def _errors() -> Iterator[None]:
    """Raise errors of httpx2 instead of those of aiohttp, without their texts, which may have header fields."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx2.ConnectTimeout("the server did not accept the connection in time") from error
    except aiohttp.ClientConnectorError as error:
        raise httpx2.ConnectError(type(error).__name__) from error
    except (aiohttp.ClientError, OSError) as error:
        raise httpx2.RemoteProtocolError(type(error).__name__) from error
