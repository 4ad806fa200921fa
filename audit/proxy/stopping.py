"""The signals that stop the proxy."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Calls ``stop`` on SIGINT and SIGTERM, as a context manager in the main thread; elsewhere it does nothing.

    ``stop``: gets False for the first signal, and True for each further one. ``received``: the first signal, or None.
    """

    def __init__(self, stop: Callable[[bool], None]) -> None:
        self._stop = stop
        self._before: dict[signal.Signals, Any] = {}
        self.received: signal.Signals | None = None

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._stop(self.received is not None)
        self.received = self.received or signal.Signals(number)
