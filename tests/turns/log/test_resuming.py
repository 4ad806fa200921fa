"""A turn left by a crash is read, resumed, or closed: no call runs twice, and none lacks a result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import URL

from tests.support.thoroughness import is_thorough
from tests.turns.log.shared import TWO_ROUNDS, Clock, Dies, Killed, assert_whole, killed, rows, turn
from tests.turns.playing import Counting, Emulated, Say, call, script
from toolparity.turns.errors import InvalidState, UnknownTurn
from toolparity.turns.events import ResultNeeded, TurnFailed, TurnStarted
from toolparity.turns.execution.tool import Tool
from toolparity.turns.log import Log
from toolparity.turns.machine.calls import CANCELLED_ELSEWHERE, CANCELLED_RUNNING, UNKNOWN_OUTCOME
from toolparity.turns.turn import Turn


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
def test_a_turn_interrupted_at_any_step_resumes_and_runs_no_call_twice(
    log: Log, url: URL, clock: Clock, policy: str
) -> None:
    every = 1 if is_thorough() else 6

    async def run() -> int:
        steps = 1  # before the first step the log is empty
        while True:
            counting = Counting()
            id = await killed(log, steps, policy=policy, counting=counting)
            if id is None:
                return steps
            clock.now += 61
            before = await log.turn(id)
            async with log.take(id) as recorder:
                await turn(recorder, counting=counting).run()
            kept = await log.turn(id)
            assert_whole(kept)
            assert kept.termination == "natural_completion"
            assert kept.blocks[-1].text_content == "All done."
            assert all(counting.names.count(name) <= 1 for name in ("look", "count", "post"))
            page = await log.events(id)
            assert [row.seq for row in page.events] == list(range(kept.seq))
            assert page.events[before.seq].event == TurnStarted(before.seq, id, kept.wire, policy, True)
            steps += every

    assert asyncio.run(run()) > 25


@pytest.mark.thorough(keep=1)
def test_a_turn_interrupted_at_any_step_can_be_closed(log: Log, clock: Clock) -> None:
    async def run() -> None:
        steps = 1
        while (id := await killed(log, steps)) is not None:
            clock.now += 61
            state = await log.close(id, "the server was restarted")
            kept = await log.turn(id)
            assert_whole(kept)
            assert kept.state == state
            assert kept.termination == "cancelled"
            page = await log.events(id)
            assert [row.seq for row in page.events] == list(range(kept.seq))
            assert page.over
            assert isinstance(page.events[-1].event, TurnFailed)
            assert await log.close(id) == state  # closing again changes nothing
            assert (await log.turn(id)).seq == kept.seq
            steps += 1 if is_thorough() else 4
        assert await log.left() == []

    asyncio.run(run())


ONE_CALL = script([call("post", text="hello")], [Say("Done.")])


async def kill_during_the_call(log: Log, **options: Any) -> str:
    """The id of a turn that was killed while its call ran."""
    for steps in range(100):
        id = await killed(log, steps, ONE_CALL, **options)
        if id is not None and [c.status for c in (await log.turn(id)).calls] == ["started"]:
            return id
    raise AssertionError("never")


@pytest.mark.thorough(keep=1, per="{idempotent}")
@pytest.mark.parametrize("idempotent", [False, True])
def test_a_call_with_an_unknown_outcome_is_rerun_only_if_its_tool_is_idempotent(
    log: Log, clock: Clock, idempotent: bool
) -> None:
    async def run() -> None:
        options: Any = {"tools": {"post": {"idempotent": idempotent}}}
        id = await kill_during_the_call(log, **options)
        clock.now += 61
        counting = Counting()
        async with log.take(id) as recorder:
            await turn(recorder, ONE_CALL, counting=counting, **options).run()
        kept = await log.turn(id)
        assert_whole(kept)
        [call_row] = kept.calls
        [result] = [b.content for b in kept.blocks if b.block_type == "tool_result"]
        if idempotent:
            assert (call_row.status, call_row.outcome, call_row.attempts, counting.names) == (
                "done",
                "returned",
                2,
                ["post"],
            )
        else:
            assert (call_row.status, call_row.outcome, call_row.attempts) == ("abandoned", "unknown_outcome", 1)
            assert counting.names == []
            assert result["is_error"]
            assert UNKNOWN_OUTCOME in str(result["content"])

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_closing_a_turn_reports_a_call_awaiting_its_rerun_as_cancelled_while_running(log: Log, clock: Clock) -> None:
    """The turn was killed while the call ran, killed again before its rerun, and closed."""

    async def run() -> None:
        options: Any = {"tools": {"post": {"idempotent": True}}}
        id = await kill_during_the_call(log, **options)
        killer = Dies(log, 1)
        await killer.recorder.claim(id, force=True)
        with pytest.raises(Killed):
            await turn(killer.recorder, ONE_CALL, observers=[killer], **options).run()
        assert [c.status for c in (await log.turn(id)).calls] == ["approved"]
        await log.close(id, force=True)
        kept = await log.turn(id)
        assert_whole(kept)
        assert [(c.outcome, c.attempts) for c in kept.calls] == [("cancelled", 1)]
        assert kept.blocks[-1].content["content"] == CANCELLED_RUNNING

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_decision_can_be_made_in_another_process(url: URL, clock: Clock) -> None:
    options: Any = {"tools": {"post": {"approval": True}, "look": {"approval": True}}}
    played = script([call("post"), call("look"), call("count")], [Say("Done.")])
    counting = Counting()

    async def run() -> None:
        with Log(url, clock=clock) as log:
            async with log.record() as recorder:
                first_turn = turn(recorder, played, counting=counting, **options)
                await first_turn.run("Go.")
        with Log(url, clock=clock) as log:
            [id] = await log.turns("waiting")
            assert counting.names == ["count"]
            for name, allowed in (("post", True), ("look", False)):
                async with log.take(id) as recorder:
                    assert recorder.state is not None
                    second_turn = turn(recorder, played, counting=counting, **options)
                    [waiting] = [c.id for c in recorder.state.waiting if c.name == name]
                    second_turn.decide(waiting, allowed)
                    await second_turn.run()
            kept = await log.turn(id)
            assert_whole(kept)
            assert [(c.name, c.status) for c in kept.calls] == [("post", "done"), ("look", "denied"), ("count", "done")]
            assert counting.names == ["count", "post"]

    asyncio.run(run())


@pytest.mark.thorough(keep=1, per="{policy}")
@pytest.mark.parametrize("policy", ["all", "batch"])
def test_an_external_result_can_be_supplied_in_another_process(url: URL, clock: Clock, policy: str) -> None:
    played = script([call("post", text="a"), call("count"), call("post", text="b")], [Say("Done.")])
    counting = Counting()

    def options() -> Any:
        counted = counting.tools()
        return {"policy": policy, "tools": [Tool(name="post"), counted["count"]]}

    async def run() -> None:
        with Log(url, clock=clock) as log:
            async with log.record() as recorder:
                await Turn(Emulated("xai.grpc", played), observers=[recorder], **options()).run("Go.")
        handed_over: list[str] = []
        while True:
            with Log(url, clock=clock) as log:  # like another process
                assert await log.left() == []  # it waits for a decision
                waiting = await log.turns("waiting")
                if not waiting:
                    break
                async with log.take(waiting[0]) as recorder:
                    kept = await log.turn(waiting[0])
                    running = Turn(
                        Emulated("xai.grpc", played), observers=[recorder], state=recorder.state, **options()
                    )
                    waiting_call = running.outcome.waiting[0]
                    assert {c.status for c in kept.calls if c.call_id == waiting_call.id} == {"waiting_result"}
                    handed_over.append(waiting_call.id)
                    running.answer(waiting_call.id, f"{waiting_call.arguments} is out")
                    await running.run()
        with Log(url, clock=clock) as log:
            [id] = await log.turns("over")
            kept = await log.turn(id)
            assert_whole(kept)
            assert [(c.name, c.status, c.outcome, c.attempts) for c in kept.calls] == [
                ("post", "done", "returned", 1),
                ("count", "done", "returned", 1),
                ("post", "done", "returned", 1),
            ]
            assert counting.names == ["count"]
            events = [row.event for row in (await log.events(id)).events]
            assert [event.call_id for event in events if isinstance(event, ResultNeeded)] == handed_over
            assert len(handed_over) == 2

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_turn_waiting_for_a_result_can_be_closed(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            provider = Emulated("openai.responses", ONE_CALL)
            await Turn(provider, [Tool(name="post")], observers=[recorder]).run("Go.")
        [id] = await log.turns("waiting")
        await log.close(id, "nobody came")
        kept = await log.turn(id)
        assert_whole(kept)
        assert kept.blocks[-1].content["content"] == CANCELLED_ELSEWHERE
        assert [(c.status, c.outcome) for c in kept.calls] == [("abandoned", "cancelled")]

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_waiting_batch_is_not_listed_as_interrupted(log: Log) -> None:
    """Even though later calls of the batch could run."""

    async def run() -> None:
        played = script([call("post"), call("look")], [Say("Done.")])
        async with log.record() as recorder:
            await turn(recorder, played, policy="batch", tools={"post": {"approval": True}}).run("Go.")
        assert await log.left() == []
        assert await log.turns("waiting") == [recorder.turn]

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_resuming_a_finished_turn_does_not_change_it(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            await turn(recorder, TWO_ROUNDS).run("Go.")
        id = recorder.turn or ""
        before = await log.turn(id)
        async with log.take(id) as recorder:
            await turn(recorder).run()
        assert (await log.turn(id)).state == before.state

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_turn_without_a_stored_state_can_be_closed_but_not_resumed(log: Log) -> None:
    """A runner that writes events one by one can crash after the first."""

    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(TurnStarted(0, "turn", "openai.chat", "all"))
        assert await log.left() == ["turn"]
        with pytest.raises(UnknownTurn, match="close it"):
            await log.take("turn").__aenter__()
        for _ in range(2):
            assert await log.close("turn") is None
            kept = await log.turn("turn")
            assert (kept.status, kept.termination, kept.seq, kept.state) == ("over", "cancelled", 2, None)
        assert await log.left() == []

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_state_of_a_later_version_is_rejected_and_not_modified(log: Log, url: URL) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            await turn(recorder).run("Go.")
        id = recorder.turn or ""
        rows(url, 'UPDATE states SET change = \'{"": {"version": 99}}\'')
        for attempt in (log.take(id).__aenter__(), log.close(id), log.turn(id)):
            with pytest.raises(InvalidState, match="99"):
                await attempt
        assert rows(url, "SELECT owner FROM turns") == [(None,)]
        assert (await log.events(id)).over  # its events can still be read

    asyncio.run(run())
