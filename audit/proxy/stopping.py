"""The signals that stop the proxy. This module imports little, because they may come while the others are imported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Takes SIGINT and SIGTERM, as a context manager in the main thread; elsewhere it does nothing.

    ``received``: the first signal, or None. ``stop``: what to call, from the time when there is something to stop: with
    False for the first signal, and with True for each further one. Without it, the second signal ends the process.
    """

    def __init__(self) -> None:
        self.stop: Callable[[bool], None] | None = None
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again = self.received is not None
        self.received = self.received or signal.Signals(number)
        if self.stop is not None:
            self.stop(again)
        elif again:
            raise SystemExit(128 + number)
