"""Programs that some tests start: a browser, Node, a database, and our own command to be interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest


def needed(*names: str, what: str) -> str:
    """The path of the first of these programs that is installed. Without one the test is skipped with the reason, or
    fails where TOOLPARITY_SKIP_NOTHING is set, as in CI.
    """
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is not None:
        return found
    reason = f"{what} is not installed: none of {', '.join(names)} is there"
    if os.environ.get("TOOLPARITY_SKIP_NOTHING"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def interruptible(command: Sequence[str], output: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    """The command in its own session, to be sent SIGINT, also where a caller that runs the tests ignores that itself (a
    shell lets what it runs in the background ignore it). It has ended behind us. ``output``: its standard output; a
    pipe that is not read blocks the command after 64 KB.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, start_new_session=True, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
