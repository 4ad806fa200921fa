"""Starts everything that the demo needs: the process, the emulated providers, the log, the page."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.errors import ServerNotStarted
from toolparity.cassettes.scripts import scripts
from toolparity.turns.log import Log

from .app import application
from .clients import reachable
from .narrator import ScriptLibrary
from .supervisor import keep_running, kill_this_process
from .tools import Throttle

#: The lease of a turn, in seconds. After a crash, its turns can be resumed when the lease has expired.
_LEASE = 6.0


@contextlib.contextmanager
def ready_to_serve(
    log: str | Path,
    throttle: Throttle | None = None,
    *,
    host: str = "127.0.0.1",
    kill: Callable[[], None] | None = None,
) -> Iterator[Starlette]:
    """Yield the application with its providers and its log open.

    ``host``: an allowed host name in addition to loopback. ``kill``: see `app.application`.

    Raises ServerNotStarted and LogFailed.
    """
    surfaces = reachable()
    library = ScriptLibrary(scripts())
    with running(library) as servers, Log(log, lease=_LEASE) as turn_log:
        names = ("127.0.0.1", "localhost", "[::1]", host)
        yield application(servers, surfaces, turn_log, library, throttle, hosts=tuple(dict.fromkeys(names)), kill=kill)


def serve(log: str | Path, host: str, port: int, *, tool: float, piece: float, ready: Callable[[str], None]) -> None:
    """Serve until interrupted. ``tool``, ``piece``: delays in seconds. ``ready`` is called with the URL.

    A child process serves. If it is killed, another one, which is prepared, takes its place on the same socket.

    Raises ServerNotStarted.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()  # while no process serves, clients wait
        except OSError as error:
            raise ServerNotStarted(f"cannot listen: {error}", where=f"{host}:{port}", hint="--port 0") from error
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listener.getsockname()[1]}/"
        keep_running(partial(_serve_on, listener, log, host, tool, piece), partial(ready, address))


def _serve_on(
    listener: socket.socket, log: str | Path, host: str, tool: float, piece: float, wait: Callable[[], None]
) -> None:
    with ready_to_serve(log, Throttle(piece, tool), host=host, kill=kill_this_process) as app:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=1
        )
        wait()
        uvicorn.Server(config).run(sockets=[listener])
