"""A turn left by a crash is read, resumed, or closed: no call runs twice, and none lacks a result."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import URL

from tests.support.thoroughness import is_thorough
from tests.turns.log.shared import Clock, Dies, Killed, assert_replays, killed, recorded, rows, stored_whole, turn
from tests.turns.playing import Counting, Emulated, Say, call, script
from toolparity.turns.errors import InvalidState, UnknownTurn
from toolparity.turns.events import ResultNeeded, TurnFailed, TurnStarted
from toolparity.turns.execution.tool import Tool
from toolparity.turns.log import Log
from toolparity.turns.machine.calls import CANCELLED_ELSEWHERE, CANCELLED_RUNNING, UNKNOWN_OUTCOME
from toolparity.turns.turn import Turn

pytestmark = pytest.mark.thorough(keep=1)


@pytest.mark.parametrize("policy", ["first", "all", "batch"])
async def test_a_turn_interrupted_at_any_step_resumes_and_runs_no_call_twice(
    log: Log, clock: Clock, policy: str
) -> None:
    steps, counting = 1, Counting()  # before the first step the log is empty
    while (id := await killed(log, steps, policy=policy, counting=counting)) is not None:
        await assert_replays(log, id)
        clock.now += 61
        before = await log.turn(id)
        async with log.take(id) as recorder:
            await turn(recorder, counting=counting).run()
        kept = await stored_whole(log, id, "natural_completion")
        assert kept.blocks[-1].text_content == "All done."
        assert all(counting.names.count(name) <= 1 for name in ("look", "count", "post"))
        [resumed] = (await log.events(id, before.seq - 1, limit=1)).events
        assert resumed.event == TurnStarted(before.seq, id, kept.wire, policy, True)
        await assert_replays(log, id)
        steps, counting = steps + (1 if is_thorough() else 6), Counting()
    assert steps > 25


async def test_a_turn_interrupted_at_any_step_can_be_closed(log: Log, clock: Clock) -> None:
    steps = 1
    while (id := await killed(log, steps)) is not None:
        clock.now += 61
        state = await log.close(id, "the server was restarted")
        kept = await stored_whole(log, id, "cancelled")
        assert kept.state == state
        page = await log.events(id)
        assert page.over
        assert isinstance(page.events[-1].event, TurnFailed)
        assert await log.close(id) == state  # closing again changes nothing
        assert (await log.turn(id)).seq == kept.seq
        await assert_replays(log, id)
        steps += 1 if is_thorough() else 4
    assert await log.left() == []


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
async def test_a_call_with_an_unknown_outcome_is_rerun_only_if_its_tool_is_idempotent(
    log: Log, idempotent: bool
) -> None:
    options: Any = {"tools": {"post": {"idempotent": idempotent}}}
    id = await kill_during_the_call(log, **options)
    counting = Counting()
    async with log.take(id, force=True) as recorder:
        await turn(recorder, ONE_CALL, counting=counting, **options).run()
    kept = await stored_whole(log, id)
    [ended] = [(c.status, c.outcome, c.attempts) for c in kept.calls]
    [result] = [b.content for b in kept.blocks if b.block_type == "tool_result"]
    assert counting.names == ["post"] * idempotent
    assert ended == (("done", "returned", 2) if idempotent else ("abandoned", "unknown_outcome", 1))
    assert result["is_error"] is not idempotent
    assert (UNKNOWN_OUTCOME in str(result["content"])) is not idempotent


async def test_closing_a_turn_reports_a_call_awaiting_its_rerun_as_cancelled_while_running(log: Log) -> None:
    """The turn was killed while the call ran, killed again before its rerun, and closed."""
    options: Any = {"tools": {"post": {"idempotent": True}}}
    id = await kill_during_the_call(log, **options)
    killer = Dies(log, 1)
    await killer.recorder.claim(id, force=True)
    with pytest.raises(Killed):
        await turn(killer.recorder, ONE_CALL, observers=[killer], **options).run()
    assert [c.status for c in (await log.turn(id)).calls] == ["approved"]
    await log.close(id, force=True)
    kept = await stored_whole(log, id)
    assert [(c.outcome, c.attempts) for c in kept.calls] == [("cancelled", 1)]
    assert kept.blocks[-1].content["content"] == CANCELLED_RUNNING


@pytest.mark.parametrize("policy", ["all", "batch"])
async def test_decisions_and_results_can_be_supplied_in_other_processes(url: URL, policy: str) -> None:
    played = script([call("look"), call("mail", n=1), call("count"), call("post"), call("mail", n=2)], [Say("Done.")])
    counting = Counting()

    def running(recorder: Any) -> Turn:
        tools = counting.tools(post={"approval": True}, look={"approval": True})
        options: Any = {"policy": policy, "tools": [*tools.values(), Tool(name="mail")], "state": recorder.state}
        return Turn(Emulated("xai.grpc", played), observers=[recorder], **options)

    with Log(url) as log:
        async with log.record() as recorder:
            await running(recorder).run("Go.")
    id, supplied = recorder.turn or "", []
    for _ in range(4):
        with Log(url) as log:  # like another process
            assert (await log.left(), await log.turns("waiting")) == ([], [id])
            assert not (await log.turn(id)).held
            async with log.take(id) as recorder:
                later = running(recorder)
                waiting = later.outcome.waiting[0]
                [status] = [c.status for c in (await log.turn(id)).calls if c.call_id == waiting.id]
                supplied.append((waiting.name, status))
                if waiting.wants == "result":
                    later.answer(waiting.id, f"{waiting.arguments} is out")
                else:
                    later.decide(waiting.id, waiting.name == "post")
                await later.run()
    with Log(url) as log:
        kept = await stored_whole(log, id, "natural_completion")
        events = [row.event for row in (await log.events(id)).events]
    mail, approved = ("mail", "waiting_result"), "waiting_approval"
    assert sorted(supplied) == sorted([("look", approved), mail, ("post", approved), mail])
    assert [(c.name, c.status, c.outcome, c.attempts) for c in kept.calls] == [
        ("look", "denied", "denied", 0),
        ("mail", "done", "returned", 1),
        ("count", "done", "returned", 1),
        ("post", "done", "returned", 1),
        ("mail", "done", "returned", 1),
    ]
    assert sorted(counting.names) == ["count", "post"]
    assert sum(isinstance(event, ResultNeeded) for event in events) == 2


async def test_a_turn_waiting_for_a_result_can_be_closed(log: Log) -> None:
    async with log.record() as recorder:
        await Turn(Emulated("openai.responses", ONE_CALL), [Tool(name="post")], observers=[recorder]).run("Go.")
    [id] = await log.turns("waiting")
    await log.close(id, "no result came")
    kept = await stored_whole(log, id)
    assert kept.blocks[-1].content["content"] == CANCELLED_ELSEWHERE
    assert [(c.status, c.outcome) for c in kept.calls] == [("abandoned", "cancelled")]


async def test_resuming_a_finished_turn_does_not_change_it(log: Log) -> None:
    before = (await recorded(log)).state
    async with log.take(before.id) as recorder:
        await turn(recorder).run()
    assert (await log.turn(before.id)).state == before


async def test_a_turn_without_a_stored_state_can_be_closed_but_not_resumed(log: Log) -> None:
    """A runner that writes events one by one can crash after the first."""
    async with log.record() as recorder:
        await recorder.event(TurnStarted(0, "turn", "openai.chat", "all"))
    assert await log.left() == ["turn"]
    with pytest.raises(UnknownTurn, match="close it"):
        await log.take("turn").__aenter__()
    with pytest.raises(InvalidState, match="has no steps of this turn"):
        await log.recording("turn")
    for _ in range(2):
        assert await log.close("turn") is None
        kept = await log.turn("turn")
        assert (kept.status, kept.termination, kept.seq, kept.state) == ("over", "cancelled", 2, None)
    assert await log.left() == []


async def test_a_state_of_a_later_version_is_rejected_and_not_modified(log: Log, url: URL) -> None:
    id = (await recorded(log)).state.id
    rows(url, 'UPDATE states SET change = \'{"": {"version": 99}}\'')
    for attempt in (log.take(id).__aenter__(), log.close(id), log.turn(id)):
        with pytest.raises(InvalidState, match="99"):
            await attempt
    assert rows(url, "SELECT owner FROM turns") == [(None,)]
    assert (await log.events(id)).over  # its events can still be read
