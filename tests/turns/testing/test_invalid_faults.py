"""Faults and scripts that could not take effect are errors when they are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.turns.executing import asked
from tests.turns.playing import at_once
from toolparity.cassettes.emulated.provider import EmulatedProvider, scripted
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.errors import ToolparityError
from toolparity.turns.execution.executor import Executor
from toolparity.turns.execution.tool import Tool
from toolparity.turns.testing import (
    TOOL_FAULTS,
    Break,
    Cut,
    FaultyProvider,
    FaultyTools,
    Hang,
    IgnoreCancelling,
    Malformed,
    Raise,
    ReturnText,
    Slow,
    Status,
)

SCRIPT = scripted([Say("Hello.")])
TEXT: Any = "x"
NUMBER: Any = 5
CLASS: Any = ValueError
PART: Any = Say("x")


def look() -> str:
    return "fine"


def faulty(position: Any, fault: Any) -> FaultyTools:
    return FaultyTools([look], {position: fault})


def emulated(number: Any, fault: Any) -> EmulatedProvider:
    return EmulatedProvider("openai.chat", SCRIPT, faults={number: fault})


def wrapped(number: Any, fault: Any) -> FaultyProvider:
    return FaultyProvider(EmulatedProvider("openai.chat", SCRIPT), {number: fault})


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: faulty(("look", 0), Hang()), "the number of a call must be >= 1, got 0"),
        (lambda: faulty("look", "x"), "a fault must be an object with the method 'call', got 'x'"),
        (lambda: faulty("look", Cut()), "a fault must be an object with the method 'call'"),
        (lambda: faulty("look", Hang), "a fault must be an object with the method 'call'"),
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
        (lambda: EmulatedProvider("nix", SCRIPT), "unknown surface: 'nix'"),
        (scripted, "a script has at least one round"),
        (lambda: scripted(PART), "a round must be a list of parts, got Say"),
        (lambda: scripted(TEXT), "a round must be a list of parts, got 'x'"),
    ],
)
def test_what_could_not_happen_is_an_error_with_the_problem(make: Callable[[], Any], problem: str) -> None:
    with pytest.raises(ToolparityError) as raised:
        make()
    assert problem in str(raised.value)


@pytest.mark.parametrize("timeout", [0.05, 0.4])
def test_the_fault_that_ignores_cancelling_outlasts_each_timeout(timeout: float) -> None:
    async def wait() -> str:
        return "fine"

    for function in (look, wait):
        name = function.__name__
        tools = FaultyTools([Tool.of(function, timeout=timeout)], {name: TOOL_FAULTS["ignores cancelling"]})
        [finished] = at_once(Executor(tools).run([asked(name)]))
        assert finished.outcome == "timeout"
