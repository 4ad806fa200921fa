"""Runs the server of the demo in a child process. When it is killed, another one serves, which was started before."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, repeat
from multiprocessing.connection import Connection

from toolparity.cassettes.workers import interrupts_held

#: Prepares to serve, calls its argument, which returns when this process is to serve, and serves until interrupted.
Work = Callable[[Callable[[], None]], None]
#: The exit code of a killed process. Windows has no signals: there, a process ends itself with this code.
_KILLED = -getattr(signal, "SIGKILL", -137)
#: How many seconds a child has to end its responses when this process is stopped.
_GRACE = 5


def keep_running(work: Work, ready: Callable[[], None]) -> None:
    """Run ``work`` in a child process until it returns, and again whenever the process is killed.

    A second child prepares meanwhile, because a start takes seconds. ``work`` must be picklable. ``ready`` is called in
    this process when the first child is ready. Raises KeyboardInterrupt when this process is interrupted, and
    SystemExit if a child fails.
    """
    child, successor = _Child(work), None
    try:
        for is_first in chain((True,), repeat(False)):
            if is_ready := child.is_prepared():
                child.serve()
                successor = _Child(work)
            if is_ready and is_first:  # after the successor, whose start must not be interrupted
                ready()
            child.process.join()
            if child.process.exitcode != _KILLED:
                break
            child, successor = successor or _Child(work), None
    except KeyboardInterrupt:  # also SIGTERM
        child.process.terminate()
        child.process.join(_GRACE)
        child.process.kill()  # the log survives that
        raise
    finally:
        child.process.join()
        if successor is not None:
            successor.process.kill()
    if child.process.exitcode:
        sys.exit(1)


class _Child:
    """A child process that prepares, and serves after `serve`."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self.process = context.Process(target=_run, args=(work, other), name="demo", daemon=True)
        with interrupts_held():  # also in the child: this process ends it by SIGTERM
            self.process.start()
        other.close()

    def is_prepared(self) -> bool:
        """Wait until the process is prepared. Return False if it ended before."""
        try:
            self._connection.recv_bytes()
        except (EOFError, OSError):
            return False
        return True

    def serve(self) -> None:
        """Let the process serve."""
        with suppress(OSError):  # it was killed
            self._connection.send_bytes(b"")


def kill_this_process() -> None:
    """End this process at once, like a crash: nothing is closed, and nothing more is written."""
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(_KILLED)


def _run(work: Work, parent: Connection) -> None:
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()

    def wait() -> None:
        parent.send_bytes(b"")
        parent.recv_bytes()

    with suppress(KeyboardInterrupt, EOFError):
        work(wait)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    kill_this_process()
