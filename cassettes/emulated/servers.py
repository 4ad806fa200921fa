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
from typing import Any, NamedTuple, Protocol

import uvicorn
from grpc import aio
from xai_sdk.proto import chat_pb2_grpc

from ..errors import ServerNotStarted
from ..scripts import Script
from ..surfaces import Surface

LOOPBACK = "127.0.0.1"

_Message = MutableMapping[str, Any]
App = Callable[[_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]]

#: The most bytes of a gRPC request, equal to the limit in xAI's SDK.
_LARGEST = 20 << 20
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
    app: App, chat: chat_pb2_grpc.ChatServicer, host: str = LOOPBACK, *, http_port: int = 0, grpc_port: int = 0
) -> Iterator[Servers]:
    """Run an ASGI application and a servicer of xAI's Chat while the block runs. Port 0 means a free port.

    Connections that are still open at the end of the block are closed. Raises ServerNotStarted.
    """
    with serving_http(_Uvicorn(app), chat, host, http_port=http_port, grpc_port=grpc_port) as servers:
        yield servers


class HttpServer(Protocol):
    """An HTTP server that runs in the event loop of its caller."""

    async def start(self, listener: socket.socket) -> None:
        """Accept connections of a listening socket. Return when the server is ready."""

    async def stop(self) -> None:
        """Close the server and its open connections."""


@contextmanager
def serving_http(
    web: HttpServer, chat: chat_pb2_grpc.ChatServicer, host: str = LOOPBACK, *, http_port: int = 0, grpc_port: int = 0
) -> Iterator[Servers]:
    """Run an HTTP server and a servicer of xAI's Chat, as `serving` does."""
    run = _Run(web, chat)
    listener = _listener(host, http_port)
    thread = threading.Thread(target=run.main, args=(listener, host, grpc_port), name="emulated-providers", daemon=True)
    thread.start()
    run.settled.wait()
    if run.failure is not None:
        thread.join()
        raise ServerNotStarted(f"the servers did not start: {run.failure}", where=host) from run.failure
    try:
        yield Servers(f"http://{_at(host, listener.getsockname()[1])}", _at(host, run.grpc_port))
    finally:
        run.stop()
        thread.join()


class _Run:
    """The work of the thread. ``settled`` is set when both servers run, or when one has failed (``failure``)."""

    def __init__(self, web: HttpServer, chat: chat_pb2_grpc.ChatServicer) -> None:
        self._web = web
        self._chat = chat
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
        # Without SO_REUSEPORT, a second server on the same port fails instead of sharing its connections.
        rpc = aio.server(options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", _LARGEST)])
        chat_pb2_grpc.add_ChatServicer_to_server(self._chat, rpc)
        self.grpc_port = rpc.add_insecure_port(_at(host, grpc_port))
        await rpc.start()
        try:
            await self._web.start(listener)
            self.settled.set()
            await self._over.wait()
        finally:
            await asyncio.gather(self._web.stop(), rpc.stop(grace=None))


class _Uvicorn:
    """An ASGI application behind uvicorn."""

    def __init__(self, app: App) -> None:
        self._web = _web(app)
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


def _web(app: App) -> uvicorn.Server:
    """Return a uvicorn server without logging, lifespan and WebSocket.

    Outside the main thread it installs no signal handlers.
    """
    return uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            http="h11",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=_KEEP_ALIVE,
        )
    )


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio only disables Nagle's algorithm, which delays chunks by 40 ms, on sockets with an explicit protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise ServerNotStarted(f"cannot listen: {error}", where=f"{host}:{port}") from error
    return listener


def _at(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
