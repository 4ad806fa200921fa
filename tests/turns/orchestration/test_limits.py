"""Limits of an orchestrated turn: an exhausted limit ends the calls, but never the answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.turns.playing import WIRES, Say, at_once, call, only, script
from toolparity.normalizer.errors import PolicyError
from toolparity.turns.events import CallStarted
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits
from toolparity.turns.testing import FaultyTools, Hang

from .staging import LONG, Clock, Counting, Ran, Sequenced, assert_answered

TOO_SLOW = script([call("look", at=1), call("count", of="x")], [Say("Too slow.")])


@pytest.mark.thorough(keep=2, per="{limits}")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limits", [Limits(calls=2), Limits(tokens=1), Limits(rounds=1)])
def test_an_exhausted_limit_leads_to_one_last_answer(wire: str, limits: Limits) -> None:
    """003, Testing Approach, 5: at the limit of rounds there is an answer, and nothing more runs."""
    played = script([call("look", at=1), call("count", of="x")], [Say("What I know."), call("post", text="x")])
    ran = Ran(played, wire=wire, limits=limits)
    assert (ran.done.answer, len(ran.provider.bodies)) == ("What I know.", 2)
    assert ran.termination == ("max_rounds_reached" if limits.rounds == 1 else "budget_exceeded")
    assert ran.counting.names == ["look", "count"]


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
def test_calls_above_the_limit_get_a_result_and_are_neither_started_nor_used(policy: str) -> None:
    ran = Ran(limits=Limits(calls=1), policy=policy)
    first = ran.state.rounds[0]
    calls = [(called.name, called.outcome, called.attempts) for called in first.calls]
    assert calls == [("look", "returned", 1), ("count", "skipped", 0)]
    assert ran.counting.names == first.tools_used == [event.name for event in only(ran.events, CallStarted)] == ["look"]
    assert "the limit of 1 calls" in ran.first_calls[1].text


def test_after_the_time_limit_the_model_is_asked_once_more() -> None:
    clock = Clock()
    limits = Limits(seconds=10, last_seconds=30)
    ran = Ran(counting=Counting(look=clock.passes(20)), limits=limits, clock=clock, policy="batch")
    assert ran.counting.names == ["look"]
    assert "the time limit of this turn is reached" in ran.first_calls[1].text
    assert len(ran.provider.bodies) == 2
    assert ran.state.rounds[-1].last


@pytest.mark.parametrize("approved_late", [False, True])
def test_a_hanging_tool_is_cancelled_at_the_time_limit(approved_late: bool) -> None:
    async def approve(arguments: Any) -> bool:
        await asyncio.sleep(1.1)  # longer than the limit of the turn
        return True

    tools = FaultyTools(Counting().tools(look={"approval": approved_late}), {"look": Hang()})
    ran = Ran(TOO_SLOW, tools=tools, limits=Limits(seconds=1), approve=approve)
    assert ran.done.answer == "Too slow."
    assert {called.name: called.outcome for called in ran.state.rounds[0].calls}["look"] == "cancelled"


def test_a_hanging_provider_is_cancelled_at_the_time_limit_and_asked_once_more() -> None:
    ran = Ran(faults={2: Hang(after=1), 3: Hang(after=1)}, limits=Limits(seconds=1, last_seconds=0.5))
    assert (len(ran.provider.bodies), ran.provider.closed) == (3, 3)
    assert (ran.done.level, ran.termination) == ("assembled", "provider_failed")
    assert [recovery.level for recovery in ran.done.recoveries] == ["session", "assembled"]
    assert "look ran" in ran.done.answer


def test_a_hanging_summariser_is_abandoned_at_the_time_limit() -> None:
    async def hangs(round: Any, tokens: int) -> str:
        await asyncio.Event().wait()
        return ""

    ran = Ran(context=ContextBuilder(1, summarise=hangs), limits=Limits(seconds=0.05))
    assert ran.state.rounds[-1].last


def test_time_spent_between_runs_does_not_count_towards_the_time_limit() -> None:
    clock, counting = Clock(), Counting()
    tools = counting.tools(look={"approval": True})
    coordinator = Coordinator(Sequenced("openai.chat", LONG), tools, limits=Limits(seconds=10), clock=clock)
    waiting = at_once(coordinator.run("Go."))
    assert (waiting.text, len(waiting.outcome.waiting), counting.names) == ("", 1, ["count"])
    while coordinator.turn.state.phase != "over":
        clock.now += 3600
        coordinator.turn.decide(coordinator.turn.outcome.waiting[0].id, True)
        at_once(coordinator.run())
    assert_answered(coordinator)
    assert (coordinator.orchestrated.answer, coordinator.orchestrated.level) == ("All done.", None)


def test_time_spent_in_an_approver_does_not_count_towards_the_time_limit() -> None:
    """Two tools of six seconds exceed the limit, an hour of waiting does not."""
    clock = Clock()

    async def approve(arguments: Any) -> bool:
        clock.now += 3600
        return True

    counting = Counting(count=clock.passes(6), post=clock.passes(6))
    tools = {"look": {"approval": lambda arguments: arguments["at"] == 1}}
    options: Any = {"limits": Limits(seconds=10), "clock": clock, "policy": "batch", "approve": approve}
    ran = Ran(counting=counting, tools=tools, **options)
    assert counting.names == ["look", "count", "post"]
    assert ran.state.rounds[-1].last


def test_a_negative_limit_is_rejected() -> None:
    for limit in ({"rounds": -1}, {"calls": -1}, {"seconds": -0.5}, {"attempts": -1}):
        with pytest.raises(PolicyError, match="must be >= 0, got -"):
            Limits(**limit)


@pytest.mark.parametrize("limits", [Limits(calls=0), Limits(tokens=0), Limits(seconds=0), Limits(rounds=0)])
def test_with_a_limit_of_zero_the_model_answers_without_calls(limits: Limits) -> None:
    ran = Ran(script([Say("From memory."), call("look", at=1)]), limits=limits, clock=Clock())
    assert (ran.done.answer, len(ran.provider.bodies), ran.counting.names) == ("From memory.", 1, [])


def test_without_reported_usage_tokens_are_estimated_from_requests_and_answers() -> None:
    """Chat Completions reports no usage of a stream unless the request asks for it."""
    plain = Ran()
    assert plain.done.outcome.usage is None
    first = ContextBuilder().weight(plain.state.request)
    for tokens, requests in ((first, 2), (10_000, 3)):
        ran = Ran(limits=Limits(tokens=tokens))
        assert len(ran.provider.bodies) == requests
        assert ran.state.rounds[-1].last == (requests == 2)
