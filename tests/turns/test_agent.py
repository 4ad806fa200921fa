"""Agents: turns and conversations with one provider, tools, instructions and parameters, on every wire."""

from __future__ import annotations

import asyncio
import datetime
import logging
import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tests.support.wires import BYTE_WIRES
from toolparity import Usage
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.scripts import scripts
from toolparity.normalizer.conversation import Assistant, Message, System, TextPart, ToolResults, User
from toolparity.normalizer.errors import MalformedBody, PolicyError
from toolparity.normalizer.requests import read_request
from toolparity.normalizer.wires.parameters import parameters, schema_of
from toolparity.turns import Agent, Prices, Tool, Turn
from toolparity.turns.errors import InvalidTool, OutputUnfit, TurnMisused
from toolparity.turns.machine import state as states
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.outcome import outcome_of
from toolparity.turns.output import output_type
from toolparity.turns.prompts import request_of
from toolparity.turns.request import ROUND_GUIDANCE

from .playing import WIRES, Counting, Emulated, Round, Say, assert_legal, at_once, call, on_every_wire, script
from .typed_functions import Item, Point

HELLO = script([Say("Hello.")])


def shared(request: Any) -> dict[str | None, Any]:
    """The parameters of a request under their shared names."""
    return {parameter.name: parameter.value for parameter in parameters(request)}


def look(city: str) -> str:
    """Look at a town."""
    return f"fine in {city}"


#: The system prompt of a turn with these instructions, tools and several rounds.
GUIDED = f"You know towns.\n\n{ROUND_GUIDANCE}"


def texts(request: Any) -> list[str]:
    return [part.text for message in request.messages if isinstance(message, (System, User)) for part in message.parts]


@on_every_wire
def test_an_agent_runs_independent_turns_with_its_options(wire: str) -> None:
    played = script([call("look", city="Horta")], [Say("It is fine.")], tools=["look"])
    first, second = Emulated(wire, played), Emulated(wire, played)
    for provider in (first, second):
        agent = Agent(provider, [look], instructions="You know towns.", temperature=1, max_tokens=300)
        assert at_once(agent.run("Go.")).text == "It is fine."
        sent = provider.asked(0)
        assert texts(sent) == [GUIDED, "Go."]
        assert (shared(sent)["temperature"], shared(sent)["max_tokens"]) == (1, 300)
    assert at_once(Agent(second, [look]).run("Go.", max_rounds=0)).termination == "max_rounds_reached"


@on_every_wire
def test_the_system_prompt_of_each_turn_replaces_that_of_the_turn_before(wire: str) -> None:
    rounds = ([Say("1")], Round([Say('"2"')], "B."), Round([Say("3")], "C."), Round([Say("4")], "D."))
    provider = Emulated(wire, script(*rounds, tools=["look"]))
    conversation = Agent(provider, [look], instructions="You know towns.").conversation()
    assert at_once(conversation.send("A.", output=int)).output == 1
    assert at_once(conversation.send("B.", output=str)).output == "2"
    at_once(conversation.send("C.", max_rounds=1, instructions="You know boats."))
    at_once(conversation.send("D.", round_guidance=False))
    first, second, third, fourth = (texts(provider.asked(number)) for number in range(4))
    assert (first[0].startswith(GUIDED), first[1:]) == (True, ["A."])
    assert (second[0].startswith(GUIDED), second[1:]) == (True, ["A.", "B."])
    assert ["integer" in str(body) for body in provider.bodies] == [True, False, False, False]
    assert third == ["You know boats.", "A.", "B.", "C."]
    assert fourth == ["You know towns.", "A.", "B.", "C.", "D."]


