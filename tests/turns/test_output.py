"""Typed answers: the schema in the instructions, the correction of an answer that does not fit, and the value."""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import User
from toolparity.turns import Agent, Turn, dump, load
from toolparity.turns.errors import InvalidTool, OutputUnfit
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.output import output_type
from toolparity.turns.request import ROUND_GUIDANCE

from .playing import Emulated, Round, Say, assert_legal, at_once, call, on_every_wire, script
from .typed_functions import Item, Point


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
    prompt = outcome.state.request.messages[0].parts[0].text  # type: ignore[union-attr]
    assert prompt.startswith(f"You let boats.\n\n{ROUND_GUIDANCE}\n\nYour final answer must be one JSON value")
    assert json_codec.decode(prompt.partition("other text:\n")[2])["$ref"] == "#/$defs/Booking"


@on_every_wire
def test_a_model_that_answers_otherwise_gets_the_problems_and_is_asked_again(wire: str) -> None:
    answers = "It is booked.", '{"boat": 5, "day": "2026-11-27"}', f"Here:\n```json\n{GOOD}\n```"
    turn = Turn(corrected(*answers, wire=wire), output=Booking)
    assert at_once(turn.run("Go.")).output == BOOKING
    first, second = corrections(turn)
    assert "it is not JSON" in first
    assert "Expected `str`, got `int` - at `$.boat`" in second
    assert_legal(turn)
    resumed = Turn(turn.provider, output=Booking, state=load(dump(turn.state)))
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


@pytest.mark.parametrize("output", [complex, {"type": "objekt"}])
def test_a_type_without_a_schema_is_an_error_of_the_turn(output: Any) -> None:
    with pytest.raises(InvalidTool, match="output: "):
        Turn(Emulated("openai.chat", script([])), output=output)


def test_a_conversation_repeats_neither_the_instructions_nor_the_type() -> None:
    rounds = ([Say(GOOD)], Round([Say(GOOD)], "Again?"))
    conversation = Agent(Emulated("openai.chat", script(*rounds)), output=Booking).conversation()
    at_once(conversation.send("Go."))
    outcome = at_once(conversation.send("Again?"))
    assert outcome.output == BOOKING
    assert [type(message).__name__ for message in outcome.state.request.messages[:2]] == ["System", "User"]
