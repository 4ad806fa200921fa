"""Server-sent events from the log: sent as they are written, resumed after a dropped connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import msgspec
import pytest
from sqlalchemy import URL

from tests.turns.log.shared import BEGAN, killed, recorded, turn
from tests.turns.playing import Counting, Say, call, script
from toolparity.normalizer import json_codec
from toolparity.turns import events as turn_events
from toolparity.turns import sse
from toolparity.turns.events import TurnBlockDelta, TurnEvent
from toolparity.turns.log import EventRow, Log, Page

pytestmark = pytest.mark.thorough(keep=1)

ONE_CALL = script([Say("Let me look."), call("look")], [Say("Done.")])


class Client:
    """Parses a stream like a browser: fields by line, an event at a blank line."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, str, dict[str, Any]]] = []
        self.comments = 0
        self.retry: int | None = None

    @property
    def types(self) -> list[str]:
        return [type for _, type, _ in self.seen]

    @property
    def ids(self) -> list[int]:
        return [id for id, _, _ in self.seen]

    def take(self, piece: bytes) -> None:
        assert piece.endswith(b"\n\n")
        for event in piece.decode().split("\n\n")[:-1]:
            fields = dict(line.split(":", 1) for line in event.split("\n"))
            if "" in fields:
                self.comments += 1
            elif "retry" in fields:
                self.retry = int(fields["retry"])
            else:
                data = msgspec.json.decode(fields["data"])
                self.seen.append((int(fields["id"]), fields["event"].strip(), data))

    async def read(self, pieces: AsyncIterator[bytes], most: int | None = None) -> None:
        """Take the pieces, at most a number of them."""
        async for piece in pieces:
            if most == 0:
                break
            self.take(piece)
            most = None if most is None else most - 1
        await pieces.aclose()  # type: ignore[attr-defined]


async def follow(log: Log, id: str, last_event_id: str | int | None = None, **options: Any) -> Client:
    """A client that has read a turn to its end."""
    client = Client()
    await client.read(sse.events(log, id, last_event_id, **options))
    return client


async def all_ids(log: Log, id: str) -> list[int]:
    return list(range((await log.events(id)).seq))


async def test_document_004_complete_tool_call_cycle(log: Log) -> None:
    """004, Complete Tool Call Cycle, 5. Executor Continues LLM Stream: the client's side of the diagram."""
    id = (await recorded(log, script([call("look", city="Ulm")], [Say("Done.")]))).state.id
    client = await follow(log, id)
    shown = [(type, data.get("block", data).get("block_type")) for _, type, data in client.seen]
    blocks = ("tool_use", "tool_result", "text")
    ends = [(end, block) for block in blocks for end in ("block_start", "block_stop")]
    wanted = [*ends, ("turn_complete", None)]
    assert [event for event in shown if event[0] in dict(wanted)] == wanted
    deltas = [(data["sequence"], data["text"]) for _, type, data in client.seen if type == "block_delta"]
    texts = ["".join(text for sequence, text in deltas if sequence == number) for number in range(3)]
    assert texts == ['{"city":"Ulm"}', "look ran", "Done."]


async def test_the_stream_of_a_turn_is_its_events(log: Log) -> None:
    id = (await recorded(log)).state.id
    client = await follow(log, id)
    page = await log.events(id)
    assert [msgspec.convert(data, TurnEvent) for _, _, data in client.seen] == [row.event for row in page.events]
    assert (client.ids, client.retry) == (list(range(page.seq)), 1000)
    streamed = [piece async for piece in sse.events(log, id, retry=None)]
    assert streamed == [sse.encode(row.event) for row in page.events]
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        assert not await sse.over(log, "turn", "0")


async def test_a_client_resumes_after_a_drop_at_any_event(log: Log) -> None:
    """After the last one it learns that the turn is over. An unknown id restarts from the first event."""
    id = (await recorded(log, ONE_CALL)).state.id
    ids = await all_ids(log, id)
    for seen in ids:
        assert (await follow(log, id, str(seen))).ids == ids[seen + 1 :]
        assert await sse.over(log, id, str(seen)) == (seen == ids[-1])
    assert not await sse.over(log, id, None)
    for unknown in (None, "", "-5", "seven", "1e3", "99999999999999999999", "12345", "٣"):
        assert (await follow(log, id, unknown)).ids == ids, unknown