def test_a_turn_continues_with_the_instructions_and_a_system_message_but_not_the_output_of_the_turn_before() -> None:
    provider = Emulated("openai.chat", script([Say("1")], Round([Say("2")], "B."), Round([Say("3")], "C.")))
    first = at_once(Turn(provider, instructions="You know towns.", output=int).run("A."))
    stored = outcome_of(states.load(states.dump(first.state)))
    second = at_once(Turn(provider).run(stored.next("B.")))
    at_once(Turn(provider, instructions="You know boats.").run(second.next("C.")))
    assert texts(provider.asked(1)) == ["You know towns.", "A.", "B."]
    assert texts(provider.asked(2)) == ["You know boats.", "A.", "B.", "C."]

    provider = Emulated("openai.chat", script([Say("1")], Round([Say("2")], "B.")))
    conversation = Agent(provider, instructions="You know towns.").conversation()
    prompt = [{"role": "system", "content": "You know towns."}, {"role": "user", "content": "A."}]
    at_once(conversation.send(prompt))
    at_once(conversation.send("B.", instructions="You know boats."))
    assert texts(provider.asked(0)) == ["You know towns.", "A."]
    assert texts(provider.asked(1)) == ["You know boats.", "You know towns.", "A.", "B."]


def test_a_conversation_does_not_continue_over_a_turn_that_waits() -> None:
    provider = Emulated("openai.chat", script([call("look", city="Horta")], [Say("Done.")], tools=["look"]))
    conversation = Agent(provider, [Tool.of(look, approval=True)]).conversation()
    waiting = at_once(conversation.send("Go.")).waiting
    with pytest.raises(TurnMisused, match="not over"):
        at_once(conversation.send("Hello?"))
    assert conversation.turn is not None
    conversation.turn.decide(waiting[0].id, True)
    assert at_once(conversation.turn.run()).text == "Done."


def test_a_conversation_keeps_its_history_after_a_message_that_could_not_be_sent() -> None:
    provider = Emulated("openai.chat", script([Say("Hello.")], Round([Say("Ana.")], "My name?")))
    conversation = Agent(provider).conversation()
    mixed = [{"role": "user", "content": "Go."}, "Go."]
    for prompt, message in (([{"text": "Go."}], "without role and type"), (mixed, "all dicts or all canonical")):
        with pytest.raises(MalformedBody, match=message):
            at_once(conversation.send(prompt))  # type: ignore[arg-type]
    assert conversation.turn is None
    at_once(conversation.send([{"role": "user", "content": "Go."}]))
    begun = conversation.turn
    with pytest.raises(TurnMisused, match="must be text"):  # in a later message
        at_once(conversation.send([{"role": "user", "content": "My name?"}]))
    unfit: Any = 5
    with pytest.raises(TypeError):
        at_once(conversation.send("My name?", params=unfit))
    assert conversation.turn is begun
    assert at_once(conversation.send("My name?")).text == "Ana."
    assert texts(provider.asked(1)) == ["Go.", "My name?"]


# parameters of requests


def test_a_parameter_that_a_wire_lacks_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    provider = Emulated("anthropic.messages", HELLO)
    with caplog.at_level(logging.WARNING):
        at_once(Turn(provider, seed=3, stop=["END"]).run("Go."))
    assert "anthropic.messages: seed was left out" in caplog.text
    assert provider.asked(0).params["stop_sequences"] == ["END"]


@on_every_wire
def test_options_replace_the_parameters_of_a_request_also_of_another_wire(wire: str) -> None:
    for source in (wire, "anthropic.messages"):
        first, second = Emulated(source, HELLO), Emulated(wire, HELLO)
        at_once(Turn(first, temperature=1, max_tokens=4096).run("Go."))
        request = first.asked(0)
        assert shared(request)["max_tokens"] == 4096  # also on a wire with this default
        at_once(Turn(second, max_tokens=200).run(request))
        params = shared(second.asked(0))
        assert (params["temperature"], params["max_tokens"]) == (1, 200)


def test_other_members_the_tool_choice_and_parallel_calls_can_be_set() -> None:
    for choice, written in [("required", "required"), ("look", {"type": "function", "function": {"name": "look"}})]:
        provider = Emulated("openai.chat", script([call("look", city="a")], [Say("Done.")], tools=["look"]))
        at_once(Turn(provider, [look], tool_choice=choice, parallel=False, params={"user": "u-1"}).run("Go."))
        assert provider.bodies[0]["tool_choice"] == written
        assert (provider.bodies[0]["parallel_tool_calls"], provider.bodies[0]["user"]) == (False, "u-1")
        assert "tool_choice" not in provider.bodies[1]  # it forced one call, or the turn would not end


