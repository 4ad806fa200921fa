"""A stream of server-sent events for a turn, read from its log: resumable, and live while the turn runs.

    headers = sse.HEADERS
    body = sse.events(log, turn, request.headers.get("last-event-id"))

    id: 7
    event: block_delta
    data: {"type":"block_delta","seq":7,"round":1,"sequence":0,"text":"Let me"}

Each event of the turn (`turns.events`) is one event of the stream: `id` is its number, `event` its type, and `data` the
event as JSON. A browser that reconnects sends the number of its last event and gets the events after it. None is lost
or repeated, because the log stores every event before the stream sends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Protocol

from toolparity.normalizer import json_codec

from .events import TurnEvent

if TYPE_CHECKING:
    from .log import Page

__all__ = ["HEADERS", "encode", "events", "frame", "over"]

#: Headers of the response. They disable caches, and buffering in proxies.
HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no"}
#: Seconds between comments that keep an idle connection open.
HEARTBEAT = 15.0
#: Seconds between reads of the log, which find events that other processes wrote.
POLL = 0.5
_COMMENT = b":\n\n"


class EventSource(Protocol):
    """The interface of a log that the stream needs. `log.Log` implements it."""

    async def events(self, turn: str, after: int = -1, *, limit: int = 500) -> Page:
        """Return up to ``limit`` events with numbers above ``after``."""

    def listen(self, turn: str) -> AbstractContextManager[asyncio.Event]:
        """Return a context manager whose asyncio event is set when an event of the turn is written."""


def encode(event: TurnEvent) -> bytes:
    """Return an event as bytes of the stream."""
    return frame(event.seq, str(event.__struct_config__.tag), json_codec.text(event))


def frame(seq: int, type: str, data: str) -> bytes:
    """Return the bytes of an event from its fields. ``data``: compact JSON without line breaks."""
    return f"id: {seq}\nevent: {type}\ndata: {data}\n\n".encode()


async def events(
    source: EventSource,
    turn: str,
    last_event_id: str | int | None = None,
    *,
    heartbeat: float = HEARTBEAT,
    poll: float = POLL,
    retry: int | None = 1000,
) -> AsyncIterator[bytes]:
    """Yield the stream after ``last_event_id`` (the unchanged header) until the turn is over.

    A slow client delays nothing else, because each client reads the log at its own pace. A client that reconnects
    after the end gets no events, and browsers reconnect forever. If `over` returns True, respond with 204 instead.
    ``heartbeat`` and ``poll``: seconds. ``retry``: milliseconds until a browser reconnects. Errors of the source
    (UnknownTurn) are raised before the first chunk.
    """
    loop = asyncio.get_running_loop()
    after = await _start(source, turn, last_event_id)
    if retry is not None:
        yield f"retry: {retry}\n\n".encode()
    with source.listen(turn) as written:
        quiet_since = loop.time()
        while True:
            written.clear()
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
                with suppress(TimeoutError):
                    await asyncio.wait_for(written.wait(), min(poll, left))


async def over(source: EventSource, turn: str, last_event_id: str | int | None = None) -> bool:
    """Return whether the turn is over and has no event after ``last_event_id``."""
    after = await _start(source, turn, last_event_id)
    page = await source.events(turn, after, limit=1)
    return page.over and not page.events


async def _start(source: EventSource, turn: str, last_event_id: str | int | None) -> int:
    """Return the number after which to start, -1 if the id is not the number of an event of this turn."""
    text = "" if last_event_id is None else str(last_event_id).strip()
    after = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    page = await source.events(turn, after, limit=0)
    return after if after < page.seq else -1
