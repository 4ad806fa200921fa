"""Runs the emulated providers in a background thread: one event loop with an HTTP and a gRPC server.

    with running() as servers:
        client = anthropic.Anthropic(base_url=servers.base(SURFACES["anthropic.messages"]), api_key="any")

By default, the servers listen on loopback, on free ports.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from xai_sdk.proto import chat_pb2_grpc

from ..errors import ServerNotStarted
from ..scripts import Script
from ..surfaces import Surface
from .grpc_server import BreakingService, GrpcServer
from .http2 import PREFACE, Http2Connection
from .sockets import at, listening

if TYPE_CHECKING:
    from .certificate import Certificate  # needs an extra

LOOPBACK = "127.0.0.1"
#: The member of a request's state (ASGI) that holds the transport of its connection.
TRANSPORT = "toolparity.transport"

_Message = MutableMapping[str, Any]
App = Callable[[_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]]

#: How long the server keeps an idle connection open, in seconds. A client that reuses a connection while the server
#: closes it loses its request, and on a busy machine a client may pause for longer than uvicorn's five seconds.
_KEEP_ALIVE = 600


class Servers(NamedTuple):
    """The addresses of the running servers: ``http_url`` like http://127.0.0.1:4711, ``grpc_address`` like
    127.0.0.1:4712.
    """

    http_url: str
    grpc_address: str

    def base(self, surface: Surface) -> str:
        """Return the ``base_url`` for the surface's official SDK, or the ``api_host`` for gRPC."""
        return self.grpc_address if surface.by_messages else self.http_url + surface.base_path


@contextmanager
def running(library: Mapping[str, Script] | None = None, host: str = LOOPBACK) -> Iterator[Servers]:
    """Run the emulated providers while the block runs.

    ``library``: scripts by id, by default those of this package. ``host``: the name or address to bind. Raises
    ServerNotStarted.
    """
    from .http import application
    from .rpc import EmulatedChat

    with serving(application(library), EmulatedChat(library), host) as servers:
        yield servers


@contextmanager
def serving(
    app: App,
    chat: chat_pb2_grpc.ChatServicer | BreakingService,
    host: str = LOOPBACK,
    *,
    http_port: int = 0,
    grpc_port: int = 0,
    certificate: Certificate | None = None,
) -> Iterator[Servers]:
    """Run an ASGI application and a service of xAI's Chat while the block runs. Port 0 means a free port.

    With a certificate, both are on TLS. Connections that are still open at the end of the block are closed. Raises
    ServerNotStarted.
    """
    web = _Uvicorn(app, certificate)
    with serving_http(web, chat, host, http_port=http_port, grpc_port=grpc_port, certificate=certificate) as servers:
        yield servers


class HttpServer(Protocol):
    """An HTTP server that runs in the event loop of its caller."""

    async def start(self, listener: socket.socket) -> None:
        """Accept connections of a listening socket. Return when the server is ready."""

    async def stop(self) -> None:
        """Close the server and its open connections."""


@contextmanager
def serving_http(
    web: HttpServer,
    chat: chat_pb2_grpc.ChatServicer | BreakingService,
    host: str = LOOPBACK,
    *,
    http_port: int = 0,
    grpc_port: int = 0,
    certificate: Certificate | None = None,
) -> Iterator[Servers]:
    """Run an HTTP server and a service of xAI's Chat, as `serving` does. ``certificate``: that of the gRPC server."""
    run = _Run(web, chat, certificate)
    listener = listening(host, http_port)
    thread = threading.Thread(target=run.main, args=(listener, host, grpc_port), name="emulated-providers", daemon=True)
    thread.start()
    run.settled.wait()
    if run.failure is not None:
        thread.join()
        raise ServerNotStarted(f"the servers did not start: {run.failure}", where=host) from run.failure
    try:
        scheme = "http" if certificate is None else "https"
        yield Servers(f"{scheme}://{at(host, listener.getsockname()[1])}", at(host, run.grpc_port))
    finally:
        run.stop()
        thread.join()


class _Run:
    """The work of the thread. ``settled`` is set when both servers run, or when one has failed (``failure``)."""

    def __init__(
        self,
        web: HttpServer,
        chat: chat_pb2_grpc.ChatServicer | BreakingService,
        certificate: Certificate | None,
    ) -> None:
        self._web = web
        self._chat = chat
        self._certificate = certificate
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self.settled = threading.Event()
        self.failure: BaseException | None = None
        self.grpc_port = 0

    def main(self, listener: socket.socket, host: str, grpc_port: int) -> None:
        try:
            with listener:
                asyncio.run(self._main(listener, host, grpc_port))
        except BaseException as error:
            self.failure = error
        finally:
            self.settled.set()

    def stop(self) -> None:
        if self._loop is not None and self._over is not None:
            self._loop.call_soon_threadsafe(self._over.set)

    async def _main(self, listener: socket.socket, host: str, grpc_port: int) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        rpc = GrpcServer(self._chat, self._certificate)
        try:
            self.grpc_port = await rpc.start(host, grpc_port)
            await self._web.start(listener)
            self.settled.set()
            await self._over.wait()
        finally:
            await asyncio.gather(self._web.stop(), rpc.stop())


class _Uvicorn:
    """An ASGI application behind uvicorn."""

    def __init__(self, app: App, certificate: Certificate | None) -> None:
        self._web = _web(app, certificate)
        self._serving: asyncio.Task[None] | None = None

    async def start(self, listener: socket.socket) -> None:
        self._serving = asyncio.create_task(self._web.serve(sockets=[listener]))
        while not self._web.started:
            if self._serving.done():
                await self._serving
                raise RuntimeError("the HTTP server stopped before it started")
            await asyncio.sleep(0.002)

    async def stop(self) -> None:
        """Abort open connections, so that an unfinished stream does not delay the stop."""
        self._web.should_exit = True
        for connection in list(self._web.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        if self._serving is not None:
            await self._serving


class _Connection(H11Protocol):
    """A connection whose transport the application can break. It becomes one of HTTP/2 if it begins so."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}
        self._begun = False

    def data_received(self, data: bytes) -> None:
        if not self._begun and data.startswith(PREFACE[:14]):
            self.connections.discard(self)
            http2 = Http2Connection(self.app, self.connections, self.app_state)
            self.transport.set_protocol(http2)
            http2.connection_made(self.transport)
            http2.data_received(data)
            return
        self._begun = True
        super().data_received(data)


def _web(app: App, certificate: Certificate | None) -> uvicorn.Server:
    """Return a uvicorn server without logging and lifespan.

    Outside the main thread it installs no signal handlers.
    """
    return uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="off",
            ws="websockets-sansio",
            http=_Connection,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=_KEEP_ALIVE,
            ssl_context_factory=None if certificate is None else lambda *_: certificate.context("h2", "http/1.1"),
        )
    )
