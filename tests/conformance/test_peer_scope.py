"""Which responses the programs of libraries leave out, because no request of the library causes them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from toolparity.conformance.subjects.peers.scope import custom_tools, invalid_arguments, legacy_call, several_choices


def ask(*messages: dict[str, Any], tools: list[dict[str, Any]] | None = None, wire: str = "openai.chat") -> Any:
    """Return the input of a program for a plain response with one choice for each message."""
    body = {"choices": [{"index": index, "message": message} for index, message in enumerate(messages)]}
    pieces = [base64.b64encode(json.dumps(body).encode()).decode()]
    return {"wire": wire, "stream": False, "pieces": pieces, "tools": tools or []}


def calling(arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"type": "function", "function": {"name": "save", "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("arguments", "invalid"),
    [
        ('{"a": 1}', False),
        (f'{{"a": {"9" * 5000}}}', False),
        (f'{{"a": {"[" * 100_000}{"]" * 100_000}}}', False),
        ("", False),
        (" ", False),
        ({"a": 1}, False),
        ('{"a": 1', True),
        ("[1]", True),
        ('{"a": "\n"}', True),
    ],
)
def test_arguments_are_invalid_if_their_text_is_not_a_json_object(arguments: Any, invalid: bool) -> None:
    assert invalid_arguments(ask(calling(arguments))) == invalid


def test_a_legacy_call_answers_no_tools() -> None:
    assert legacy_call(ask({"function_call": {"name": "save", "arguments": "{}"}}))
    assert not legacy_call(ask(calling("{}")))


def test_choices_are_several_on_one_wire_only() -> None:
    assert several_choices(ask({}, {}))
    assert not several_choices(ask({}))
    assert not several_choices(ask({}, {}, wire="anthropic.messages"))


def test_custom_tools_are_those_of_the_request() -> None:
    tools = [{"type": "custom", "custom": {"name": "run"}}, {"type": "custom", "name": "sql"}, {"type": "function"}]
    assert custom_tools(ask(tools=tools)) == {"run", "sql"}
