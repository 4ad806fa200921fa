"""Breakers open after repeated failures. If a tool fails or its breaker is open, its declared substitute runs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.turns.playing import Say, call, only, script
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.model import ToolCall
from toolparity.turns.errors import CircuitOpen
from toolparity.turns.events import CallStarted
from toolparity.turns.execution.executor import Executor
from toolparity.turns.execution.threads import Threads
from toolparity.turns.execution.tool import Fallback, Tool
from toolparity.turns.execution.tool_results import ToolFailed
from toolparity.turns.execution.tools import Tools
from toolparity.turns.machine.history import summary
from toolparity.turns.orchestration import Breakers
from toolparity.turns.orchestration.dispatcher import Dispatcher
from toolparity.turns.result_texts import result_text

from .staging import LOOKED, Clock, Counting, Ran

LOOK = ("tool", "look")


def _raises(**_: Any) -> None:
    raise ValueError("no such luck")


def _reports(**_: Any) -> None:
    raise ToolFailed("no such city")


def _returns(**given: Any) -> str:
    return "found"


def test_a_failed_tool_is_replaced_by_its_substitute_and_the_result_says_so() -> None:
    counting = Counting(look=_raises, count=lambda of: f"an outline of {of}")
    fallback = Fallback("count", lambda given: {"of": f"place {given['at']}"})
    ran = Ran(LOOKED, counting, tools={"look": {"fallback": fallback}})
    assert counting.ran == [("look", {"at": 1}), ("count", {"of": "place 1"})]
    [result] = ran.state.rounds[0].tool_results
    assert not result.is_error
    for words in ("look failed: Tool 'look' failed: ValueError: no such luck", "was run in its place", "an outline of"):
        assert words in result_text(result)
    called, instead = ran.first_calls
    outline = 'count({"of":"place 1"})'
    assert (called.name, called.failed, called.substitute) == ("look", True, outline)
    assert (instead.label, instead.failed, instead.instead_of) == (outline, False, "look")
    session = ran.done.session
    assert session.discovered_facts == {outline: "an outline of place 1"}
    assert session.search_coverage[outline] == ["ok"]
    assert "no such luck" in session.search_coverage['look({"at":1})'][0]
    assert "missing" not in session.evolving_intent
    [recovery] = ran.done.recoveries
    assert (recovery.level, recovery.tool, recovery.call_id) == ("tool", "count", result.call_id)
    assert (ran.done.level, ran.termination) == ("tool", "natural_completion")
    assert "count was used in place of" in ran.done.uncertainty
    assert "luck" not in ran.done.text + summary(ran.state, "provider_failed")


@pytest.mark.parametrize(
    ("post", "fallback", "failed"), [(_returns, "look", False), (_raises, "look", True), (_raises, "count", True)]
)
def test_a_failed_substitute_is_replaced_by_the_next_and_none_is_tried_twice(
    post: Any, fallback: str, failed: bool
) -> None:
    counting = Counting(look=_raises, count=_raises, post=post)
    tools = {"look": {"fallback": "count"}, "count": {"fallback": "post"}, "post": {"fallback": fallback}}
    ran = Ran(LOOKED, counting, tools=tools)
    assert counting.names == ["look", "count", "post"]
    tried, *others = ran.first_calls
    assert tried.failed
    assert [(other.name, other.failed) for other in others] == (
        [("count", True), ("post", True)] if failed else [("post", False)]
    )
    assert [recovery.tool for recovery in ran.done.recoveries] == ["post"] * (not failed)
    [result] = ran.state.rounds[0].tool_results
    for name in ("count", "post") if failed else ("count",):
        assert f"{name}, tried in its place, failed" in result_text(result)
    assert "luck" not in summary(ran.state, "all_tools_failed")


def test_an_open_breaker_skips_a_tool_and_runs_its_substitute() -> None:
    breakers = Breakers(threshold=1, clock=Clock())
    for names in (["look", "count"], ["count"]):
        ran = Ran(LOOKED, Counting(look=_raises), tools={"look": {"fallback": "count"}}, breakers=breakers)
        assert ran.counting.names == names
    assert "'look' failed 1 times in a row" in ran.done.recoveries[0].why
    breakers = Breakers(threshold=1)
    Ran(LOOKED, Counting(look=_reports), breakers=breakers)
    assert breakers.state(*LOOK) == "closed"  # the tool works


@pytest.mark.parametrize("fallback", [None, "count", "post"])
def test_a_call_whose_tool_and_substitute_cannot_run_fails_without_starting(fallback: str | None) -> None:
    breakers = Breakers(threshold=1, clock=Clock())
    for name in ("look", "count"):
        breakers.failed("tool", name)
    played = script([call("look", at=1)], [Say("I could not look.")])
    ran = Ran(played, tools={"look": {"fallback": fallback}, "post": {"approval": True}}, breakers=breakers)
    first = ran.state.rounds[0]
    assert (ran.counting.names, first.tools_used, only(ran.events, CallStarted)) == ([], [], [])
    assert [(called.outcome, called.attempts) for called in first.calls] == [("failed", 0)]
    [tried] = ran.first_calls
    assert "'look' failed 1 times in a row" in tried.text
    assert ("'count' failed 1 times in a row" in tried.text) == (fallback == "count")
    assert ("it needs approval" in tried.text) == (fallback == "post")
    assert ran.termination == "natural_completion"  # the model receives the failure and reports it


async def test_a_blocking_substitute_waits_for_a_free_thread() -> None:
    running: list[int] = []
    concurrency: list[int] = []
    pause = threading.Event()

    def blocking(**_: Any) -> str:
        running.append(1)
        concurrency.append(len(running))
        pause.wait(0.05)  # long enough for a concurrent call to start
        running.pop()
        return "found"

    async def fails(**_: Any) -> None:
        raise ValueError("no such luck")

    tools = Tools([Tool(name="a", function=fails, fallback="b"), Tool(name="b", function=blocking)])
    dispatcher = Dispatcher(tools, Breakers(), lambda call: None, lambda *recovery: None)
    executor = Executor(tools, threads=Threads(most=1), around=dispatcher.around)
    finished = await executor.run([ToolCall(f"c{number}", "a", {}, "{}") for number in range(3)])
    assert [each.result.is_error for each in finished] == [False] * 3
    assert max(concurrency) == 1


def test_a_breaker_opens_after_its_threshold_of_consecutive_failures() -> None:
    breakers = Breakers(threshold=3, seconds=60, clock=Clock())
    for failed in (True, True, False, True, True, True):
        breakers.admit(*LOOK)  # a call without an outcome does not change a breaker
        assert breakers.state(*LOOK) == "closed"
        (breakers.failed if failed else breakers.succeeded)(*LOOK)
    with pytest.raises(CircuitOpen, match="'look' failed 3 times in a row and is not tried for 60s"):
        breakers.admit(*LOOK)
    breakers.admit("provider", "look")
    breakers.admit("tool", "count")


def test_after_its_timeout_a_breaker_admits_one_call_that_decides_its_state() -> None:
    clock = Clock()
    breakers = Breakers(threshold=1, seconds=60, clock=clock)
    breakers.failed(*LOOK)
    clock.now += 59.5
    with pytest.raises(CircuitOpen, match=r"not tried for 0\.5s"):
        breakers.admit(*LOOK)
    clock.now += 1
    breakers.admit(*LOOK)
    assert breakers.state(*LOOK) == "half-open"
    breakers.failed(*LOOK)
    with pytest.raises(CircuitOpen, match="60s"):
        breakers.admit(*LOOK)
    clock.now += 60
    breakers.admit(*LOOK)
    breakers.succeeded(*LOOK)
    assert breakers.state(*LOOK) == "closed"


def test_concurrent_outcomes_neither_extend_nor_end_the_time_a_breaker_is_open() -> None:
    clock = Clock()
    breakers = Breakers(threshold=1, seconds=10, clock=clock)
    for _ in range(3):
        breakers.admit(*LOOK)
    breakers.failed(*LOOK)
    clock.now += 8
    breakers.failed(*LOOK)
    breakers.succeeded(*LOOK)
    assert breakers.state(*LOOK) == "open"
    clock.now += 2
    breakers.admit(*LOOK)


@pytest.mark.parametrize("options", [{"threshold": 0}, {"threshold": -1}, {"seconds": -1}])
def test_a_breaker_that_could_not_work_is_an_error(options: Any) -> None:
    with pytest.raises(PolicyError, match="must be >="):
        Breakers(**options)
