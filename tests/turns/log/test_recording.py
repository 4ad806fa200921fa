"""What the log holds of the steps of a turn is enough to run it again: the same events, the same state."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import URL

from tests.turns.log.shared import TWO_ROUNDS, Clock, killed, recorded, rows, turn
from tests.turns.orchestration.staging import LONG, Sequenced
from tests.turns.playing import WIRES, Counting, Emulated, Say, call, script
from toolparity import Choice, Response, Stop, ToolCall
from toolparity.normalizer.conversation import Request, TextPart, ToolResult, User
from toolparity.normalizer.turns.errors import InvalidState, LogFailed, UnknownTurn
from toolparity.normalizer.turns.events import TurnBlockDelta, TurnEvent, TurnStarted
from toolparity.normalizer.turns.execution.invoke import current_call
from toolparity.normalizer.turns.execution.tools import Tool
from toolparity.normalizer.turns.log import Log
from toolparity.normalizer.turns.machine.effects import Emit, Save
from toolparity.normalizer.turns.machine.inputs import (
    AnswerReceived,
    Begin,
    BlockExtended,
    BlockStarted,
    CallSettled,
    CallStarting,
    Input,
)
from toolparity.normalizer.turns.machine.state import TurnState, dump
from toolparity.normalizer.turns.machine.table import step
from toolparity.normalizer.turns.narration.acknowledge import acknowledge
from toolparity.normalizer.turns.orchestration import Coordinator, Limits, replay
from toolparity.normalizer.turns.orchestration.recording import Replayed
from toolparity.normalizer.turns.turn import Turn

WAITS = script([call("look", city="Ulm"), call("post", text="hello"), call("mail")], [Say("Done.")])


async def told(log: Log, id: str) -> list[TurnEvent]:
    """All events that the log holds of a turn."""
    page = await log.events(id, limit=100_000)
    return [row.event for row in page.events]


async def assert_replays(log: Log, id: str) -> Replayed:
    """A replay yields the same events and the last stored state."""
    again = replay(await log.recording(id))
    assert again.difference is None
    assert again.events == await told(log, id)
    kept = await log.turn(id)
    if kept.status != "open":
        assert kept.state is not None
        assert dump(again.state) == dump(kept.state)
    return again


@pytest.mark.thorough(keep=8)
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_in_the_log_is_run_again_and_tells_the_same(log: Log, wire: str, policy: str) -> None:
    async def run() -> None:
        made = await recorded(log, wire=wire, policy=policy, acknowledge=acknowledge)
        again = await assert_replays(log, made.state.id)
        assert again.state.text == "All done."

    asyncio.run(run())


def test_wherever_a_turn_ended_what_happened_is_there_before_and_after_it_is_gone_on_with(
    log: Log, url: URL, clock: Clock
) -> None:
    every = 2 if url.get_backend_name() == "sqlite" else 5

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
            again = await assert_replays(log, id)
            assert again.state.termination == ("natural_completion" if steps % 3 else "cancelled")
            steps += every
        return steps

    assert asyncio.run(run()) > 25


def test_a_turn_that_waited_for_others_and_went_on_with_another_provider_is_one_recording(log: Log) -> None:
    """Five programs have a part in it."""
    options: Any = {"look": {"approval": True}}

    def offered() -> list[Tool]:
        counting = Counting()
        return [*(one for one in counting.tools(**options).values()), Tool(name="mail")]

    async def run() -> None:
        async with log.record() as recorder:
            outcome = await Turn(Emulated("openai.chat", WAITS), offered(), observers=[recorder]).run("Go.")
        id = outcome.state.id
        looks, mails = (waiting.id for waiting in outcome.waiting)
        async with log.take(id) as recorder:
            await Turn(Emulated("openai.chat", WAITS), offered(), observers=[recorder], state=recorder.state).run()
        async with log.take(id) as recorder:
            running = Turn(Emulated("xai.grpc", WAITS), offered(), observers=[recorder], state=recorder.state)
            running.answer(mails, "mailed")
            assert [one.wants for one in (await running.run()).waiting] == ["decision"]
        await assert_replays(log, id)
        async with log.take(id) as recorder:
            running = Turn(Emulated("anthropic.messages", WAITS), offered(), observers=[recorder], state=recorder.state)
            running.decide(looks, True)
            await running.run()
            assert running.outcome.text == "Done."
        again = await assert_replays(log, id)
        assert [event.wire for event in again.events if isinstance(event, TurnStarted)] == [
            "openai.chat",
            "openai.chat",
            "xai.grpc",
            "anthropic.messages",
        ]

    asyncio.run(run())


@pytest.mark.parametrize("fails", [(1,), (0, 1, 2, 3)])
def test_a_directed_turn_is_run_again_with_what_it_was_told_instead(log: Log, fails: tuple[int, ...]) -> None:
    async def run() -> None:
        provider = Sequenced("openai.chat", LONG, fails={at: RuntimeError("gone") for at in fails}, after=2)
        async with log.record() as recorder:
            directed = Coordinator(provider, Counting().tools(), observers=[recorder], limits=Limits(calls=3))
            await directed.run("Go.")
        await assert_replays(log, directed.turn.state.id)

    asyncio.run(run())


STRANGE = "a\x00b\ud800c\U0001f600\u2028"


def test_whatever_a_tool_says_comes_back_as_it_was(log: Log) -> None:
    def look(**_: Any) -> Any:
        current_call.get().progress({"at": complex(1, 2)})
        return {STRANGE: [STRANGE, 2**70, 1e16, -0.0, 0.1]}

    async def run() -> None:
        played = script([call("look"), call("count")], [Say("Done.")])
        counting = Counting(look=look, count=lambda **_: STRANGE)
        made = await recorded(log, played, counting=counting)
        await assert_replays(log, made.state.id)

    asyncio.run(run())


def test_what_the_machine_was_told_otherwise_is_found_where_it_was(log: Log, url: URL) -> None:
    async def run() -> None:
        made = await recorded(log)
        changed = "UPDATE steps SET input = replace(input, 'look ran', 'look run') WHERE number = :number"
        [(number,)] = rows(
            url, "SELECT number FROM steps WHERE input LIKE '%look ran%' AND input LIKE '%call_settled%'"
        )
        rows(url, changed, number=number)
        difference = replay(await log.recording(made.state.id)).difference
        assert difference is not None
        assert (difference.path, difference.recorded, difference.replayed) == ("events[1].text", "look ran", "look run")

    asyncio.run(run())


LAST = "(SELECT max(number) FROM states)"
LIMITED = '{"/settings/max_rounds":7}'


@pytest.mark.parametrize(
    ("put", "place"),
    [
        (
            f"INSERT INTO states SELECT turn_id, number + 1, seq, '{LIMITED}' FROM states WHERE number = {LAST}",
            "begins",
        ),
        (f"UPDATE states SET change = '{LIMITED}' WHERE number = {LAST}", "state"),
    ],
)
def test_a_state_that_somebody_put_in_its_place_is_found(log: Log, url: URL, put: str, place: str) -> None:
    """The turn was resumed from it, but it is not the state that the turn had reached."""

    async def run() -> None:
        id = await killed(log, 12)
        assert id is not None
        rows(url, put.replace(":", "\\:"))
        async with log.take(id, force=True) as recorder:
            assert recorder.state is not None
            assert recorder.state.settings.max_rounds == 7
            await turn(recorder).run()
        difference = replay(await log.recording(id)).difference
        assert difference is not None
        assert difference.path in (place, f"{place}.settings.max_rounds")

    asyncio.run(run())


def test_the_pieces_of_an_answer_are_written_once(log: Log, url: URL) -> None:
    """A step whose event contains the whole input has no row."""

    async def run() -> None:
        counts = []
        for words in ("Hi.", "Many words, in many pieces, one after the other, and then some more. " * 5):
            made = await recorded(log, script([Say(words)]))
            again = await assert_replays(log, made.state.id)
            pieces = sum(isinstance(event, TurnBlockDelta) for event in again.events)
            [(steps,)] = rows(url, "SELECT count(*) FROM steps WHERE turn_id = :id", id=made.state.id)
            counts.append((pieces, steps))
        assert counts[0][0] < 3
        assert counts[1][0] > 20
        assert counts[0][1] == counts[1][1] == 2  # it began, and was answered

    asyncio.run(run())


def test_a_step_that_told_nothing_stands_before_one_that_its_event_tells(log: Log) -> None:
    """A denied call has a starting input all the same, and the next event is a block."""
    request = Request("openai.chat", "m", [User([TextPart("Go.")])], provider="openai")
    state = TurnState("turn", "openai.chat", request)
    called = ToolCall("c0", "look", {}, "{}", "complete")
    response = Response("openai.chat", "openai", "r", "m", [Choice(0, [called], Stop("tool_calls"))])
    happened: list[Input] = [
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
            for one in happened:
                state, effects = step(state, one)
                await recorder.input(one)
                events = [effect.event for effect in effects if isinstance(effect, Emit)]
                await recorder.record(events, next((e.state for e in effects if isinstance(e, Save)), None))
        await assert_replays(log, "turn")

    asyncio.run(run())


def test_a_step_that_cannot_be_written_is_not_done(log: Log, url: URL) -> None:
    counting = Counting()

    async def run() -> None:
        rows(url, "ALTER TABLE steps RENAME TO gone")
        with pytest.raises(LogFailed):
            await recorded(log, TWO_ROUNDS, counting=counting)

    asyncio.run(run())
    assert counting.ran == []
    assert rows(url, "SELECT count(*) FROM events") == [(0,)]
    assert rows(url, "SELECT count(*) FROM states") == [(0,)]


def test_what_is_not_there_cannot_be_run_again(log: Log) -> None:
    async def run() -> None:
        with pytest.raises(UnknownTurn):
            await log.recording("nobody")
        async with log.record() as recorder:
            await recorder.event(TurnStarted(0, "by hand", "openai.chat", "all"))
        with pytest.raises(InvalidState, match="has no steps of this turn"):
            await log.recording("by hand")
        made = await recorded(log)
        await log.forget(made.state.id)
        with pytest.raises(UnknownTurn):
            await log.recording(made.state.id)

    asyncio.run(run())


def test_events_whose_steps_are_gone_are_told_by_number(log: Log, url: URL) -> None:
    async def run() -> None:
        made = await recorded(log)
        rows(url, "DELETE FROM steps WHERE number = 2")
        with pytest.raises(InvalidState, match=r"the log lacks the step of event \d+, calls_known"):
            await log.recording(made.state.id)

    asyncio.run(run())
