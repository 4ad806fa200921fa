"""Limits of an orchestrated turn: an exhausted limit ends the calls, but never the answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.turns.playing import WIRES, Say, at_once, call, script
from toolparity.turns.events import CallStarted
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits
from toolparity.turns.testing import FaultyTools, Hang

from .staging import LONG, Clock, Counting, Sequenced, assert_answered, directed


@pytest.mark.thorough(keep=2, per="{limits}")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limits", [Limits(calls=2), Limits(tokens=1), Limits(rounds=1)])
def test_an_exhausted_limit_leads_to_one_last_answer(wire: str, limits: Limits) -> None:
    played = script([call("look", at=1), call("count", of="x")], [Say("What I know."), call("post", text="x")])
    provider = Sequenced(wire, played)
    counting = Counting()
    coordinator = Coordinator(provider, counting.tools(), limits=limits)
    directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, len(provider.bodies)) == ("What I know.", 2)
    expected = "max_rounds_reached" if limits.rounds == 1 else "budget_exceeded"
    assert done.outcome.termination == expected
    assert counting.names == ["look", "count"]


def test_calls_above_the_limit_of_the_turn_get_a_result_and_do_not_run() -> None:
    counting = Counting()
    coordinator = Coordinator(Sequenced("openai.chat", LONG), counting.tools(), limits=Limits(calls=1))
    directed(coordinator)
    assert counting.names == ["look"]
    assert "the limit of 1 calls" in coordinator.orchestrated.session.rounds[0].calls[1].text


def test_handed_over_calls_count_towards_the_limit() -> None:
    counting = Counting()
    tools = Tools([Tool(name="away"), *counting.tools().values()])
    played = script([call("away"), call("look", at=1)], [Say("Done.")], tools=("away", "look"))
    coordinator = Coordinator(Sequenced("openai.chat", played), tools, limits=Limits(calls=1))
    waiting = at_once(coordinator.run("Go."))
    coordinator.turn.answer(waiting.outcome.waiting[0].id, "brought from afar")
    at_once(coordinator.run())
    assert_answered(coordinator)
    away, look = coordinator.orchestrated.session.rounds[0].calls
    assert (away.text, counting.names) == ("brought from afar", [])
    assert "the limit of 1 calls" in look.text


@pytest.mark.parametrize("policy", ["all", "batch"])
def test_calls_dropped_by_a_limit_are_reported_as_neither_started_nor_used(policy: str) -> None:
    coordinator = Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), limits=Limits(calls=1), policy=policy)
    events = directed(coordinator)
    first = coordinator.turn.state.rounds[0]
    assert [(call.name, call.outcome, call.attempts) for call in first.calls] == [
        ("look", "returned", 1),
        ("count", "skipped", 0),
    ]
    assert first.tools_used == ["look"]
    assert [event.name for event in events if isinstance(event, CallStarted)] == ["look"]


def test_after_the_time_limit_the_model_is_asked_once_more() -> None:
    clock = Clock()
    counting = Counting(look=clock.passes(20))
    limits = Limits(seconds=10, last_seconds=30)
    provider = Sequenced("openai.chat", LONG)
    coordinator = Coordinator(provider, counting.tools(), limits=limits, clock=clock, policy="batch")
    directed(coordinator)
    assert counting.names == ["look"]
    assert "the time limit of this turn is reached" in coordinator.orchestrated.session.rounds[0].calls[1].text
    assert len(provider.bodies) == 2
    assert coordinator.turn.state.rounds[-1].last


def test_a_hanging_tool_is_cancelled_at_the_time_limit() -> None:
    provider = Sequenced("openai.chat", script([call("look", at=1), call("count", of="x")], [Say("Too slow.")]))
    tools = FaultyTools(Counting().tools(), {"look": Hang()})
    coordinator = Coordinator(provider, tools, limits=Limits(seconds=1))
    directed(coordinator)
    assert coordinator.orchestrated.answer == "Too slow."
    assert [call.outcome for call in coordinator.turn.state.rounds[0].calls] == ["cancelled", "returned"]


def test_a_hanging_provider_is_cancelled_at_the_time_limit_and_asked_once_more() -> None:
    provider = Sequenced("openai.chat", LONG, faults={2: Hang(after=1), 3: Hang(after=1)})
    limits = Limits(seconds=1, last_seconds=0.5)
    coordinator = Coordinator(provider, Counting().tools(), limits=limits)
    directed(coordinator)
    done = coordinator.orchestrated
    assert len(provider.bodies) == 3
    assert provider.closed == 3
    assert (done.level, done.outcome.termination) == ("assembled", "provider_failed")
    assert [recovery.level for recovery in done.recoveries] == ["session", "assembled"]
    assert "look ran" in done.answer


def test_a_hanging_summariser_is_abandoned_at_the_time_limit() -> None:
    async def hangs(round: Any, tokens: int) -> str:
        await asyncio.Event().wait()
        return ""

    context = ContextBuilder(1, summarise=hangs)
    limits = Limits(seconds=0.05)
    coordinator = Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), context=context, limits=limits)
    directed(coordinator)
    assert coordinator.turn.state.rounds[-1].last


def test_time_spent_between_runs_does_not_count_towards_the_time_limit() -> None:
    clock = Clock()
    counting = Counting()
    provider = Sequenced("openai.chat", LONG)
    tools = counting.tools(look={"approval": True})
    coordinator = Coordinator(provider, tools, limits=Limits(seconds=10), clock=clock)
    waiting = at_once(coordinator.run("Go."))
    assert waiting.text == ""
    assert len(waiting.outcome.waiting) == 1
    assert counting.names == ["count"]
    while coordinator.turn.state.phase != "over":
        clock.now += 3600
        coordinator.turn.decide(coordinator.turn.outcome.waiting[0].id, True)
        at_once(coordinator.run())
    assert_answered(coordinator)
    assert coordinator.orchestrated.answer == "All done."
    assert coordinator.orchestrated.level is None


def test_time_spent_in_an_approver_does_not_count_towards_the_time_limit() -> None:
    clock = Clock()

    async def approve(arguments: Any) -> bool:
        clock.now += 3600
        return True

    counting = Counting(count=clock.passes(6), post=clock.passes(6))
    tools = counting.tools(look={"approval": lambda arguments: arguments["at"] == 1})
    coordinator = Coordinator(
        Sequenced("openai.chat", LONG), tools, limits=Limits(seconds=10), clock=clock, policy="batch", approve=approve
    )
    directed(coordinator)
    assert counting.names == [
        "look",
        "count",
        "post",
    ]  # two tools of six seconds exceed the limit, an hour of waiting does not
    assert coordinator.turn.state.rounds[-1].last


def test_a_call_approved_late_is_still_cancelled_at_the_time_limit() -> None:
    async def approve(arguments: Any) -> bool:
        await asyncio.sleep(1.1)  # longer than the limit of the turn
        return True

    tools = FaultyTools(Counting().tools(look={"approval": True}), {"look": Hang()})
    provider = Sequenced("openai.chat", script([call("look", at=1)], [Say("Too slow.")]))
    coordinator = Coordinator(provider, tools, limits=Limits(seconds=1), approve=approve)
    directed(coordinator)
    assert coordinator.orchestrated.answer == "Too slow."
    assert [call.outcome for call in coordinator.turn.state.rounds[0].calls] == ["cancelled"]


@pytest.mark.parametrize("limit", [{"rounds": -1}, {"calls": -1}, {"seconds": -0.5}, {"attempts": -1}])
def test_a_negative_limit_is_rejected(limit: dict[str, Any]) -> None:
    from toolparity.normalizer.errors import PolicyError

    with pytest.raises(PolicyError, match="must be >= 0, got -"):
        Limits(**limit)


@pytest.mark.parametrize("limits", [Limits(calls=0), Limits(tokens=0), Limits(seconds=0), Limits(rounds=0)])
def test_with_a_limit_of_zero_the_model_answers_without_calls(limits: Limits) -> None:
    provider = Sequenced("openai.chat", script([Say("From memory."), call("look", at=1)]))
    counting = Counting()
    coordinator = Coordinator(provider, counting.tools(), limits=limits, clock=Clock())
    directed(coordinator)
    assert (coordinator.orchestrated.answer, len(provider.bodies), counting.names) == ("From memory.", 1, [])


def test_without_reported_usage_tokens_are_estimated_from_requests_and_answers() -> None:
    """Chat Completions reports no usage of a stream unless the request asks for it."""
    plain = Coordinator(Sequenced("openai.chat", LONG), Counting().tools())
    directed(plain)
    assert plain.orchestrated.outcome.usage is None
    first = ContextBuilder().weight(plain.turn.state.request)
    for tokens, requests in ((first, 2), (10_000, 3)):
        provider = Sequenced("openai.chat", LONG)
        coordinator = Coordinator(provider, Counting().tools(), limits=Limits(tokens=tokens))
        directed(coordinator)
        assert len(provider.bodies) == requests
        assert coordinator.turn.state.rounds[-1].last == (requests == 2)
