"""Fallback providers, on every pair of wires, and the form of the answer by each provider's own means."""

from __future__ import annotations

import io
import json
from enum import Enum
from functools import partial
from itertools import product
from typing import Any, Literal

import pytest

from tests.support.events import chat_body
from toolparity import normalize
from toolparity.normalizer.conversation import Assistant, Request, System, ToolResults, User
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.output_format import output_format
from toolparity.normalizer.schemas.adapt.validation import fits
from toolparity.normalizer.wires.registry import wire_name
from toolparity.turns import Agent, Turn, events
from toolparity.turns.orchestration import Coordinator, Failover, Instructed, note_of, record, replay, rerun
from toolparity.turns.output import OutputAdapter, output_type
from toolparity.turns.testing import Break, Cut, Malformed, RefuseConnection, Status

from .playing import (
    WIRES,
    Counting,
    Emulated,
    RecordingSleep,
    Say,
    assert_legal,
    at_once,
    call,
    on_every_wire,
    only,
    play,
    rows,
    script,
)
from .test_agent import BOOKING, GOOD, Booking, shared, texts
from .test_overload import TWO, PartOfAnAnswer


def made(kind: Any, more: dict[str, Any], provider: Any, **options: Any) -> Any:
    return kind(provider, Counting().tools(), **{**more, **options})


