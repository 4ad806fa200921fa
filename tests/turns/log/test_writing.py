"""The order of writes: before a consumer sees an event, before a call runs; and each write is all or nothing."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from sqlalchemy import URL, event
from sqlalchemy.exc import OperationalError

from tests.turns.log.shared import BEGAN, Clock, recorded, rows, turn
from tests.turns.playing import Counting, Say, call, script
from toolparity.normalizer.errors import MalformedBody
from toolparity.turns.errors import InvalidState, LogFailed, TurnHeld
from toolparity.turns.events import TurnBlock, TurnBlockDelta, TurnBlockStop, TurnStarted
from toolparity.turns.log import Log
from toolparity.turns.log.recorder import LogObserver
from toolparity.turns.observer import Observer, Step

pytestmark = pytest.mark.thorough(keep=1)

ONE_CALL = script([call("look")], [Say("Done.")])


def began(id: str) -> TurnStarted:
    return replace(BEGAN, turn=id)


async def test_every_event_is_in_the_log_before_the_consumer_receives_it(log: Log, url: URL) -> None:
    """004, Complete Tool Call Cycle, 2. Executor Persists Tool Request: stored before a consumer sees the end.

    The stored state is never ahead of the stored events, and a call is stored as started before its tool runs.
    """
    seen, blocks, started = 0, 0, []

    def look(**arguments: Any) -> str:
        stored = "SELECT status, attempts, type FROM calls, events WHERE name = 'look' AND type = 'call_started'"
        started.extend(rows(url, f"{stored} AND data LIKE :named", named='%"look"%'))
        return "seen"

    async with log.record() as recorder:
        async for event in turn(recorder, counting=Counting(look=look)).stream("Go."):
            id = recorder.turn or ""
            assert (await log.events(id, event.seq - 1)).events[0].event == event
            seen += 1
            kept = await log.turn(id)
            if isinstance(event, TurnBlockStop):
                assert event.block in kept.blocks
                blocks += 1
            assert kept.state is not None
            assert kept.state.seq <= kept.seq
            calls = [called for round in kept.state.rounds for called in round.calls]
            results = [b.content["tool_use_id"] for b in kept.blocks if b.block_type == "tool_result"]
            assert sorted(results) == sorted(called.id for called in calls if called.settled)
            assert [(c.call_id, c.status) for c in kept.calls] == [(called.id, called.status) for called in calls]
    assert seen == (await log.events(id)).seq
    assert blocks == 8  # Anthropic returns no thinking unless the request enables it
    assert started == [("started", 1, "call_started")]


async def test_a_write_with_an_invalid_event_stores_nothing(log: Log) -> None:
    """An event that cannot be encoded, or one with a wrong number."""
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        unencodable = TurnBlockStop(2, 1, TurnBlock(0, "text", "words", object()))
        with pytest.raises(MalformedBody):
            await recorder.record([TurnBlockDelta(1, 1, 0, "words"), unencodable], None)
    async with log.record() as recorder:
        await recorder.event(began("other"))
        with pytest.raises(InvalidState, match="the next event must be number 1, got 2"):
            await recorder.event(TurnBlockDelta(2, 1, 0, "words"))
    async with log.record() as recorder:
        with pytest.raises(InvalidState, match="must be turn_started"):
            await recorder.event(TurnBlockDelta(0, 1, 0, "words"))
    for id in ("turn", "other"):
        assert [row.type for row in (await log.events(id)).events] == ["turn_started"]
        assert (await log.turn(id)).blocks == []


async def test_a_turn_that_cannot_be_written_does_not_affect_concurrent_turns(log: Log) -> None:
    async def write_turn(id: str) -> None:
        async with log.record() as recorder:
            await recorder.event(began(id))

    await write_turn("there")
    wanted = [f"turn {number}" for number in range(20)]
    outcomes = await asyncio.gather(*map(write_turn, [*wanted[:10], "there", *wanted[10:]]), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes if outcome is not None] == [TurnHeld]
    assert sorted(await log.turns()) == sorted([*wanted, "there"])


async def test_after_a_failed_write_the_turn_writes_no_later_events(log: Log) -> None:
    """The database failed once, and the runner of the turn did not stop."""
    broken = [1]

    def fail_once(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        if statement.startswith("INSERT INTO events") and broken:
            broken.pop()
            raise OperationalError(statement, {}, Exception("the disk is full"))

    async with log.record() as recorder:
        await recorder.event(BEGAN)
        event.listen(log._database.engine, "before_cursor_execute", fail_once)
        with pytest.raises(LogFailed, match="the disk is full"):
            await recorder.event(TurnBlockDelta(1, 1, 0, "lost"))
        with pytest.raises(InvalidState, match="the next event must be number 1, got 2"):
            await recorder.event(TurnBlockDelta(2, 1, 0, "words"))
    assert [row.type for row in (await log.events("turn")).events] == ["turn_started"]


async def test_a_task_cancelled_at_any_time_leaves_a_consistent_log(log: Log) -> None:
    """The task is cancelled after various numbers of event loop steps, also during a write."""
    for steps in range(0, 60, 4):
        async with log.record() as recorder:
            running = asyncio.create_task(turn(recorder, ONE_CALL).run("Go."))
            for _ in range(steps):
                await asyncio.sleep(0.002 if steps % 8 else 0)
            running.cancel()
            await asyncio.wait([running])
        if recorder.turn is not None:
            await _assert_over(log, recorder.turn)


async def _assert_over(log: Log, id: str) -> None:
    page = await log.events(id)
    assert [row.seq for row in page.events] == list(range(page.seq))
    assert page.over
    assert page.events[-1].type in ("turn_failed", "turn_complete")
    state = (await log.turn(id)).state
    assert state is None or state.phase == "over"


@pytest.mark.thorough(keep=2)
async def test_forgetting_a_turn_deletes_all_its_rows(log: Log, url: URL) -> None:
    first, second = (await recorded(log)).state.id, (await recorded(log)).state.id
    await log.forget(first)
    assert await log.turns() == [second]
    for table in ("events", "turn_blocks", "calls", "states"):
        assert rows(url, f"SELECT DISTINCT turn_id FROM {table}") == [(second,)], table


@pytest.mark.thorough(keep=1, per="{table}")
@pytest.mark.parametrize("table", ["calls", "steps", "turn_blocks"])
async def test_a_write_that_fails_stops_the_turn_before_any_tool_runs(log: Log, url: URL, table: str) -> None:
    """Neither the error nor its traceback contains the data to be written."""
    secret, counting = "".join(reversed("2retnuh")), Counting()
    rows(url, f"ALTER TABLE {table} RENAME TO gone")
    with pytest.raises(LogFailed) as failed:
        await recorded(log, script([Say(secret), call("look")], [Say("Done.")]), counting=counting)
    assert secret not in "".join(traceback.format_exception(failed.value))
    assert counting.ran == []
    if table == "steps":
        assert rows(url, "SELECT count(*) FROM events") == rows(url, "SELECT count(*) FROM states") == [(0,)]


async def test_steps_share_transactions_and_only_blocks_of_an_unfinished_answer_skip_the_disk_sync(
    log: Log, url: URL
) -> None:
    """These may be lost if the machine fails, because the request is then repeated; nothing else may.

    Four others: the turn begins; an answer ends and its calls start; the call ends and the next round begins; the end.
    """
    recorded: list[set[str]] = []

    class Recording(Observer):
        async def record_steps(self, steps: Sequence[Step]) -> None:
            recorded.append({str(event.__struct_config__.tag) for step in steps for event in step.events})

    modes: list[str] = []
    statements: list[str] = []
    engine = log._database.engine
    async with log.record() as recorder:
        running = turn(recorder, ONE_CALL, observers=[recorder, Recording()])
        event.listen(engine, "begin", lambda connection: modes.append(connection.get_execution_options()["turn_log"]))
        event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        await running.run("Go.")
        volatile = {"block_start", "block_delta", "block_reset", "block_stop"}
        assert modes == ["soft" if types <= volatile else "write" for types in recorded]
        soft = modes.count("soft")
        assert (soft > 3, modes.count("write")) == (True, 4)
        is_sqlite = url.get_backend_name() == "sqlite"
        skips = "PRAGMA synchronous = NORMAL" if is_sqlite else "SET LOCAL synchronous_commit TO OFF"
        assert statements.count(skips) == (2 if is_sqlite else soft)  # SQLite keeps the mode between transactions
        modes.clear()
        statements.clear()
        await recorder.save(running.state)
        assert modes == ["write"]
        assert [statement for statement in statements if "synchronous" in statement] == []


async def test_writing_to_a_closed_log_raises_log_failed(tmp_path: Path) -> None:
    log = Log(tmp_path / "turns.db", clock=Clock())
    log.dispose()
    with pytest.raises(LogFailed, match="closed"):
        await recorded(log)


async def test_the_writes_of_many_turns_share_their_statements(
    log: Log, url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 turns that write at the same time need one call of the writer, one update and one insert.

    One that lost its lease stops no other.
    """
    recorders = [LogObserver(log._database, log._notifier.notify, 60) for _ in range(50)]
    for number, recorder in enumerate(recorders):
        await recorder.event(began(f"turn {number}"))
    statements: list[str] = []
    engine, writer = log._database.engine, log._database._writer
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2].split()[0]))
    submit = Mock(side_effect=writer.submit)
    monkeypatch.setattr(writer, "submit", submit)
    for seq, errors in ((1, []), (2, [TurnHeld])):
        busy = threading.Event()  # until it is set, other writes queue up
        held = asyncio.create_task(log._database.write(lambda batch, busy=busy: busy.wait(20)))  # type: ignore[misc]
        await asyncio.sleep(0.05)
        submit.reset_mock()
        tasks = [asyncio.create_task(recorder.event(TurnBlockDelta(seq, 0, 1, "word"))) for recorder in recorders]
        await asyncio.sleep(0)
        busy.set()
        outcomes = await asyncio.gather(held, *tasks, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] == errors
        assert submit.call_count <= 1  # zero if the writer was still running
        if seq == 1:
            assert statements.count("UPDATE") == statements.count("INSERT") == 1
        recorders[1]._owner = "a runner that lost its lease"
    missing = "SELECT id FROM turns WHERE NOT EXISTS (SELECT 1 FROM events WHERE turn_id = id AND seq = 2)"
    assert rows(url, missing) == [("turn 1",)]
