"""The ASGI application that passes requests to the upstream and responses to the client.

Bodies pass piece by piece: a piece is read when the other side has taken the one before. A client that leaves closes
the connection to the upstream, and a response that breaks off breaks off at the client, too.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2
from starlette.types import Receive, Scope, Send

from toolparity.normalizer import json_codec

from .headers import end_to_end, has_two_lengths, to_upstream, value_of
from .sessions import CONNECTION, EXTENSION, UPGRADE, asks_for_websocket
from .transport import ClientLeft

_log = logging.getLogger(__name__)

#: The header that marks a response of the proxy itself. Its value is the code of the error.
MARK = b"x-toolparity-proxy"


class Upstream(NamedTuple):
    """The server behind the proxy. ``origin``: scheme, host and port. ``path``: put before the path of each request."""

    origin: str
    host: bytes
    path: bytes

    @classmethod
    def of(cls, url: str) -> Upstream:
        """Return the upstream at a URL. Raises ValueError if it is not an HTTP URL without credentials and query."""
        parts = urlsplit(url)
        if parts.username is not None or parts.query:
            raise ValueError("the address contains credentials or a query; the client sends them")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
            raise ValueError(f"not the address of a server: {url!r}")
        return cls(f"{parts.scheme}://{parts.netloc}", parts.netloc.encode("idna"), parts.path.rstrip("/").encode())

    def is_at(self, port: int) -> bool:
        """Return whether it is a port of this machine, addressed as loopback."""
        parts = urlsplit(self.origin)
        return parts.hostname in ("127.0.0.1", "localhost", "::1") and (parts.port or 80) == port


class Forwarder:
    """The application. ``hosts``: the names by which clients may address it, None for any.

    ``on_stop``: called when the server cancels an exchange.
    """

    def __init__(
        self,
        upstream: Upstream,
        transport: httpx2.AsyncBaseTransport,
        hosts: Collection[str] | None = None,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._upstream = upstream
        self._url = httpx2.URL(upstream.origin)
        self._transport = transport
        self._hosts = hosts
        self._on_stop = on_stop
        self.open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._hosts is not None and _host_name(scope) not in self._hosts:
            # A web page can have its host name resolve to this machine (DNS rebinding).
            await _refuse(send, 421, "unknown-host", "the proxy is not addressed by a name that it knows")
            return
        if _path(scope) is None:
            await _refuse(send, 400, "unsupported-target", "the target of the request is neither a path nor a URL")
            return
        self.open += 1
        try:
            await self._until_client_leaves(scope, receive, send)
        finally:
            self.open -= 1

    async def _until_client_leaves(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = _RequestBody(receive)
        relaying = asyncio.ensure_future(self._relay(scope, body, send))
        leaving = asyncio.ensure_future(body.client_left())
        try:
            await asyncio.wait((relaying, leaving), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._on_stop()
            raise
        finally:
            for task in (relaying, leaving):
                task.cancel()
            with suppress(asyncio.CancelledError, ClientLeft):
                await relaying

    async def _relay(self, scope: Scope, body: _RequestBody, send: Send) -> None:
        try:
            response = await self._transport.handle_async_request(self._request(scope, body))
        except httpx2.TransportError as error:
            status, code = (
                (504, "upstream-timeout")
                if isinstance(error, httpx2.TimeoutException)
                else (502, "upstream-unreachable")
            )
            # The error's text may contain a header of the request.
            await _refuse(send, status, code, f"no response from {self._upstream.origin}: {type(error).__name__}")
            return
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        try:
            if (session := response.extensions.get(EXTENSION)) is not None:
                await session.relay(scope["state"]["connection"].take_over(response))
                return
            headers = list(end_to_end(response.headers.raw))
            if has_two_lengths(scope["headers"]):
                headers.append((b"connection", b"close"))
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            async for piece in response.stream:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except httpx2.TransportError:
            return  # without the end of the body, the server closes the connection
        finally:
            await response.stream.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _request(self, scope: Scope, body: _RequestBody) -> httpx2.Request:
        query = scope["query_string"]
        target = self._upstream.path + (_path(scope) or b"/") + (b"?" + query if query else b"")
        headers = to_upstream(scope["headers"], self._upstream.host)
        if asks_for_websocket(scope["method"], scope["http_version"], scope["headers"]):
            headers += (CONNECTION, UPGRADE)
        return httpx2.Request(
            scope["method"],
            self._url,
            headers=headers,
            stream=body,
            extensions={"target": target, "timeout": _TIMEOUT},
        )


#: The beginning of a request target in absolute form.
_AUTHORITY = re.compile(rb"https?://[^/]+", re.IGNORECASE)
#: In seconds. Only connecting is limited: how long a response may take is for the client to decide.
_TIMEOUT = {"connect": 30.0, "read": None, "write": None, "pool": None}


class _RequestBody(httpx2.AsyncByteStream):
    """The body of the client's request."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientLeft
            more = message.get("more_body", False)
            if data := message.get("body"):
                yield data
        self._read.set()

    async def client_left(self) -> None:
        """Return when the client leaves after its request."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def _refuse(send: Send, status: int, code: str, message: str) -> None:
    body = json_codec.encode(
        {"error": {"type": "proxy_error", "code": code, "message": f"toolparity proxy: {message}"}}
    )
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (MARK, code.encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _path(scope: Scope) -> bytes | None:
    """Return the path of a request, which may be sent as a URL (RFC 9112, section 3.2.2), or None without one."""
    target: bytes = scope["raw_path"]
    if target.startswith(b"/"):
        return target
    authority = _AUTHORITY.match(target)
    return None if authority is None else target[authority.end() :] or b"/"


def _host_name(scope: Scope) -> str:
    host = value_of(scope["headers"], b"host") or ""
    name, _, port = host.rpartition(":")
    return (name if port.isdigit() else host).lower()
