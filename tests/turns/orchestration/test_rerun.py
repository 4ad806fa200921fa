"""A recorded turn repeated with its coordinator, context and dispatcher: equal, or the first difference."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.turns.log.shared import empty_log
from tests.turns.playing import WIRES, Say, at_once, call, script
from toolparity.turns.backoff import Backoff
from toolparity.turns.execution.tool import Fallback, Tool
from toolparity.turns.execution.tool_results import ToolFailed
from toolparity.turns.execution.tools import Tools
from toolparity.turns.log import Log
from toolparity.turns.narration.acknowledge import acknowledge
from toolparity.turns.narration.narrating_provider import NarratingProvider
from toolparity.turns.narration.narrator import Narrator
from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits, Rerun, record, rerun
from toolparity.turns.testing import PROVIDER_FAULTS, TOOL_FAULTS, FaultyTools, Hang, Raise, Status, drawn
from toolparity.turns.turn import Turn

from .staging import LONG, Clock, Counting, Sequenced

Make = Callable[..., Any]


async def _no_wait(seconds: float) -> None:
    """Wait for nothing."""


def recording_of(make: Make, provider: Any, *, message: str = "Go.") -> bytes:
    """The recording of a turn with its requests and runs of tools."""
    file = io.BytesIO()
    recorder = record(file)
    driver = make(provider, observers=[recorder], telemetry=recorder.boundary, backoff=Backoff(sleep=_no_wait))
    at_once(driver.run(message))
    recorder.close()
    return file.getvalue()


def coordinated(tools: Tools | None = None, **settings: Any) -> Make:
    def make(provider: Any, **options: Any) -> Coordinator:
        return Coordinator(provider, tools if tools is not None else Counting().tools(), **settings, **options)

    return make


def repeated(recording: bytes, make: Make) -> Rerun:
    return at_once(rerun(recording, make))


@pytest.mark.thorough(keep=2, per="{fails}")
@pytest.mark.parametrize("fails", [(), (0,), (1,), (1, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("wire", WIRES)
def test_a_repeated_turn_sends_the_same_requests_and_emits_the_same_events(wire: str, fails: tuple[int, ...]) -> None:
    """003, Testing Approach: reasoning replay."""
    provider = Sequenced(wire, LONG, fails={at: RuntimeError("gone") for at in fails}, after=2)
    counting = Counting()
    make = coordinated(counting.tools(), context=ContextBuilder(200))
    recording = recording_of(make, provider)
    ran = list(counting.names)
    again = repeated(recording, make)
    assert again.difference is None
    assert counting.names == ran  # no tool ran again
    assert len(again.requests) == len(provider.bodies)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_plain_turn_can_be_repeated_too(wire: str) -> None:
    def make(provider: Any, **options: Any) -> Turn:
        return Turn(provider, Counting().tools(), instructions="Be short.", temperature=0.5, **options)

    assert repeated(recording_of(make, Sequenced(wire, LONG)), make).difference is None


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_narrated_turn_is_repeated_with_the_recorded_narration(wire: str) -> None:
    narrator = Sequenced("openai.chat", script([Say("One report.")], [Say("All is done.")]))

    def recorded_turn(provider: Any, **options: Any) -> Turn:
        tools = Counting().tools()
        return Turn(NarratingProvider(provider, Narrator(narrator), tools), tools, acknowledge=acknowledge, **options)

    recording = recording_of(recorded_turn, Sequenced(wire, LONG))
    again = repeated(recording, lambda provider, **options: Turn(provider, Counting().tools(), **options))
    assert again.difference is None
    assert again.state.settings.limit == 4


def test_another_limit_shows_as_a_difference_of_a_phase_or_event() -> None:
    recording = recording_of(coordinated(), Sequenced("openai.chat", LONG))
    difference = repeated(recording, coordinated(limits=Limits(rounds=1))).difference
    assert difference is not None
    assert (difference.kind, difference.round, difference.path) == ("phase", 2, "reasoning.data.last")
    assert (difference.recorded, difference.repeated) == (False, True)


def test_another_context_shows_as_a_difference_of_a_request() -> None:
    recording = recording_of(coordinated(), Sequenced("openai.chat", LONG))
    difference = repeated(recording, coordinated(context=ContextBuilder(1))).difference
    assert difference is not None
    assert (difference.kind, difference.round) == ("request", 3)  # the second round is the first with a shorter history
    assert difference.path.startswith("request.messages")


def test_another_tool_definition_shows_as_a_difference_of_the_first_request() -> None:
    recording = recording_of(coordinated(), Sequenced("openai.chat", LONG))
    tools = Counting().tools(count={"description": "Counts birds."})
    difference = repeated(recording, coordinated(tools)).difference
    assert difference is not None
    assert (difference.kind, difference.round, difference.path) == ("request", 1, "request.tools[1].description")
    assert (difference.recorded, difference.repeated) == (None, "Counts birds.")


def test_a_call_that_is_prevented_today_shows_as_a_difference_of_its_events() -> None:
    recording = recording_of(coordinated(), Sequenced("openai.chat", LONG))
    difference = repeated(recording, coordinated(limits=Limits(calls=1))).difference
    assert difference is not None
    assert (difference.kind, difference.name, difference.round) == ("event", "call_started", 1)
    assert "limit of 1 calls" in str(difference.repeated)


def _fallbacks(**options: Any) -> Tools:
    return Tools(
        [
            Tool(name="look", function=lambda **_: "looked", fallback=Fallback("count", lambda _: {"of": "x"})),
            Tool(name="count", function=lambda **_: "counted", **options),
            Tool(name="post", function=lambda **_: "posted"),
        ]
    )


@pytest.mark.parametrize("error", [ToolFailed("not today"), LookupError("no such thing.")])
@pytest.mark.parametrize("fallback_fails", [False, True])
def test_fallbacks_are_run_again_by_the_dispatcher(error: Exception, fallback_fails: bool) -> None:
    faults: dict[Any, Any] = {"look": Raise(error)}
    if fallback_fails:
        faults["count"] = Hang()
    tools = FaultyTools(_fallbacks(timeout=0.3), faults)
    recording = recording_of(coordinated(tools), Sequenced("openai.chat", LONG))
    assert repeated(recording, coordinated(_fallbacks())).difference is None
    without = Tools([*(tool for tool in _fallbacks().values() if tool.name != "look"), Tool.of(_look, name="look")])
    difference = repeated(recording, coordinated(without)).difference
    assert difference is not None
    assert (difference.kind, difference.round) == ("request", 1)  # the definitions differ


def _look(at: int) -> str:
    return "looked"


def test_without_its_fallback_a_call_comes_to_another_result() -> None:
    tools = FaultyTools(_fallbacks(), {"look": Raise(LookupError("gone"))})
    recording = recording_of(coordinated(tools), Sequenced("openai.chat", LONG))
    plain = Tools([Tool(name=name, function=lambda **_: "x") for name in ("look", "count", "post")])
    difference = repeated(recording, coordinated(plain)).difference
    assert difference is not None
    assert difference.round == 1
    assert "gone" in str(difference.repeated)


def test_an_overloaded_provider_is_asked_again_without_waiting() -> None:
    provider = Sequenced("openai.chat", LONG, faults={1: Status(429, retry_after=50), 3: Status(529)})
    recording = recording_of(coordinated(), provider)
    assert repeated(recording, coordinated()).difference is None
    difference = at_once(rerun(recording, coordinated(), backoff=None)).difference
    assert difference is not None
    assert (difference.kind, difference.name) == ("event", "retry")


@pytest.mark.thorough(keep=1, per="{fails}")
@pytest.mark.parametrize("fails", [(), (1,), (1, 2)])
@pytest.mark.parametrize("failing", [[("look", 1)], ["look", "count"], ["look", "count", "post"]])
def test_a_logged_turn_is_repeated_from_its_log(tmp_path: Path, fails: tuple[int, ...], failing: list[Any]) -> None:
    tools = FaultyTools(_fallbacks(), dict.fromkeys(failing, Raise(LookupError("gone, again."))))

    async def main() -> tuple[Rerun, Rerun]:
        provider = Sequenced("anthropic.messages", LONG, fails={at: RuntimeError("gone") for at in fails}, after=3)
        with Log(empty_log(tmp_path / "turns.db")) as log:
            async with log.record() as recorder:
                await Coordinator(provider, tools, observers=[recorder]).run("Go.")
            recording = await log.recording(recorder.turn or "")
        same = await rerun(recording, coordinated(_fallbacks()))
        return same, await rerun(recording, coordinated(_fallbacks(), limits=Limits(rounds=1)))

    same, limited = at_once(main())
    assert same.difference is None
    assert limited.difference is not None


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
    clock, file = Clock(), io.BytesIO()
    recorder = record(file, clock=clock)
    tools = Counting(**({"count": clock.passes(passes)} if where == "tool" else {})).tools()

    class Late(Sequenced):
        async def ask(self, body: Any) -> Any:
            async for chunk in super().ask(body):
                yield chunk
            clock.now += passes * (where == "provider" and len(self.bodies) == 1)

    limits = Limits(seconds=10)

    def make(provider: Any, **options: Any) -> Coordinator:
        return Coordinator(provider, Counting().tools(), limits=limits, clock=provider.clock, **options)

    coordinator = Coordinator(
        Late("openai.chat", LONG),
        tools,
        limits=limits,
        clock=clock,
        observers=[recorder],
        telemetry=recorder.boundary,
    )
    at_once(coordinator.run("Go."))
    recorder.close()
    assert (coordinator.orchestrated.outcome.termination == "budget_exceeded") == (passes == 11)
    assert repeated(file.getvalue(), make).difference is None
    difference = repeated(file.getvalue(), coordinated(limits=limits)).difference
    assert (difference is None) == (passes == 4)


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("waits", [True, False])
def test_decisions_are_made_again_at_once_or_after_the_turn_waited(approved: bool, waits: bool) -> None:
    def tools() -> Tools:
        return Counting().tools(look={"approval": True})

    file = io.BytesIO()
    recorder = record(file)

    async def main() -> None:
        provider = Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")]))
        options: dict[str, Any] = {} if waits else {"approve": lambda call: approved or "not today"}
        turn = Turn(provider, tools(), observers=[recorder], telemetry=recorder.boundary, **options)
        outcome = await turn.run("Go.")
        if waits:
            turn.decide(outcome.waiting[0].id, approved, None if approved else "not today")
            await turn.run()

    at_once(main())
    recorder.close()
    assert repeated(file.getvalue(), lambda provider, **options: Turn(provider, tools(), **options)).difference is None
    plain = Counting().tools()
    difference = repeated(file.getvalue(), lambda provider, **options: Turn(provider, plain, **options)).difference
    assert difference is not None


def test_a_turn_that_continues_longer_than_the_recording_differs_at_its_end() -> None:
    recording = recording_of(coordinated(limits=Limits(rounds=1)), Sequenced("openai.chat", LONG))
    difference = repeated(recording, coordinated(limits=Limits(rounds=4))).difference
    assert difference is not None
    assert (difference.kind, difference.path) == ("phase", "reasoning.data.last")


def test_a_cancelled_turn_is_compared_up_to_its_cancelling() -> None:
    file = io.BytesIO()
    recorder = record(file)

    async def main() -> None:
        turn = Turn(
            Sequenced("openai.chat", LONG), Counting().tools(), observers=[recorder], telemetry=recorder.boundary
        )
        async for event in turn.stream("Go."):
            if type(event).__name__ == "RoundFinished":
                turn.cancel("enough")

    at_once(main())
    recorder.close()

    def make(provider: Any, **options: Any) -> Turn:
        return Turn(provider, Counting().tools(), **options)

    again = repeated(file.getvalue(), make)
    assert again.difference is None
    renamed = Tools([Tool(name=name, function=lambda **_: "x") for name in ("look", "post")])
    assert repeated(file.getvalue(), lambda p, **o: Turn(p, renamed, **o)).difference is not None
