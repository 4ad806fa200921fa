"""A turn left by a crash is resumed by one runner, or closed, and replayed: no call runs twice or lacks a result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import URL

from tests.support.thoroughness import is_thorough
from tests.turns.log.shared import (
    BEGAN,
    Clock,
    Dies,
    Killed,
    assert_replays,
    killed,
    recorded,
    rows,
    stored_whole,
    turn,
)
from tests.turns.playing import Counting, Emulated, Say, call, script
from toolparity import Choice, Response, Stop, ToolCall
from toolparity.normalizer.conversation import Request, TextPart, ToolResult, User
from toolparity.turns import sse
from toolparity.turns.errors import InvalidState, TurnHeld, UnknownTurn
from toolparity.turns.events import TurnBlockDelta, TurnFailed, TurnStarted
from toolparity.turns.execution.tool import Tool
from toolparity.turns.log import Log, LogObserver
from toolparity.turns.machine.calls import CANCELLED_ELSEWHERE, CANCELLED_RUNNING, UNKNOWN_OUTCOME
from toolparity.turns.machine.effects import Emit, Save
from toolparity.turns.machine.inputs import (
    AnswerReceived,
    Begin,
    BlockExtended,
    BlockStarted,
    CallSettled,
    CallStarting,
    Input,
)
from toolparity.turns.machine.state import TurnState
from toolparity.turns.machine.table import step
from toolparity.turns.orchestration import replay
from toolparity.turns.turn import Turn

pytestmark = pytest.mark.thorough(keep=1)

ONE_CALL = script([call("post", text="hello")], [Say("Done.")])
WAITS = script([call("look", city="Ulm"), call("post", text="hello"), call("mail")], [Say("Done.")])


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


async def test_a_turn_waiting_for_a_result_can_be_closed(log: Log) -> None:
    async with log.record() as recorder:
        await Turn(Emulated("openai.responses", ONE_CALL), [Tool(name="post")], observers=[recorder]).run("Go.")
    [id] = await log.turns("waiting")
    await log.close(id, "no result came")
    kept = await stored_whole(log, id)
    assert kept.blocks[-1].content["content"] == CANCELLED_ELSEWHERE
    assert [(c.status, c.outcome) for c in kept.calls] == [("abandoned", "cancelled")]


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


async def test_a_running_turn_cannot_be_taken_closed_or_deleted(log: Log) -> None:
    async with log.record() as recorder:
        async for _ in turn(recorder, ONE_CALL).stream("Go."):
            id = recorder.turn or ""
            kept = await log.turn(id)
            assert kept.held == (kept.status != "over")
            for attempt in (log.take(id).__aenter__(), log.close(id), log.forget(id)) if kept.held else ():
                with pytest.raises(TurnHeld, match="runner holds turn"):
                    await attempt
            assert await log.left() == []
    assert not (await log.turn(id)).held


@pytest.mark.thorough(keep=2)
async def test_a_crashed_turn_can_be_taken_after_its_lease_expires_or_by_force(log: Log, clock: Clock) -> None:
    forced, id = await killed(log, 5) or "", await killed(log, 5) or ""
    async with log.take(forced, force=True) as recorder:
        assert (await turn(recorder).run()).termination == "natural_completion"
    clock.now += 59
    assert await log.left() == []
    with pytest.raises(TurnHeld, match="its lease ends in 1 s"):
        await log.take(id).__aenter__()
    clock.now += 2
    assert await log.left() == [id]
    async with log.take(id) as recorder:
        assert await log.left() == []
        kept = await log.turn(id)
        assert recorder.state == replace(kept.state, seq=kept.seq)  # type: ignore[type-var]
    async with log.take(id):
        pass


@pytest.mark.thorough(keep=2)
async def test_every_write_renews_the_lease(log: Log, clock: Clock) -> None:
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        for seq in range(1, 5):
            clock.now += 59
            with pytest.raises(TurnHeld):
                await log.take("turn").__aenter__()
            await recorder.event(TurnBlockDelta(seq, 1, 0, "words"))


@pytest.mark.thorough(keep=2)
async def test_the_lease_is_renewed_while_nothing_is_written(url: URL, clock: Clock) -> None:
    with Log(url, clock=clock, lease=0.03) as log:
        async with log.record() as recorder:
            await recorder.event(BEGAN)
            clock.now += 1000  # the turn writes nothing more, so an unrenewed lease would have expired
            while not (await log.turn("turn")).held:
                await asyncio.sleep(0.001)


@pytest.mark.thorough(keep=2)
async def test_only_one_of_many_concurrent_takers_gets_a_turn(url: URL, clock: Clock) -> None:
    with Log(url, clock=clock) as first, Log(url, clock=clock) as second:  # like two processes
        id = await killed(first, 5) or ""
        clock.now += 61
        entered = asyncio.Event()
        ran: list[str] = []

        async def take(log: Log) -> None:
            async with log.take(id) as recorder:
                ran.append(recorder.turn or "")
                await entered.wait()

        tasks = [asyncio.create_task(take(log)) for log in (first, second) * 5]
        while sum(task.done() for task in tasks) < 9:
            await asyncio.sleep(0.001)
        assert {type(task.exception()) for task in tasks if task.done()} == {TurnHeld}
        entered.set()
        await asyncio.wait(tasks)
        assert ran == [id]


@pytest.mark.thorough(keep=2)
async def test_a_runner_that_lost_its_lease_writes_nothing_and_starts_no_call(log: Log, clock: Clock) -> None:
    """The process was suspended until its lease expired and another one took the turn."""
    counting = Counting()

    async def run_and_lose_the_lease(slow: LogObserver) -> None:
        async for event in turn(slow, ONE_CALL, counting=counting).stream("Go."):
            if event.seq == 1:
                clock.now += 61
                async with log.take(slow.turn or "") as quick:
                    await turn(quick, ONE_CALL, counting=counting).run()

    async with log.record() as slow:
        with pytest.raises(TurnHeld, match="took over"):
            await run_and_lose_the_lease(slow)
    await stored_whole(log, slow.turn, "natural_completion")
    assert counting.names == ["post"]


@pytest.mark.thorough(keep=2)
async def test_a_runner_that_lost_its_lease_does_not_release_the_new_one(log: Log, url: URL) -> None:
    async with log.record() as slow:
        await slow.event(BEGAN)
        rows(url, "UPDATE turns SET owner = 'another'")
    assert rows(url, "SELECT owner FROM turns") == [("another",)]


@pytest.mark.thorough(keep=2)
async def test_the_id_of_an_unknown_or_deleted_turn_raises_unknown_turn(log: Log) -> None:
    async with log.record() as recorder:
        await recorder.event(BEGAN)
    await log.forget("turn")
    for id in ("none", "turn"):
        streams = (anext(sse.events(log, id)), sse.over(log, id), log.take(id).__aenter__())
        for attempt in (*streams, log.close(id), log.forget(id), log.turn(id), log.events(id), log.recording(id)):
            with pytest.raises(UnknownTurn, match=f"'{id}'"):
                await attempt


@pytest.mark.thorough(keep=2)
async def test_leases_use_the_clock_of_the_database(url: URL) -> None:
    with Log(url) as log:
        async with log.record() as recorder:
            await recorder.event(BEGAN)
            kept = await log.turn("turn")
            assert kept.held
            assert kept.created <= kept.updated
    now = "extract(epoch FROM clock_timestamp())" if url.get_backend_name() == "postgresql" else "unixepoch()"
    [(age,)] = rows(url, f"SELECT {now} - created FROM turns")
    assert -1 <= age < 3600


async def test_a_turn_that_waited_and_changed_provider_is_one_recording(log: Log) -> None:
    def continued(recorder: Any, wire: str) -> Turn:
        tools = [*Counting().tools(look={"approval": True}).values(), Tool(name="mail")]
        return Turn(Emulated(wire, WAITS), tools, observers=[recorder], state=recorder.state)

    async with log.record() as recorder:
        outcome = await continued(recorder, "openai.chat").run("Go.")
    id = outcome.state.id
    look, mail = (waiting.id for waiting in outcome.waiting)
    assert (await log.left(), await log.turns("waiting"), (await log.turn(id)).held) == ([], [id], False)
    calls = [(call_row.name, call_row.status) for call_row in (await log.turn(id)).calls]
    assert calls == [("look", "waiting_approval"), ("post", "done"), ("mail", "waiting_result")]
    async with log.take(id) as recorder:
        await continued(recorder, "openai.chat").run()
    async with log.take(id) as recorder:
        running = continued(recorder, "xai.grpc")
        running.answer(mail, "mailed")
        assert [waiting.wants for waiting in (await running.run()).waiting] == ["decision"]
    await assert_replays(log, id)
    async with log.take(id) as recorder:
        running = continued(recorder, "anthropic.messages")
        running.decide(look, True)
        assert (await running.run()).text == "Done."
    kept = await stored_whole(log, id, "natural_completion")
    done = [(name, "done", "returned", 1) for name in ("look", "post", "mail")]
    assert [(c.name, c.status, c.outcome, c.attempts) for c in kept.calls] == done
    events = (await assert_replays(log, id)).events
    wires = [event.wire for event in events if isinstance(event, TurnStarted)]
    assert wires == ["openai.chat", "openai.chat", "xai.grpc", "anthropic.messages"]


LAST = "WHERE number = (SELECT max(number) FROM states)"
LIMITED = '{"/settings/max_rounds"\\:7}'


@pytest.mark.thorough(keep=1, per="{path}")
@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("begins", f"INSERT INTO states SELECT turn_id, number + 1, seq, '{LIMITED}' FROM states {LAST}"),
        ("state", f"UPDATE states SET change = '{LIMITED}' {LAST}"),
    ],
)
async def test_a_replay_reports_a_modified_state(log: Log, url: URL, statement: str, path: str) -> None:
    """The turn is resumed from a state that it had not reached."""
    id = await killed(log, 12) or ""
    rows(url, statement)
    async with log.take(id, force=True) as recorder:
        assert recorder.state is not None
        assert recorder.state.settings.max_rounds == 7
        await turn(recorder).run()
    difference = replay(await log.recording(id)).difference
    assert difference is not None
    assert difference.path in (path, f"{path}.settings.max_rounds")


async def test_a_step_without_events_is_stored_before_the_next_step_with_events(log: Log) -> None:
    """A denied call has a starting input all the same, and the next event is a block."""
    request = Request("openai.chat", "m", [User([TextPart("Go.")])], provider="openai")
    state = TurnState("turn", "openai.chat", request)
    called = ToolCall("c0", "look", {}, "{}", "complete")
    response = Response("openai.chat", "openai", "r", "m", [Choice(0, [called], Stop("tool_calls"))])
    inputs: list[Input] = [
        Begin(),
        AnswerReceived(response),
        CallStarting("c0"),
        CallSettled("c0", ToolResult("c0", [TextPart("fine")]), "returned"),
        CallSettled("c0", ToolResult("c0", [TextPart("again")]), "returned"),
        CallStarting("c0"),
        BlockStarted(0, "text"),
        BlockExtended(0, "Done."),
    ]
    async with log.record() as recorder:
        for input in inputs:
            state, effects = step(state, input)
            await recorder.input(input)
            events = [effect.event for effect in effects if isinstance(effect, Emit)]
            await recorder.record(events, next((e.state for e in effects if isinstance(e, Save)), None))
    await assert_replays(log, "turn")


async def test_an_incomplete_recording_is_an_error(log: Log, url: URL) -> None:
    id = (await recorded(log)).state.id
    rows(url, "DELETE FROM steps WHERE number = 2")
    with pytest.raises(InvalidState, match=r"the log lacks the step of event \d+, calls_known"):
        await log.recording(id)