@pytest.mark.parametrize(
    ("options", "system"),
    [
        ({"instructions": "You know towns."}, [GUIDED]),
        ({"instructions": "You know towns.", "round_guidance": False}, ["You know towns."]),
        ({"instructions": "You know towns.", "max_rounds": 1}, ["You know towns."]),
        ({"instructions": "You know towns.", "max_rounds": 1, "round_guidance": True}, [GUIDED]),
        ({"instructions": "You know towns.", "tools": []}, ["You know towns."]),
        ({}, []),
        ({"round_guidance": True}, [ROUND_GUIDANCE]),
    ],
)
def test_the_instructions_of_a_turn_with_rounds_contain_the_guidance_on_them(
    options: dict[str, Any], system: list[str]
) -> None:
    """003, Context Preservation Between API Calls: the system prompt has the guidance unless the caller omits it."""
    kinds = (Agent,) if "max_rounds" in options else (Agent, Coordinator)  # which sets it itself
    for kind in kinds:
        provider = Emulated("openai.chat", HELLO)
        at_once(kind(provider, **{"tools": [look], **options}).run("Go."))
        assert texts(provider.asked(0)) == [*system, "Go."]
    assert "You can make multiple tool calls across rounds to gather comprehensive information" in ROUND_GUIDANCE


# invalid options


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("on_all_failed", "stopp", "on_all_failed must be one of 'stop', 'answer', 'continue', got 'stopp'"),
        ("on_error", "ignore", "on_error must be one of 'continue', 'stop', got 'ignore'"),
        ("seconds", "5", "seconds must be a number or None, got '5'"),
        ("max_tokens", "many", "max_tokens must be an integer or None, got 'many'"),
        ("temperature", "hot", "temperature must be a number or None, got 'hot'"),
        ("instructions", 5, "instructions must be text or None, got 5"),
        ("parallel", "no", "parallel must be a bool or None, got 'no'"),
        ("policy", "none", "policy"),
        ("limit", -1, "limit must be >= 0"),
        ("max_rounds", -1, "max_rounds must be >= 0"),
        ("budget", -5, "budget must be"),
        ("max_cost", 1.0, "max_cost needs prices"),
        ("max_calls", -1, "max_calls must be >= 0"),
        ("seconds", -1.0, "seconds must be >= 0"),
        ("seconds", float("nan"), "seconds must be >= 0"),
    ],
)
def test_an_invalid_value_of_an_option_is_an_error_of_the_agent(option: str, value: Any, message: str) -> None:
    for kind in (Agent, Turn) if option in ("max_rounds", "max_calls", "budget") else (Agent, Turn, Coordinator):
        with pytest.raises(PolicyError, match=re.escape(message)):
            kind(Emulated("openai.chat", HELLO), **{option: value})
    for kind, unknown in ((Agent, "id"), (Turn, "colour")):
        with pytest.raises(TypeError, match=rf"{kind.__name__}\(\) got an unexpected keyword argument '{unknown}'"):
            kind(Emulated("openai.chat", HELLO), **{unknown: "t"})


# messages of other wires


def contents(messages: list[Message]) -> list[Any]:
    """The parts of messages that are the same on every wire."""
    found: list[Any] = []
    for message in messages:
        if isinstance(message, Assistant):
            found.append([(call.name, call.arguments) for call in message.response.calls])
            found.append(message.response.text)
        elif isinstance(message, ToolResults):
            found.append([len(result.parts) for result in message.results])
        elif isinstance(message, User):
            found.append([part.text for part in message.parts if isinstance(part, TextPart)])
    return found


@pytest.mark.thorough(keep=2, per="{source}")
@pytest.mark.parametrize("scenario", ["appointments-and-billing", "single-call"])
@pytest.mark.parametrize("source", BYTE_WIRES)
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_continues_recorded_messages_of_another_wire(wire: str, source: str, scenario: str) -> None:
    """The messages of the last recorded request, as JSON and in canonical form."""
    played = scripts()[scenario]
    provider = Emulated(wire, played)
    body: Any = load(path_for(source, scenario, stream=True)).exchanges[-1].request
    messages = next(body[name] for name in ("input", "messages", "contents") if name in body)
    read = read_request(body, source, provider=provider.name if wire == source else None).messages
    expected = [message for message in read if not isinstance(message, System)]
    turn = Turn(provider)
    assert at_once(turn.run(messages)).text == played.rounds[-1].parts[-1].text  # type: ignore[union-attr]
    assert contents(turn.state.request.messages) == contents(expected)
    assert_legal(turn)
    request = request_of(expected, provider)
    assert (request.messages, request.wire) == (expected, wire)


