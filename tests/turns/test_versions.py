"""States and recordings of earlier versions are loaded, continued and replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.turns.playing import Counting, Emulated, Say, Think, assert_legal, at_once, call, script
from toolparity.normalizer import json_codec
from toolparity.turns.machine import state as states
from toolparity.turns.orchestration import replay
from toolparity.turns.turn import Turn

#: Written by commit 347ef11: a turn that waits for a decision, the same turn when it was over, and its recording.
FOLDER = Path(__file__).parent / "states"
WAITING, OVER = (FOLDER / f"v2_{name}.json" for name in ("waiting", "over"))
RECORDING = FOLDER / "v1_recording.jsonl"
PLAYED = script(
    [Think("Two things."), Say("Let me look."), call("look", city="Ulm"), call("count", of="cats")],
    [call("look", city="Bonn"), call("post", text="hello"), call("count")],
    [Say("Done.")],
)


@pytest.mark.parametrize("path", [WAITING, OVER])
@pytest.mark.parametrize("version", [1, 2])
def test_a_state_of_an_earlier_version_can_be_loaded_and_dumped(path: Path, version: int) -> None:
    """Version 1 had the same members, without the handed-over calls of version 2."""
    text = path.read_bytes().replace(b'"version":2', b'"version":%d' % version)
    state = states.load(text)
    assert state.version == states.VERSION
    assert len(state.history()) >= 3
    assert [call.outcome for call in state.rounds[0].calls] == ["returned", "returned"]
    assert all(call.submitted for call in state.rounds[0].calls)
    assert states.dump(state, version) == text
    assert states.load(states.dump(state)) == state
    members = json_codec.text([json_codec.decode(states.dump(state))[name] for name in ("request", "rounds")])
    assert not any(f'"{name}":' in members for name in ("turns", "how", "given"))


def test_a_turn_of_an_earlier_version_is_continued() -> None:
    counting = Counting()
    tools = counting.tools(post={"approval": True})
    turn = Turn(Emulated("openai.chat", PLAYED), tools, state=states.load(WAITING.read_bytes()))
    [waiting] = turn.outcome.waiting
    turn.decide(waiting.id, False, "not today")
    outcome = at_once(turn.run())
    assert (outcome.text, counting.names) == ("Done.", [])
    assert_legal(turn)
    before = states.load(OVER.read_bytes())
    assert [round.tool_results for round in outcome.state.rounds] == [round.tool_results for round in before.rounds]


def test_a_recording_of_an_earlier_version_is_replayed() -> None:
    """Its inputs have other types, and its digests were computed from states of the earlier version."""
    replayed = replay(RECORDING.read_bytes())
    assert replayed.difference is None
    assert replayed.state == states.load(OVER.read_bytes())
    lines = RECORDING.read_bytes().splitlines()
    last_line = json_codec.decode(lines[-1])
    difference = replay(b"\n".join([*lines[:-1], json_codec.encode({**last_line, "state": "0" * 64})])).difference
    assert difference is not None
    assert (difference.step, difference.path) == (len(lines) - 1, "state")
