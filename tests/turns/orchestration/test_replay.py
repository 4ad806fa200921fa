"""The replay of a recording: the same events and states, and the path of the first difference."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.turns.playing import WIRES, Emulated, RecordingObserver, at_once, call, script
from toolparity.normalizer import json_codec
from toolparity.turns.errors import InvalidState
from toolparity.turns.machine.state import dump
from toolparity.turns.orchestration import Limits, record, replay
from toolparity.turns.orchestration.recording import ReplayDifference
from toolparity.turns.turn import Turn

from .staging import Counting, Ran, names_of_notes


def recorded(limits: Limits | None = None, observers: Any = (), **options: Any) -> tuple[bytes, Ran]:
    file = io.BytesIO()
    recorder = record(file)
    ran = Ran(observers=[recorder, *observers], limits=limits or Limits(calls=3), **options)
    recorder.close()
    return file.getvalue(), ran


@pytest.mark.thorough(keep=2, per="{fails}")
@pytest.mark.parametrize("fails", [(), (0,), (1, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("wire", WIRES)
def test_replaying_a_recorded_turn_yields_the_same_events_phases_and_state(wire: str, fails: tuple[int, ...]) -> None:
    """003, Testing Approach: reasoning replay."""
    observed = RecordingObserver()
    recording, ran = recorded(observers=[observed], wire=wire, fails=fails, after=2)
    replayed = replay(recording)
    assert replayed.difference is None
    assert replayed.events == observed.events
    assert dump(replayed.state) == dump(ran.state)
    phases = [str(phase.__struct_config__.tag) for phase in replayed.phases]
    assert phases == [name for name in names_of_notes(ran.events) if name != "recovery"]


def test_a_turn_whose_limits_allow_no_calls_can_be_replayed() -> None:
    for limits in (Limits(calls=0), Limits(seconds=0), Limits(tokens=0), Limits(rounds=0)):
        recording, ran = recorded(limits)
        replayed = replay(recording)
        assert replayed.difference is None, limits
        assert dump(replayed.state) == dump(ran.state), limits


def difference_of(lines: list[Any]) -> ReplayDifference:
    difference = replay(b"\n".join(map(json_codec.encode, lines))).difference
    assert difference is not None
    return difference


def test_a_replay_reports_the_first_difference() -> None:
    """In an event, in a state that no event shows, or an input that is invalid in its state."""
    recording, _ = recorded()
    lines = [json_codec.decode(line) for line in recording.splitlines()]
    repeated = difference_of([*lines[:2], *lines[1:]])
    assert (repeated.step, repeated.path) == (2, "input")
    assert "already begun" in repeated.replayed
    index = next(n for n, line in enumerate(lines) if n and line["input"]["type"] == "call_settled")
    lines[index]["input"]["result"]["parts"][0]["text"] = "something else"
    changed = difference_of(lines)
    assert (changed.step, changed.path) == (index, "events[1].text")
    assert (changed.recorded, changed.replayed) == ("look ran", "something else")
    lines[0]["begins"]["settings"]["loop_after"] = 2
    hidden = difference_of(lines)
    assert (hidden.step, hidden.path) == (1, "state")


def test_a_turn_without_a_coordinator_can_be_recorded_also_when_resumed() -> None:
    tools = Counting().tools(look={"approval": True})
    provider = Emulated("openai.chat", script([call("look", at=1)], [call("count", of="x")]))
    file, more = io.BytesIO(), io.BytesIO()
    recorder = record(file)
    turn = Turn(provider, tools, observers=[recorder])
    at_once(turn.run("Go."))
    recorder.close()
    assert replay(file.getvalue()).difference is None
    state = turn.state
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


def test_invalid_recordings_are_rejected() -> None:
    recording, _ = recorded()
    for text, message in (
        (b"", "not JSON"),
        (b"{}", "version of a recording: None"),
        (b"[]", "not an object"),
        (b'{"version":9}', "version of a recording: 9"),
        (b'{"version":1,"begins":3}', "version of a turn state: None"),
        (recording.splitlines()[0] + b'\n{"input":{"type":"x"}}', "step 1 of the recording has no valid input"),
    ):
        with pytest.raises(InvalidState, match=message):
            replay(text)
