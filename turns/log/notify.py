"""Notifier that wakes the readers of a turn when this process writes to its log."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Notifier:
    """Notifies the listeners of turns. It serves any number of event loops, in any threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[str, dict[asyncio.Event, asyncio.AbstractEventLoop]] = {}

    @contextmanager
    def listen(self, turn: str) -> Iterator[asyncio.Event]:
        """Return an event that is set after every write of the turn: clear it, read the log, then wait for it.

        Call it in the event loop that waits.
        """
        written, loop = asyncio.Event(), asyncio.get_running_loop()
        with self._lock:
            self._listeners.setdefault(turn, {})[written] = loop
        try:
            yield written
        finally:
            with self._lock:
                listeners = self._listeners[turn]
                del listeners[written]
                if not listeners:
                    del self._listeners[turn]

    def notify(self, turn: str) -> None:
        """Set the events of all listeners to the turn. Any thread may call it."""
        if turn not in self._listeners:
            return  # a listener that is added now reads the log after this write
        with self._lock:
            for written, loop in self._listeners.get(turn, {}).items():
                if not loop.is_closed():  # a listener that was never closed outlives its loop
                    loop.call_soon_threadsafe(written.set)
