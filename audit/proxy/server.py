"""Runs the proxy: one server with two addresses, for traffic and for the page."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable
from typing import Any

import h11
import httpx2
import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from toolparity.cassettes.errors import ServerNotStarted

from .connecting import Streams
from .forward import Forwarder, Upstream
from .negotiation import NegotiatingTransport
from .observer import Observer
from .serving import ServerProtocol
from .sessions import PIECE
from .transport import AsyncObservedTransport, ClientLeft

LOOPBACK = "127.0.0.1"
#: The names by which clients on this machine address it.
LOCAL_NAMES = frozenset(("127.0.0.1", "localhost", "[::1]"))
#: For how many seconds open exchanges may continue by default. `docker stop` kills the process after 10.
DRAIN = 8
#: The most bytes of a request's header section.
_LARGEST_HEAD = 256 << 10
#: How often the server looks whether it is to stop, in seconds.
_STOP_SEEN_AFTER = 0.1


class Addresses(Struct, frozen=True):
    """Where the proxy listens. A port of 0 means a free one. ``names``: further host names that clients may use."""

    host: str = LOOPBACK
    port: int = 0
    page_port: int = 0
    names: frozenset[str] = frozenset()

    @property
    def local(self) -> bool:
        """Whether only this machine can connect."""
        return self.host in ("127.0.0.1", "localhost", "::1")


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which end the process before the observer has written everything."""

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


class Connection(ServerProtocol):
    """A client's connection, which an application can take over: it is ``connection`` in the state of each request."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)

    def take_over(self, response: httpx2.Response) -> Streams:
        """Send the response that ends HTTP on the connection, and return what follows. Raises ClientLeft."""
        if self.cycle.disconnected:
            raise ClientLeft
        self.connections.discard(self)
        self.cycle.disconnected = True  # the application sends no response
        head = h11.InformationalResponse(
            status_code=response.status_code, headers=response.headers.raw, reason=b"Switching Protocols"
        )
        reader = asyncio.StreamReader(PIECE)
        protocol = asyncio.StreamReaderProtocol(reader)
        streams = Streams(reader, asyncio.StreamWriter(self.transport, protocol, reader, self.loop))
        streams.writer.write(self.conn.send(head) or b"")
        if early := self.conn.trailing_data[0]:
            reader.feed_data(early)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        self.flow.resume_reading()
        return streams


class ProxyServer:
    """A proxy. Its addresses are bound when it is made, so that clients can connect before `run`.

    ``page``: the application at the second address. ``on_stop``: called when the server is to stop, so that the page
    ends its streams. ``transport``: sends the requests, by default in the version of HTTP that the upstream offers.
    ``drain``: for how many seconds open exchanges may continue after `stop`. Raises ServerNotStarted.
    """

    def __init__(
        self,
        upstream: Upstream,
        observer: Observer,
        page: ASGIApp,
        addresses: Addresses,
        on_stop: Callable[[], None] = lambda: None,
        transport: httpx2.AsyncBaseTransport | None = None,
        drain: int = DRAIN,
    ) -> None:
        names = LOCAL_NAMES | {addresses.host} | addresses.names
        self._transport = AsyncObservedTransport(observer, transport or NegotiatingTransport())
        hosts = names if addresses.local or addresses.names else None
        self.forwarder = Forwarder(upstream, self._transport, hosts, on_stop=self._transport.stop)
        self._page = page
        self._on_stop = on_stop
        self._traffic_socket = _listening(addresses.host, addresses.port)
        try:
            self._page_socket = _listening(LOOPBACK, addresses.page_port)
        except ServerNotStarted:
            self._traffic_socket.close()
            raise
        self._page_port = self._page_socket.getsockname()[1]
        self.url = _url(addresses.host, self._traffic_socket)
        self.page_url = _url(LOOPBACK, self._page_socket)
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            lifespan="off",
            http=Connection,  # on h11: httptools would accept header sections of any size, and change the case of names
            proxy_headers=False,
            ws="none",
            log_config=None,
            access_log=False,
            log_level="critical",  # it reports each response that breaks off, as the proxy's lines do
            server_header=False,
            date_header=False,
            timeout_keep_alive=600,
            timeout_graceful_shutdown=drain,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
        )
        self._server = _Server(config)

    def run(self) -> None:
        """Serve until `stop`."""
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        stopping = asyncio.ensure_future(self._announce_stop())
        try:
            await self._server.serve(sockets=[self._traffic_socket, self._page_socket])
        finally:
            stopping.cancel()
            await self._transport.aclose()
            self._traffic_socket.close()
            self._page_socket.close()

    def stop(self, at_once: bool = False) -> None:
        """End `run`, when the open exchanges have passed, or at once."""
        if at_once:  # the event loop cancels exchanges in any order then
            self._transport.stop()
        self._server.should_exit = True
        self._server.force_exit = at_once

    async def _announce_stop(self) -> None:
        while not self._server.should_exit:
            await asyncio.sleep(_STOP_SEEN_AFTER)
        self._on_stop()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        port = (scope.get("server") or (None, None))[1]
        app = self._page if port == self._page_port else self.forwarder
        await app(scope, receive, send)


def gauges(server: ProxyServer, observer: Observer) -> dict[str, tuple[str, Callable[[], float]]]:
    """Return the gauges of `metrics.Metrics`."""
    return {
        "open_exchanges": ("Exchanges that are passing.", lambda: server.forwarder.open),
        "judge_queue_length": ("Exchanges that wait for the judge.", lambda: observer.judge.waiting),
        "judge_restarts": ("How often the judge was replaced.", lambda: observer.judge.restarts),
        "copies_bytes": ("Memory of the copies.", lambda: observer.budget.used),
        "judgements_lost": ("Judgements that lines, page and metrics missed.", lambda: observer.lost),
    }


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the function that makes the event loop: uvloop's where it exists, None for that of Python."""
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio only disables Nagle's algorithm, which delays chunks by 40 ms, on sockets with an explicit protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise ServerNotStarted(f"cannot listen: {error}", where=f"{host}:{port}", hint="choose another port") from error
    return listener


def _url(host: str, listener: socket.socket) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"
