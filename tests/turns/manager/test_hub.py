"""One reader of the log for all subscribers of a turn."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from tests.turns.log.shared import BEGAN, recorded
from toolparity.turns import sse
from toolparity.turns.errors import LogFailed, UnknownTurn
from toolparity.turns.events import TurnBlockDelta, TurnComplete
from toolparity.turns.log import Log, LogObserver, Page
from toolparity.turns.manager import hub as hubs
from toolparity.turns.manager.hub import Hub

pytestmark = [pytest.mark.service("turns/manager", "turns/log"), pytest.mark.thorough(keep=1)]

WRITES = 20


class CountingLog:
    """A log that counts the reads of events, and fails on demand."""

    def __init__(self, log: Log) -> None:
        self.reads = 0
        self.fails = False
        self._log = log
        self.listen = log.listen

    async def events(self, turn: str, after: int = -1, *, limit: int = 500) -> Page:
        self.reads += 1
        if self.fails:
            raise LogFailed("the database has not answered")
        return await self._log.events(turn, after, limit=limit)


def hub_of(log: Any, poll: float = 3600.0) -> Hub:
    return Hub(log, poll=poll)


async def write(recorder: LogObserver, count: int) -> None:
    """Write so many deltas and the end of the turn."""
    for seq in range(1, count):
        await recorder.event(TurnBlockDelta(seq, 1, 0, str(seq)))
        await asyncio.sleep(0.005)
    await recorder.event(TurnComplete(count, "natural_completion", "Done."))


async def follow(hub: Hub, last_event_id: int | None = None) -> list[bytes]:
    return [piece async for piece in sse.events(hub, "turn", last_event_id, poll=3600.0, retry=None)]


def numbers(pieces: list[bytes]) -> list[int]:
    return [int(piece.split(b"\n")[0][4:]) for piece in pieces]


async def test_a_write_causes_one_read_for_all_subscribers(log: Log) -> None:
    counting = CountingLog(log)
    hub = hub_of(counting)
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        subscribers = [asyncio.create_task(follow(hub)) for _ in range(200)]
        await write(recorder, WRITES)
    for pieces in await asyncio.gather(*subscribers):
        assert numbers(pieces) == list(range(WRITES + 1))
    assert counting.reads < 4 * WRITES  # 200 subscribers would read at least 200 * WRITES times


async def test_a_subscriber_behind_the_feed_reads_on_from_the_log(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "_ROWS", 3)
    hub = hub_of(log)
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        async with aclosing(sse.events(hub, "turn", poll=3600.0, retry=None)) as slow:
            pieces = [await anext(slow)]
            fast = asyncio.create_task(follow(hub))
            await write(recorder, 30)
            assert numbers(await fast) == list(range(31))
            assert len(hub._feeds["turn"]._rows) == 3
            pieces += [piece async for piece in slow]
    assert numbers(pieces) == list(range(31))


async def test_a_subscriber_ahead_of_the_feed_gets_no_event_again(log: Log) -> None:
    """Another process wrote the events that the subscriber has seen, and the feed has not read them yet."""
    await recorded(log, id="turn")
    last = (await log.events("turn")).seq - 1
    hub = hub_of(log)
    with hub.listen("turn"):
        feed = hub._feeds["turn"]
        feed.task.cancel()
        feed._seq = 2  # as far as it has read
        assert await follow(hub, last) == []
        assert numbers(await follow(hub, last - 1)) == [last]


async def test_a_feed_ends_with_its_last_subscriber(log: Log) -> None:
    with pytest.raises(UnknownTurn):
        await follow(hub_of(log))
    await recorded(log, id="turn")
    hub = hub_of(log)
    await asyncio.gather(*(follow(hub) for _ in range(5)))
    assert (hub._feeds, hub._reads) == ({}, {})
    while any(task.get_name() == "feed of turn turn" for task in asyncio.all_tasks()):
        await asyncio.sleep(0.001)  # its task has been cancelled


async def test_subscribers_get_the_error_of_the_log_and_later_ones_continue(log: Log) -> None:
    counting = CountingLog(log)
    hub = hub_of(counting, 0.01)
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        with hub.listen("turn"):
            broken = asyncio.create_task(follow(hub, 0))
            await asyncio.sleep(0.05)
            counting.fails = True
            with pytest.raises(LogFailed):
                await broken
            counting.fails = False
            healed = asyncio.create_task(follow(hub, 0))
            await write(recorder, 1)
            assert numbers(await healed) == [1]
