"""Failures of class translate: something is lost between one wire's form and another's."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.normalizer.failures.back import WIRES, call, codes, results, said, tool_result, user, written
from tests.normalizer.history.views import calls, of_kind
from tests.normalizer.history.views import statements as all_said
from tests.support.decoding import anthropic, only, triples
from tests.support.events import anthropic_body, block_start, block_stop, json_delta, tool_start
from tests.support.wires import OBJECT_WIRES
from toolparity import Reasoning, Text, ToolCall, normalize
from toolparity.normalizer.model import ServerToolCall, ServerToolResult
from toolparity.normalizer.requests import read_request, write_request

CLAUDE = "anthropic.messages"


def text_delta(index: int, text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}


def test_XLAT_02_a_call_after_reasoning_and_text_is_decoded_from_stream_and_body() -> None:
    streamed = anthropic(
        block_start(0, type="thinking", thinking="", signature=""),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        block_stop(0),
        block_start(1, type="text", text=""),
        text_delta(1, "so"),
        block_stop(1),
        tool_start(2, "a", "f"),
        json_delta(2, '{"x":1}'),
        block_stop(2),
    )
    content = [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
    ]
    whole = normalize(anthropic_body(*content), CLAUDE)
    for response in (streamed, whole):
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
    turns = [user(), said(made, wire=CLAUDE), results(tool_result("a"))]
    for target in WIRES:
        ((_, _, given),) = calls(target, written(turns, CLAUDE, target).body)
        assert given == ({"_raw": 'code": 1}'} if target in OBJECT_WIRES else 'code": 1}')


def test_XLAT_05_text_and_calls_of_alternating_blocks_are_all_kept() -> None:
    response = anthropic(
        block_start(0, type="text", text="one "),
        text_delta(0, "two"),
        block_stop(0),
        tool_start(1, "a", "f"),
        json_delta(1, '{"x":1}'),
        block_stop(1),
        block_start(2, type="text", text=""),
        text_delta(2, "three"),
        block_stop(2),
        tool_start(3, "b", "f"),
        json_delta(3, '{"y":2}'),
        block_stop(3),
    )
    turns = [user(), said(*response.choices[0].blocks, wire=CLAUDE), results(tool_result("a"), tool_result("b"))]
    for target in WIRES:
        body = written(turns, CLAUDE, target).body
        assert "".join(one.text for one in of_kind(target, body, "assistant")) == "one twothree"
        assert calls(target, body) == [("a", "f", {"x": 1}), ("b", "f", {"y": 2})]


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize(("source", "target"), list(itertools.product(WIRES, WIRES)))
def test_HIST_09_text_beside_calls_is_kept(source: str, target: str) -> None:
    turns = [
        user(),
        said(Text("I look."), call("a"), call("b"), wire=source),
        results(tool_result("a"), tool_result("b")),
    ]
    encoded = written(turns, source, target)
    assert encoded.losses == []
    assert [(one.kind, one.text or one.id) for one in all_said(target, encoded.body)][1:4] == [
        ("assistant", "I look."),
        ("call", '{"x": 1}' if target in OBJECT_WIRES else '{"x":1}'),
        ("call", '{"x": 1}' if target in OBJECT_WIRES else '{"x":1}'),
    ]


@pytest.mark.parametrize(
    "content",
    [
        [
            {"type": "thinking", "thinking": "", "signature": "s"},
            {"type": "text", "text": " so ", "citations": [{"a": 1}]},
        ],
        [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"b": 1, "a": 2}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted_content": "e"}]},
            {"type": "text", "text": "found"},
        ],
        [{"type": "something_new", "z": 1, "a": [None]}, {"type": "text", "text": "so"}],
    ],
    ids=["thinking", "server", "unknown"],
)
def test_PASS_01_content_is_sent_back_unchanged_to_its_own_provider(content: list[Any]) -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": content},
            {"role": "user", "content": "so?"},
        ],
    }
    back = write_request(read_request(body, CLAUDE, provider="anthropic")).body
    assert json.dumps(back["messages"]) == json.dumps(body["messages"])
    response = normalize(anthropic_body(*content, stop="end_turn"), CLAUDE, provider="anthropic")
    turns = [user(), said(*response.choices[0].blocks, wire=CLAUDE), user("so?")]
    assert json.dumps(written(turns, CLAUDE).body["messages"][1]["content"]) == json.dumps(content)


def test_PASS_02_provider_specific_members_return_to_it_and_are_reported_for_others() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "sig"}}}
    turns = [user(), said(call("a", extra=extra), wire="openai.chat"), results(tool_result("a"))]
    foreign = written(turns, "openai.chat", CLAUDE)
    assert codes(foreign) == ["extra"]
    assert "sig" not in json.dumps(foreign.body)
    # The conversation itself was not changed by the way it took.
    returned = written(turns, "openai.chat").body["messages"][1]["tool_calls"][0]
    assert returned["extra_content"] == extra["extra_content"]


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize(("source", "target"), [pair for pair in itertools.product(WIRES, WIRES) if pair[0] != pair[1]])
def test_PASS_02_server_calls_are_reported_where_they_cannot_be_represented(source: str, target: str) -> None:
    served = ServerToolCall("s1", "web_search", "web_search", "{}", "completed")
    found = ServerToolResult("s1", "web_search", False, {"content": "x"})
    encoded = written([user(), said(served, found, Text("so"), wire=source)], source, target)
    assert [one.text for one in of_kind(target, encoded.body, "assistant")] == ["so"]
    assert set(codes(encoded)) == {"server-tool"}
