"""Failures of class robustness: input that makes a careless reader spend without bound."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tests.support.decoding import feed
from tests.support.emit import emit_stream, scripted_call
from tests.support.events import DONE, delta_chunk, fragment, sse
from tests.support.wires import WIRES
from toolparity.cassettes.scripts import Think
from toolparity.normalizer.errors import TooManyCalls

all_wires = pytest.mark.parametrize("wire", WIRES)


def steps_of(work: Callable[[], Any]) -> int:
    """How many function calls a piece of work makes, Python's and C's: a measure that no clock disturbs."""
    count = 0

    def counted(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_DOS_01_twenty_thousand_empty_slots_are_a_typed_error() -> None:
    frames = [sse(delta_chunk(fragment("", index))) for index in range(20_000)]
    with pytest.raises(TooManyCalls, match="4096"):
        feed("openai.chat", frames)


def test_DOS_01_twenty_thousand_named_calls_are_a_typed_error() -> None:
    frames = [sse(delta_chunk(fragment("{}", index, f"call_{index}", "lookup"))) for index in range(20_000)]
    with pytest.raises(TooManyCalls, match="4096"):
        feed("openai.chat", frames)


@all_wires
def test_DOS_01_twice_as_many_argument_deltas_cost_twice_as_much(wire: str) -> None:
    def work(deltas: int) -> Callable[[], Any]:
        call = scripted_call(('{"text": "', *("word " for _ in range(deltas)), '"}'))
        frames = emit_stream(wire, [call])
        return lambda: feed(wire, frames)

    once, twice = steps_of(work(1000)), steps_of(work(2000))
    assert twice < 2.1 * once


@pytest.mark.parametrize("server", ["without index", "index reused", "snapshots"])
def test_DOS_01_servers_that_need_the_slow_rules_cost_no_more_than_twice_as_much_either(server: str) -> None:
    def work(deltas: int) -> Callable[[], Any]:
        frames = []
        for number in range(deltas):
            delta = fragment("word ", 0) if number else fragment('{"text": "', 0, "call_a", "lookup")
            if server == "without index":
                del delta["tool_calls"][0]["index"]
            if server == "index reused":
                delta["tool_calls"][0]["id"] = "call_a"
            if server == "snapshots":
                delta["tool_calls"][0]["function"]["arguments"] = '{"text": "' + "w" * (number % 50)
            frames.append(sse(delta_chunk(delta)))
        return lambda: feed("openai.chat", [*frames, DONE])

    once, twice = steps_of(work(1000)), steps_of(work(2000))
    assert twice < 2.1 * once


@pytest.mark.thorough(keep=2)
@all_wires
def test_DOS_01_twenty_thousand_deltas_are_one_call(wire: str) -> None:
    words = ["twenty words a delta"] * 20_000
    response, _ = feed(wire, emit_stream(wire, [scripted_call(['{"text": "', *words, '"}'])]))
    (call,) = response.calls
    assert call.arguments == {"text": "twenty words a delta" * 20_000}


@all_wires
def test_DOS_01_a_long_thought_costs_in_proportion(wire: str) -> None:
    def work(deltas: int) -> Callable[[], Any]:
        frames = emit_stream(wire, [Think("word ") for _ in range(deltas)])
        return lambda: feed(wire, frames)

    once, twice = steps_of(work(200)), steps_of(work(400))
    assert twice < 2.1 * once