def test_text_with_line_ends_and_lone_surrogates_is_one_sse_event() -> None:
    event = TurnBlockDelta(7, 1, 0, "a\nb\r\n\r\ndata: c\u2028\ud83d\n\nid: 9")
    encoded = sse.encode(event)
    assert (encoded.count(b"\n\n"), encoded.count(b"\r")) == (1, 0)
    head, name, data, *rest = encoded.split(b"\n")
    assert (head, name, rest) == (b"id: 7", b"event: block_delta", [b"", b""])
    assert json_codec.decode(data.removeprefix(b"data:"))["text"] == event.text


async def test_a_client_follows_a_turn_while_it_runs(log: Log) -> None:
    """The tool ends only after the client has received the start of its call."""
    client, may_end = Client(), asyncio.Event()

    async def look(**arguments: Any) -> str:
        await may_end.wait()
        return "seen"

    async with log.record() as recorder:
        running = asyncio.create_task(turn(recorder, ONE_CALL, counting=Counting(look=look), id="turn").run("Go."))
        while "turn" not in await log.turns():
            await asyncio.sleep(0)
        async for piece in sse.events(log, "turn", poll=3600.0, heartbeat=3600.0):  # no polling
            client.take(piece)
            if client.types[-1:] == ["call_started"]:
                assert not running.done()
                may_end.set()
        await running
    assert client.types[-1] == "turn_complete"
    assert client.ids == await all_ids(log, "turn")


class LogWithLateWrite:
    """A log in which an event is written just after a read."""

    def __init__(self) -> None:
        self.written = asyncio.Event()
        self.rows = [EventRow(0, "turn_started", "{}")]

    async def events(self, turn: str, after: int = -1, *, limit: int = 500) -> Page:
        seen = self.rows[after + 1 :][:limit]
        if limit and not seen:
            self.rows.append(EventRow(1, "turn_complete", "{}"))
            self.written.set()
        return Page(seen, len(self.rows), after == 1)

    def listen(self, turn: str) -> Any:
        return nullcontext(self.written)


async def test_an_event_written_just_after_a_read_wakes_the_stream() -> None:
    client = Client()
    await client.read(sse.events(LogWithLateWrite(), "turn", poll=3600.0, heartbeat=3600.0))
    assert client.types == ["turn_started", "turn_complete"]


@pytest.mark.thorough(keep=2)
async def test_a_client_follows_a_turn_that_another_process_runs(url: URL) -> None:
    client = Client()
    with Log(url) as running_log, Log(url) as reading_log:  # logs do not notify each other
        async with running_log.record() as recorder:
            await recorder.event(BEGAN)
            reading = asyncio.create_task(client.read(sse.events(reading_log, "turn", poll=0.01)))
            for seq in range(1, 6):
                await recorder.event(TurnBlockDelta(seq, 1, 0, str(seq)))
                while len(client.seen) <= seq:
                    await asyncio.sleep(0.001)
            await recorder.event(turn_events.TurnComplete(6, "natural_completion", "Done."))
            await reading
    assert client.ids == list(range(7))


async def test_comments_keep_an_idle_connection_open(log: Log) -> None:
    client = Client()
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        await client.read(sse.events(log, "turn", heartbeat=0.01, poll=3600.0), 5)
    assert (client.types, client.comments, client.retry) == (["turn_started"], 3, 1000)


async def test_a_client_following_a_crashed_turn_receives_its_closing_events(log: Log) -> None:
    """The client stays connected while another process closes the turn."""
    id = await killed(log, 8) or ""
    client = Client()
    reading = asyncio.create_task(client.read(sse.events(log, id)))
    while not client.seen:
        await asyncio.sleep(0.001)
    await log.close(id, force=True)
    await reading
    assert client.ids == await all_ids(log, id)
    assert client.types[-1] == "turn_failed"
