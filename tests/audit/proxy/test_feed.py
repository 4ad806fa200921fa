"""The events of the page: what is kept, resumed and forgotten."""

from __future__ import annotations

import asyncio

from toolparity.audit.proxy.feed import Feed
from toolparity.audit.proxy.judgement import Judgement


def _judgement(number: int) -> Judgement:
    return Judgement(number, 0.0, 0.0, "POST", "/", "complete")


async def _events(feed: Feed, seen: str | None, count: int) -> list[bytes]:
    events = feed.events(seen)
    return [await anext(events) for _ in range(count)]


def test_a_feed_resumes_after_the_last_event_forgets_the_oldest_and_restarts_for_another_run() -> None:
    feed = Feed(kept=3)
    for number in range(1, 6):
        feed(_judgement(number))
    reset, *events = asyncio.run(_events(feed, None, 4))
    assert reset == b"event: reset\ndata: {}\n\n"
    assert [b'"number":%d,' % number in event for number, event in zip((3, 4, 5), events, strict=True)] == [True] * 3
    id = events[1].split(b"\n")[0].removeprefix(b"id: ").decode()
    assert asyncio.run(_events(feed, id, 2)) == [b"", events[2]]
    assert asyncio.run(_events(feed, "00000000-1", 2)) == [reset, events[0]]
