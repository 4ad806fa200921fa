"""An orchestrated turn with failures or an exhausted limit has an answer, a result per call, and a legal request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.turns.playing import WIRES, RecordingObserver, Say, at_once, call, on_every_wire, only, script
from toolparity.normalizer.conversation import User
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.model import Error
from toolparity.turns.backoff import Backoff
from toolparity.turns.events import CallStarted, Noted
from toolparity.turns.execution.tool import Tool
from toolparity.turns.machine.state import load
from toolparity.turns.orchestration import Breakers, ContextBuilder, Coordinator, Limits
from toolparity.turns.testing import Cut, FaultyTools, Hang, Status

from .staging import LONG, LOOKED, Clock, Counting, Ran, Sequenced, assert_answered, directed, names_of_notes, words


def _raises(**_: Any) -> None:
    raise ValueError("no such luck")


@pytest.mark.thorough(keep=12)
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("request_number", [0, 1, 2])
@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_fails_once_at_any_point_is_repeated(wire: str, request_number: int, after: int) -> None:
    ran = Ran(wire=wire, fails=[request_number], after=after)
    assert (ran.done.answer, ran.done.level, ran.done.written) == ("All done.", "round", True)
    assert ran.termination == "natural_completion"
    assert "repeated with less context" in ran.done.uncertainty
    assert ran.done.text == f"All done.\n\n{ran.done.uncertainty}"
    assert ran.counting.names == ["look", "count", "post", "look"]
    assert names_of_notes(ran.events).count("recovery") == 1
    assert [round.attempt for round in ran.state.rounds] == [1 + (number == request_number) for number in range(3)]


@on_every_wire
def test_a_round_that_fails_twice_leads_to_one_answer_without_tools(wire: str) -> None:
    played = script([call("look", at=1)], [Say("It is noon."), call("count", of="x")])
    ran = Ran(played, Counting(look=lambda at: "the clock says noon"), wire=wire, fails=[1, 2])
    assert (ran.done.answer, ran.done.level, ran.termination) == ("It is noon.", "session", "incomplete")
    assert [recovery.level for recovery in ran.done.recoveries] == ["round", "session"]
    assert "without further calls" in ran.done.uncertainty
    asked = ran.provider.asked()
    assert (asked.tools, {type(turn) for turn in asked.messages}) == ([], {User})
    assert "the clock says noon" in words(asked.messages[-1])
    assert ran.counting.names == ["look"]


@on_every_wire
def test_when_every_recovery_fails_the_answer_is_assembled_from_the_results(wire: str) -> None:
    ran = Ran(counting=Counting(look=lambda at: "noon", count=_raises), wire=wire, fails=range(1, 9))
    assert (ran.done.level, ran.done.written, ran.termination) == ("assembled", False, "provider_failed")
    assert 'look({"at":1}): noon' in ran.done.answer
    assert 'count({"of":' in ran.done.answer
    assert "no such luck" not in ran.done.text  # the text of an exception
    assert "not written by the model" in ran.done.uncertainty
    assert "without further calls" not in ran.done.uncertainty
    assert len(ran.provider.bodies) == 4  # the request, a repetition with less context, and one without tools
    assert names_of_notes(ran.events)[-2:] == ["recovery", "final_response"]


@on_every_wire
def test_each_level_of_recovery_waits_twice_as_long_as_the_one_before(wire: str, slept: list[float]) -> None:
    ran = Ran(wire=wire, fails=range(4), limits=Limits(attempts=3))
    levels = [(recovery.level, recovery.seconds) for recovery in ran.done.recoveries]
    assert levels == [("round", 1.0), ("round", 2.0), ("session", 4.0), ("assembled", 0.0)]
    assert slept == [1.0, 2.0, 4.0]


def test_a_recovery_without_backoff_or_without_time_does_not_wait(slept: list[float]) -> None:
    for options in ({"backoff": None}, {"limits": Limits(seconds=0.5), "clock": Clock()}):
        ran = Ran(fails=[0], **options)
        assert (ran.done.answer, ran.done.level) == ("All done.", "round")
    assert slept == []


async def test_a_turn_can_be_cancelled_while_a_recovery_waits() -> None:
    provider = Sequenced("openai.chat", LONG, fails=[1])
    coordinator = Coordinator(provider, Counting().tools(), backoff=Backoff(first=30, longest=60))
    async with asyncio.timeout(10):
        async for event in coordinator.stream("Go."):
            if isinstance(event, Noted) and event.note == "recovery":
                coordinator.turn.cancel("the user left")
    assert coordinator.orchestrated.outcome.termination == "cancelled"
    assert_answered(coordinator)


def test_each_attempt_of_a_round_has_half_the_context_of_the_one_before() -> None:
    counting = Counting(look=lambda at: "a fact of some length, " * 4000, count=lambda of: "two")
    ran = Ran(counting=counting, fails=[2, 3], limits=Limits(attempts=3))
    first, second, third = (ran.coordinator.context.weight(ran.provider.asked(number)) for number in range(2, 5))
    assert ran.done.answer == "All done."
    assert second <= first // 2 + 200
    assert third <= second


def _error(ran: Ran) -> Error:
    """The error of the outcome, whose text the answer leaves out."""
    error = ran.done.outcome.error
    assert error is not None
    assert error.message not in ran.done.text
    return error


def test_a_request_rejected_for_authorization_is_not_repeated() -> None:
    for status in (401, 403, 404):
        ran = Ran(faults={1: Status(status)})
        assert len(ran.provider.bodies) == 1
        assert (_error(ran).status, _error(ran).retryable) == (status, False)
        assert ran.coordinator.breakers.state("provider", "openai") == "closed"


@on_every_wire
def test_the_request_of_an_incomplete_answer_is_repeated(wire: str) -> None:
    whole = "A whole sentence, which the first answer breaks off."
    ran = Ran(script([Say(whole)], [Say("Too far.")]), wire=wire, faults={1: Cut(after=3)})
    assert (ran.done.answer, ran.done.level) == (whole, "round")


@on_every_wire
def test_when_all_tools_of_two_consecutive_rounds_fail_the_model_answers(wire: str) -> None:
    for names, level, termination in (
        (["look", "count"], None, "natural_completion"),
        (["look", "count", "look", "count"], None, "natural_completion"),
        (["look", "look"], "session", "all_tools_failed"),
    ):
        rounds = ([call(name, at=number)] for number, name in enumerate(names))
        ran = Ran(script(*rounds, [Say("I could not look.")]), Counting(look=_raises), wire=wire)
        assert (ran.done.answer, ran.done.level, ran.termination) == ("I could not look.", level, termination)
        assert ran.counting.names == names


def test_an_explicit_on_all_failed_setting_is_respected() -> None:
    for setting, rounds in (("stop", 1), ("answer", 2)):
        ran = Ran(LOOKED, Counting(look=_raises), on_all_failed=setting)
        assert (ran.termination, len(ran.state.rounds)) == ("all_tools_failed", rounds)


def test_an_open_breaker_stops_requests_and_the_turn_still_answers() -> None:
    clock = Clock()
    breakers = Breakers(threshold=3, seconds=60, clock=clock)
    failed = Ran(fails=range(9), breakers=breakers)
    assert "There are no results." in failed.done.answer
    assert _error(failed) == Error("RuntimeError", "gone")
    assert breakers.state("provider", "openai") == "open"
    stopped = Ran(breakers=breakers)
    assert (stopped.provider.bodies, _error(stopped).type) == ([], "CircuitOpen")
    clock.now += 61
    assert len(Ran(breakers=breakers).provider.bodies) == 3
    assert breakers.state("provider", "openai") == "closed"


def test_a_stored_turn_resumes_in_another_coordinator_and_runs_no_call_twice() -> None:
    Ran(observers=[observed := RecordingObserver()])
    for state in map(load, observed.states[:-1]):
        done = {called.id for round in state.rounds for called in round.calls if called.attempts}
        counting = Counting()
        asked = len(state.rounds) - (state.phase == "asking")
        rest = script(*LONG.rounds[asked:]) if asked < len(LONG.rounds) else script([Say("All done.")])
        coordinator = Coordinator(Sequenced("openai.chat", rest), counting.tools(), state=state)
        directed(coordinator, None)
        assert coordinator.orchestrated.answer == "All done."
        assert len(done) + len(counting.ran) == 4


@pytest.mark.parametrize("wire", ["anthropic.messages", "xai.grpc"])
def test_the_usage_of_an_incomplete_answer_is_included_in_the_total(wire: str) -> None:
    complete: Any = Ran(wire=wire).done.outcome.usage
    broken: Any = Ran(wire=wire, fails=[1], after=3).done.outcome.usage
    assert broken.input_tokens > complete.input_tokens > 0
    assert broken.output_tokens > complete.output_tokens > 0


def test_a_custom_prepare_function_receives_the_request_of_the_context() -> None:
    prepared: list[Any] = []

    def prepare(request: Any) -> Any:
        prepared.append(request)
        return request

    ran = Ran(context=ContextBuilder(1), prepare=prepare)
    assert len(prepared) == 3
    assert ran.coordinator.built is not None
    assert prepared[-1] is ran.coordinator.built.request
    with pytest.raises(TypeError, match="executor cannot be passed"):
        Coordinator(ran.provider, executor=None)


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
    played, counting = script([call("away"), call("look", at=1)], [Say("Done.")], tools=("away", "look")), Counting()
    tools = [Tool(name="away"), *counting.tools().values()]
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
    limits, clock = Limits(seconds=10, last_seconds=30), Clock()
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
    usage = plain.done.outcome.usage
    assert usage is not None
    assert usage.estimated
    first = ContextBuilder().weight(plain.state.request)
    for tokens, requests in ((first, 2), (10_000, 3)):
        ran = Ran(limits=Limits(tokens=tokens))
        assert len(ran.provider.bodies) == requests
        assert ran.state.rounds[-1].last == (requests == 2)
