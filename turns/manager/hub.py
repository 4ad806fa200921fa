"""One reader of the log for all subscribers of a turn in this process.

A feed reads the new events of a turn and keeps the last of them for its subscribers. So a write causes one read of the
log, however many subscribers there are. A subscriber that is further behind reads from the log at its own pace. The
memory of the hub depends on the number of turns that are followed, and not on slow subscribers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from toolparity.normalizer.errors import ToolparityError

from .. import sse
from ..log import EventRow, Log, Page

#: The most events in one page. A slow subscriber holds one page.
_PAGE = 100
#: A feed keeps so many events, and so many characters of them.
_ROWS, _CHARACTERS = 1_000, 1_000_000


class Hub:
    """The events of a log for the subscribers of one event loop, as an `sse.EventSource`."""

    def __init__(self, log: Log, poll: float = sse.POLL) -> None:
        self._log = log
        self._poll = poll
        self._feeds: dict[str, _Feed] = {}
        self._reads: dict[tuple[str, int, int], asyncio.Task[Page]] = {}

    async def events(self, turn: str, after: int = -1, *, limit: int = _PAGE) -> Page:
        """Return up to ``limit`` events with numbers above ``after``. Raises UnknownTurn and LogFailed."""
        feed = self._feeds.get(turn)
        page = feed.page(after, limit) if feed is not None else None
        return page if page is not None else await self._read(turn, after, limit)

    @contextmanager
    def listen(self, turn: str) -> Iterator[asyncio.Event]:
        """Follow the turn. Return an event that is set when the turn has new events."""
        feed = self._feeds.get(turn)
        if feed is None:
            feed = self._feeds[turn] = _Feed(self._log, turn, self._poll)
        written = asyncio.Event()
        feed.subscribers.add(written)
        try:
            yield written
        finally:
            feed.subscribers.remove(written)
            if not feed.subscribers:
                feed.task.cancel()
                del self._feeds[turn]

    async def _read(self, turn: str, after: int, limit: int) -> Page:
        """Read from the log, once for all subscribers that need the same page at the same time."""
        key = (turn, after, limit)
        read = self._reads.get(key)
        if read is None:
            read = self._reads[key] = asyncio.create_task(self._log.events(turn, after, limit=limit))
            read.add_done_callback(lambda _: self._reads.pop(key))
        return await asyncio.shield(read)


class _Feed:
    """The last events of a turn, read while it has subscribers. ``subscribers``: their events, set after each read."""

    def __init__(self, log: Log, turn: str, poll: float) -> None:
        self.subscribers: set[asyncio.Event] = set()
        self._log = log
        self._turn = turn
        self._poll = poll
        self._rows: deque[EventRow] = deque()
        self._characters = 0
        self._seq: int | None = None  # of the next event to read; None before the first read, and after a failure
        self._is_over = False
        self.task = asyncio.create_task(self._follow(), name=f"feed of turn {turn}")

    def page(self, after: int, limit: int) -> Page | None:
        """Return the events with numbers above ``after``, None if the feed does not have all of them.

        A subscriber can be ahead of the feed, if it has read from the log or has been connected to another process.
        """
        if self._seq is None or not self._seq - len(self._rows) <= after + 1 <= self._seq:
            return None
        first = after + 1 - (self._seq - len(self._rows))
        return Page(list(islice(self._rows, first, first + limit)), self._seq, self._is_over)

    async def _follow(self) -> None:
        with self._log.listen(self._turn) as written:
            while not self._is_over:
                written.clear()
                try:
                    is_behind = await self._advance()
                except ToolparityError:  # subscribers then read from the log, and get the error
                    self._seq = None
                    self._wake()
                    is_behind = False
                if not is_behind:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(written.wait(), self._poll)

    async def _advance(self) -> bool:
        """Read the next page. Return whether more may follow at once."""
        if self._seq is None:  # earlier events are read from the log by the subscribers that need them
            self._rows.clear()
            self._characters = 0
            page = await self._log.events(self._turn, limit=0)
            self._seq = page.seq
        else:
            page = await self._log.events(self._turn, self._seq - 1)
            self._add(page.events)
        self._is_over = page.over and self._seq == page.seq
        if page.events or self._is_over:
            self._wake()
        return bool(page.events)

    def _add(self, rows: list[EventRow]) -> None:
        for row in rows:
            self._rows.append(row)
            self._seq = row.seq + 1
            self._characters += len(row.data)
        while len(self._rows) > _ROWS or self._characters > _CHARACTERS:
            self._characters -= len(self._rows.popleft().data)

    def _wake(self) -> None:
        for subscriber in self.subscribers:
            subscriber.set()
