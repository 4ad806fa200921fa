"""A recorded turn replayed, or repeated with its coordinator, context and tools: equal, or the first difference."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.turns.log.shared import empty_log
from tests.turns.playing import WIRES, Emulated, RecordingObserver, RecordingSleep, Say, at_once, call, script
from toolparity.normalizer import json_codec
from toolparity.turns.errors import InvalidState
from toolparity.turns.execution.tool import Fallback, Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.log import Log
from toolparity.turns.machine.state import dump
from toolparity.turns.narration.acknowledge import acknowledge
from toolparity.turns.narration.narrating_provider import NarratingProvider
from toolparity.turns.narration.narrator import Narrator
from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits, Rerun, record, replay, rerun
from toolparity.turns.orchestration.recording import ReplayDifference
from toolparity.turns.testing import PROVIDER_FAULTS, TOOL_FAULTS, FaultyTools, Raise, Status, drawn
from toolparity.turns.turn import Turn

from .staging import LONG, LOOKED, Clock, Counting, Sequenced, names_of_notes

Make = Callable[..., Any]


def recorded(
    make: Make, provider: Any = None, *, whole: bool = True, clock: Any = None, decide: Any = None, observers: Any = ()
) -> tuple[bytes, Any]:
    """The recording of a turn, and its turn or coordinator.

    ``whole``: with its requests and runs of tools. ``decide``: the decision on a call that waits.
    """
    file = io.BytesIO()
    recorder = record(file, clock=clock) if clock else record(file)
    options = {"telemetry": recorder.boundary if whole else None, "backoff": RecordingSleep().backoff()}
    driver = make(provider or Sequenced("openai.chat", LONG), observers=[recorder, *observers], **options)
    outcome = at_once(driver.run("Go."))
    if decide is not None:
        driver.decide(outcome.waiting[0].id, *decide)
        at_once(driver.run())
    recorder.close()
    return file.getvalue(), driver


def recording_of(make: Make, provider: Any = None, **options: Any) -> bytes:
    return recorded(make, provider, **options)[0]


def coordinated(tools: Tools | None = None, **settings: Any) -> Make:
    def make(provider: Any, **options: Any) -> Coordinator:
        return Coordinator(provider, tools if tools is not None else Counting().tools(), **settings, **options)

    return make


def plain(tools: Tools | None = None, **settings: Any) -> Make:
    """A turn without a coordinator."""
    return lambda provider, **options: Turn(provider, tools or Counting().tools(), **settings, **options)


def repeated(recording: bytes, make: Make, **options: Any) -> Rerun:
    return at_once(rerun(recording, make, **options))


def difference(recording: bytes, make: Make, **options: Any) -> Any:
    found = repeated(recording, make, **options).difference
    assert found is not None
    return found


@pytest.mark.thorough(keep=2, per="{fails}")
@pytest.mark.parametrize("fails", [(), (0,), (1,), (1, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("wire", WIRES)
def test_replaying_a_recorded_turn_yields_the_same_events_phases_and_state(wire: str, fails: tuple[int, ...]) -> None:
    """003, Testing Approach: reasoning replay. Repeating it sends the same requests, too, and runs no tool again."""
    provider, counting, observed = Sequenced(wire, LONG, fails=fails, after=2), Counting(), RecordingObserver()
    make = coordinated(counting.tools(), context=ContextBuilder(200), limits=Limits(calls=3))
    recording, coordinator = recorded(make, provider, observers=[observed])
    replayed = replay(recording)
    assert replayed.difference is None
    assert replayed.events == observed.events
    assert dump(replayed.state) == dump(coordinator.turn.state)
    phases = [str(phase.__struct_config__.tag) for phase in replayed.phases]
    assert phases == [name for name in names_of_notes(observed.events) if name != "recovery"]
    ran = list(counting.names)
    again = repeated(recording, make)
    assert again.difference is None
    assert counting.names == ran
    assert len(again.requests) == len(provider.bodies)


def test_a_turn_whose_limits_allow_no_calls_can_be_replayed() -> None:
    for limits in (Limits(calls=0), Limits(seconds=0), Limits(tokens=0), Limits(rounds=0)):
        recording, coordinator = recorded(coordinated(limits=limits), whole=False)
        replayed = replay(recording)
        assert replayed.difference is None, limits
        assert dump(replayed.state) == dump(coordinator.turn.state), limits


def difference_of(lines: list[Any]) -> ReplayDifference:
    difference = replay(b"\n".join(map(json_codec.encode, lines))).difference
    assert difference is not None
    return difference


def test_a_replay_reports_the_first_difference() -> None:
    """In an event, in a state that no event shows, or an input that is invalid in its state."""
    recording = recording_of(coordinated(limits=Limits(calls=3)), whole=False)
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
    recording, turn = recorded(plain(tools), provider, whole=False)
    assert replay(recording).difference is None
    state = turn.state
    recorder = record(file := io.BytesIO(), state)
    later = Turn(provider, tools, state=state, observers=[recorder])
    later.decide(state.waiting[0].id, True)
    at_once(later.run())
    recorder.close()
    replayed = replay(file.getvalue())
    assert replayed.difference is None
    assert dump(replayed.state) == dump(later.state)
    with pytest.raises(InvalidState, match="recorded from its state"):
        at_once(Turn(provider, tools, state=state, observers=[record(io.BytesIO())]).run())


def test_invalid_recordings_are_rejected() -> None:
    recording = recording_of(coordinated(limits=Limits(calls=3)), whole=False)
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


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_plain_or_narrated_turn_is_repeated_too(wire: str) -> None:
    """With the recorded narration."""
    make = plain(instructions="Be short.", temperature=0.5)
    assert repeated(recording_of(make, Sequenced(wire, LONG)), make).difference is None
    narrator, tools = Sequenced("openai.chat", script([Say("One report.")], [Say("All is done.")])), Counting().tools()
    narrated = NarratingProvider(Sequenced(wire, LONG), Narrator(narrator), tools)
    again = repeated(recording_of(plain(tools, acknowledge=acknowledge), narrated), plain())
    assert again.difference is None
    assert again.state.settings.limit == 4


def test_a_change_shows_as_the_first_difference() -> None:
    """Of a limit, a context, a definition, and a call that is prevented today."""
    recording = recording_of(coordinated())
    limit = difference(recording, coordinated(limits=Limits(rounds=1)))
    assert (limit.kind, limit.round, limit.path) == ("phase", 2, "reasoning.data.last")
    assert (limit.recorded, limit.repeated) == (False, True)
    context = difference(recording, coordinated(context=ContextBuilder(1)))
    assert (context.kind, context.round) == ("request", 3)  # the second round is the first with a shorter history
    assert context.path.startswith("request.messages")
    definition = difference(recording, coordinated(Counting().tools(count={"description": "Counts birds."})))
    assert (definition.kind, definition.round, definition.path) == ("request", 1, "request.tools[1].description")
    assert (definition.recorded, definition.repeated) == (None, "Counts birds.")
    prevented = difference(recording, coordinated(limits=Limits(calls=1)))
    assert (prevented.kind, prevented.name, prevented.round) == ("event", "call_started", 1)
    assert "limit of 1 calls" in str(prevented.repeated)
    shorter = recording_of(coordinated(limits=Limits(rounds=1)))
    longer = difference(shorter, coordinated(limits=Limits(rounds=4)))
    assert (longer.kind, longer.path) == ("phase", "reasoning.data.last")


def _fallbacks(**options: Any) -> Tools:
    return Counting().tools(look={"fallback": Fallback("count", lambda _: {"of": "x"})}, count=options)


def test_an_overloaded_provider_is_asked_again_without_waiting() -> None:
    provider = Sequenced("openai.chat", LONG, faults={1: Status(429, retry_after=50), 3: Status(529)})
    recording = recording_of(coordinated(), provider)
    assert repeated(recording, coordinated()).difference is None
    found = difference(recording, coordinated(), backoff=None)
    assert (found.kind, found.name) == ("event", "retry")


@pytest.mark.thorough(keep=1, per="{fails}")
@pytest.mark.parametrize("fails", [(), (1,), (1, 2)])
@pytest.mark.parametrize("failing", [[("look", 1)], ["look", "count"], ["look", "count", "post"]])
async def test_a_logged_turn_is_repeated_from_its_log(tmp_path: Path, fails: tuple[int, ...], failing: Any) -> None:
    tools = FaultyTools(_fallbacks(), dict.fromkeys(failing, Raise(LookupError("gone, again."))))
    provider = Sequenced("anthropic.messages", LONG, fails=fails, after=3)
    with Log(empty_log(tmp_path / "turns.db")) as log:
        async with log.record() as recorder:
            await Coordinator(provider, tools, observers=[recorder]).run("Go.")
        recording = await log.recording(recorder.turn or "")
    assert (await rerun(recording, coordinated(_fallbacks()))).difference is None
    assert (await rerun(recording, coordinated(_fallbacks(), limits=Limits(rounds=1)))).difference is not None


_PROVIDER_FAULTS = [fault for name, fault in PROVIDER_FAULTS.items() if name != "hangs"]
_TOOL_FAULTS = [fault for name, fault in TOOL_FAULTS.items() if name not in ("ignores cancelling", "returns too much")]


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("seed", range(90))
def test_a_turn_with_faults_drawn_by_a_seed_is_repeated_without_them(seed: int) -> None:
    chooser = random.Random(seed)
    provider = Sequenced(WIRES[seed % len(WIRES)], LONG, faults=drawn(seed, range(1, 9), _PROVIDER_FAULTS))
    calls = [(name, number) for name in ("look", "count", "post") for number in (1, 2, 3)]
    limits = Limits(rounds=chooser.choice([1, 2, 8]), calls=chooser.choice([None, 1, 3]), attempts=1 + seed % 3)
    settings: dict[str, Any] = {"limits": limits, "context": ContextBuilder(chooser.choice([None, 1, 300]))}
    tools = FaultyTools(_fallbacks(timeout=0.02), drawn(seed, calls, _TOOL_FAULTS))
    recording = recording_of(coordinated(tools, **settings), provider)
    assert repeated(recording, coordinated(_fallbacks(), **settings)).difference is None


@pytest.mark.parametrize("where", ["tool", "provider"])
@pytest.mark.parametrize("passes", [4, 11])
def test_a_time_limit_is_reached_again_by_the_recorded_clock(passes: int, where: str) -> None:
    clock, limits = Clock(), Limits(seconds=10)

    class Late(Sequenced):
        async def ask(self, body: Any) -> Any:
            async for chunk in super().ask(body):
                yield chunk
            clock.now += passes * (where == "provider" and len(self.bodies) == 1)

    tools = Counting(**({"count": clock.passes(passes)} if where == "tool" else {})).tools()
    recording = recording_of(coordinated(tools, limits=limits, clock=clock), Late("openai.chat", LONG), clock=clock)
    again = repeated(
        recording, lambda provider, **more: coordinated(limits=limits, clock=provider.clock)(provider, **more)
    )
    assert again.difference is None
    assert (again.state.termination == "budget_exceeded") == (passes == 11)
    assert (repeated(recording, coordinated(limits=limits)).difference is None) == (passes == 4)


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("waits", [True, False])
def test_decisions_are_made_again_at_once_or_after_the_turn_waited(approved: bool, waits: bool) -> None:
    tools = Counting().tools(look={"approval": True})
    reason = None if approved else "not today"
    options: dict[str, Any] = {} if waits else {"approve": lambda _: reason or True}
    decide = (approved, reason) if waits else None
    recording = recording_of(plain(tools, **options), Sequenced("openai.chat", LOOKED), decide=decide)
    assert repeated(recording, plain(tools)).difference is None
    assert repeated(recording, plain()).difference is not None


def test_a_cancelled_turn_is_compared_up_to_its_cancelling() -> None:
    class Cancelling(Turn):
        async def run(self, message: Any = None) -> Any:
            async for event in self.stream(message):
                if type(event).__name__ == "RoundFinished":
                    self.cancel("enough")

    recording = recording_of(lambda provider, **options: Cancelling(provider, Counting().tools(), **options))
    assert repeated(recording, plain()).difference is None
    renamed = Tools([Tool(name=name, function=lambda **_: "x") for name in ("look", "post")])
    assert repeated(recording, plain(renamed)).difference is not None