# limits


PRICES = Prices(input=3.0, output=15.0, cached_input=0.3, cache_write=3.75)


@on_every_wire
def test_calls_beyond_the_limit_do_not_run_and_the_model_answers_a_last_time(wire: str) -> None:
    counting = Counting()
    rounds = [[call("look", at=1)], [call("look", at=2), call("look", at=3)], [call("look", at=4)], [Say("Done.")]]
    turn = Turn(Emulated(wire, script(*rounds)), counting.tools(), max_calls=2)
    outcome = at_once(turn.run("Go."))
    assert [arguments["at"] for _, arguments in counting.ran] == [1, 2]
    assert (outcome.text, outcome.termination) == ("Done.", "budget_exceeded")
    text = turn.state.rounds[1].tool_results[1].parts[0].text  # type: ignore[union-attr]
    assert "the limit of 2 calls in this turn is reached" in text
    assert_legal(turn)


@pytest.mark.parametrize("wire", ["openai.responses", "anthropic.messages", "xai.grpc"])
def test_a_turn_ends_when_its_cost_is_reached(wire: str) -> None:
    counting = Counting()
    turn = Turn(
        Emulated(wire, script([call("look")], [Say("Done.")])), counting.tools(), prices=PRICES, max_cost=0.000001
    )
    outcome = at_once(turn.run("Go."))
    assert (outcome.termination, counting.ran) == ("budget_exceeded", [])
    assert outcome.cost == PRICES.cost(outcome.usage)
    assert outcome.cost is not None
    assert outcome.cost > 0.000001
    assert states.load(states.dump(outcome.state)).settings.prices == PRICES


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (None, None),
        (Usage(raw={"requests": 1}), None),
        (Usage(input_tokens=1_000_000, output_tokens=100_000), 4.5),
        (Usage(input_tokens=1_000_000, cached_input_tokens=600_000, cache_write_tokens=400_000), 1.68),
        (Usage(output_tokens=1_000), 0.015),
    ],
)
def test_a_cost_counts_each_kind_of_token_at_its_price(usage: Usage | None, cost: float | None) -> None:
    assert PRICES.cost(usage) == pytest.approx(cost)
    if usage is not None and usage.cached_input_tokens:
        assert Prices(3.0, 15.0).cost(usage) == pytest.approx(3.0)


def test_the_timer_of_a_turn_ends_with_its_run() -> None:
    timers: list[asyncio.TimerHandle] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        call_later = loop.call_later

        def recorded(seconds: float, *arguments: Any) -> asyncio.TimerHandle:
            timer = call_later(seconds, *arguments)
            timers.extend([timer] if seconds == 3600 else [])
            return timer

        loop.call_later = recorded  # type: ignore[method-assign, assignment]
        await Turn(Emulated("openai.chat", script([Say("Done.")])), seconds=3600).run("Go.")

    at_once(main())
    assert [timer.cancelled() for timer in timers] == [True]


class Booking(msgspec.Struct):
    boat: str
    day: datetime.date


GOOD = '{"boat": "Ana", "day": "2026-11-27"}'
BOOKING = Booking("Ana", datetime.date(2026, 11, 27))


def corrected(*answers: str, output: Any = Booking, wire: str = "openai.chat") -> Emulated:
    """A provider of a model that gives these answers, each after the correction of the one before."""
    form = output_type(output)
    assert form is not None
    rounds = [Round([Say(answer)], form.correction(before)) for before, answer in pairwise(answers)]
    return Emulated(wire, script([Say(answers[0])], *rounds))


def corrections(turn: Turn) -> list[str]:
    """The messages of the turn to the model after its answers."""
    messages = [message for round in turn.state.rounds for message in round.messages]
    return [part.text for message in messages if isinstance(message, User) for part in message.parts]  # type: ignore[union-attr]


