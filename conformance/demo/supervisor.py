"""Runs the server of the demo in a child process, and starts another one when it is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from types import FrameType

#: Serves until interrupted, and calls its argument when it is ready.
Work = Callable[[Callable[[], None]], None]


def keep_running(work: Work, ready: Callable[[], None]) -> None:
    """Run ``work`` in a child process until it returns, and again whenever the process is killed.

    ``work`` must be picklable. ``ready`` is called in this process when the first child is ready. Raises
    KeyboardInterrupt when this process is interrupted, and SystemExit if a child fails.
    """
    context = multiprocessing.get_context("spawn")
    is_announced = False
    while True:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_run, args=(work, sender.send_bytes), name="demo", daemon=True)
        child.start()

        def stop(number: int, frame: FrameType | None, child: multiprocessing.process.BaseProcess = child) -> None:
            child.terminate()

        before = signal.signal(signal.SIGTERM, stop)
        try:
            if receiver in wait([receiver, child.sentinel]) and not is_announced:
                is_announced = True
                ready()
            child.join()
        except KeyboardInterrupt:  # the terminal interrupts the child, too
            child.join()
            raise
        finally:
            signal.signal(signal.SIGTERM, before)
            receiver.close()
            sender.close()
        if child.exitcode != -signal.SIGKILL:
            break
    if child.exitcode:
        sys.exit(1)


def kill_this_process() -> None:
    """End this process at once, like a crash: nothing is closed, and nothing more is written."""
    os.kill(os.getpid(), signal.SIGKILL)


def _run(work: Work, send: Callable[[bytes], None]) -> None:
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    with suppress(KeyboardInterrupt):
        work(lambda: send(b""))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    kill_this_process()
