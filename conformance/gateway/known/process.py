"""Starts a known gateway in a private folder with a minimal environment, and always stops it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolparity.cassettes.emulated.servers import LOOPBACK

from ..errors import GatewayFailed
from . import guard
from .form import KnownGateway
from .installation import folder_of

#: Seconds until a gateway accepts connections.
START_SECONDS = 120.0
_POLL_SECONDS = 0.2
_LOG_SHOWN = 600
#: The only variables that a gateway inherits. In particular, it gets no credentials.
_INHERITED = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "SSL_CERT_FILE")


@contextmanager
def running(gateway: KnownGateway, http: str, count: int) -> Iterator[list[str]]:
    """Run ``count`` processes of a gateway, with the upstream at ``http``, while the block runs. Yields their URLs.

    Raises GatewayFailed if the gateway is not installed or does not start; the message ends with its log.
    """
    home = folder_of(gateway)
    with tempfile.TemporaryDirectory(prefix="toolparity-gateway-") as private:
        folder = Path(private)  # only its owner can read it
        file = folder / "configuration"
        if (configuration := gateway.configuration(http)) is not None:
            file = folder / configuration[0]
            file.write_text(configuration[1], "utf-8")
        started: list[tuple[subprocess.Popen[bytes], int, Path]] = []
        try:
            for number in range(count):
                port, log = _free_port(), folder / f"log-{number}"
                started.append((_start(gateway.command(home, file, port), folder, log, gateway.environment), port, log))
            for process, port, log in started:
                _wait_until_ready(gateway.name, process, port, log)
            yield [f"http://{LOOPBACK}:{port}" for _, port, _ in started]
        finally:
            for process, _, _ in started:
                _stop(process)


def _start(command: Sequence[str], folder: Path, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a command below the guard, which ends it if the suite ends."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-I", guard.__file__, *command],
            cwd=folder,
            env={**inherited, "HOME": str(folder), "TMPDIR": str(folder), **environment},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_until_ready(name: str, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise GatewayFailed(f"{name} ended with code {process.returncode}{_end_of(log)}")
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(_POLL_SECONDS)
    raise GatewayFailed(f"{name} did not start within {START_SECONDS:g} s{_end_of(log)}")


def _end_of(log: Path) -> str:
    text = " ".join(log.read_text("utf-8", "replace").split())
    return f": … {text[-_LOG_SHOWN:]}" if text else ""


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Close the guard's input, so that it ends the gateway, and wait for it."""
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return int(listener.getsockname()[1])
