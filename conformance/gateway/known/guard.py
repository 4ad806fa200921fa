"""Runs one command and ends it, with all its children, when this program's standard input ends.

    python -I guard.py COMMAND…

The suite holds the other end of the pipe. So the command ends with the suite, even if the suite is killed. This file
imports nothing but the standard library, because it runs outside of the suite.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

_GRACE_SECONDS = 3.0


def main(command: list[str]) -> int:
    """Run the command until it ends, or until standard input or a signal ends it. Return its exit code."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    over = threading.Event()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), lambda *_: over.set())
    threading.Thread(target=_wait_for_end_of_input, args=(over,), daemon=True).start()
    threading.Thread(target=_wait_for_child, args=(child, over), daemon=True).start()
    over.wait()
    _end(child)
    return child.wait()


def _wait_for_end_of_input(over: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    over.set()


def _wait_for_child(child: subprocess.Popen[bytes], over: threading.Event) -> None:
    child.wait()
    over.set()


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the process group of the command: first politely, then by force. Without groups, end the command itself."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(child.pid, number)
            else:
                child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
