"""What the programs of libraries leave out, because no request of a library causes it, and how they name an end."""

from __future__ import annotations

import base64
import json
import runpy
from typing import Any

import pytest

from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cases.traffic import responses
from toolparity.conformance.subjects.peers import HERE
from toolparity.conformance.subjects.peers.scope import custom_tools, invalid_arguments, legacy_call, several_choices
from toolparity.conformance.subjects.peers.stops import stop_of


def ask(*messages: dict[str, Any], tools: list[dict[str, Any]] | None = None, wire: str = "openai.chat") -> Any:
    """Return the input of a program for a plain response with one choice for each message."""
    body = {"choices": [{"index": index, "message": message} for index, message in enumerate(messages)]}
    pieces = [base64.b64encode(json.dumps(body).encode()).decode()]
    return {"wire": wire, "stream": False, "pieces": pieces, "tools": tools or []}


def test_arguments_are_invalid_if_their_text_is_not_a_json_object() -> None:
    deep, long = f'{{"a": {"[" * 100_000}{"]" * 100_000}}}', f'{{"a": {"9" * 5000}}}'
    valid = ('{"a": 1}', long, deep, "", " ", {"a": 1})
    for arguments in (*valid, '{"a": 1', "[1]", '{"a": "\n"}'):
        call = {"type": "function", "function": {"name": "save", "arguments": arguments}}
        assert invalid_arguments(ask({"tool_calls": [call]})) == (arguments not in valid), arguments


def test_choices_are_several_on_one_wire_only() -> None:
    assert several_choices(ask({}, {}))
    assert not several_choices(ask({}))
    assert not several_choices(ask({}, {}, wire="anthropic.messages"))
    assert legacy_call(ask({"function_call": {"name": "save", "arguments": "{}"}}))


def test_custom_tools_are_those_of_the_request() -> None:
    tools: list[dict[str, Any]] = [{"type": "custom", "custom": {"name": "run"}}, {"type": "custom", "name": "sql"}]
    assert custom_tools(ask(tools=tools)) == {"run", "sql"}


@pytest.mark.parametrize(
    ("name", "scenario", "expected"),
    [
        ("legacy_call", "legacy-function-call", True),
        ("legacy_call", "single-call", False),
        ("several_choices", "choice-not-selected", True),
        ("several_choices", "single-call", False),
    ],
)
def test_a_response_shows_what_its_request_must_have_been(name: str, scenario: str, expected: bool) -> None:
    decides = runpy.run_path(str(HERE / "scope.py"))[name]
    for mode in scenarios()[scenario].modes("openai.chat"):
        pieces = [base64.b64encode(one).decode() for one in responses(scenario, "openai.chat", mode)[0].pieces]
        exchange = {"wire": "openai.chat", "stream": mode == "stream", "pieces": pieces, "tools": []}
        assert decides(exchange) is expected, mode
        assert decides({**exchange, "wire": "openai.responses"}) is False


def test_a_caller_sees_the_content_beside_the_word() -> None:
    for word, beside, stop in [
        ("stop", {}, "end_turn"),
        ("stop", {"calls": ["a"], "refusal": "no"}, "tool_calls"),
        ("stop", {"refusal": "no"}, "refusal"),
        ("completed", {"approval": True}, "pause"),
        ("length", {"calls": ["a"]}, "max_tokens"),
        ("a_new_word", {"calls": ["a"]}, "tool_calls"),
        ("a_new_word", {}, "unknown"),
        ("", {"calls": ["a"]}, "unknown"),
        (None, {"calls": ["a"]}, "unknown"),
    ]:
        assert stop_of(word, **beside) == stop, word  # type: ignore[arg-type]
