"""The signals that stop a command. This module imports little, because they may come while the others are imported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

#: The commands that serve until they are stopped: SIGTERM is their normal end.
SERVERS = ("demo", "proxy", "serve")


class Terminated(KeyboardInterrupt):
    """SIGTERM: the command closes what is open, as after an interrupt, and exits with ``code``."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class StopSignals:
    """Takes the signals that stop a command, as a context manager in the main thread; elsewhere it does nothing.

    SIGTERM raises `Terminated`, once. The process with the id 1, as in a container, would ignore it otherwise. The
    proxy, which lets open exchanges continue, takes SIGINT and SIGTERM without an exception instead: ``received`` is
    the first of them, or None. ``stop`` is what to call, from the time when there is something to stop: with False for
    the first signal, and with True for each further one. Without it, the second signal ends the process.

    ``last``: the process ends with the command. After a signal, a further one is then ignored until the end, because it
    would change the exit code.
    """

    def __init__(self, command: str, *, last: bool = False) -> None:
        self._last = last
        self.stop: Callable[[bool], None] | None = None
        self.received: signal.Signals | None = None
        self._code = 0 if command in SERVERS else 128 + signal.SIGTERM
        self._handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = (
            dict.fromkeys((signal.SIGINT, signal.SIGTERM), self._collect)
            if command == "proxy"
            else {signal.SIGTERM: self._raise}
        )
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, handler) for number, handler in self._handlers.items()}
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self._last and self.received else handler)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one would end the closing
        self.received = signal.Signals(number)
        raise Terminated(self._code)

    def _collect(self, number: int, frame: FrameType | None) -> None:
        again = self.received is not None
        self.received = self.received or signal.Signals(number)
        if self.stop is not None:
            self.stop(again)
        elif again:
            raise SystemExit(128 + number)
