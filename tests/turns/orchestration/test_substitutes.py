"""If a tool fails or its breaker is open, its declared substitute runs; the result and the outcome report it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.turns.playing import Say, at_once, call, script
from toolparity.turns.events import CallStarted
from toolparity.turns.execution.tool import Fallback, Tool
from toolparity.turns.execution.tool_results import ToolFailed
from toolparity.turns.orchestration import Breakers, Coordinator

from .staging import LONG, Clock, Counting, Sequenced, directed


def _raises(**_: Any) -> None:
    raise ValueError("no such luck")


def test_a_failed_tool_is_replaced_by_its_substitute_and_the_result_says_so() -> None:
    counting = Counting(look=_raises, count=lambda of: f"an outline of {of}")
    tools = counting.tools(look={"fallback": Fallback("count", lambda given: {"of": f"place {given['at']}"})})
    provider = Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")]))
    coordinator = Coordinator(provider, tools)
    directed(coordinator)
    done = coordinator.orchestrated
    assert counting.ran == [("look", {"at": 1}), ("count", {"of": "place 1"})]
    [result] = coordinator.turn.state.rounds[0].tool_results
    assert not result.is_error
    result_text = done.session.rounds[0].calls[0].text
    assert "look failed: Tool 'look' failed: ValueError: no such luck" in result_text
    assert 'count({"of":"place 1"}) was run in its place' in result_text
    assert result_text.endswith("an outline of place 1")
    [recovery] = done.recoveries
    assert (recovery.level, recovery.tool, recovery.call_id) == ("tool", "count", result.call_id)
    assert (done.level, done.outcome.termination) == ("tool", "natural_completion")
    assert "count was used in place of" in done.uncertainty


def test_a_failed_substitute_is_replaced_by_the_next_and_none_is_tried_twice() -> None:
    counting = Counting(look=_raises, count=_raises, post=lambda **_: "posted")
    tools = counting.tools(look={"fallback": "count"}, count={"fallback": "post"}, post={"fallback": "look"})
    provider = Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")]))
    coordinator = Coordinator(provider, tools)
    directed(coordinator)
    assert counting.names == ["look", "count", "post"]
    assert coordinator.orchestrated.recoveries[0].tool == "post"
    failing = Counting(look=_raises, count=_raises, post=_raises)
    tools = failing.tools(look={"fallback": "count"}, count={"fallback": "post"}, post={"fallback": "look"})
    coordinator = Coordinator(Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")])), tools)
    directed(coordinator)
    assert failing.names == ["look", "count", "post"]
    [tried] = coordinator.orchestrated.session.rounds[0].calls
    assert tried.failed
    cyclic = Counting(look=_raises, count=_raises, post=_raises)
    tools = cyclic.tools(look={"fallback": "count"}, count={"fallback": "post"}, post={"fallback": "count"})
    directed(Coordinator(Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")])), tools))
    assert cyclic.names == ["look", "count", "post"]
    assert "count, tried in its place, failed" in tried.text
    assert "post, tried in its place, failed" in tried.text


def test_a_substitute_that_needs_approval_is_not_run() -> None:
    counting = Counting(look=_raises)
    tools = counting.tools(look={"fallback": "post"}, post={"approval": True})
    coordinator = Coordinator(Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")])), tools)
    directed(coordinator)
    assert counting.names == ["look"]
    assert "it needs approval" in coordinator.orchestrated.session.rounds[0].calls[0].text


def test_a_substitute_whose_arguments_cannot_be_adapted_is_not_run() -> None:
    counting = Counting(look=_raises)
    tools = counting.tools(look={"fallback": Fallback("post", lambda given: given["nothing"])})
    coordinator = Coordinator(Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")])), tools)
    directed(coordinator)
    assert counting.names == ["look"]
    assert (
        "post was not tried in its place: no arguments: KeyError"
        in coordinator.orchestrated.session.rounds[0].calls[0].text
    )


@pytest.mark.parametrize("fallback", [Fallback("post", lambda given: given["nothing"]), Fallback("count")])
def test_the_result_of_a_successful_tool_does_not_mention_its_substitute(fallback: Fallback) -> None:
    tools = Counting().tools(look={"fallback": fallback}, count={"approval": True})
    coordinator = Coordinator(Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")])), tools)
    directed(coordinator)
    assert coordinator.orchestrated.session.rounds[0].calls[0].text == "look ran"


def test_a_substitute_whose_arguments_are_invalid_is_skipped_for_the_next() -> None:
    counting = Counting(look=_raises, post=lambda **_: "posted")
    schema = {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]}
    tools = counting.tools(look={"fallback": "count"}, count={"fallback": "post", "parameters": schema})
    coordinator = Coordinator(Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")])), tools)
    directed(coordinator)
    assert counting.names == ["look", "post"]
    assert "do not fit its schema" in coordinator.orchestrated.recoveries[0].why


def test_an_open_breaker_skips_a_tool_and_runs_its_substitute() -> None:
    breakers = Breakers(threshold=1, clock=Clock())
    for turn in range(2):
        counting = Counting(look=_raises)
        provider = Sequenced("openai.chat", script([call("look", at=1)], [Say("Done.")]))
        coordinator = Coordinator(provider, counting.tools(look={"fallback": "count"}), breakers=breakers)
        directed(coordinator)
        assert counting.names == (["look", "count"] if turn == 0 else ["count"])
    assert "'look' failed 1 times in a row" in coordinator.orchestrated.recoveries[0].why


@pytest.mark.parametrize("fallback", [None, "count", "post"])
def test_a_call_whose_tool_and_substitute_cannot_run_fails_without_starting(fallback: str | None) -> None:
    breakers = Breakers(threshold=1, clock=Clock())
    for name in ("look", "count"):
        breakers.failed("tool", name)
    counting = Counting()
    tools = counting.tools(look={"fallback": fallback}, post={"approval": True})
    provider = Sequenced("openai.chat", script([call("look", at=1)], [Say("I could not look.")]))
    coordinator = Coordinator(provider, tools, breakers=breakers)
    events = directed(coordinator)
    first = coordinator.turn.state.rounds[0]
    assert (counting.names, first.tools_used) == ([], [])
    assert [(call_state.outcome, call_state.attempts) for call_state in first.calls] == [("failed", 0)]
    assert not [event for event in events if isinstance(event, CallStarted)]
    [tried] = coordinator.orchestrated.session.rounds[0].calls
    assert "'look' failed 1 times in a row" in tried.text
    assert ("'count' failed 1 times in a row" in tried.text) == (fallback == "count")
    assert ("it needs approval" in tried.text) == (fallback == "post")
    assert (
        coordinator.orchestrated.outcome.termination == "natural_completion"
    )  # the model receives the failure and reports it


def test_a_tool_that_raises_tool_failed_does_not_open_its_breaker() -> None:
    def fails(**_: Any) -> None:
        raise ToolFailed("no such city")

    breakers = Breakers(threshold=1)
    coordinator = Coordinator(Sequenced("openai.chat", LONG), Counting(look=fails).tools(), breakers=breakers)
    directed(coordinator)
    assert breakers.state("tool", "look") == "closed"


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([Tool(name="a", function=_raises, fallback="b")], "its fallback 'b' is not declared"),
        (
            [Tool(name="a", function=_raises, fallback="b"), Tool(name="b", function=_raises, parallel=False)],
            "it is parallel, but its fallback",
        ),
    ],
)
def test_an_invalid_fallback_is_rejected_before_any_tool_runs(tools: list[Tool], message: str) -> None:
    from toolparity.turns.errors import InvalidTool

    with pytest.raises(InvalidTool, match=message):
        Coordinator(Sequenced("openai.chat", LONG), tools)


def test_a_blocking_substitute_waits_for_a_free_thread() -> None:
    from toolparity.normalizer.conversation import ToolResult
    from toolparity.normalizer.model import ToolCall
    from toolparity.turns.execution.executor import Executor
    from toolparity.turns.execution.threads import Threads
    from toolparity.turns.execution.tools import Tools
    from toolparity.turns.orchestration.dispatcher import Dispatcher

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

    async def run() -> list[ToolResult]:
        dispatcher = Dispatcher(tools, Breakers(), lambda call: None, lambda *recovery: None)
        executor = Executor(tools, threads=Threads(most=1), around=dispatcher.around)
        calls = [ToolCall(f"c{number}", "a", {}, "{}") for number in range(3)]
        return [ran.result for ran in await executor.run(calls)]

    assert [result.is_error for result in at_once(run())] == [False] * 3
    assert max(concurrency) == 1
