"""Faults that a test injects: of a provider on every wire, of a tool in the event loop and in a thread."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from datetime import date
from typing import Any

import pytest

from tests.conformance.pages import DOCS
from tests.turns.executing import OUTCOMES, asked, texts
from tests.turns.playing import WIRES, Counting, Emulated, RecordingSleep, Say, at_once, call, names_of_page, script
from toolparity.cassettes.emulated.provider import EmulatedProvider, scripted
from toolparity.normalizer.errors import ToolparityError
from toolparity.turns.execution.executor import Executor, FinishedCall
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.testing import (
    PROVIDER_FAULTS,
    TOOL_FAULTS,
    Break,
    Cut,
    FaultyProvider,
    FaultyTools,
    Hang,
    IgnoreCancelling,
    Malformed,
    ProviderFault,
    Raise,
    RefuseConnection,
    Return,
    ReturnText,
    Slow,
    Status,
    drawn,
)
from toolparity.turns.turn import Turn

PAGE = "turn-testing.md"
LOOKED = script([Say("Let me look."), call("look", at=1)], [Say("All is well.")])
BROKEN = {"provider_failed", "incomplete"}
#: The termination by the name of the fault; without one the turn completes in spite of it.
ENDINGS: dict[str, set[str]] = {
    "refuses the connection": {"provider_failed"},
    "is rate limited": set(),
    "has an error": {"provider_failed"},
    "is overloaded": set(),
    "ends before it begins": BROKEN,
    "is cut": BROKEN,
    "is reset": {"provider_failed"},
    "is malformed": BROKEN,
    "is slow": set(),
    "hangs": {"cancelled"},
}


def turn_with(wire: str, faults: dict[int, ProviderFault], **options: Any) -> tuple[Turn, FaultyProvider, Counting]:
    """A turn, its provider and its tools. It waits for no time."""
    counting, provider = Counting(), FaultyProvider(Emulated(wire, LOOKED), faults)
    return Turn(provider, counting.tools(), backoff=RecordingSleep().backoff(), **options), provider, counting


@pytest.mark.thorough(keep=2, per="{fault}/{number}")
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("fault", PROVIDER_FAULTS)
@pytest.mark.parametrize("wire", WIRES)
def test_a_fault_of_the_provider_ends_the_turn_as_it_must(wire: str, fault: str, number: int) -> None:
    faults = {number: PROVIDER_FAULTS[fault]}
    turn, provider, counting = turn_with(wire, faults, seconds=1 if fault == "hangs" else 30)
    outcome = at_once(turn.run("Go."))
    assert list(ENDINGS) == list(PROVIDER_FAULTS)
    endings = ENDINGS[fault]
    assert [injection.position for injection in provider.injected] == [number]
    assert outcome.termination in (endings or {"natural_completion"})
    assert (outcome.text == "All is well.") == (not endings)
    assert counting.names == ["look"] * (number == 2 or not endings)  # no call of a broken answer ran


def test_a_fault_that_does_not_ask_reaches_no_provider() -> None:
    for fault in (RefuseConnection(), Status(500), Cut(), Break(), Hang()):
        inner = Emulated("openai.chat", LOOKED)
        provider = FaultyProvider(inner, {1: fault})
        at_once(Turn(provider, Counting().tools(), seconds=0.3).run("Go."))
        assert (len(provider.requests), len(inner.bodies)) == (1, 0), fault


class Answering:
    """A provider with an answer that, unlike a generator, is not closed by itself."""

    wire, name, model = "openai.chat", "openai", "m"

    def __init__(self, chunk: Any) -> None:
        self.chunk, self.left, self.closed = chunk, 10, 0

    def ask(self, body: Any) -> Any:
        return self

    def __aiter__(self) -> Answering:
        return self

    async def __anext__(self) -> Any:
        self.left -= 1
        if self.left < 0:
            raise StopAsyncIteration
        return self.chunk

    async def aclose(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("fault", [None, Cut(2), Break(2), Malformed(2), Hang(2), Slow(0)])
def test_an_answer_with_or_without_a_fault_is_closed(fault: ProviderFault | None) -> None:
    inner = Answering(b": keep-alive\n\n")
    at_once(Turn(FaultyProvider(inner, {1: fault} if fault is not None else {}), seconds=0.3).run("Go."))
    assert inner.closed > 0


@pytest.mark.parametrize("after", [0, 1, 3, 1000])
def test_an_answer_breaks_after_so_many_chunks(after: int) -> None:
    received: list[Any] = []

    async def receive(provider: Any) -> None:
        async for chunk in provider.ask({"model": "m"}):
            received.append(chunk)

    with pytest.raises(OSError, match="gone"):
        at_once(receive(FaultyProvider(Answering("x"), {1: Break(after, OSError("gone"))})))
    assert received == ["x"] * min(after, 10)


def test_a_faulty_provider_is_described_like_the_one_in_it() -> None:
    class Described(Emulated):
        call_limit = 3

        def address(self) -> str:
            return "http://127.0.0.1"

    provider = FaultyProvider(inner := Described("openai.chat", LOOKED), {})
    for name in ("wire", "name", "model", "address", "call_limit"):
        assert getattr(provider, name) == getattr(inner, name)


def test_a_custom_fault_is_an_object_with_one_method() -> None:
    """That of a tool may run the real function."""

    class Twice:
        """Sends each chunk of an answer twice."""

        async def answer(self, ask: Any, provider: Any) -> AsyncIterator[Any]:
            async for chunk in ask():
                yield chunk
                yield chunk

    class Upper:
        def call(self, run: Any, is_async: bool) -> Any:
            async def upper() -> str:
                return str(await run()).upper()

            return upper() if is_async else str(run()).upper()

    provider = FaultyProvider(Emulated("anthropic.messages", script([Say("One.")])), {1: Twice()})
    assert at_once(Turn(provider).run("Go.")).text != "One."
    tools = FaultyTools(declared(), {"look": Upper(), "count": Upper()})
    assert [text for _, text in texts(ran(tools, "look", "count"))] == ["FRIDAY", "2026"]


def test_faults_drawn_by_a_seed_are_the_same_each_time_and_end_a_turn_with_an_answer() -> None:
    faults = list(PROVIDER_FAULTS.values())
    first = drawn(7, range(1, 41), faults)
    assert first == drawn(7, range(1, 41), faults) != drawn(8, range(1, 41), faults)
    assert 10 < len(first) < 30
    assert drawn(7, range(1, 41), faults, rate=0) == {}
    assert list(drawn(7, range(1, 41), faults, rate=1)) == list(range(1, 41))
    faults.remove(PROVIDER_FAULTS["hangs"])
    for seed in range(40):
        turn, *_ = turn_with(WIRES[seed % len(WIRES)], drawn(seed, range(1, 8), faults, rate=0.7))
        outcome = at_once(asyncio.wait_for(turn.run("Go."), 20))
        assert (turn.state.phase, bool(outcome.text)) == ("over", True), seed


async def look(day: date = date.min) -> str:
    """Look at a day."""
    return f"{day:%A}"


def count(day: date = date.min) -> str:
    """Count in a thread."""
    return f"{day.year}"


def declared(timeout: float = 0.5) -> list[Tool]:
    return [Tool.of(look, timeout=timeout), Tool.of(count, timeout=timeout)]


def ran(tools: Tools, *names: str) -> list[FinishedCall]:
    """Run the calls one after the other."""

    async def run() -> list[FinishedCall]:
        executor = Executor(tools, grace=0.01)
        calls = [asked(name, f"c{number}", day="2026-11-27") for number, name in enumerate(names)]
        return [finished for each in calls for finished in await executor.run([each])]

    return at_once(run())


@pytest.mark.parametrize("fault", TOOL_FAULTS)
@pytest.mark.parametrize("name", ["look", "count"])
def test_a_fault_has_its_outcome_in_the_loop_and_in_a_thread(name: str, fault: str) -> None:
    tools = FaultyTools(declared(), {name: TOOL_FAULTS[fault]})
    assert list(OUTCOMES) == list(TOOL_FAULTS)
    first, other = ran(tools, name, "count" if name == "look" else "look")
    assert (first.outcome, other.outcome) == (OUTCOMES[fault], "returned")
    assert [str(injection) for injection in tools.injected] == [f"call 1 of {name}: {TOOL_FAULTS[fault]}"]


def test_a_fault_of_one_call_leaves_the_calls_before_and_after_it() -> None:
    tools = FaultyTools(declared(), {("look", 2): Raise(LookupError("gone"))})
    assert texts(ran(tools, "look", "count", "look", "look")) == [
        ("returned", "Friday"),  # the argument arrives as a date, as without the fault
        ("returned", "2026"),
        ("raised", "Tool 'look' failed: LookupError: gone"),
        ("returned", "Friday"),
    ]
    tools = FaultyTools(declared(), {"look": ReturnText(2_000_000), ("look", 1): Return("of one")})
    [(_, one), (_, other)] = texts(ran(tools, "look", "look"))
    assert one == "of one"
    assert "first 1000000 of 2000000 characters" in other


def test_tools_without_faults_are_the_same_objects_and_all_declare_the_same() -> None:
    tools = Tools(declared())
    faulty = FaultyTools(tools, {"look": Hang()})
    assert faulty["count"] is tools["count"]
    assert faulty.declared() == tools.declared()


@pytest.mark.parametrize("timeout", [0.05, 0.4])
def test_a_function_that_ignores_cancelling_is_abandoned_at_each_timeout(timeout: float) -> None:
    """It ends after its time, if it has one."""

    async def run(name: str, fault: IgnoreCancelling) -> Executor:
        executor = Executor(FaultyTools(declared(timeout), {name: fault}), grace=0.01)
        [finished] = await executor.run([asked(name)])
        assert finished.outcome == "timeout"
        return executor

    async def abandoned() -> tuple[int, int]:
        executor = await run("look", IgnoreCancelling(0.2))
        before = executor.abandoned
        await asyncio.sleep(0.3)
        return before, executor.abandoned

    for name in ("look", "count"):
        at_once(run(name, TOOL_FAULTS["ignores cancelling"]))  # type: ignore[arg-type]
    assert at_once(abandoned()) == (1, 0)


TEXT: Any = "x"
NUMBER: Any = 5
CLASS: Any = ValueError
PART: Any = Say("x")


def faulty(position: Any, fault: Any) -> FaultyTools:
    return FaultyTools([look], {position: fault})


def emulated(number: Any, fault: Any) -> EmulatedProvider:
    return EmulatedProvider("openai.chat", LOOKED, faults={number: fault})


def wrapped(number: Any, fault: Any) -> FaultyProvider:
    return FaultyProvider(EmulatedProvider("openai.chat", LOOKED), {number: fault})


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: faulty(("look", 0), Hang()), "the number of a call must be >= 1, got 0"),
        (lambda: faulty("look", "x"), "a fault must be an object with the method 'call', got 'x'"),
        (lambda: faulty("look", Cut()), "a fault must be an object with the method 'call'"),
        (lambda: faulty("look", Hang), "a fault must be an object with the method 'call'"),
        (lambda: faulty("lok", Raise()), "no such tool"),
        (lambda: FaultyTools([Tool(name="away")], {("away", 1): Raise()}), "runs elsewhere"),
        (lambda: wrapped(0, Cut(1)), "the number of a request must be >= 1, got 0"),
        (lambda: wrapped("1", Cut(1)), "the number of a request must be >= 1, got '1'"),
        (lambda: wrapped(1, "x"), "a fault must be an object with the method 'answer', got 'x'"),
        (lambda: emulated(0, Cut(1)), "the number of a request must be >= 1, got 0"),
        (lambda: emulated(1, Raise()), "a fault must be an object with the method 'answer'"),
        (lambda: Status(200), "status must be a number >= 400, got 200"),
        *[
            (lambda kind=kind: kind(-1), "after must be a number >= 0, got -1")
            for kind in (Cut, Break, Malformed, Hang)
        ],
        *[(lambda kind=kind: kind(-1), "seconds must be a number >= 0") for kind in (Slow, IgnoreCancelling)],
        (lambda: ReturnText(-1), "characters must be a number >= 0"),
        (lambda: Cut(TEXT), "after must be a number >= 0, got 'x'"),
        (lambda: Raise(NUMBER), "error must be an exception, got 5"),
        (lambda: Break(0, CLASS), "error must be an exception"),
        (lambda: EmulatedProvider("nix", LOOKED), "unknown surface: 'nix'"),
        (scripted, "a script has at least one round"),
        (lambda: scripted(PART), "a round must be a list of parts, got Say"),
        (lambda: scripted(TEXT), "a round must be a list of parts, got 'x'"),
    ],
)
def test_what_could_not_happen_is_an_error_with_the_problem(make: Callable[[], Any], problem: str) -> None:
    with pytest.raises(ToolparityError) as raised:
        make()
    assert problem in str(raised.value)


@pytest.mark.page("docs/pages/turn-testing.md")
def test_the_examples_of_the_page_run() -> None:
    tests = [value for name, value in names_of_page(PAGE).items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        test()


def test_the_tables_of_the_page_list_the_faults() -> None:
    listed = set(re.findall(r"^\| `(\w+)\(", (DOCS / PAGE).read_text("utf-8"), re.MULTILINE))
    assert listed == {type(fault).__name__ for fault in (*PROVIDER_FAULTS.values(), *TOOL_FAULTS.values())}
