"""Other proxies to compare with, in separate environments.

    mitmproxy      $XDG_CACHE_HOME/toolparity/agents/mitmproxy: python -m venv FOLDER, then pip install mitmproxy there
    LiteLLM        toolparity gateway install litellm-proxy

One that is not installed is left out, and reported.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psutil

from toolparity.conformance.gateway.errors import GatewayFailed
from toolparity.conformance.gateway.known import known_gateway, process
from toolparity.conformance.gateway.known.installation import folder_of
from toolparity.conformance.subjects.environments import cache

#: Its port, its processes, and the model to ask for.
Running = tuple[int, list[psutil.Process], str]
_START_SECONDS = 60.0
_LITELLM = "litellm-proxy"


def installed() -> dict[str, Callable[[int], AbstractContextManager[Running]]]:
    """Return a function for each proxy that is installed, which runs it in front of a port of this machine."""
    found: dict[str, Callable[[int], AbstractContextManager[Running]]] = {}
    if _mitmdump() is None:
        _report("mitmproxy", f"python -m venv {_folder()} && {_folder()}/bin/pip install mitmproxy")
    else:
        found["mitmproxy"] = _mitmproxy
    try:
        folder_of(known_gateway(_LITELLM))
        found["LiteLLM's proxy"] = _litellm
    except GatewayFailed:
        _report("LiteLLM's proxy", f"toolparity gateway install {_LITELLM}")
    return found


def _report(name: str, command: str) -> None:
    print(f"{name} is not measured, because it is not installed: {command}", file=sys.stderr)


def _folder() -> Path:
    return cache() / "agents" / "mitmproxy"


def _mitmdump() -> str | None:
    own = _folder() / "bin" / "mitmdump"
    return str(own) if own.exists() else shutil.which("mitmdump")


@contextlib.contextmanager
def _mitmproxy(target: int) -> Iterator[Running]:
    """Run mitmproxy as a reverse proxy that streams all bodies: it does not look at them."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = _mitmdump()
    assert program is not None
    command = [program, "--mode", f"reverse:http://127.0.0.1:{target}", "--listen-host", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen([*command, "--set", "stream_large_bodies=1", "--quiet"]) as running:
        try:
            _wait(port)
            yield port, [psutil.Process(running.pid)], "m"
        finally:
            running.terminate()


@contextlib.contextmanager
def _litellm(target: int) -> Iterator[Running]:
    """Run LiteLLM's proxy with one worker."""
    before = set(psutil.Process().children(recursive=True))
    with process.running(known_gateway(_LITELLM), f"http://127.0.0.1:{target}", 1) as (url,):
        started = set(psutil.Process().children(recursive=True)) - before
        yield int(url.rpartition(":")[2]), list(started), "openai.chat"


def _wait(port: int) -> None:
    """Return when the port accepts connections."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > deadline:
            raise TimeoutError("mitmproxy did not start")
        time.sleep(0.2)
