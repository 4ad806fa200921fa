"""Forms of a prompt: text, messages of any wire for a provider of any wire, canonical messages, and requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.wires import BYTE_WIRES
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.scripts import scripts
from toolparity.normalizer.conversation import Assistant, Message, System, TextPart, ToolResults, User
from toolparity.normalizer.requests import read_request
from toolparity.turns import Turn
from toolparity.turns.prompts import request_of

from .playing import WIRES, Emulated, assert_legal, at_once, script

SCENARIOS = ("appointments-and-billing", "single-call")


def recorded(wire: str, scenario: str, provider: str | None = None) -> tuple[list[dict[str, Any]], list[Message]]:
    """The messages of the last recorded request of a scenario, as JSON and in canonical form without system prompt."""
    body = load(path_for(wire, scenario, stream=True)).exchanges[-1].request
    messages = next(body[name] for name in ("input", "messages", "contents") if name in body)
    read = read_request(body, wire, provider=provider).messages  # type: ignore[arg-type]
    return messages, [message for message in read if not isinstance(message, System)]


@pytest.mark.thorough(keep=2, per="{source}")
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("source", BYTE_WIRES)
@pytest.mark.parametrize("wire", WIRES)
def test_recorded_messages_of_each_wire_are_read_for_a_provider_of_each(wire: str, source: str, scenario: str) -> None:
    provider = Emulated(wire, script([]))
    messages, expected = recorded(source, scenario, provider.name if wire == source else None)
    request = request_of(messages, provider)
    assert request.wire == wire
    assert contents(request.messages) == contents(expected)


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


@pytest.mark.thorough(keep=1, per="{source}")
@pytest.mark.parametrize("source", BYTE_WIRES)
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_continues_messages_of_another_wire(wire: str, source: str) -> None:
    messages, _ = recorded(source, "appointments-and-billing")
    played = scripts()["appointments-and-billing"]
    turn = Turn(Emulated(wire, played))
    assert at_once(turn.run(messages)).text == played.rounds[-1].parts[-1].text  # type: ignore[union-attr]
    assert_legal(turn)


@pytest.mark.parametrize("wire", WIRES)
def test_canonical_messages_are_a_prompt_of_every_wire(wire: str) -> None:
    _, expected = recorded("anthropic.messages", "appointments-and-billing")
    request = request_of(expected, Emulated(wire, script([])))
    assert (request.messages, request.wire) == (expected, wire)
