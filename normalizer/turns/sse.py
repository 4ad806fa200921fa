"""A turn as server-sent events, from a log: from where a reader was, and on while the turn runs.

    headers = sse.HEADERS
    body = sse.events(log, turn, request.headers.get("last-event-id"))

    id: 7
    event: block_delta
    data: {"type":"block_delta","seq":7,"round":1,"sequence":0,"text":"Let me"}

Each event of the turn (`turns.events`) is one event of the stream: `id` is its number, `event` its type, `data` the
event as JSON. A browser that lost its connection comes back with the number of the last event that it saw, and gets
what follows it, nothing lost and nothing twice: the log held every event before anybody saw it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Protocol

from .. import json_codec
from .events import TurnEvent

#: Of the response: what is streamed is neither kept by caches nor held back by proxies.
HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no"}
#: Seconds between comments that keep a silent connection open.
HEARTBEAT = 15.0
#: Seconds after which the log is asked again, for what other processes wrote.
POLL = 0.5
_COMMENT = b":\n\n"


class Row(Protocol):
    """An event as a log keeps it. ``data``: its JSON."""

    @property
    def seq(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def data(self) -> str: ...


class Page(Protocol):
    """Some events in order. ``seq``: the number of the turn's next event; ``over``: it will never come."""

    @property
    def events(self) -> Sequence[Row]: ...
    @property
    def seq(self) -> int: ...
    @property
    def over(self) -> bool: ...


class Source(Protocol):
    """What a log has to offer: `log.Log` does."""

    async def events(self, turn: str, after: int = -1, *, limit: int = 500) -> Page:
        """The events behind number ``after``."""

    def listen(self, turn: str) -> AbstractContextManager[asyncio.Event]:
        """An event that is set when something of the turn was written."""


def encode(event: TurnEvent) -> bytes:
    """One event, as it stands in the stream."""
    return frame(event.seq, str(event.__struct_config__.tag), json_codec.text(event))


def frame(seq: int, type: str, data: str) -> bytes:
    """The same of its parts. ``data``: compact JSON, which holds no line end."""
    return f"id: {seq}\nevent: {type}\ndata: {data}\n\n".encode()


async def events(
    source: Source,
    turn: str,
    last_event_id: str | int | None = None,
    *,
    heartbeat: float = HEARTBEAT,
    poll: float = POLL,
    retry: int | None = 1000,
) -> AsyncIterator[bytes]:
    """The stream, from behind ``last_event_id`` (the header as it came) until the turn is over.

    A reader that is slow holds up nobody: it is given what the log holds when it asks. One that comes back after the
    end gets an empty stream, and a browser comes back for ever: `over` tells to answer 204 instead. ``heartbeat``,
    ``poll``: seconds; ``retry``: milliseconds until a browser comes back. Raises what the source raises (UnknownTurn)
    before the first piece.
    """
    loop = asyncio.get_running_loop()
    after = await _place(source, turn, last_event_id)
    if retry is not None:
        yield f"retry: {retry}\n\n".encode()
    with source.listen(turn) as bell:
        quiet_since = loop.time()
        while True:
            bell.clear()
            page = await source.events(turn, after)
            for row in page.events:
                yield frame(row.seq, row.type, row.data)
                after = row.seq
            if page.events:
                quiet_since = loop.time()
            elif page.over:
                return
            elif (left := quiet_since + heartbeat - loop.time()) <= 0:
                yield _COMMENT
                quiet_since = loop.time()
            else:
                await _rung(bell, min(poll, left))


async def over(source: Source, turn: str, last_event_id: str | int | None = None) -> bool:
    """Whether a reader that saw that event has seen the whole turn."""
    after = await _place(source, turn, last_event_id)
    page = await source.events(turn, after, limit=1)
    return page.over and not page.events


async def _place(source: Source, turn: str, last_event_id: str | int | None) -> int:
    """The number behind which to begin; from the beginning for an id that is no number of an event of this turn."""
    text = "" if last_event_id is None else str(last_event_id).strip()
    after = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    page = await source.events(turn, after, limit=0)
    return after if after < page.seq else -1


async def _rung(bell: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(bell.wait(), seconds)
