"""SIGTERM ends commands in order, also as the first process of a container, which has no handlers of signals."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import interruptible

#: Runs a command with the process id 1, as a container does.
FIRST = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")


@pytest.mark.service("cassettes/cli/stopping.py", "cassettes/cli/serve.py", "conformance/demo")
@pytest.mark.skipif(sys.platform != "linux", reason="process ids are those of Linux")
@pytest.mark.parametrize("command", ["serve", "demo --port 0", "check --gateway http://127.0.0.1:{port}"])
def test_a_command_ends_in_order(command: str) -> None:
    first = FIRST if subprocess.run([*FIRST, "true"], capture_output=True, check=False).returncode == 0 else ()
    with socket.create_server(("127.0.0.1", 0)) as gateway:
        words = command.format(port=gateway.getsockname()[1]).split()
        with interruptible([*first, sys.executable, "-m", "toolparity", *words]) as process:
            assert process.stdout is not None
            ready = gateway.accept()[0] if "{port}" in command else process.stdout
            assert ready is not process.stdout or "http" in process.stdout.readline()
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[0]) if first else process.pid, signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
            ready.close()
    assert (process.returncode, "Traceback" in errors) == (143 if "check" in command else 0, False), errors
