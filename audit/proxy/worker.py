"""A worker process with a bounded queue in front of it: `child` is the program that it runs.

A plain child process, not one of `multiprocessing`: it needs nothing of the program that starts it, which can be any
application. A worker that dies or takes too long is replaced, and its current item is lost.

An item is written into the worker's pipe at once, by the thread that offers it, if the pipe has space. Another thread
would have to wait for the interpreter lock, which costs the traffic more time than the writing, and what it has not
written yet would be lost if the proxy is killed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from . import framing

Item = TypeVar("Item")

_log = logging.getLogger(__name__)

#: How often the time limit of the current item is checked, in seconds.
_CHECKED_EVERY = 0.5
#: The least time that a worker gets to finish its queue, and the longest that it may take to die, in seconds.
_LEAST_SECONDS, _DYING_SECONDS = 0.5, 1.0
#: While items wait, results are read together after such a pause, because each one would interrupt the traffic.
_PAUSE = 0.01
#: The size of the pipes, as far as the system has a choice.
_PIPE = 1 << 20
#: Whether a pipe can refuse bytes instead of having the writer wait. Windows has no such pipes before Python 3.12.
_REFUSES = sys.platform != "win32"


class Worker(Generic[Item]):
    """Runs a task of `child` on items, in order, in another process.

    ``arguments``: the name of the task and its options. ``encode``: returns the bytes of an item. ``finished``: called
    in a thread of the worker with each item and the bytes of its result, or None if the worker died or exceeded
    ``most_seconds``. ``most_waiting``: how many items may wait behind the current one.
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
        self._most_waiting = most_waiting
        self._most_seconds = most_seconds
        # The items without a result. The process, or the pipe to it, has the first ones, and of the last of those,
        # `_rest` is still to be written.
        self._items: deque[Item] = deque()
        self._sent = 0
        self._rest = memoryview(b"")
        self._writing = threading.Lock()
        self._changed = threading.Condition()
        self._process: subprocess.Popen[bytes] | None = None
        self._busy_since: float | None = None
        self._closed = self._over = False
        self.restarts = 0
        self._threads = [
            threading.Thread(target=run, name=f"proxy-{arguments[0]}-{run.__name__.strip('_')}", daemon=True)
            for run in (self._receive, self._send, self._check_time)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """The number of items behind the current one."""
        return max(len(self._items) - 1, 0)

    @property
    def process_id(self) -> int | None:
        """The id of the process, or None if there is none."""
        process = self._process
        return None if process is None else process.pid

    def offer(self, item: Item) -> bool:
        """Put an item into the queue, without waiting. Return whether there was a place for it."""
        with self._changed:
            if self._closed or len(self._items) > self._most_waiting:
                return False
            self._items.append(item)
            if self._busy_since is None:
                self._busy_since = time.monotonic()
        left = True
        if _REFUSES and self._writing.acquire(blocking=False):
            try:
                left = self._write()
            finally:
                self._writing.release()
        if left:
            with self._changed:
                self._changed.notify_all()
        return True

    def close(self, seconds: float) -> None:
        """Let the worker finish its queue, for at most ``seconds``, and stop it. What is left has no result."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._items, max(seconds, _LEAST_SECONDS))
            self._over = True
            self._changed.notify_all()
            process = self._process
        if process is not None:
            process.kill()
        end = time.monotonic() + _DYING_SECONDS  # a process that waits for a disk does not die
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))
        with self._changed:
            left = list(self._items)
            self._items.clear()
        for item in left:
            self._finish(item, None)

    def _write(self) -> bool:
        """Write what the pipe takes. Return whether something is left. The caller holds `_writing`."""
        process = self._process
        if process is None:
            return True
        assert process.stdin is not None
        while True:
            if not self._rest:
                with self._changed:
                    if self._sent == len(self._items):
                        return False
                    item = self._items[self._sent]
                    self._sent += 1
                self._rest = memoryview(framing.framed(self._encoded(item)))
            try:
                self._rest = self._rest[os.write(process.stdin.fileno(), self._rest) :]
            except BlockingIOError:
                return True
            except OSError:  # the process died, and its output ends, too
                return False

    def _encoded(self, item: Item) -> bytes:
        try:
            return self._encode(item)
        except Exception:  # the worker fails on nothing, and the item is lost
            return b""

    def _send(self) -> None:
        """Write what the pipe did not take at once."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._over or (self._process is not None and self._unsent()))
                process = self._process
            if self._over or process is None:
                return
            assert process.stdin is not None
            if _REFUSES:
                writable = select.poll()
                writable.register(process.stdin, select.POLLOUT)
                writable.poll(_CHECKED_EVERY * 1000)
            with self._writing:
                self._write()

    def _unsent(self) -> bool:
        return bool(self._rest) or self._sent < len(self._items)

    def _receive(self) -> None:
        """Start processes, and take their results."""
        while not self._over:
            process = self._start()
            if process is not None:
                assert process.stdout is not None
                for result in framing.messages(process.stdout.fileno()):
                    if result is None:
                        if self._items and not self._closed:
                            time.sleep(_PAUSE)
                    else:
                        self._take(result)
                process.kill()
            self._replace(process)

    def _take(self, result: bytes | None) -> None:
        """Give the current item its result."""
        with self._changed:
            if not self._items:
                return
            item = self._items.popleft()
            self._sent = max(self._sent - 1, 0)
            self._busy_since = time.monotonic() if self._items else None
        self._finish(item, result)
        if self._closed:
            with self._changed:
                self._changed.notify_all()

    def _replace(self, process: subprocess.Popen[bytes] | None) -> None:
        """Forget a process that ended. Its current item is lost, and it may be what the process died of."""
        with self._writing, self._changed:
            self._process = None
            self._rest = memoryview(b"")
            self._sent = 0
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_DYING_SECONDS)
            process.stdin.close()
            process.stdout.close()
        if self._over:
            return
        self._take(None)
        self.restarts += 1
        with self._changed:
            self._changed.wait_for(lambda: self._over or bool(self._items))

    def _finish(self, item: Item, result: bytes | None) -> None:
        try:
            self._finished(item, result)
        except Exception as error:  # the next item may be fine
            _log.warning("a result is lost: %s", type(error).__name__)

    def _start(self) -> subprocess.Popen[bytes] | None:
        """Start a process. Return None if the system has no place for one."""
        command = [sys.executable, "-m", f"{__package__}.child", *self._arguments]
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, pipesize=_PIPE
            )
        except OSError:
            return None
        assert process.stdin is not None
        if _REFUSES:
            os.set_blocking(process.stdin.fileno(), False)
        with self._changed:
            self._process = process
            self._busy_since = time.monotonic() if self._items else None
            self._changed.notify_all()
        return process

    def _check_time(self) -> None:
        while not self._over:
            since, process = self._busy_since, self._process
            if since is not None and process is not None and time.monotonic() - since > self._most_seconds:
                process.kill()
            with self._changed:
                self._changed.wait_for(lambda: self._over, _CHECKED_EVERY)