def played(kind: Any, provider: Any, **options: Any) -> tuple[Turn, Any]:
    """The turn, and its only failover. The recording replays and can be repeated."""
    driver = made(kind, options, provider, observers=[recorder := record(file := io.BytesIO())])
    notes = only(at_once(play(driver)), events.Noted)
    recorder.close()
    assert replay(file.getvalue()).difference is None
    assert at_once(rerun(file.getvalue(), partial(made, kind, options))).difference is None
    [note] = [note_of(note) for note in notes if note.note in ("failover", "instructed")]
    return (driver if kind is Turn else driver.turn), note


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("shift", range(len(WIRES)))
def test_a_turn_continues_with_another_provider_on_every_pair_of_wires(shift: int) -> None:
    for number, first in enumerate(WIRES):
        second, round = WIRES[(number + shift) % len(WIRES)], 1 + number % 2
        failing, other = Emulated(first, TWO, faults={round: Break(2 - round)}), Emulated(second, TWO)
        turn, note = played((Turn, Coordinator)[(number + shift) // 2 % 2], failing, fallback=other)
        assert (turn.outcome.text, len(failing.bodies)) == ("Done.", round), (first, second)
        origins = [{"wire": each.wire, "name": each.name, "model": each.model} for each in (failing, other)]
        assert note == Failover(round, *origins, note.why)
        sent = [type(message) for message in other.asked().messages if not isinstance(message, System)]
        assert sent == [User, Assistant, ToolResults], (first, second)  # no message is invented
        assert_legal(turn, wires=[first, second])


def test_failures_that_another_provider_may_not_have_fall_over_and_no_others() -> None:
    faults: dict[Any, bool] = {Status(status): True for status in (408, 429, 500, 503, 529)}
    faults |= {Status(status): False for status in (400, 401, 403, 404, 422)}
    faults |= {RefuseConnection(): True, Cut(2): True, Break(2): True, Break(1, TimeoutError()): True}
    faults |= {Malformed(0): False, Break(0, ValueError("a client's own error")): False}
    for fault, falls_over in faults.items():
        first, other = Emulated("openai.chat", TWO, faults={1: fault}), Emulated("google.gemini", TWO)
        at_once(Agent(first, Counting().tools(), backoff=None, fallback=[other]).run("Go."))
        assert (len(first.bodies), len(other.bodies)) == (1, 2 * falls_over), fault
    ran = PartOfAnAnswer("openai.responses", TWO)  # the provider ran a call of the answer that broke off
    assert at_once(Turn(ran, fallback=Emulated("openai.chat", TWO)).run("Go.")).termination == "provider_failed"
    last, sleep = Emulated("cohere.chat", TWO, faults={1: Status(503)}), RecordingSleep()
    first = Emulated("openai.chat", TWO, faults={1: Status(503)})
    turn = Turn(first, Counting().tools(), fallback=last, backoff=sleep.backoff())
    assert at_once(turn.run("Go.")).text == "Done."  # the last provider is retried, and the turn stays with it
    assert (len(first.bodies), sleep.slept, turn.asked_provider) == (1, [1.0], last)
    with pytest.raises(PolicyError, match="fallback must be a provider or a list of providers, got 'openai'"):
        Turn(ran, fallback="openai")  # type: ignore[arg-type]


@on_every_wire
def test_an_answer_in_the_form_that_the_provider_accepts_fits_the_declared_type(wire: str) -> None:
    array, word = (list[int], '{"answer": [1]}', "[1]", [1]), (Literal["a", "b"], '{"answer": "a"}', '"a"', "a")
    for output, sent, text, value in (array, word, (Booking, GOOD, GOOD, BOOKING)):
        turn = Turn(provider := Emulated(wire, script([Say(sent)], tools=())), output=output)
        assert rows(at_once(play(turn)))[-1][2] == text
        assert turn.outcome.output == value
        assert ("format" in shared(provider.asked(0))) is True
        assert ("other text:" in str(texts(provider.asked(0)))) == (wire == "ollama.chat")


#: Types and schemas whose roots differ, each with values of it, and the wires whose means cannot require it.
ROOTS: list[tuple[Any, list[Any], str]] = [
    (Literal["yes", 2], ["yes", 2], ""),
    (Enum("Size", {"S": "s", "L": "l"}), ["s"], ""),
    (int | list[int], [1, [2]], "cohere"),
    (Booking | None, [None, {"boat": "Ana", "day": "2026-11-27"}], "cohere"),
    (Any, [None, {"a": [1]}], "anthropic bedrock cohere"),
    (dict[str, Any], [{"a": [1]}], "anthropic bedrock xai"),
    (dict[str, int], [{"a": 1}, {}], ""),
    ({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}, [[[1]]], " ".join(WIRES)),
    ({"$ref": "#/definitions/N", "definitions": {"N": {"type": "integer"}}}, [1], ""),
]


def test_the_form_that_a_provider_requires_can_be_met_whatever_the_root_of_the_type_is() -> None:
    for (output, values, without), wire in product(ROOTS, WIRES):
        declared: Any = output_type(output)
        format: Any = output_format(declared.schema, wire_name(wire))
        assert (format is None) == (wire in without or wire.partition(".")[0] in without.split()), (output, wire)
        for value in values if format is not None else ():
            _, sent = format.adapted.express("answer", {"answer": value} if format.wrapped else value)
            assert fits(format.schema, sent), (output, wire, format.schema)
            assert json.loads(format.restored(json.dumps(sent))) == value


def test_a_provider_that_refuses_the_format_gets_the_form_in_the_instructions() -> None:
    provider = Emulated("openai.chat", script([call("look")], [Say(GOOD)]), faults={1: Status(422)})
    turn, note = played(Turn, provider, output=Booking)
    assert (turn.outcome.output, note) == (BOOKING, Instructed(1, "api_error, status 422", 422))
    assert ["response_format" in body for body in provider.bodies] == [True, False, False]
    assert ["other text:" in str(texts(provider.asked(number))) for number in range(3)] == [False, True, True]
    provider = Emulated("ollama.chat", script([Say("[1]")], tools=()), faults={1: Status(400)})
    assert played(Turn, provider, output=list[int])[0].outcome.output == [1]
    assert ["properties" in str(texts(provider.asked(number))) for number in range(2)] == [True, False]


def test_an_answer_of_a_required_form_keeps_its_findings() -> None:
    adapter = OutputAdapter(output_type({"type": "object"}), Emulated("openai.chat", TWO))
    adapter.instructed(Request("openai.chat", None, []))
    response = normalize(chat_body(content="{}", finish="of the future"), "openai.chat")
    assert adapter.restored(response).findings == response.findings != ()
