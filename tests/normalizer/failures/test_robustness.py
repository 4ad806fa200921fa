"""Failures of class robustness: input on which a careless reader spends without bound."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.counting import function_calls
from tests.support.decoding import feed
from tests.support.emit import emit_stream, scripted_call
from tests.support.events import DONE, delta_chunk, fragment, sse
from tests.support.wires import WIRES
from toolparity.cassettes.scripts import Part, Think
from toolparity.normalizer.errors import TooManyCalls

all_wires = pytest.mark.parametrize("wire", WIRES)


def assert_linear(wire: str, frames: Callable[[int], list[bytes]], size: int) -> None:
    """Twice as many deltas cost about twice as much."""
    once, twice = frames(size), frames(2 * size)
    feed(wire, once)  # imports and caches
    assert function_calls(lambda: feed(wire, twice)) < 2.1 * function_calls(lambda: feed(wire, once))


@pytest.mark.parametrize("named", [False, True])
def test_DOS_01_twenty_thousand_calls_are_a_typed_error(named: bool) -> None:
    frames = [
        sse(delta_chunk(fragment("{}", n, f"call_{n}", "f") if named else fragment("", n))) for n in range(20_000)
    ]
    with pytest.raises(TooManyCalls, match="4096"):
        feed("openai.chat", frames)


@all_wires
def test_DOS_01_twice_as_many_deltas_cost_twice_as_much(wire: str) -> None:
    def call(deltas: int) -> list[bytes]:
        return emit_stream(wire, [scripted_call(('{"text": "', *["word "] * deltas, '"}'))])

    def thoughts(deltas: int) -> list[bytes]:
        steps: list[Part] = [Think("word ")] * deltas
        return emit_stream(wire, steps)

    assert_linear(wire, call, 1000)
    assert_linear(wire, thoughts, 200)


@pytest.mark.parametrize("server", ["without index", "index reused", "snapshots"])
def test_DOS_01_servers_that_need_the_slow_rules_cost_no_more_than_twice_as_much_either(server: str) -> None:
    def frames(deltas: int) -> list[bytes]:
        made = []
        for number in range(deltas):
            delta = fragment("word ", 0) if number else fragment('{"text": "', 0, "call_a", "lookup")
            if server == "without index":
                del delta["tool_calls"][0]["index"]
            elif server == "index reused":
                delta["tool_calls"][0]["id"] = "call_a"
            else:
                delta["tool_calls"][0]["function"]["arguments"] = '{"text": "' + "w" * (number % 50)
            made.append(sse(delta_chunk(delta)))
        return [*made, DONE]

    assert_linear("openai.chat", frames, 1000)
