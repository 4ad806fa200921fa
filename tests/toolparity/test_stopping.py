"""Signals end commands in order, also as the first process of a container, which has no handlers of signals."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.programs import interruptible

#: Runs a command with the process id 1, as a container does.
FIRST = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")


@pytest.mark.service("cassettes/cli/stopping.py", "cassettes/cli/serve.py", "conformance/demo")
@pytest.mark.skipif(sys.platform != "linux", reason="process ids are those of Linux")
@pytest.mark.parametrize(
    ("command", "number", "code"),
    [
        ("serve", signal.SIGTERM, 0),
        ("demo --port 0", signal.SIGTERM, 0),
        ("demo --port 0", signal.SIGINT, 130),
        ("check --gateway http://127.0.0.1:{port}", signal.SIGTERM, 143),
    ],
)
def test_a_command_ends_in_order(command: str, number: signal.Signals, code: int) -> None:
    """A further SIGTERM changes nothing. It would not end the first process of a container: `check` is not one here."""
    can = code != 143 and subprocess.run([*FIRST, "true"], capture_output=True, check=False).returncode == 0
    first = FIRST if can else ()
    with socket.create_server(("127.0.0.1", 0)) as gateway:
        words = command.format(port=gateway.getsockname()[1]).split()
        with interruptible([*first, sys.executable, "-m", "toolparity", *words]) as process:
            assert process.stdout is not None
            ready = gateway.accept()[0] if "{port}" in command else process.stdout
            assert ready is not process.stdout or "http" in process.stdout.readline()
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[0]) if first else process.pid, number)
            while code == 143 and process.poll() is None:
                time.sleep(0.002)
                process.terminate()
            _, errors = process.communicate(timeout=60)
            ready.close()
    assert (process.returncode, "Traceback" in errors) == (code, False), errors
