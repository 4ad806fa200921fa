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

from tests.support.wires import PLAYED_WIRES as WIRES
from tests.turns.log.shared import Clock, recorded, rows, turn
from tests.turns.playing import Counting, Say, call, script
from toolparity.normalizer.errors import MalformedBody
from toolparity.turns import events as turn_events
from toolparity.turns.errors import InvalidState, LogFailed, TurnHeld, UnknownTurn
from toolparity.turns.events import TurnBlock, TurnBlockDelta, TurnBlockStop, TurnStarted
from toolparity.turns.log import Log
from toolparity.turns.log.batch import Batch
from toolparity.turns.log.recorder import LogObserver


def began(id: str = "turn") -> TurnStarted:
    return TurnStarted(0, id, "openai.chat", "all")


@pytest.mark.thorough(keep=1)
def test_every_event_is_in_the_log_before_the_consumer_receives_it(log: Log) -> None:
    async def run() -> None:
        seen = 0
        async with log.record() as recorder:
            async for event in turn(recorder).stream("Go."):
                page = await log.events(recorder.turn or "", event.seq - 1)
                assert page.events[0].event == event
                seen += 1
        assert seen == (await log.events(recorder.turn or "")).seq

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_block_is_stored_before_the_consumer_receives_its_end(log: Log) -> None:
    """004, Complete Tool Call Cycle, 2. Executor Persists Tool Request: stored before a consumer sees the end."""

    async def run() -> None:
        stopped = []
        async with log.record() as recorder:
            async for event in turn(recorder).stream("Go."):
                if isinstance(event, TurnBlockStop):
                    stopped.append(event.block)
                    assert event.block in (await log.turn(recorder.turn or "")).blocks
        assert len(stopped) == 8  # Anthropic returns no thinking unless the request enables it

    asyncio.run(run())


def test_a_call_is_stored_as_started_before_its_tool_runs(log: Log, url: URL) -> None:
    stored: list[Any] = []

    def look(**arguments: Any) -> str:
        stored.extend(rows(url, "SELECT name, status, attempts FROM calls ORDER BY name"))
        stored.extend(rows(url, "SELECT type FROM events WHERE type = 'call_started'"))
        return "seen"

    asyncio.run(recorded(log, script([call("look")], [Say("Done.")]), counting=Counting(look=look)))
    assert stored == [("look", "started", 1), ("call_started",)]


@pytest.mark.thorough(keep=1)
def test_the_stored_state_never_runs_ahead_of_the_stored_events(log: Log) -> None:
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


@pytest.mark.thorough(keep=1)
def test_a_step_that_fails_to_encode_stores_nothing(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began())
            unencodable = TurnBlockStop(2, 1, TurnBlock(0, "text", "words", object()))
            with pytest.raises(MalformedBody):
                await recorder.record([TurnBlockDelta(1, 1, 0, "words"), unencodable], None)
            page = await log.events("turn")
            assert [row.type for row in page.events] == ["turn_started"]
            assert (await log.turn("turn")).blocks == []

    asyncio.run(run())


def test_a_turn_that_cannot_be_written_does_not_affect_concurrent_turns(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began("there"))
        written = []

        async def write_turn(id: str) -> None:
            async with log.record() as recorder:
                await recorder.event(began(id))
                written.append(id)

        wanted = [f"turn {number}" for number in range(20)]
        outcomes = await asyncio.gather(*map(write_turn, [*wanted[:10], "there", *wanted[10:]]), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes if outcome is not None] == [TurnHeld]
        assert sorted(written) == sorted(wanted)
        assert sorted(await log.turns()) == sorted([*wanted, "there"])

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_events_must_be_numbered_consecutively(log: Log) -> None:
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


def test_after_a_failed_write_the_turn_writes_no_later_events(log: Log) -> None:
    """The database failed once, and the runner of the turn did not stop."""
    broken = [1]

    def fail_once(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        if statement.startswith("INSERT INTO events") and broken:
            broken.pop()
            raise OperationalError(statement, {}, Exception("the disk is full"))

    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began())
            event.listen(log._database.engine, "before_cursor_execute", fail_once)
            with pytest.raises(LogFailed, match="the disk is full"):
                await recorder.event(TurnBlockDelta(1, 1, 0, "lost"))
            with pytest.raises(InvalidState, match="the next event must be number 1, got 2"):
                await recorder.event(TurnBlockDelta(2, 1, 0, "words"))
        assert [row.type for row in (await log.events("turn")).events] == ["turn_started"]

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_consumer_that_disconnects_at_any_event_leaves_a_consistent_log(log: Log) -> None:
    """The stream is closed after each event, while writes may be in progress."""

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


