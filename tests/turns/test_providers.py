"""A turn continues with another provider: on every pair of wires, after the failures that another one may not have."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import pytest

from toolparity.normalizer.conversation import Assistant, System, ToolResults, User
from toolparity.normalizer.errors import PolicyError
from toolparity.turns import Agent, Turn
from toolparity.turns import events as turn_events
from toolparity.turns.orchestration import Coordinator, Failover, note_of
from toolparity.turns.orchestration.recording import record, replay
from toolparity.turns.orchestration.rerun import rerun
from toolparity.turns.testing import Break, Cut, Malformed, RefuseConnection, Status

from . import playing
from .playing import WIRES, Counting, Emulated, RecordingObserver, Say, assert_legal, at_once, call, only, script
from .test_overload import PartOfAnAnswer

TWO = script([Say("Let me see."), call("look")], [Say("Done.")])


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("shift", range(len(WIRES)))
def test_a_turn_continues_with_another_provider_on_every_pair_of_wires(shift: int) -> None:
    for number, first in enumerate(WIRES):
        second, round = WIRES[(number + shift) % len(WIRES)], 1 + number % 2
        kind: Any = (Turn, Coordinator)[(number + shift) // 2 % 2]
        counting, log, file = Counting(), RecordingObserver(), io.BytesIO()
        failing, other = Emulated(first, TWO, faults={round: Break(2 - round)}), Emulated(second, TWO)
        recorder = record(file)
        made = kind(failing, counting.tools(), fallback=other, observers=[log, recorder])
        at_once(made.run("Go."))
        recorder.close()
        turn = made if kind is Turn else made.turn
        assert (turn.outcome.text, counting.names, len(failing.bodies)) == ("Done.", ["look"], round), (first, second)
        [note] = [note_of(note) for note in only(log.events, turn_events.Noted) if note.note == "failover"]
        assert isinstance(note, Failover)
        origins = [{"wire": each.wire, "name": each.name, "model": each.model} for each in (failing, other)]
        assert ([note.failed, note.to], note.round) == (origins, round)
        sent = [type(message) for message in other.asked().messages if not isinstance(message, System)]
        assert sent == [User, Assistant, ToolResults], (first, second)  # no message is invented
        assert (other.asked().model or other.model) == other.model
        assert_legal(turn, wires=[first, second])
        assert replay(file.getvalue()).difference is None
        again = partial(_made, kind, counting.tools())
        assert at_once(rerun(file.getvalue(), again)).difference is None, (first, second)


def _made(kind: Any, tools: Any, provider: Any, **options: Any) -> Any:
    return kind(provider, tools, **options)


def test_failures_that_another_provider_may_not_have_fall_over_and_no_others() -> None:
    faults: dict[Any, bool] = {Status(status): True for status in (408, 429, 500, 502, 503, 529)}
    faults |= {Status(status): False for status in (400, 401, 403, 404, 413, 422)}
    faults |= {RefuseConnection(): True, Cut(2): True, Break(2): True, Break(1, TimeoutError()): True}
    faults |= {Malformed(0): False, Break(0, ValueError("a client's own error")): False}
    for fault, falls_over in faults.items():
        first, other = Emulated("openai.chat", TWO, faults={1: fault}), Emulated("google.gemini", TWO)
        outcome = at_once(Agent(first, Counting().tools(), backoff=None, fallback=[other]).run("Go."))
        assert (outcome.termination == "natural_completion") is falls_over, fault
        assert (len(first.bodies), len(other.bodies)) == (1, 2 * falls_over), fault
    ran = PartOfAnAnswer("openai.responses", TWO)  # the provider ran a call of the answer that broke off
    assert at_once(Turn(ran, fallback=Emulated("openai.chat", TWO)).run("Go.")).termination == "provider_failed"
    with pytest.raises(PolicyError, match="fallback must be a provider or a list of providers, got 'openai'"):
        Turn(ran, fallback="openai")  # type: ignore[arg-type]


def test_the_last_provider_is_retried_and_the_turn_stays_with_it() -> None:
    sleep = playing.RecordingSleep()
    failing = [Emulated(wire, TWO, faults={1: Status(503)}) for wire in ("openai.chat", "cohere.chat")]
    turn = Turn(failing[0], Counting().tools(), fallback=failing[1:], backoff=sleep.backoff())
    assert at_once(turn.run("Go.")).text == "Done."
    assert ([len(each.bodies) for each in failing], sleep.slept) == ([1, 3], [1.0])
    assert turn.asked_provider is failing[1]
