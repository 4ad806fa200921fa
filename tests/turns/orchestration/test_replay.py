"""The replay of a recording: the same events and states, and the path of the first difference."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.turns.playing import WIRES, Emulated, RecordingObserver, at_once, call, script
from toolparity.normalizer import json_codec
from toolparity.turns.errors import InvalidState
from toolparity.turns.machine.state import dump
from toolparity.turns.orchestration import Coordinator, Limits, record, replay
from toolparity.turns.turn import Turn

from .staging import LONG, Counting, Sequenced, directed, messages


def recorded(wire: str = "openai.chat", **more: Any) -> tuple[bytes, Coordinator, RecordingObserver, list[Any]]:
    file, observed = io.BytesIO(), RecordingObserver()
    recorder = record(file)
    provider = Sequenced(wire, LONG, **more)
    coordinator = Coordinator(provider, Counting().tools(), observers=[recorder, observed], limits=Limits(calls=3))
    events = directed(coordinator)
    recorder.close()
    return file.getvalue(), coordinator, observed, events


@pytest.mark.thorough(keep=2, per="{fails}")
@pytest.mark.parametrize("fails", [(), (0,), (1, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("wire", WIRES)
def test_replaying_a_recorded_turn_yields_the_same_events_phases_and_state(wire: str, fails: tuple[int, ...]) -> None:
    """003, Testing Approach: reasoning replay."""
    recording, coordinator, observed, events = recorded(wire, fails={at: RuntimeError("gone") for at in fails}, after=2)
    replayed = replay(recording)
    assert replayed.difference is None
    assert replayed.events == observed.events
    assert dump(replayed.state) == dump(coordinator.turn.state)
    assert [str(phase.__struct_config__.tag) for phase in replayed.phases] == [
        name for name in messages(events) if name != "recovery"
    ]


@pytest.mark.parametrize("limits", [Limits(calls=0), Limits(seconds=0), Limits(tokens=0), Limits(rounds=0)])
def test_a_turn_whose_limits_allow_no_calls_can_be_replayed(limits: Limits) -> None:
    file = io.BytesIO()
    recorder = record(file)
    coordinator = Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), observers=[recorder], limits=limits)
    directed(coordinator)
    recorder.close()
    replayed = replay(file.getvalue())
    assert replayed.difference is None
    assert dump(replayed.state) == dump(coordinator.turn.state)


def test_a_replay_reports_the_first_difference() -> None:
    recording, *_ = recorded()
    lines = [json_codec.decode(line) for line in recording.splitlines()]
    index = next(n for n, line in enumerate(lines) if n and line["input"]["type"] == "call_settled")
    lines[index]["input"]["result"]["parts"][0]["text"] = "something else"
    difference = replay(b"\n".join(map(json_codec.encode, lines))).difference
    assert difference is not None
    assert (difference.step, difference.path) == (index, "events[1].text")
    assert (difference.recorded, difference.replayed) == ("look ran", "something else")


def test_a_replay_reports_a_state_difference_that_no_event_shows() -> None:
    recording, *_ = recorded()
    lines = [json_codec.decode(line) for line in recording.splitlines()]
    lines[0]["begins"]["settings"]["loop_after"] = 2
    difference = replay(b"\n".join(map(json_codec.encode, lines))).difference
    assert difference is not None
    assert (difference.step, difference.path) == (1, "state")


def test_a_replay_reports_an_input_that_is_invalid_in_its_state() -> None:
    recording, *_ = recorded()
    head, first, *rest = recording.splitlines()
    difference = replay(b"\n".join([head, first, first, *rest])).difference
    assert difference is not None
    assert (difference.step, difference.path) == (2, "input")
    assert "already begun" in difference.replayed


def test_a_turn_without_a_coordinator_can_be_recorded_also_when_resumed() -> None:
    tools = Counting().tools(look={"approval": True})
    file = io.BytesIO()
    recorder = record(file)
    provider = Emulated("openai.chat", script([call("look", at=1)], [call("count", of="x")]))
    turn = Turn(provider, tools, observers=[recorder])
    at_once(turn.run("Go."))
    recorder.close()
    assert replay(file.getvalue()).difference is None
    state = turn.state
    more = io.BytesIO()
    recorder = record(more, state)
    later = Turn(provider, tools, state=state, observers=[recorder])
    later.decide(state.waiting[0].id, True)
    at_once(later.run())
    recorder.close()
    replayed = replay(more.getvalue())
    assert replayed.difference is None
    assert dump(replayed.state) == dump(later.state)
    with pytest.raises(InvalidState, match="recorded from its state"):
        at_once(Turn(provider, tools, state=state, observers=[record(io.BytesIO())]).run())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not JSON"),
        (b"{}", "version of a recording: None"),
        (b"[]", "not an object"),
        (b'{"version":9}', "version of a recording: 9"),
        (b'{"version":1,"begins":3}', "version of a turn state: None"),
    ],
)
def test_invalid_recordings_are_rejected(text: bytes, message: str) -> None:
    with pytest.raises(InvalidState, match=message):
        replay(text)
    recording, *_ = recorded()
    with pytest.raises(InvalidState, match="step 1 of the recording has no valid input"):
        replay(recording.splitlines()[0] + b'\n{"input":{"type":"nonsense"}}')
