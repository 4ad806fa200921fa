"""The log contains enough of a turn's steps to replay it: the same events, the same state."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import URL

from tests.turns.log.shared import assert_replays, killed, recorded, rows, turn
from tests.turns.playing import WIRES, Counting, Emulated, Say, call, script
from toolparity import Choice, Response, Stop, ToolCall
from toolparity.normalizer.conversation import Request, TextPart, ToolResult, User
from toolparity.turns.errors import InvalidState
from toolparity.turns.events import TurnStarted
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
from toolparity.turns.machine.state import TurnState
from toolparity.turns.machine.table import step
from toolparity.turns.narration.acknowledge import acknowledge
from toolparity.turns.orchestration import replay
from toolparity.turns.turn import Turn

pytestmark = pytest.mark.thorough(keep=1)

WAITS = script([call("look", city="Ulm"), call("post", text="hello"), call("mail")], [Say("Done.")])


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
@pytest.mark.parametrize("wire", WIRES)
async def test_replaying_a_logged_turn_yields_the_same_events(log: Log, wire: str, policy: str) -> None:
    recorded_turn = await recorded(log, wire=wire, policy=policy, acknowledge=acknowledge)
    assert (await assert_replays(log, recorded_turn.state.id)).state.text == "All done."


async def test_a_turn_that_waited_and_changed_provider_is_one_recording(log: Log) -> None:
    def continued(recorder: Any, wire: str) -> Turn:
        tools = [*Counting().tools(look={"approval": True}).values(), Tool(name="mail")]
        return Turn(Emulated(wire, WAITS), tools, observers=[recorder], state=recorder.state)

    async with log.record() as recorder:
        outcome = await continued(recorder, "openai.chat").run("Go.")
    id = outcome.state.id
    look, mail = (waiting.id for waiting in outcome.waiting)
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
    events = (await assert_replays(log, id)).events
    wires = [event.wire for event in events if isinstance(event, TurnStarted)]
    assert wires == ["openai.chat", "openai.chat", "xai.grpc", "anthropic.messages"]


async def test_unusual_tool_output_replays_unchanged(log: Log) -> None:
    unusual = "a\x00b\ud800c\U0001f600\u2028"

    def look(**_: Any) -> Any:
        current_call.get().progress({"at": complex(1, 2)})
        return {unusual: [unusual, 2**70, 1e16, -0.0, 0.1]}

    played = script([call("look"), call("count")], [Say("Done.")])
    recorded_turn = await recorded(log, played, counting=Counting(look=look, count=lambda **_: unusual))
    await assert_replays(log, recorded_turn.state.id)


async def test_a_replay_reports_the_path_of_a_modified_input(log: Log, url: URL) -> None:
    id = (await recorded(log)).state.id
    settled = "input LIKE '%look ran%' AND input LIKE '%call_settled%'"
    rows(url, f"UPDATE steps SET input = replace(input, 'look ran', 'look run') WHERE {settled}")
    difference = replay(await log.recording(id)).difference
    assert difference is not None
    assert (difference.path, difference.recorded, difference.replayed) == ("events[1].text", "look ran", "look run")


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
