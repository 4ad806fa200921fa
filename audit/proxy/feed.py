"""The last judgements as server-sent events, for any number of pages."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from .judgement import Judgement

#: How many judgements are kept for pages that connect later.
KEPT = 500
#: A comment after so many seconds without an event shows both sides that the connection is alive.
_QUIET_SECONDS = 15.0


class Feed:
    """A sink that keeps the last judgements and sends them to pages.

    A page that is too slow misses the oldest ones; nothing waits for it.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._run = secrets.token_hex(4)  # a page may have seen events of another run
        self._events: deque[tuple[int, bytes]] = deque(maxlen=kept)
        self._last = 0
        self._lock = threading.Lock()
        self._pages: set[_Page] = set()
        self._encode = msgspec.json.Encoder().encode
        self._closed = False

    def __call__(self, judgement: Judgement) -> None:
        if judgement.unjudged == "unknown-wire":
            return
        data = self._encode(judgement)
        with self._lock:
            self._last += 1
            self._events.append((self._last, b"id: %s-%d\ndata: %b\n\n" % (self._run.encode(), self._last, data)))
            pages = list(self._pages)
        for page in pages:
            page.wake()

    def close(self) -> None:
        """End the events of all pages."""
        self._closed = True
        with self._lock:
            pages = list(self._pages)
        for page in pages:
            page.wake()

    async def events(self, seen: str | None) -> AsyncIterator[bytes]:
        """Yield the kept events after ``seen``, the id of the last one, and then each new one."""
        run, _, place = (seen or "").partition("-")
        last = int(place) if run == self._run and place.isdigit() else 0
        yield b"" if last else b"event: reset\ndata: {}\n\n"
        page = _Page()
        with self._lock:
            self._pages.add(page)
        try:
            while not self._closed:
                with self._lock:
                    events = [event for event in self._events if event[0] > last]
                for number, data in events:
                    last = number
                    yield data
                if not events and not await page.woken():
                    yield b":\n\n"
        finally:
            with self._lock:
                self._pages.discard(page)


class _Page:
    """A connected page: an event that other threads can set."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._event.set)

    async def woken(self) -> bool:
        """Wait until `wake` was called. Return False after some seconds without a call."""
        try:
            await asyncio.wait_for(self._event.wait(), _QUIET_SECONDS)
        except TimeoutError:
            return False
        self._event.clear()
        return True
