"""The log contains enough of a turn's steps to replay it: the same events, the same state."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import URL

from tests.support.thoroughness import is_thorough
from tests.turns.log.shared import TWO_ROUNDS, Clock, killed, recorded, rows, turn
from tests.turns.orchestration.staging import LONG, Sequenced
from tests.turns.playing import WIRES, Counting, Emulated, Say, call, script
from toolparity import Choice, Response, Stop, ToolCall
from toolparity.normalizer.conversation import Request, TextPart, ToolResult, User
from toolparity.turns.errors import InvalidState, LogFailed, UnknownTurn
from toolparity.turns.events import TurnBlockDelta, TurnEvent, TurnStarted
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.typed.injection import current_call
from toolparity.turns.log import Log
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
from toolparity.turns.machine.state import TurnState, dump
from toolparity.turns.machine.table import step
from toolparity.turns.narration.acknowledge import acknowledge
from toolparity.turns.orchestration import Coordinator, Limits, replay
from toolparity.turns.orchestration.recording import Replayed
from toolparity.turns.turn import Turn

WAITS = script([call("look", city="Ulm"), call("post", text="hello"), call("mail")], [Say("Done.")])


async def logged_events(log: Log, id: str) -> list[TurnEvent]:
    """All events of a turn in the log."""
    page = await log.events(id, limit=100_000)
    return [row.event for row in page.events]


async def assert_replays(log: Log, id: str) -> Replayed:
    """A replay yields the same events and the last stored state."""
    replayed = replay(await log.recording(id))
    assert replayed.difference is None
    assert replayed.events == await logged_events(log, id)
    kept = await log.turn(id)
    if kept.status != "open":
        assert kept.state is not None
        assert dump(replayed.state) == dump(kept.state)
    return replayed


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
@pytest.mark.parametrize("wire", WIRES)
def test_replaying_a_logged_turn_yields_the_same_events(log: Log, wire: str, policy: str) -> None:
    async def run() -> None:
        recorded_turn = await recorded(log, wire=wire, policy=policy, acknowledge=acknowledge)
        replayed = await assert_replays(log, recorded_turn.state.id)
        assert replayed.state.text == "All done."

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_turn_interrupted_at_any_step_replays_before_and_after_it_is_continued(
    log: Log, url: URL, clock: Clock
) -> None:
    every = (2 if url.get_backend_name() == "sqlite" else 5) if is_thorough() else 8

    async def run() -> int:
        steps = 1
        while (id := await killed(log, steps)) is not None:
            await assert_replays(log, id)
            clock.now += 61
            if steps % 3:
                async with log.take(id) as recorder:
                    await turn(recorder).run()
            else:
                await log.close(id, "enough")
            replayed = await assert_replays(log, id)
            assert replayed.state.termination == ("natural_completion" if steps % 3 else "cancelled")
            steps += every
        return steps

    assert asyncio.run(run()) > 25


@pytest.mark.thorough(keep=1)
def test_a_turn_that_waited_and_changed_provider_is_one_recording(log: Log) -> None:
    """Four runners continue it one after the other."""
    options: Any = {"look": {"approval": True}}

    def make_tools() -> list[Tool]:
        counting = Counting()
        return [*(call for call in counting.tools(**options).values()), Tool(name="mail")]

    async def run() -> None:
        async with log.record() as recorder:
            outcome = await Turn(Emulated("openai.chat", WAITS), make_tools(), observers=[recorder]).run("Go.")
        id = outcome.state.id
        looks, mails = (waiting.id for waiting in outcome.waiting)
        async with log.take(id) as recorder:
            await Turn(Emulated("openai.chat", WAITS), make_tools(), observers=[recorder], state=recorder.state).run()
        async with log.take(id) as recorder:
            running = Turn(Emulated("xai.grpc", WAITS), make_tools(), observers=[recorder], state=recorder.state)
            running.answer(mails, "mailed")
            assert [call.wants for call in (await running.run()).waiting] == ["decision"]
        await assert_replays(log, id)
        async with log.take(id) as recorder:
            running = Turn(
                Emulated("anthropic.messages", WAITS), make_tools(), observers=[recorder], state=recorder.state
            )
            running.decide(looks, True)
            await running.run()
            assert running.outcome.text == "Done."
        replayed = await assert_replays(log, id)
        assert [event.wire for event in replayed.events if isinstance(event, TurnStarted)] == [
            "openai.chat",
            "openai.chat",
            "xai.grpc",
            "anthropic.messages",
        ]

    asyncio.run(run())


@pytest.mark.thorough(keep=1, per="{fails}")
@pytest.mark.parametrize("fails", [(1,), (0, 1, 2, 3)])
def test_an_orchestrated_turn_with_recoveries_replays(log: Log, fails: tuple[int, ...]) -> None:
    async def run() -> None:
        provider = Sequenced("openai.chat", LONG, fails={at: RuntimeError("gone") for at in fails}, after=2)
        async with log.record() as recorder:
            directed = Coordinator(provider, Counting().tools(), observers=[recorder], limits=Limits(calls=3))
            await directed.run("Go.")
        await assert_replays(log, directed.turn.state.id)

    asyncio.run(run())


STRANGE = "a\x00b\ud800c\U0001f600\u2028"


@pytest.mark.thorough(keep=1)
def test_unusual_tool_output_replays_unchanged(log: Log) -> None:
    def look(**_: Any) -> Any:
        current_call.get().progress({"at": complex(1, 2)})
        return {STRANGE: [STRANGE, 2**70, 1e16, -0.0, 0.1]}

    async def run() -> None:
        played = script([call("look"), call("count")], [Say("Done.")])
        counting = Counting(look=look, count=lambda **_: STRANGE)
        recorded_turn = await recorded(log, played, counting=counting)
        await assert_replays(log, recorded_turn.state.id)

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_replay_reports_the_path_of_a_modified_input(log: Log, url: URL) -> None:
    async def run() -> None:
        recorded_turn = await recorded(log)
        changed = "UPDATE steps SET input = replace(input, 'look ran', 'look run') WHERE number = :number"
        [(number,)] = rows(
            url, "SELECT number FROM steps WHERE input LIKE '%look ran%' AND input LIKE '%call_settled%'"
        )
        rows(url, changed, number=number)
        difference = replay(await log.recording(recorded_turn.state.id)).difference
        assert difference is not None
        assert (difference.path, difference.recorded, difference.replayed) == ("events[1].text", "look ran", "look run")

    asyncio.run(run())


LAST = "(SELECT max(number) FROM states)"
LIMITED = '{"/settings/max_rounds":7}'


@pytest.mark.thorough(keep=1, per="{statement}/{path}")
@pytest.mark.parametrize(
    ("statement", "path"),
    [
        (
            f"INSERT INTO states SELECT turn_id, number + 1, seq, '{LIMITED}' FROM states WHERE number = {LAST}",
            "begins",
        ),
        (f"UPDATE states SET change = '{LIMITED}' WHERE number = {LAST}", "state"),
    ],
)
def test_a_replay_reports_a_modified_state(log: Log, url: URL, statement: str, path: str) -> None:
    """The turn is resumed from a state that it had not reached."""

    async def run() -> None:
        id = await killed(log, 12)
        assert id is not None
        rows(url, statement.replace(":", "\\:"))
        async with log.take(id, force=True) as recorder:
            assert recorder.state is not None
            assert recorder.state.settings.max_rounds == 7
            await turn(recorder).run()
        difference = replay(await log.recording(id)).difference
        assert difference is not None
        assert difference.path in (path, f"{path}.settings.max_rounds")

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_the_text_of_an_answer_is_stored_only_in_its_events(log: Log, url: URL) -> None:
    """A step whose event contains the whole input has no row."""

    async def run() -> None:
        counts = []
        for words in ("Hi.", "Many words, in many pieces, one after the other, and then some more. " * 5):
            recorded_turn = await recorded(log, script([Say(words)]))
            replayed = await assert_replays(log, recorded_turn.state.id)
            pieces = sum(isinstance(event, TurnBlockDelta) for event in replayed.events)
            [(steps,)] = rows(url, "SELECT count(*) FROM steps WHERE turn_id = :id", id=recorded_turn.state.id)
            counts.append((pieces, steps))
        assert counts[0][0] < 3
        assert counts[1][0] > 20
        assert counts[0][1] == counts[1][1] == 2  # the inputs Begin and AnswerReceived

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_step_without_events_is_stored_before_the_next_step_with_events(log: Log) -> None:
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

    async def run() -> None:
        nonlocal state
        async with log.record() as recorder:
            for input in inputs:
                state, effects = step(state, input)
                await recorder.input(input)
                events = [effect.event for effect in effects if isinstance(effect, Emit)]
                await recorder.record(events, next((e.state for e in effects if isinstance(e, Save)), None))
        await assert_replays(log, "turn")

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_step_that_cannot_be_stored_is_not_executed(log: Log, url: URL) -> None:
    counting = Counting()

    async def run() -> None:
        rows(url, "ALTER TABLE steps RENAME TO gone")
        with pytest.raises(LogFailed):
            await recorded(log, TWO_ROUNDS, counting=counting)

    asyncio.run(run())
    assert counting.ran == []
    assert rows(url, "SELECT count(*) FROM events") == [(0,)]
    assert rows(url, "SELECT count(*) FROM states") == [(0,)]


@pytest.mark.thorough(keep=1)
def test_an_unknown_or_deleted_turn_and_one_without_steps_cannot_be_replayed(log: Log) -> None:
    async def run() -> None:
        with pytest.raises(UnknownTurn):
            await log.recording("nobody")
        async with log.record() as recorder:
            await recorder.event(TurnStarted(0, "by hand", "openai.chat", "all"))
        with pytest.raises(InvalidState, match="has no steps of this turn"):
            await log.recording("by hand")
        recorded_turn = await recorded(log)
        await log.forget(recorded_turn.state.id)
        with pytest.raises(UnknownTurn):
            await log.recording(recorded_turn.state.id)

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_recording_with_a_missing_step_is_rejected_with_the_number_of_its_event(log: Log, url: URL) -> None:
    async def run() -> None:
        recorded_turn = await recorded(log)
        rows(url, "DELETE FROM steps WHERE number = 2")
        with pytest.raises(InvalidState, match=r"the log lacks the step of event \d+, calls_known"):
            await log.recording(recorded_turn.state.id)

    asyncio.run(run())
