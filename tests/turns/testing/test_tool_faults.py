"""Faults of a tool: each call of a tool or one of them, in the event loop and in a thread."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

import pytest

from tests.turns.executing import OUTCOMES, asked, texts
from tests.turns.playing import at_once
from toolparity.normalizer.errors import ToolparityError
from toolparity.turns.execution.executor import Executor, FinishedCall
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.testing import (
    TOOL_FAULTS,
    FaultyTools,
    Hang,
    IgnoreCancelling,
    Raise,
    Return,
    ReturnText,
    ToolFault,
)


async def look(day: date) -> str:
    """Look at a day."""
    return f"{day:%A}"


def count(day: date) -> str:
    """Count in a thread."""
    return f"{day.year}"


def ran(tools: Tools, *names: str) -> list[FinishedCall]:
    """Run the calls one after the other."""
    executor = Executor(tools, grace=0.01)

    async def run() -> list[FinishedCall]:
        calls = [asked(name, f"c{number}", day="2026-11-27") for number, name in enumerate(names)]
        return [finished for each in calls for finished in await executor.run([each])]

    return at_once(run())


def declared() -> list[Tool]:
    return [Tool.of(look, timeout=0.5), Tool.of(count, timeout=0.5)]


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
    tools = FaultyTools(declared(), {"look": Return("of all"), ("look", 1): Return("of one")})
    assert [text for _, text in texts(ran(tools, "look", "look"))] == ["of one", "of all"]


def test_tools_without_faults_are_the_same_objects_and_all_declare_the_same() -> None:
    tools = Tools(declared())
    faulty = FaultyTools(tools, {"look": Hang()})
    assert faulty["count"] is tools["count"]
    assert faulty.declared() == tools.declared()


def test_a_function_that_ignores_cancelling_is_abandoned_and_ends_after_its_time() -> None:
    async def run() -> tuple[int, int]:
        executor = Executor(FaultyTools(declared(), {"look": IgnoreCancelling(0.3)}), grace=0.01)
        [finished] = await executor.run([asked("look", day="2026-11-27")])
        assert finished.outcome == "timeout"
        before = executor.abandoned
        await asyncio.sleep(0.4)
        return before, executor.abandoned

    assert at_once(run()) == (1, 0)


def test_a_result_above_the_limit_is_cut() -> None:
    [finished] = ran(FaultyTools(declared(), {"look": ReturnText(2_000_000)}), "look")
    assert "first 1000000 of 2000000 characters" in texts([finished])[0][1]


def test_a_custom_fault_may_run_the_real_function() -> None:
    class Upper:
        def call(self, run: Any, is_async: bool) -> Any:
            async def upper() -> str:
                return str(await run()).upper()

            return upper() if is_async else str(run()).upper()

    fault: ToolFault = Upper()
    tools = FaultyTools(declared(), {"look": fault, "count": fault})
    assert [text for _, text in texts(ran(tools, "look", "count"))] == ["FRIDAY", "2026"]


def test_a_fault_of_an_unknown_tool_or_of_one_that_runs_elsewhere_is_an_error() -> None:
    with pytest.raises(ToolparityError, match="no such tool"):
        FaultyTools(declared(), {"lok": Raise()})
    with pytest.raises(ToolparityError, match="runs elsewhere"):
        FaultyTools([Tool(name="away")], {("away", 1): Raise()})