@pytest.mark.thorough(keep=1)
def test_a_task_cancelled_at_any_time_leaves_a_consistent_log(log: Log) -> None:
    """The task is cancelled after various numbers of event loop steps, also during a write."""

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


@pytest.mark.thorough(keep=1)
def test_a_turn_waiting_for_a_decision_has_the_status_waiting(log: Log) -> None:
    async def run() -> None:
        options: Any = {"tools": {"post": {"approval": True}}}
        recorded_turn = await recorded(log, script([call("post")], [Say("Done.")]), **options)
        kept = await log.turn(recorded_turn.state.id)
        assert (kept.status, [c.status for c in kept.calls]) == ("waiting", ["waiting_approval"])
        assert await log.left() == []  # it waits for a decision
        async with log.take(recorded_turn.state.id) as recorder:
            later = turn(recorder, script([call("post")], [Say("Done.")]), **options)
            later.decide(recorder.state.waiting[0].id, True)
        assert kept.held is False

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_concurrent_turns_are_each_stored_completely(log: Log) -> None:
    async def run() -> None:
        turns = await asyncio.gather(*(recorded(log) for _ in range(20)))
        assert len(await log.turns("over")) == 20
        for recorded_turn in turns:
            kept = await log.turn(recorded_turn.state.id)
            assert kept.state == recorded_turn.state
            assert len(kept.blocks) == 8

    asyncio.run(run())


def test_forgetting_a_turn_deletes_all_its_rows(log: Log, url: URL) -> None:
    async def run() -> None:
        first, second = await recorded(log), await recorded(log)
        await log.forget(first.state.id)
        assert await log.turns() == [second.state.id]
        with pytest.raises(UnknownTurn):
            await log.turn(first.state.id)
        with pytest.raises(UnknownTurn):
            await log.forget(first.state.id)
        for table in ("events", "turn_blocks", "calls", "states"):
            assert rows(url, f"SELECT DISTINCT turn_id FROM {table}") == [(second.state.id,)], table

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_the_same_turn_stores_the_same_rows_on_every_wire(log: Log, url: URL) -> None:
    async def run() -> list[Any]:
        results_by_wire = []
        for wire in WIRES:
            recorded_turn = await recorded(
                log, script([Say("Let me look."), call("look", city="Ulm")], [Say("Done.")]), wire
            )
            kept = await log.turn(recorded_turn.state.id)
            without_ids = []
            plan = wire == "cohere.chat"  # its first block
            for block in kept.blocks[plan:]:
                content = {k: v for k, v in (block.content or {}).items() if k != "tool_use_id"} or None
                without_ids.append((block.sequence - plan, block.block_type, block.text_content, content))
            results_by_wire.append(
                (without_ids, kept.termination, [(c.name, c.status, c.attempts) for c in kept.calls])
            )
        return results_by_wire

    chat, *others = asyncio.run(run())
    assert others == [chat] * (len(WIRES) - 1)
    assert [row[1] for row in chat[0]] == ["text", "tool_use", "tool_result", "text"]


@pytest.mark.thorough(keep=1)
def test_a_failing_database_stops_the_turn_before_any_tool_runs(log: Log, url: URL) -> None:
    counting = Counting()

    async def run() -> None:
        rows(url, "DROP TABLE calls")
        with pytest.raises(LogFailed):
            await recorded(log, script([call("look")], [Say("Done.")]), counting=counting)

    asyncio.run(run())
    assert counting.ran == []


def test_a_database_error_does_not_contain_the_data_to_be_written(log: Log, url: URL) -> None:
    """The traceback does not contain it either."""
    secret = "".join(reversed("2retnuh"))

    async def run() -> None:
        rows(url, "DROP TABLE turn_blocks")
        with pytest.raises(LogFailed) as failed:
            await recorded(log, script([Say(secret)]))
        assert secret not in "".join(traceback.format_exception(failed.value))

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_only_events_of_streamed_text_skip_the_disk_sync(log: Log) -> None:
    """Streamed text may be lost if the machine fails, because the request is then repeated; nothing else may."""
    modes: list[str] = []
    volatile = (turn_events.TurnBlockStart, turn_events.TurnBlockDelta)

    def record_mode(connection: Connection) -> None:
        modes.append(connection.get_execution_options()["turn_log"])

    async def run() -> None:
        async with log.record() as recorder:
            running = turn(recorder, script([call("look")], [Say("Done.")]))
            event.listen(log._database.engine, "begin", record_mode)
            events = [event async for event in running.stream("Go.")]
            results = [
                e.sequence
                for e in events
                if isinstance(e, turn_events.TurnBlockStart) and e.block_type == "tool_result"
            ]
            soft = [e for e in events if isinstance(e, volatile) and e.sequence not in results]
            assert modes.count("soft") == len(soft) > 3
            modes.clear()
            await recorder.save(running.state)
            assert modes == ["write"]

    asyncio.run(run())


