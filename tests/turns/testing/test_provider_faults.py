"""Faults of a provider: each has its effect on every wire, at the request where the test puts it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.turns.playing import WIRES, Counting, Emulated, Say, at_once, call, script
from toolparity.turns.backoff import Backoff
from toolparity.turns.testing import (
    PROVIDER_FAULTS,
    Break,
    Cut,
    FaultyProvider,
    Hang,
    Malformed,
    ProviderFault,
    RefuseConnection,
    Slow,
    Status,
    drawn,
)
from toolparity.turns.turn import Turn

LOOKED = script([Say("Let me look."), call("look", at=1)], [Say("All is well.")])

#: The termination by the name of the fault; None: the turn completes in spite of it.
ENDINGS: dict[str, set[str] | None] = {
    "refuses the connection": {"provider_failed"},
    "is rate limited": None,
    "has an error": {"provider_failed"},
    "is overloaded": None,
    "ends before it begins": {"provider_failed", "incomplete"},
    "is cut": {"provider_failed", "incomplete"},
    "is reset": {"provider_failed"},
    "is malformed": {"provider_failed", "incomplete"},
    "is slow": None,
    "hangs": {"cancelled"},
}


async def _no_wait(seconds: float) -> None:
    """Wait for nothing."""


def turn_with(
    wire: str, faults: dict[int, ProviderFault], sleep: Any = _no_wait, **options: Any
) -> tuple[Turn, FaultyProvider, Counting]:
    counting, provider = Counting(), FaultyProvider(Emulated(wire, LOOKED), faults)
    return Turn(provider, counting.tools(), backoff=Backoff(sleep=sleep), **options), provider, counting


@pytest.mark.thorough(keep=2, per="{fault}/{number}")
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("fault", PROVIDER_FAULTS)
@pytest.mark.parametrize("wire", WIRES)
def test_a_fault_of_the_provider_ends_the_turn_as_it_must(wire: str, fault: str, number: int) -> None:
    turn, provider, counting = turn_with(wire, {number: PROVIDER_FAULTS[fault]}, seconds=1 if fault == "hangs" else 30)
    outcome = at_once(turn.run("Go."))
    assert list(ENDINGS) == list(PROVIDER_FAULTS)
    endings = ENDINGS[fault]
    assert [injection.position for injection in provider.injected] == [number]
    assert outcome.termination in (endings or {"natural_completion"})
    assert (outcome.text == "All is well.") == (endings is None)
    assert counting.names == ["look"] * (number == 2 or endings is None)  # no call of a broken answer ran


def test_a_fault_that_does_not_ask_reaches_no_provider() -> None:
    for fault in (RefuseConnection(), Status(500), Cut(), Break(), Hang()):
        inner = Emulated("openai.chat", LOOKED)
        provider = FaultyProvider(inner, {1: fault})
        at_once(Turn(provider, Counting().tools(), seconds=0.3).run("Go."))
        assert (len(provider.requests), len(inner.bodies)) == (1, 0), fault


@pytest.mark.parametrize("fault", [None, Cut(2), Break(2), Malformed(2), Hang(2), Slow(0)])
def test_an_answer_with_or_without_a_fault_is_closed(fault: ProviderFault | None) -> None:
    class Answer:
        """An iterator that, unlike a generator, is not closed by itself."""

        closed, left = 0, 5

        def __aiter__(self) -> Answer:
            return self

        async def __anext__(self) -> bytes:
            self.left -= 1
            if self.left < 0:
                raise StopAsyncIteration
            return b": keep-alive\n\n"

        async def aclose(self) -> None:
            self.closed += 1

    answer = Answer()

    class Inner:
        wire, name, model = "openai.chat", "openai", "m"

        def ask(self, body: Any) -> Any:
            return answer

    at_once(Turn(FaultyProvider(Inner(), {1: fault} if fault is not None else {}), seconds=0.3).run("Go."))
    assert answer.closed > 0


def test_an_answer_breaks_after_so_many_chunks() -> None:
    async def receive(provider: Any) -> None:
        async for chunk in provider.ask({"model": "m"}):
            received.append(chunk)

    class Numbers:
        wire, name, model = "openai.chat", "openai", "m"

        async def ask(self, body: Any) -> AsyncIterator[Any]:
            for number in range(10):
                yield number

    for after in (0, 1, 3, 1000):
        received: list[Any] = []
        with pytest.raises(OSError, match="gone"):
            at_once(receive(FaultyProvider(Numbers(), {1: Break(after, OSError("gone"))})))
        assert received == list(range(min(after, 10)))


def test_a_faulty_provider_is_described_like_the_one_in_it() -> None:
    class Described(Emulated):
        call_limit = 3

        def address(self) -> str:
            return "http://127.0.0.1"

    inner = Described("openai.chat", LOOKED)
    provider = FaultyProvider(inner, {})
    names = ("wire", "name", "model", "address", "call_limit")
    assert [getattr(provider, name) for name in names] == [getattr(inner, name) for name in names]


def test_a_status_demands_a_wait() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    turn, _, _ = turn_with("openai.chat", {1: Status(429, retry_after=7)}, sleep=sleep)
    at_once(turn.run("Go."))
    assert waits == [7]


def test_a_custom_fault_is_an_object_with_one_method() -> None:
    class Twice:
        """Sends each chunk of an answer twice."""

        async def answer(self, ask: Any, provider: Any) -> AsyncIterator[Any]:
            async for chunk in ask():
                yield chunk
                yield chunk

    provider = FaultyProvider(Emulated("anthropic.messages", script([Say("One.")])), {1: Twice()})
    outcome = at_once(Turn(provider).run("Go."))
    assert outcome.text != "One."


def test_faults_drawn_by_a_seed_are_the_same_each_time_and_differ_by_seed() -> None:
    faults = list(PROVIDER_FAULTS.values())
    first = drawn(7, range(1, 41), faults)
    assert first == drawn(7, range(1, 41), faults) != drawn(8, range(1, 41), faults)
    assert 10 < len(first) < 30
    assert drawn(7, range(1, 41), faults, rate=0) == {}
    assert list(drawn(7, range(1, 41), faults, rate=1)) == list(range(1, 41))


def test_a_turn_ends_with_any_faults_drawn_by_a_seed() -> None:
    faults = [fault for name, fault in PROVIDER_FAULTS.items() if name != "hangs"]
    for seed in range(40):
        turn, _, _ = turn_with(WIRES[seed % len(WIRES)], drawn(seed, range(1, 8), faults, rate=0.7))
        outcome = at_once(asyncio.wait_for(turn.run("Go."), 20))
        assert (turn.state.phase, bool(outcome.text)) == ("over", True), seed
