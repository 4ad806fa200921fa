"""Failures of class translate: something is lost between one wire's form and another's."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.normalizer.failures.conversations import (
    WIRES,
    assistant,
    call,
    codes,
    every_pair,
    parts,
    results,
    tool_result,
    user,
    written,
)
from tests.normalizer.history.views import calls, of_kind
from tests.support.decoding import anthropic, only, triples
from tests.support.events import anthropic_body, block_start, block_stop, json_delta, text_delta, tool_start
from tests.support.wires import OBJECT_WIRES
from toolparity import Reasoning, Text, ToolCall, normalize
from toolparity.normalizer.model import ServerToolCall, ServerToolResult
from toolparity.normalizer.requests import read_request, write_request

CLAUDE = "anthropic.messages"


def test_XLAT_02_a_call_after_reasoning_and_text_is_decoded_from_stream_and_body() -> None:
    thought = {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}
    streamed = anthropic(
        *(block_start(0, type="thinking", thinking="", signature=""), thought, block_stop(0)),
        *(block_start(1, type="text", text=""), text_delta(1, "so"), block_stop(1)),
        *(tool_start(2, "a", "f"), json_delta(2, '{"x":1}'), block_stop(2)),
    )
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
    ]
    for response in (streamed, normalize(anthropic_body(*content), CLAUDE)):
        assert [type(block) for block in response.choices[0].blocks] == [Reasoning, Text, ToolCall]
        assert triples(response) == [("a", "f", {"x": 1})]
        assert response.choices[0].stop.reason == "tool_calls"


@pytest.mark.parametrize("deltas", [[], ['{"a": 1}'], ['{"a"', ": 1}"]], ids=["none", "whole", "pieces"])
def test_XLAT_03_an_input_in_the_start_event_counts_once(deltas: list[str]) -> None:
    pieces = [json_delta(0, text) for text in deltas]
    assert triples(anthropic(tool_start(0, "a", "f", {"a": 1}), *pieces, block_stop(0))) == [("a", "f", {"a": 1})]


def test_XLAT_04_arguments_without_their_beginning_are_invalid_and_kept() -> None:
    made = only(anthropic(tool_start(0, "a", "f"), json_delta(0, 'code": 1}'), block_stop(0)))
    assert (made.status, made.arguments, made.arguments_text) == ("invalid", None, 'code": 1}')
    turns = [user(), assistant(made, wire=CLAUDE), results(tool_result("a"))]
    for target in WIRES:
        ((_, _, given),) = calls(target, written(turns, CLAUDE, target).body)
        assert given == ({"_raw": 'code": 1}'} if target in OBJECT_WIRES else 'code": 1}')


def test_XLAT_05_text_and_calls_of_alternating_blocks_are_all_kept() -> None:
    blocks = [Text("one two"), call("a"), Text("three"), call("b")]
    turns = [user(), assistant(*blocks, wire=CLAUDE), results(tool_result("a"), tool_result("b"))]
    for target in WIRES:
        body = written(turns, CLAUDE, target).body
        assert "".join(part.text for part in of_kind(target, body, "assistant")) == "one twothree"
        assert [id for id, *_ in calls(target, body)] == ["a", "b"]


@every_pair
def test_HIST_09_text_beside_calls_is_kept(source: str, target: str) -> None:
    made = assistant(Text("I look."), call("a"), call("b"), wire=source)
    encoded = written([user(), made, results(tool_result("a"), tool_result("b"))], source, target)
    assert encoded.losses == []
    sent = [(part.kind, part.id or part.text) for part in parts(target, encoded.body)]
    assert sent[1:4] == [("assistant", "I look."), ("call", "a"), ("call", "b")]


CONTENTS: dict[str, list[dict[str, Any]]] = {
    "thinking": [
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "text", "text": " so ", "citations": [{"a": 1}]},
    ],
    "server": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"b": 1, "a": 2}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted_content": "e"}]},
        {"type": "text", "text": "found"},
    ],
    "unknown": [{"type": "something_new", "z": 1, "a": [None]}, {"type": "text", "text": "so"}],
}


@pytest.mark.parametrize("name", CONTENTS)
def test_PASS_01_content_is_sent_back_unchanged_to_its_provider(name: str) -> None:
    content = CONTENTS[name]
    response = normalize(anthropic_body(*content, stop="end_turn"), CLAUDE, provider="anthropic")
    body = written([user(), assistant(*response.choices[0].blocks, wire=CLAUDE), user("so?")], CLAUDE).body
    assert json.dumps(body["messages"][1]["content"]) == json.dumps(content)
    back = write_request(read_request(body, CLAUDE, provider="anthropic")).body
    assert json.dumps(back["messages"]) == json.dumps(body["messages"])


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(WIRES, 2)))
def test_PASS_02_server_calls_are_reported_where_they_cannot_be_represented(source: str, target: str) -> None:
    served = ServerToolCall("s1", "web_search", "web_search", "{}", "completed")
    found = ServerToolResult("s1", "web_search", False, {"content": "x"})
    encoded = written([user(), assistant(served, found, Text("so"), wire=source)], source, target)
    assert [part.text for part in of_kind(target, encoded.body, "assistant")] == ["so"]
    assert set(codes(encoded)) == {"server-tool"}
