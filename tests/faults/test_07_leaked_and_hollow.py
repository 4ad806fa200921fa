"""Item 7: markup that leaked into the text, and entries of `tool_calls` that say nothing, are reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from normalizer import normalize
from tests.building import chat, chat_body, chat_call, chunk, codes, piece, triples

HOLLOW: list[Any] = [
    {},
    None,
    {"id": "", "type": "function"},
    {"function": {}},
    {"function": None},
    {"function": {"name": "", "arguments": ""}},
    {"type": "function", "function": {"name": None, "arguments": None}},
    {"custom": {}},
    {"id": "a"},
    {"id": "a", "function": {"name": "", "arguments": ""}},
]
#: The other ways in which an entry that says nothing is reported.
REPORTED = {"nameless-call", "wrong-type"}


@pytest.mark.parametrize("entry", HOLLOW, ids=json.dumps)
@pytest.mark.parametrize("index", [{"index": 0}, {}], ids=str)
def test_a_hollow_entry_is_reported_and_no_call(entry: Any, index: dict[str, int]) -> None:
    streamed = chat(chunk(tool_calls=[entry if entry is None else {**index, **entry}]), finish="stop")
    plain = normalize(json.dumps(chat_body(entry, finish="stop")).encode(), "openai.chat")
    for response in (streamed, plain):
        assert response.calls == []
        assert REPORTED & set(codes(response))
        assert response.choices[0].stop.reason == "end_turn"


@pytest.mark.parametrize("entry", HOLLOW, ids=json.dumps)
def test_a_hollow_entry_beside_a_call_leaves_the_call_alone(entry: Any) -> None:
    streamed = chat(chunk(piece(0, "b", "f", '{"x":1}')), chunk(tool_calls=[entry and {"index": 1, **entry}]))
    plain = normalize(json.dumps(chat_body(chat_call("b", "f", '{"x":1}'), entry)).encode(), "openai.chat")
    for response in (streamed, plain):
        assert triples(response) == [("b", "f", {"x": 1})]


def test_an_empty_fragment_of_a_call_is_nothing_to_report() -> None:
    response = chat(piece(0, "a", "f", "{"), {"index": 0, "function": {"arguments": ""}}, piece(0, arguments="}"))
    assert codes(response) == []
