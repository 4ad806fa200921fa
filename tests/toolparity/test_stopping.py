"""SIGTERM ends commands in order, also as the first process of a container, which has no handlers of signals."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.programs import interruptible

pytestmark = pytest.mark.service("cassettes/cli/stopping.py", "cassettes/cli/serve.py", "conformance/demo")

#: Runs a command with the process id 1, as a container does.
FIRST = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")


def _can_be_first() -> bool:
    try:
        return subprocess.run([*FIRST, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="process ids are those of Linux")
@pytest.mark.parametrize(
    ("first", "command", "code"),
    [
        (True, "serve", 0),
        (False, "demo --port 0", 0),
        (True, "check --gateway http://127.0.0.1:{port} --scenario single-call", 143),
    ],
    ids=["serve", "demo", "check"],
)
def test_a_command_ends_in_order(first: bool, command: str, code: int) -> None:
    if first and not _can_be_first():
        pytest.skip("this system permits no namespace of process ids")
    with socket.create_server(("127.0.0.1", 0)) as gateway, ExitStack() as connections:
        words = command.format(port=gateway.getsockname()[1]).split()
        with interruptible([*(FIRST if first else ()), sys.executable, "-m", "toolparity", *words]) as process:
            if command.startswith("check"):
                connections.enter_context(gateway.accept()[0])  # and never answer
            else:
                assert process.stdout is not None
                assert "http" in process.stdout.readline()
            pid = process.pid
            if first:
                (pid,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            os.kill(pid, signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in errors) == (code, False), errors