def test_transactions_sync_to_disk_except_for_streamed_text(log: Log, url: URL) -> None:
    statements: list[str] = []

    def record_statement(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        statements.append(statement)

    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(began())
            event.listen(log._database.engine, "before_cursor_execute", record_statement)
            await recorder.event(TurnBlockDelta(1, 1, 0, "words"))
            volatile = list(statements)
            statements.clear()
            await recorder.event(TurnBlockStop(2, 1, TurnBlock(0, "text", "words")))
        if url.get_backend_name() == "sqlite":
            assert volatile[0] == "PRAGMA synchronous = NORMAL"
            assert statements[0] == "PRAGMA synchronous = FULL"
        else:
            assert volatile[0] == "SET LOCAL synchronous_commit TO OFF"
            assert not any("synchronous" in statement for statement in statements)

    asyncio.run(run())


def test_writing_to_a_closed_log_raises_log_failed(tmp_path: Path) -> None:
    log = Log(tmp_path / "turns.db", clock=Clock())
    log.dispose()
    with pytest.raises(LogFailed, match="closed"):
        asyncio.run(recorded(log))


def test_all_queued_writes_are_one_call_of_the_writer(log: Log, url: URL) -> None:
    """Each call of the writer executes all queued writes, so one call per write would be redundant."""
    database, busy = log._database, threading.Event()
    calls: list[Any] = []
    submit = database._writer.submit

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return submit(*arguments)

    def slow(batch: Batch) -> None:
        assert busy.wait(20)

    def insert(number: int) -> Callable[[Batch], None]:
        def write(batch: Batch) -> None:
            batch.add(database.statements.event, [{"turn_id": "turn", "seq": number, "type": "t", "data": "d"}])

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
        assert len(calls) <= 1  # zero if the writer was still running
        await database.write(insert(1001))

    asyncio.run(run())
    assert rows(url, "SELECT count(*) FROM events") == [(1002,)]


def test_the_writes_of_many_turns_share_their_statements(log: Log) -> None:
    """50 turns that write an event at the same time need one update and one insert, and those of the transaction."""
    statements: list[str] = []

    async def run() -> None:
        recorders = [LogObserver(log._database, log._notifier.notify, 60) for _ in range(50)]
        for number, recorder in enumerate(recorders):
            await recorder.event(began(f"turn {number}"))
        event.listen(
            log._database.engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2].split()[0])
        )
        await _at_once(log, [recorder.event(TurnBlockDelta(1, 0, 1, "word")) for recorder in recorders])

    asyncio.run(run())
    assert statements.count("UPDATE") == statements.count("INSERT") == 1


def test_a_turn_that_was_taken_over_does_not_stop_the_writes_of_others(log: Log, url: URL) -> None:
    async def run() -> None:
        recorders = [LogObserver(log._database, log._notifier.notify, 60) for _ in range(3)]
        for number, recorder in enumerate(recorders):
            await recorder.event(began(f"turn {number}"))
        recorders[1]._owner = "a runner that lost its lease"
        outcomes = await _at_once(log, [recorder.event(TurnBlockDelta(1, 0, 1, "word")) for recorder in recorders])
        assert [type(outcome) for outcome in outcomes] == [type(None), TurnHeld, type(None)]

    asyncio.run(run())
    written = rows(url, "SELECT turn_id FROM events WHERE seq = 1 ORDER BY turn_id")
    assert written == [("turn 0",), ("turn 2",)]


async def _at_once(log: Log, writes: list[Any]) -> list[Any]:
    """The outcomes of writes that wait for the writer together."""
    busy = threading.Event()

    def slow(batch: Batch) -> None:
        assert busy.wait(20)

    held = asyncio.create_task(log._database.write(slow))
    await asyncio.sleep(0.05)
    tasks = [asyncio.create_task(write) for write in writes]
    await asyncio.sleep(0)
    busy.set()
    await held
    return await asyncio.gather(*tasks, return_exceptions=True)
