"""A worker process with a bounded queue in front of it: `child` is the program that it runs.

A plain child process, not one of `multiprocessing`: it needs nothing of the program that starts it, which can be any
application. A worker that dies or takes too long is replaced, and the item is lost.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from . import framing

Item = TypeVar("Item")

_log = logging.getLogger(__name__)

#: How often the time limit of the current item is checked, in seconds.
_CHECKED_EVERY = 0.5
#: The least time that a worker gets to finish its queue, in seconds.
_LEAST_SECONDS = 0.5


class Worker(Generic[Item]):
    """Runs a task of `child` on items, in order, in another process.

    ``arguments``: the name of the task and its options. ``encode``: returns the bytes of an item. ``finished``: called
    in the worker's thread with each item and the bytes of its result, or None if the worker died or exceeded
    ``most_seconds``. ``most_waiting``: the length of the queue.
    """

    def __init__(
        self,
        arguments: list[str],
        encode: Callable[[Item], bytes],
        finished: Callable[[Item, bytes | None], None],
        *,
        most_waiting: int,
        most_seconds: float,
    ) -> None:
        self._arguments = arguments
        self._encode = encode
        self._finished = finished
        self._most_seconds = most_seconds
        self._waiting: queue.Queue[Item | None] = queue.Queue(most_waiting)
        self._process: subprocess.Popen[bytes] | None = None
        self._busy_since: float | None = None
        self._closed = threading.Event()
        self._abandoned = threading.Event()
        self.restarts = 0
        self._thread = threading.Thread(target=self._run, name=f"proxy-{arguments[0]}", daemon=True)
        self._watch = threading.Thread(target=self._check_time, name=f"proxy-{arguments[0]}-time", daemon=True)
        self._thread.start()
        self._watch.start()

    @property
    def waiting(self) -> int:
        """The number of items in the queue."""
        return self._waiting.qsize()

    @property
    def process_id(self) -> int | None:
        """The id of the process, or None if there is none."""
        process = self._process
        return None if process is None else process.pid

    def offer(self, item: Item) -> bool:
        """Put an item into the queue, without waiting. Return whether there was a place for it."""
        if self._closed.is_set():
            return False
        try:
            self._waiting.put_nowait(item)
        except queue.Full:
            return False
        return True

    def close(self, seconds: float) -> None:
        """Let the worker finish its queue, for at most ``seconds``, and stop it. What is left has no result."""
        self._closed.set()
        end = time.monotonic() + max(seconds, _LEAST_SECONDS)
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=end - time.monotonic())
        self._thread.join(max(end - time.monotonic(), 0))
        self._abandoned.set()
        self._stop()
        self._thread.join()
        self._watch.join()

    def _next(self) -> Item | None:
        try:
            return self._waiting.get(block=not self._abandoned.is_set())
        except queue.Empty:
            return None

    def _run(self) -> None:
        self._start()
        while (item := self._next()) is not None:
            self._busy_since = time.monotonic()
            result = None if self._abandoned.is_set() else self._result(item)
            self._busy_since = None
            try:
                self._finished(item, result)
            except Exception as error:  # the next item may be fine
                _log.warning("a result is lost: %s", type(error).__name__)
        self._stop()

    def _result(self, item: Item) -> bytes | None:
        """Have an item processed. Return None if that failed."""
        try:
            if self._process is None:
                self.restarts += 1
                self._start()
            assert self._process is not None
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            framing.write(self._process.stdin, self._encode(item))
            result = framing.read(self._process.stdout)
        except Exception:  # whatever is wrong with an item or a process, the next item gets a new process
            result = None
        if result is None:
            self._stop()
        return result

    def _start(self) -> None:
        command = [sys.executable, "-m", f"{__package__}.child", *self._arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _check_time(self) -> None:
        while self._thread.is_alive():
            since, process = self._busy_since, self._process
            if since is not None and process is not None and time.monotonic() - since > self._most_seconds:
                process.kill()
            self._thread.join(_CHECKED_EVERY)
