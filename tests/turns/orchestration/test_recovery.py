"""Failures at every step of an orchestrated turn: it has an answer, a result per call, and a legal next request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.turns.playing import WIRES, Say, at_once, call, script
from toolparity.normalizer.conversation import User
from toolparity.normalizer.model import Error
from toolparity.turns.backoff import Backoff
from toolparity.turns.events import Noted
from toolparity.turns.machine.inputs import Input
from toolparity.turns.observer import Observer
from toolparity.turns.orchestration import Breakers, ContextBuilder, Coordinator, Limits
from toolparity.turns.testing import Cut, Status

from .staging import LONG, Clock, Counting, Sequenced, assert_answered, directed, messages, words


def _raises(**_: Any) -> None:
    raise ValueError("no such luck")


@pytest.mark.thorough(keep=12)
@pytest.mark.parametrize("after", [0, 2, 1000])
@pytest.mark.parametrize("request_number", [0, 1, 2])
@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_fails_once_at_any_point_is_repeated(wire: str, request_number: int, after: int) -> None:
    provider = Sequenced(wire, LONG, fails={request_number: RuntimeError("gone")}, after=after)
    counting = Counting()
    coordinator = Coordinator(provider, counting.tools())
    events = directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, done.level, done.written) == ("All done.", "round", True)
    assert done.outcome.termination == "natural_completion"
    assert "repeated with less context" in done.uncertainty
    assert done.text == f"All done.\n\n{done.uncertainty}"
    assert counting.names == ["look", "count", "post", "look"]
    assert messages(events).count("recovery") == 1
    assert [round.attempt for round in coordinator.turn.state.rounds] == [
        1 + (number == request_number) for number in range(3)
    ]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_round_that_fails_twice_leads_to_one_answer_without_tools(wire: str) -> None:
    played = script([call("look", at=1)], [Say("It is noon."), call("count", of="x")])
    provider = Sequenced(wire, played, fails={1: RuntimeError("gone"), 2: RuntimeError("gone")})
    counting = Counting(look=lambda at: "the clock says noon")
    coordinator = Coordinator(provider, counting.tools())
    directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, done.level, done.outcome.termination) == ("It is noon.", "session", "incomplete")
    assert [recovery.level for recovery in done.recoveries] == ["round", "session"]
    assert "without further calls" in done.uncertainty
    asked = provider.asked()
    assert asked.tools == []
    assert {type(turn) for turn in asked.messages} == {User}
    assert "the clock says noon" in words(asked.messages[-1])
    assert counting.names == ["look"]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_when_every_recovery_fails_the_answer_is_assembled_from_the_results(wire: str) -> None:
    fails = {number: RuntimeError("gone") for number in range(1, 9)}
    provider = Sequenced(wire, LONG, fails=fails)
    coordinator = Coordinator(provider, Counting(look=lambda at: "noon", count=_raises).tools())
    events = directed(coordinator)
    done = coordinator.orchestrated
    assert (done.level, done.written, done.outcome.termination) == ("assembled", False, "provider_failed")
    assert 'look({"at":1}): noon' in done.answer
    assert "no such luck" in done.answer
    assert "not written by the model" in done.uncertainty
    assert "without further calls" not in done.uncertainty
    assert len(provider.bodies) == 4  # the request, a repetition with less context, and one without tools
    assert messages(events)[-2:] == ["recovery", "final_response"]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_each_level_of_recovery_waits_twice_as_long_as_the_one_before(wire: str, slept: list[float]) -> None:
    fails = {number: RuntimeError("gone") for number in range(4)}
    coordinator = Coordinator(Sequenced(wire, LONG, fails=fails), Counting().tools(), limits=Limits(attempts=3))
    directed(coordinator)
    levels = [(recovery.level, recovery.seconds) for recovery in coordinator.orchestrated.recoveries]
    assert levels == [("round", 1.0), ("round", 2.0), ("session", 4.0), ("assembled", 0.0)]
    assert slept == [1.0, 2.0, 4.0]


def test_a_recovery_without_backoff_or_without_time_does_not_wait(slept: list[float]) -> None:
    clock = Clock()
    for options in ({"backoff": None}, {"limits": Limits(seconds=0.5), "clock": clock}):
        provider = Sequenced("openai.chat", LONG, fails={0: RuntimeError("gone")})
        coordinator = Coordinator(provider, Counting().tools(), **options)
        directed(coordinator)
        assert (coordinator.orchestrated.answer, coordinator.orchestrated.level) == ("All done.", "round")
    assert slept == []


def test_a_turn_can_be_cancelled_while_a_recovery_waits() -> None:
    coordinator = Coordinator(
        Sequenced("openai.chat", LONG, fails={1: RuntimeError("gone")}),
        Counting().tools(),
        backoff=Backoff(first=30, longest=60),
    )

    async def main() -> None:
        async for event in coordinator.stream("Go."):
            if isinstance(event, Noted) and event.note == "recovery":
                coordinator.turn.cancel("the user left")

    at_once(asyncio.wait_for(main(), 10))
    assert coordinator.orchestrated.outcome.termination == "cancelled"
    assert_answered(coordinator)


def test_each_attempt_of_a_round_has_half_the_context_of_the_one_before() -> None:
    long = "a fact of some length, " * 4000
    provider = Sequenced("openai.chat", LONG, fails=dict.fromkeys((2, 3), RuntimeError("gone")))
    coordinator = Coordinator(
        provider, Counting(look=lambda at: long, count=lambda of: "two").tools(), limits=Limits(attempts=3)
    )
    directed(coordinator)
    weights = [coordinator.context.weight(provider.asked(number)) for number in range(2, 5)]
    assert coordinator.orchestrated.answer == "All done."
    assert weights[1] <= weights[0] // 2 + 200
    assert weights[2] <= weights[1]


def _error(coordinator: Coordinator) -> Error:
    """The error of the outcome, whose text the answer leaves out."""
    error = coordinator.orchestrated.outcome.error
    assert error is not None
    assert error.message not in coordinator.orchestrated.text
    return error


def test_when_every_request_fails_the_answer_states_that_there_are_no_results() -> None:
    provider = Sequenced("openai.chat", LONG, fails={number: RuntimeError("gone") for number in range(9)})
    coordinator = Coordinator(provider, Counting().tools())
    directed(coordinator)
    assert "There are no results." in coordinator.orchestrated.answer
    assert _error(coordinator) == Error("RuntimeError", "gone")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_request_rejected_for_authorization_is_not_repeated(status: int) -> None:
    provider = Sequenced("openai.chat", LONG, faults={1: Status(status)})
    coordinator = Coordinator(provider, Counting().tools())
    directed(coordinator)
    assert len(provider.bodies) == 1
    assert (_error(coordinator).status, _error(coordinator).retryable) == (status, False)
    assert coordinator.breakers.state("provider", "openai") == "closed"


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_the_request_of_an_incomplete_answer_is_repeated(wire: str) -> None:
    whole = "A whole sentence, which the first answer breaks off."
    provider = Sequenced(wire, script([Say(whole)], [Say("Too far.")]), faults={1: Cut(after=3)})
    coordinator = Coordinator(provider, Counting().tools())
    directed(coordinator)
    assert (coordinator.orchestrated.answer, coordinator.orchestrated.level) == (whole, "round")


@pytest.mark.thorough(keep=2, per="{tool}")
@pytest.mark.parametrize("tool", ["look", "count", "post"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_failed_tool_does_not_affect_other_calls_or_the_answer(wire: str, tool: str) -> None:
    coordinator = Coordinator(Sequenced(wire, LONG), Counting(**{tool: _raises}).tools())
    directed(coordinator)
    done = coordinator.orchestrated
    assert done.answer == "All done."
    assert {call.name for round in done.session.rounds for call in round.calls if call.failed} == {tool}


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_when_all_tools_of_one_round_fail_the_model_continues(wire: str) -> None:
    counting = Counting(look=_raises)
    provider = Sequenced(wire, script([call("look", at=1)], [call("count")], [Say("Two.")]))
    coordinator = Coordinator(provider, counting.tools())
    directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, done.level, done.outcome.termination) == ("Two.", None, "natural_completion")
    assert counting.names == ["look", "count"]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_when_all_tools_of_two_consecutive_rounds_fail_the_model_answers(wire: str) -> None:
    counting = Counting(look=_raises)
    provider = Sequenced(wire, script([call("look", at=1)], [call("look", at=2)], [Say("I could not look.")]))
    coordinator = Coordinator(provider, counting.tools())
    directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, done.level, done.outcome.termination) == ("I could not look.", "session", "all_tools_failed")
    assert counting.names == ["look", "look"]


def test_a_successful_round_resets_the_count_of_failed_rounds() -> None:
    counting = Counting(look=_raises)
    rounds = [[call("look", at=1)], [call("count")], [call("look", at=2)], [call("count")], [Say("Done.")]]
    coordinator = Coordinator(Sequenced("openai.chat", script(*rounds)), counting.tools())
    directed(coordinator)
    assert coordinator.orchestrated.outcome.termination == "natural_completion"


def test_an_explicit_on_all_failed_setting_is_respected() -> None:
    played = script([call("look", at=1)], [Say("I could not look.")])
    for setting, rounds in (("stop", 1), ("answer", 2)):
        coordinator = Coordinator(
            Sequenced("openai.chat", played), Counting(look=_raises).tools(), on_all_failed=setting
        )
        directed(coordinator)
        done = coordinator.orchestrated
        assert (done.outcome.termination, len(done.outcome.state.rounds)) == ("all_tools_failed", rounds)


def test_an_open_breaker_stops_requests_and_the_turn_still_answers() -> None:
    clock = Clock()
    breakers = Breakers(threshold=3, seconds=60, clock=clock)
    fails = {number: RuntimeError("gone") for number in range(9)}
    directed(Coordinator(Sequenced("openai.chat", LONG, fails=fails), Counting().tools(), breakers=breakers))
    assert breakers.state("provider", "openai") == "open"
    provider = Sequenced("openai.chat", LONG)
    coordinator = Coordinator(provider, Counting().tools(), breakers=breakers)
    directed(coordinator)
    assert provider.bodies == []
    assert _error(coordinator).type == "CircuitOpen"
    clock.now += 61
    directed(Coordinator(provider, Counting().tools(), breakers=breakers))
    assert len(provider.bodies) == 3
    assert breakers.state("provider", "openai") == "closed"


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_failing_summariser_loses_only_its_summary(wire: str) -> None:
    def fails(round: Any, tokens: int) -> str:
        raise ValueError("no words")

    provider = Sequenced(wire, LONG)
    context = ContextBuilder(1, summarise=fails)
    coordinator = Coordinator(provider, Counting().tools(), context=context)
    directed(coordinator)
    assert coordinator.orchestrated.answer == "All done."
    assert coordinator.built is not None
    assert coordinator.built.troubles == ["the summary of round 1 failed: ValueError: no words"]


def test_an_input_that_an_observer_rejects_is_not_executed() -> None:
    class Full(Observer):
        async def input(self, input: Input) -> None:
            raise OSError("disk full")

    counting = Counting()
    coordinator = Coordinator(Sequenced("openai.chat", LONG), counting.tools(), observers=[Full()])
    with pytest.raises(OSError, match="disk full"):
        at_once(coordinator.run("Go."))
    assert counting.names == []


def test_a_stored_turn_resumes_in_another_coordinator_and_runs_no_call_twice() -> None:
    class StateObserver(Observer):
        def __init__(self) -> None:
            self.states: list[Any] = []

        async def save(self, state: Any) -> None:
            self.states.append(state)

    observer = StateObserver()
    directed(Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), observers=[observer]))
    for state in observer.states[:-1]:
        done = {call_state.id for round in state.rounds for call_state in round.calls if call_state.attempts}
        counting = Counting()
        asked = len(state.rounds) - (state.phase == "asking")
        rest = script(*LONG.rounds[asked:]) if asked < len(LONG.rounds) else script([Say("All done.")])
        coordinator = Coordinator(Sequenced("openai.chat", rest), counting.tools(), state=state)
        directed(coordinator, None)
        assert coordinator.orchestrated.answer == "All done."
        assert len(done) + len(counting.ran) == 4


@pytest.mark.parametrize("wire", ["anthropic.messages", "xai.grpc"])
def test_the_usage_of_an_incomplete_answer_is_included_in_the_total(wire: str) -> None:
    def cost(**more: Any) -> tuple[int, int]:
        coordinator = Coordinator(Sequenced(wire, LONG, **more), Counting().tools())
        directed(coordinator)
        usage = coordinator.orchestrated.outcome.usage
        assert usage is not None
        return usage.input_tokens or 0, usage.output_tokens or 0

    complete = cost()
    broken = cost(fails={1: RuntimeError("gone")}, after=1000)  # after the whole answer was streamed
    assert broken[0] > complete[0]
    assert broken[1] > complete[1]


def test_a_custom_prepare_function_receives_the_request_of_the_context() -> None:
    prepared: list[Any] = []

    def prepare(request: Any) -> Any:
        prepared.append(request)
        return request

    provider = Sequenced("openai.chat", LONG)
    coordinator = Coordinator(provider, Counting().tools(), context=ContextBuilder(1), prepare=prepare)
    directed(coordinator)
    assert len(prepared) == 3
    assert coordinator.built is not None
    assert prepared[-1] is coordinator.built.request
    with pytest.raises(TypeError, match="executor cannot be passed"):
        Coordinator(provider, executor=None)
