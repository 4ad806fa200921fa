"""The order of writes: before a consumer sees an event, before a call runs; and each write is all or nothing."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Connection, event
from sqlalchemy.exc import OperationalError

from tests.turns.log.shared import Clock, recorded, rows, turn
from tests.turns.playing import Counting, Say, call, script
from tests.wires import WIRES
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.turns import events as told
from toolparity.normalizer.turns.errors import InvalidState, LogFailed, TurnHeld, UnknownTurn
from toolparity.normalizer.turns.events import TurnBlock, TurnBlockDelta, TurnBlockStop, TurnStarted
from toolparity.normalizer.turns.log import Log


def began(id: str = "turn") -> TurnStarted:
    return TurnStarted(0, id, "openai.chat", "all")


def test_every_event_stands_in_the_log_before_anybody_sees_it(log: Log) -> None:
    async def run() -> None:
        seen = 0
        async with log.record() as recorder:
            async for event in turn(recorder).stream("Go."):
                page = await log.events(recorder.turn or "", event.seq - 1)
                assert page.events[0].event == event
                seen += 1
        assert seen == (await log.events(recorder.turn or "")).seq

    asyncio.run(run())


def test_a_block_is_persisted_the_moment_it_stops(log: Log) -> None:
    """004, Complete Tool Call Cycle, 2. Executor Persists Tool Request: stored before a reader sees the end."""

    async def run() -> None:
        stopped = []
        async with log.record() as recorder:
            async for event in turn(recorder).stream("Go."):
                if isinstance(event, TurnBlockStop):
                    stopped.append(event.block)
                    assert event.block in (await log.turn(recorder.turn or "")).blocks
        assert len(stopped) == 8  # Anthropic shows no thinking unless it is asked to

    asyncio.run(run())


def test_a_tool_finds_its_own_call_in_the_log_as_started(log: Log, url: URL) -> None:
    found: list[Any] = []

    def look(**arguments: Any) -> str:
        found.extend(rows(url, "SELECT name, status, attempts FROM calls ORDER BY name"))
        found.extend(rows(url, "SELECT type FROM events WHERE type = 'call_started'"))
        return "seen"

    asyncio.run(recorded(log, script([call("look")], [Say("Done.")]), counting=Counting(look=look)))
    assert found == [("look", "started", 1), ("call_started",)]


def test_the_state_never_knows_of_events_that_the_log_does_not_hold(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            async for _ in turn(recorder).stream("Go."):
                kept = await log.turn(recorder.turn or "")
                assert kept.state is not None
                assert kept.state.seq <= kept.seq
                results = [b.content["tool_use_id"] for b in kept.blocks if b.block_type == "tool_result"]
                settled = [c.id for r in kept.state.rounds for c in r.calls if c.settled]
                assert sorted(results) == sorted(settled)
                assert [(c.call_id, c.status) for c in kept.calls] == [
                    (c.id, c.status) for r in kept.state.rounds for c in r.calls
                ]

    asyncio.run(run())


def test_what_goes_wrong_in_a_step_leaves_nothing_of_it(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began())
            bad = TurnBlockStop(2, 1, TurnBlock(0, "text", "words", object()))
            with pytest.raises(MalformedBody):
                await recorder.record([TurnBlockDelta(1, 1, 0, "words"), bad], None)
            page = await log.events("turn")
            assert [row.type for row in page.events] == ["turn_started"]
            assert (await log.turn("turn")).blocks == []

    asyncio.run(run())


def test_one_turn_that_cannot_be_written_does_not_spoil_the_others(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began("there"))
        made = []

        async def one(id: str) -> None:
            async with log.record() as recorder:
                await recorder.event(began(id))
                made.append(id)

        wanted = [f"turn {number}" for number in range(20)]
        outcomes = await asyncio.gather(*map(one, [*wanted[:10], "there", *wanted[10:]]), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes if outcome is not None] == [TurnHeld]
        assert sorted(made) == sorted(wanted)
        assert sorted(await log.turns()) == sorted([*wanted, "there"])

    asyncio.run(run())


def test_events_have_to_follow_each_other(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began())
            with pytest.raises(InvalidState, match="the next event must be number 1, got 2"):
                await recorder.event(TurnBlockDelta(2, 1, 0, "words"))
        async with log.record() as recorder:
            with pytest.raises(InvalidState, match="must be turn_started"):
                await recorder.event(TurnBlockDelta(0, 1, 0, "words"))
        assert (await log.events("turn")).seq == 1

    asyncio.run(run())


def test_after_a_step_that_could_not_be_written_none_is(log: Log) -> None:
    """The database failed once, and the driver of the turn did not stop."""
    broken = [1]

    def fails(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        if statement.startswith("INSERT INTO events") and broken:
            broken.pop()
            raise OperationalError(statement, {}, Exception("the disk is full"))

    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began())
            event.listen(log._database.engine, "before_cursor_execute", fails)
            with pytest.raises(LogFailed, match="the disk is full"):
                await recorder.event(TurnBlockDelta(1, 1, 0, "lost"))
            with pytest.raises(InvalidState, match="the next event must be number 1, got 2"):
                await recorder.event(TurnBlockDelta(2, 1, 0, "words"))
        assert [row.type for row in (await log.events("turn")).events] == ["turn_started"]

    asyncio.run(run())


def test_a_reader_that_goes_away_leaves_a_log_that_is_whole(log: Log) -> None:
    """Wherever the stream is left, and whatever is being written then."""

    async def run() -> None:
        played = script([call("look")], [Say("Done.")])
        length = (await log.events((await recorded(log, played)).state.id)).seq
        for end in range(length):
            async with log.record() as recorder:
                stream = turn(recorder, played).stream("Go.")
                async for event in stream:
                    if event.seq >= end:
                        break
                await stream.aclose()
            kept = await log.turn(recorder.turn or "")
            assert kept.status == "over", end
            assert kept.state is not None
            assert kept.state.phase == "over"
            page = await log.events(kept.id)
            assert [row.seq for row in page.events] == list(range(kept.seq))
            assert page.events[-1].type in ("turn_failed", "turn_complete")

    asyncio.run(run())


def test_a_task_that_is_cancelled_leaves_a_log_that_is_whole(log: Log) -> None:
    """After any number of steps of the event loop: in the midst of writing, too."""

    async def run(steps: int) -> bool:
        async with log.record() as recorder:
            running = asyncio.create_task(turn(recorder, script([call("look")], [Say("Done.")])).run("Go."))
            for _ in range(steps):
                await asyncio.sleep(0.002 if steps % 2 else 0)
            done = running.done()
            running.cancel()
            await asyncio.wait([running])
        if recorder.turn is not None:
            page = await log.events(recorder.turn)
            assert [row.seq for row in page.events] == list(range(page.seq))
            assert page.over == (page.events[-1].type in ("turn_failed", "turn_complete"))
            assert page.over
        return done

    for steps in range(0, 60, 4):
        asyncio.run(run(steps))


def test_turns_that_wait_for_a_decision_say_so(log: Log) -> None:
    async def run() -> None:
        options: Any = {"tools": {"post": {"approval": True}}}
        made = await recorded(log, script([call("post")], [Say("Done.")]), **options)
        kept = await log.turn(made.state.id)
        assert (kept.status, [c.status for c in kept.calls]) == ("waiting", ["waiting_approval"])
        assert await log.left() == []  # it waits for a decision
        async with log.take(made.state.id) as recorder:
            later = turn(recorder, script([call("post")], [Say("Done.")]), **options)
            later.decide(recorder.state.waiting[0].id, True)
        assert kept.held is False

    asyncio.run(run())


def test_many_turns_at_once_are_each_written_whole(log: Log) -> None:
    async def run() -> None:
        turns = await asyncio.gather(*(recorded(log) for _ in range(20)))
        assert len(await log.turns("over")) == 20
        for made in turns:
            kept = await log.turn(made.state.id)
            assert kept.state == made.state
            assert len(kept.blocks) == 8

    asyncio.run(run())


def test_a_turn_can_be_forgotten(log: Log, url: URL) -> None:
    async def run() -> None:
        one, other = await recorded(log), await recorded(log)
        await log.forget(one.state.id)
        assert await log.turns() == [other.state.id]
        with pytest.raises(UnknownTurn):
            await log.turn(one.state.id)
        with pytest.raises(UnknownTurn):
            await log.forget(one.state.id)
        for table in ("events", "turn_blocks", "calls", "states"):
            assert rows(url, f"SELECT DISTINCT turn_id FROM {table}") == [(other.state.id,)], table

    asyncio.run(run())


def test_the_same_turn_gives_the_same_rows_on_every_wire(log: Log, url: URL) -> None:
    async def run() -> list[Any]:
        found = []
        for wire in WIRES:
            made = await recorded(log, script([Say("Let me look."), call("look", city="Ulm")], [Say("Done.")]), wire)
            kept = await log.turn(made.state.id)
            without_ids = []
            for block in kept.blocks:
                content = {k: v for k, v in (block.content or {}).items() if k != "tool_use_id"} or None
                without_ids.append((block.sequence, block.block_type, block.text_content, content))
            found.append((without_ids, kept.termination, [(c.name, c.status, c.attempts) for c in kept.calls]))
        return found

    chat, *others = asyncio.run(run())
    assert others == [chat, chat, chat]
    assert [row[1] for row in chat[0]] == ["text", "tool_use", "tool_result", "text"]


def test_a_database_that_fails_stops_the_turn_before_anything_is_run(log: Log, url: URL) -> None:
    counting = Counting()

    async def run() -> None:
        rows(url, "DROP TABLE calls")
        with pytest.raises(LogFailed):
            await recorded(log, script([call("look")], [Say("Done.")]), counting=counting)

    asyncio.run(run())
    assert counting.ran == []


def test_what_was_to_be_written_is_not_told_by_what_goes_wrong(log: Log, url: URL) -> None:
    """Not in the traceback either."""
    secret = "".join(reversed("2retnuh"))

    async def run() -> None:
        rows(url, "DROP TABLE turn_blocks")
        with pytest.raises(LogFailed) as failed:
            await recorded(log, script([Say(secret)]))
        assert secret not in "".join(traceback.format_exception(failed.value))

    asyncio.run(run())


def test_only_words_on_their_way_do_not_wait_for_the_disk(log: Log) -> None:
    """They are void if the machine goes down, and the model is asked again; nothing else may be lost."""
    modes: list[str] = []
    light = (told.TurnBlockStart, told.TurnBlockDelta)

    def begins(connection: Connection) -> None:
        modes.append(connection.get_execution_options()["turn_log"])

    async def run() -> None:
        async with log.record() as recorder:
            running = turn(recorder, script([call("look")], [Say("Done.")]))
            event.listen(log._database.engine, "begin", begins)
            events = [event async for event in running.stream("Go.")]
            results = [
                e.sequence for e in events if isinstance(e, told.TurnBlockStart) and e.block_type == "tool_result"
            ]
            soft = [e for e in events if isinstance(e, light) and e.sequence not in results]
            assert modes.count("soft") == len(soft) > 3
            modes.clear()
            await recorder.save(running.state)
            assert modes == ["write"]

    asyncio.run(run())


def test_transactions_wait_for_the_disk_unless_they_may_be_lost(log: Log, url: URL) -> None:
    said: list[str] = []

    def listens(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        said.append(statement)

    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began())
            event.listen(log._database.engine, "before_cursor_execute", listens)
            await recorder.event(TurnBlockDelta(1, 1, 0, "words"))
            light = list(said)
            said.clear()
            await recorder.event(TurnBlockStop(2, 1, TurnBlock(0, "text", "words")))
        if url.get_backend_name() == "sqlite":
            assert light[0] == "PRAGMA synchronous = NORMAL"
            assert said[0] == "PRAGMA synchronous = FULL"
        else:
            assert light[0] == "SET LOCAL synchronous_commit TO OFF"
            assert not any("synchronous" in statement for statement in said)

    asyncio.run(run())


def test_a_closed_log_says_so(tmp_path: Path) -> None:
    log = Log(tmp_path / "turns.db", clock=Clock())
    log.dispose()
    with pytest.raises(LogFailed, match="closed"):
        asyncio.run(recorded(log))


def test_what_waits_to_be_written_is_one_call_of_the_writer_however_much_it_is(log: Log, url: URL) -> None:
    """Each call takes all that waits along: one for each write would be a pile of calls that find nothing."""
    database, busy = log._database, threading.Event()
    calls: list[Any] = []
    submit = database._writer.submit

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return submit(*arguments)

    def slow(connection: Connection) -> None:
        assert busy.wait(20)

    def insert(number: int) -> Callable[[Connection], None]:
        def write(connection: Connection) -> None:
            connection.execute(database.statements.event, {"turn_id": "turn", "seq": number, "type": "t", "data": "d"})

        return write

    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began())
        database._writer.submit = counted  # type: ignore[method-assign]
        writes = [asyncio.create_task(database.write(slow))]
        await asyncio.sleep(0)
        writes += [asyncio.create_task(database.write(insert(number))) for number in range(1, 1001)]
        await asyncio.sleep(0)
        busy.set()
        await asyncio.gather(*writes)
        assert len(calls) <= 1  # the writer may have been at it when the first one came
        await database.write(insert(1001))

    asyncio.run(run())
    assert rows(url, "SELECT count(*) FROM events") == [(1002,)]