@on_every_wire
def test_an_answer_is_the_declared_type_after_the_tools_ran(wire: str) -> None:
    def book(boat: str) -> str:
        return "booked"

    provider = Emulated(wire, script([call("book", boat="Ana")], [Say(GOOD)], tools=["book"]))
    outcome = Agent(provider, [book], instructions="You let boats.", output=Booking).run_sync("Go.")
    assert outcome.output == BOOKING
    assert outcome.termination == "natural_completion"
    (instructions, *_), format = texts(provider.asked(0)), shared(provider.asked(0)).get("format")
    prompt = f"You let boats.\n\n{ROUND_GUIDANCE}"
    if wire in ("cohere.chat", "ollama.chat"):  # it takes no format beside tools; its model does not see the format
        prompt += "\n\nYour final answer must be one JSON value"
    assert instructions.startswith(prompt)
    assert ("final answer" in instructions) == ("final answer" in prompt)
    assert (format is None) == (wire == "cohere.chat")
    assert format is None or schema_of(format)["required"] == ["boat", "day"]


@on_every_wire
def test_a_model_that_answers_otherwise_gets_the_problems_and_is_asked_again(wire: str) -> None:
    answers = "It is booked.", '{"boat": 5, "day": "2026-11-27"}', f"Here:\n```json\n{GOOD}\n```"
    turn = Turn(corrected(*answers, wire=wire), output=Booking)
    assert at_once(turn.run("Go.")).output == BOOKING
    first, second = corrections(turn)
    assert "it is not JSON" in first
    assert "Expected `str`, got `int` - at `$.boat`" in second
    assert_legal(turn)
    resumed = Turn(turn.provider, output=Booking, state=states.load(states.dump(turn.state)))
    assert resumed.outcome.output == BOOKING
    schema = {"type": "object", "required": ["boat"]}
    coordinator = Coordinator(corrected('{"boot": 1}', '{"boat": 1}', output=schema, wire=wire), output=schema)
    at_once(coordinator.run("Go."))
    assert coordinator.turn.outcome.output == {"boat": 1}
    assert "'boat' is a required property" in corrections(coordinator.turn)[0]


def test_an_answer_that_never_fits_ends_the_turn_and_raises_when_it_is_read() -> None:
    for options, asked in (({}, 3), ({"budget": 1}, 1)):  # a used up budget allows no correction
        provider = corrected("no", "no", "no", "no", wire="anthropic.messages")
        outcome = at_once(Turn(provider, output=Booking, **options).run("Go."))
        assert len(provider.bodies) == asked
    provider = corrected("no", "no", "no", "no")
    outcome = at_once(Turn(provider, output=Booking).run("Go."))
    assert (outcome.termination, outcome.text, len(provider.bodies)) == ("natural_completion", "no", 3)
    with pytest.raises(OutputUnfit, match=r"does not fit: it is not JSON \(the answer is in Outcome\.text\)"):
        _ = outcome.output
    failing = Emulated("openai.chat", script([Say("x")]), fails={0: ConnectionResetError("broken")})
    outcome = at_once(Turn(failing, output=Booking).run("Go."))
    with pytest.raises(OutputUnfit, match="no answer of the model"):
        _ = outcome.output


@pytest.mark.parametrize(
    ("output", "text", "value"),
    [
        (list[Point], '[{"x": 1}]', [Point(1.0)]),
        (Item, '{"SKU": "a"}', Item(SKU="a")),
        (int | None, "null", None),
        ({"type": "object", "required": ["boat"]}, '{"boat": 1}', {"boat": 1}),
        (None, "It is booked.", "It is booked."),
    ],
)
def test_an_answer_can_have_any_type_or_schema(output: Any, text: str, value: Any) -> None:
    outcome = at_once(Turn(Emulated("openai.chat", script([Say(text)])), output=output).run("Go."))
    assert outcome.output == value
    for without_schema in (complex, {"type": "objekt"}):
        with pytest.raises(InvalidTool, match="output: "):
            Turn(Emulated("openai.chat", script([])), output=without_schema)
