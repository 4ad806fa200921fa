"""What fails in a directed turn, at every step of it: always an answer, every call answered, the next request legal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.turns.playing import WIRES, Fault, Round, Say, at_once, call, script
from toolparity.normalizer.conversation import User
from toolparity.normalizer.model import Error, Response
from toolparity.normalizer.turns.machine.inputs import Input
from toolparity.normalizer.turns.observer import Observer
from toolparity.normalizer.turns.orchestration import Breakers, ContextBuilder, Coordinator

from .staging import LONG, Clock, Counting, Sequenced, directed, messages, words


def _raises(**_: Any) -> None:
    raise ValueError("no such luck")


@pytest.mark.thorough(keep=12)
@pytest.mark.parametrize("after", [0, 2, 1000])
@pytest.mark.parametrize("request_number", [0, 1, 2])
@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_that_fails_once_is_asked_again_whatever_had_arrived(
    wire: str, request_number: int, after: int
) -> None:
    provider = Sequenced(wire, LONG, fails={request_number: RuntimeError("gone")}, after=after)
    counting = Counting()
    coordinator = Coordinator(provider, counting.tools())
    told = directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, done.level, done.written) == ("All done.", "round", True)
    assert done.outcome.termination == "natural_completion"
    assert "repeated with less context" in done.uncertainty
    assert done.text == f"All done.\n\n{done.uncertainty}"
    assert counting.names == ["look", "count", "post", "look"]
    assert messages(told).count("recovery") == 1
    assert [round.attempt for round in coordinator.turn.state.rounds] == [
        1 + (number == request_number) for number in range(3)
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_a_round_that_fails_twice_becomes_one_answer_without_tools_from_what_is_known(wire: str) -> None:
    played = script([call("look", at=1)], [Say("It is noon."), call("count", of="x")])
    provider = Sequenced(wire, played, fails={1: RuntimeError("gone"), 2: RuntimeError("gone")})
    counting = Counting(look=lambda at: "the clock says noon")
    coordinator = Coordinator(provider, counting.tools())
    directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, done.level, done.outcome.termination) == ("It is noon.", "session", "incomplete")
    assert [one.level for one in done.recoveries] == ["round", "session"]
    assert "without further calls" in done.uncertainty
    asked = provider.asked()
    assert asked.tools == []
    assert {type(turn) for turn in asked.messages} == {User}
    assert "the clock says noon" in words(asked.messages[-1])
    assert counting.names == ["look"]


@pytest.mark.parametrize("wire", WIRES)
def test_where_nothing_helps_the_answer_is_put_together_of_what_was_found(wire: str) -> None:
    fails = {number: RuntimeError("gone") for number in range(1, 9)}
    provider = Sequenced(wire, LONG, fails=fails)
    coordinator = Coordinator(provider, Counting(look=lambda at: "noon", count=_raises).tools())
    told = directed(coordinator)
    done = coordinator.orchestrated
    assert (done.level, done.written, done.outcome.termination) == ("assembled", False, "provider_failed")
    assert 'look({"at":1}): noon' in done.answer
    assert "no such luck" in done.answer
    assert "not written by the model" in done.uncertainty
    assert "without further calls" not in done.uncertainty
    assert len(provider.bodies) == 4  # once, again with less, once without tools, and no more
    assert messages(told)[-2:] == ["recovery", "final_response"]


def test_where_nothing_was_found_at_all_the_answer_says_so() -> None:
    provider = Sequenced("openai.chat", LONG, fails={number: RuntimeError("gone") for number in range(9)})
    coordinator = Coordinator(provider, Counting().tools())
    directed(coordinator)
    assert "There are no results." in coordinator.orchestrated.answer
    assert "RuntimeError: gone" in coordinator.orchestrated.answer


@pytest.mark.parametrize("status", [401, 403, 404])
def test_who_is_not_let_in_does_not_knock_again(status: int) -> None:
    class Refusing(Sequenced):
        def _pieces(self, body: Any) -> Any:
            yield Response(self.wire, self.name, None, None, [], error=Error("no", "You may not.", status, False))

    provider = Refusing("openai.chat", LONG)
    coordinator = Coordinator(provider, Counting().tools())
    directed(coordinator)
    assert len(provider.bodies) == 1
    assert "You may not." in coordinator.orchestrated.answer
    assert coordinator.breakers.state("provider", "openai") == "closed"


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_breaks_off_is_asked_for_again(wire: str) -> None:
    broken = Round([Say("First, a long sentence that breaks off.")], fault=Fault("reset", after=3))
    provider = Sequenced(wire, script(broken, [Say("Whole.")]))
    pieces = provider._pieces

    def resetting(body: Any) -> Any:
        from toolparity.cassettes.emulated.script_player import ConnectionReset

        try:
            yield from pieces(body)
        except ConnectionReset:
            return

    provider._pieces = resetting  # type: ignore[method-assign]
    coordinator = Coordinator(provider, Counting().tools())
    directed(coordinator)
    assert (coordinator.orchestrated.answer, coordinator.orchestrated.level) == ("Whole.", "round")


@pytest.mark.parametrize("tool", ["look", "count", "post"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_that_fails_leaves_its_siblings_and_the_answer_alone(wire: str, tool: str) -> None:
    coordinator = Coordinator(Sequenced(wire, LONG), Counting(**{tool: _raises}).tools())
    directed(coordinator)
    done = coordinator.orchestrated
    assert done.answer == "All done."
    assert {call.name for round in done.session.rounds for call in round.calls if call.failed} == {tool}


@pytest.mark.parametrize("wire", WIRES)
def test_where_all_tools_of_a_round_fail_the_model_adjusts(wire: str) -> None:
    counting = Counting(look=_raises)
    provider = Sequenced(wire, script([call("look", at=1)], [call("count")], [Say("Two.")]))
    coordinator = Coordinator(provider, counting.tools())
    directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, done.level, done.outcome.termination) == ("Two.", None, "natural_completion")
    assert counting.names == ["look", "count"]


@pytest.mark.parametrize("wire", WIRES)
def test_where_all_tools_of_two_rounds_fail_the_model_says_what_it_knows(wire: str) -> None:
    counting = Counting(look=_raises)
    provider = Sequenced(wire, script([call("look", at=1)], [call("look", at=2)], [Say("I could not look.")]))
    coordinator = Coordinator(provider, counting.tools())
    directed(coordinator)
    done = coordinator.orchestrated
    assert (done.answer, done.level, done.outcome.termination) == ("I could not look.", "session", "all_tools_failed")
    assert counting.names == ["look", "look"]


def test_a_round_between_whose_tools_work_counts_from_the_beginning() -> None:
    counting = Counting(look=_raises)
    rounds = [[call("look", at=1)], [call("count")], [call("look", at=2)], [call("count")], [Say("Done.")]]
    coordinator = Coordinator(Sequenced("openai.chat", script(*rounds)), counting.tools())
    directed(coordinator)
    assert coordinator.orchestrated.outcome.termination == "natural_completion"


def test_whoever_says_what_to_do_where_all_tools_fail_is_heeded() -> None:
    played = script([call("look", at=1)], [Say("I could not look.")])
    for given, rounds in (("stop", 1), ("answer", 2)):
        coordinator = Coordinator(Sequenced("openai.chat", played), Counting(look=_raises).tools(), on_all_failed=given)
        directed(coordinator)
        done = coordinator.orchestrated
        assert (done.outcome.termination, len(done.outcome.state.rounds)) == ("all_tools_failed", rounds)


def test_an_open_breaker_keeps_a_provider_from_being_asked_and_there_is_an_answer_all_the_same() -> None:
    clock = Clock()
    breakers = Breakers(threshold=3, seconds=60, clock=clock)
    fails = {number: RuntimeError("gone") for number in range(9)}
    directed(Coordinator(Sequenced("openai.chat", LONG, fails=fails), Counting().tools(), breakers=breakers))
    assert breakers.state("provider", "openai") == "open"
    provider = Sequenced("openai.chat", LONG)
    coordinator = Coordinator(provider, Counting().tools(), breakers=breakers)
    directed(coordinator)
    assert provider.bodies == []
    assert "CircuitOpen" in coordinator.orchestrated.answer
    clock.now += 61
    directed(Coordinator(provider, Counting().tools(), breakers=breakers))
    assert len(provider.bodies) == 3
    assert breakers.state("provider", "openai") == "closed"


@pytest.mark.parametrize("wire", WIRES)
def test_a_summariser_that_raises_costs_nothing_but_its_summary(wire: str) -> None:
    def fails(round: Any, tokens: int) -> str:
        raise ValueError("no words")

    provider = Sequenced(wire, LONG)
    context = ContextBuilder(1, summarise=fails)
    coordinator = Coordinator(provider, Counting().tools(), context=context)
    directed(coordinator)
    assert coordinator.orchestrated.answer == "All done."
    assert coordinator.built is not None
    assert coordinator.built.troubles == ["the summary of round 1 failed: ValueError: no words"]


def test_what_could_not_be_written_down_is_not_done() -> None:
    class Full(Observer):
        async def input(self, input: Input) -> None:
            raise OSError("disk full")

    counting = Counting()
    coordinator = Coordinator(Sequenced("openai.chat", LONG), counting.tools(), observers=[Full()])
    with pytest.raises(OSError, match="disk full"):
        at_once(coordinator.run("Go."))
    assert counting.names == []


def test_a_turn_that_was_kept_goes_on_in_another_coordinator_and_runs_nothing_twice() -> None:
    class Kept(Observer):
        def __init__(self) -> None:
            self.states: list[Any] = []

        async def save(self, state: Any) -> None:
            self.states.append(state)

    kept = Kept()
    directed(Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), observers=[kept]))
    for state in kept.states[:-1]:
        done = {made.id for round in state.rounds for made in round.calls if made.attempts}
        counting = Counting()
        asked = len(state.rounds) - (state.phase == "asking")
        rest = script(*LONG.rounds[asked:]) if asked < len(LONG.rounds) else script([Say("All done.")])
        coordinator = Coordinator(Sequenced("openai.chat", rest), counting.tools(), state=state)
        directed(coordinator, None)
        assert coordinator.orchestrated.answer == "All done."
        assert len(done) + len(counting.ran) == 4


@pytest.mark.parametrize("wire", ["anthropic.messages", "xai.grpc"])
def test_what_an_answer_that_broke_had_cost_is_in_the_sum(wire: str) -> None:
    def cost(**more: Any) -> tuple[int, int]:
        coordinator = Coordinator(Sequenced(wire, LONG, **more), Counting().tools())
        directed(coordinator)
        usage = coordinator.orchestrated.outcome.usage
        assert usage is not None
        return usage.input_tokens or 0, usage.output_tokens or 0

    whole = cost()
    broken = cost(fails={1: RuntimeError("gone")}, after=1000)  # at its very end: all of it was shown
    assert broken[0] > whole[0]
    assert broken[1] > whole[1]


def test_ones_own_preparation_gets_what_the_context_made() -> None:
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
