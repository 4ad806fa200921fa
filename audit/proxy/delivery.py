"""Delivery of judgements to sinks in a separate thread, because a sink may wait for a disk or a pipe."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence

from .judgement import Judgement

#: Receives each judgement.
Sink = Callable[[Judgement], None]

_log = logging.getLogger(__name__)


class Delivery:
    """Passes judgements to sinks, in order. ``most_waiting``: the most judgements that wait; further ones are lost."""

    def __init__(self, sinks: Sequence[Sink], most_waiting: int) -> None:
        self._sinks = tuple(sinks)
        self._waiting: queue.Queue[Judgement | None] = queue.Queue(most_waiting)
        self.lost = 0
        self._thread = threading.Thread(target=self._run, name="proxy-delivery", daemon=True)
        self._thread.start()

    def put(self, judgement: Judgement) -> None:
        """Accept a judgement, without waiting."""
        try:
            self._waiting.put_nowait(judgement)
        except queue.Full:
            self.lost += 1

    def close(self, seconds: float) -> None:
        """Wait until all judgements are delivered, for at most ``seconds``."""
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=seconds)
        self._thread.join(seconds)

    def _run(self) -> None:
        while (judgement := self._waiting.get()) is not None:
            for sink in self._sinks:
                try:
                    sink(judgement)
                except Exception as error:  # a sink must not stop the others
                    _log.warning("a sink failed: %s", type(error).__name__)
