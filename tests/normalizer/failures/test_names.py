"""Failures of class name: names repeated, split, leaked into, or shared with a provider's own tool."""

from __future__ import annotations

import json

import pytest

from tests.support.decoding import FORMS, chat, codes, only, respond, triples
from tests.support.events import (
    anthropic_body,
    chat_body,
    chat_call,
    chunk,
    function_call,
    grpc_body,
    grpc_call,
    piece,
    responses_body,
)
from toolparity import ServerToolCall, ToolCall, normalize, select
from toolparity.normalizer.repair import strip_name, unwrap_parallel

EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)
PARALLEL = (
    '{"tool_uses": [{"recipient_name": "functions.f", "parameters": {"x": 1}},'
    ' {"recipient_name": "functions.g", "parameters": {"y": 2}}]}'
)


@EVERY_FORM
def test_NAME_04_the_pseudo_tool_is_one_call_and_reported(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "multi_tool_use.parallel", PARALLEL)], request=["f", "g"])
    call = only(response)
    assert (call.name, call.arguments, call.status) == ("multi_tool_use.parallel", json.loads(PARALLEL), "complete")
    assert codes(response) == ["pseudo-parallel"]
    assert len(select(response).kept) == 1


@EVERY_FORM
def test_NAME_04_the_calls_of_the_pseudo_tool_are_unwrapped_on_request(wire: str, streamed: bool) -> None:
    call = only(respond(wire, streamed, [("a", "multi_tool_use.parallel", PARALLEL)]))
    repaired = unwrap_parallel(call, ["f", "g"])
    assert [(inner.id, inner.name, inner.arguments, inner.status) for inner in repaired.calls] == [
        ("a_0", "f", {"x": 1}, "complete"),
        ("a_1", "g", {"y": 2}, "complete"),
    ]
    assert repaired.did


def test_NAME_07_a_function_named_like_a_hosted_tool_is_a_client_call_on_responses() -> None:
    hosted = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
    body = responses_body(function_call("a", "web_search", '{"q":1}'), hosted)
    response = normalize(body, "openai.responses", request=["web_search"])
    assert triples(response) == [("a", "web_search", {"q": 1})]
    assert [type(block) for block in response.choices[0].blocks] == [ToolCall, ServerToolCall]
    assert [ref.id for ref in select(response).kept] == ["a"]


def test_NAME_07_a_tool_named_like_a_hosted_tool_is_a_client_call_on_anthropic() -> None:
    body = anthropic_body(
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": 0}},
        {"type": "tool_use", "id": "a", "name": "web_search", "input": {"q": 1}},
    )
    response = normalize(body, "anthropic.messages")
    assert triples(response) == [("a", "web_search", {"q": 1})]
    assert [type(block) for block in response.choices[0].blocks] == [ServerToolCall, ToolCall]


def test_NAME_07_the_call_type_and_not_the_name_decides_on_the_protobuf_wire() -> None:
    body = grpc_body(grpc_call("s", "web_search", '{"q":0}', kind=2), grpc_call("a", "web_search", '{"q":1}', kind=1))
    response = normalize(body, "xai.grpc")
    assert triples(response) == [("a", "web_search", {"q": 1})]
    assert [type(block) for block in response.choices[0].blocks] == [ServerToolCall, ToolCall]


def test_NAME_07_executed_tools_are_server_calls_beside_client_calls_on_chat() -> None:
    executed = [{"index": 0, "type": "search", "name": "web_search", "arguments": '{"q":0}', "output": "found"}]
    body = chat_body(chat_call("a", "web_search", '{"q":1}'), executed_tools=executed)
    response = normalize(body, "openai.chat")
    assert triples(response) == [("a", "web_search", {"q": 1})]
    assert [block.tool for block in response.choices[0].blocks if isinstance(block, ServerToolCall)] == ["web_search"]


def test_NAME_01_a_name_that_is_repeated_is_not_doubled() -> None:
    response = chat(*(chunk(piece(0, "a", "read_file", part)) for part in ("", '{"x":', "1}")))
    assert triples(response) == [("a", "read_file", {"x": 1})]
    assert codes(response) == []


def test_NAME_01_a_repeated_name_is_not_doubled_before_the_arguments_or_without_an_id() -> None:
    heads = [piece(0, None, "read_file", "")] * 3
    response = chat(*heads, piece(0, arguments='{"x":1}'))
    assert [(call.name, call.arguments) for call in response.calls] == [("read_file", {"x": 1})]


def test_NAME_01_a_legacy_name_that_is_repeated_is_not_doubled() -> None:
    parts = [{"name": "read_file", "arguments": text} for text in ("", '{"x":', "1}")]
    response = chat(*(chunk(function_call=part) for part in parts), finish="function_call")
    assert [(call.kind, call.name, call.arguments) for call in response.calls] == [
        ("legacy_function", "read_file", {"x": 1})
    ]


def test_NAME_02_a_name_in_fragments_is_concatenated() -> None:
    pieces = [piece(0, "a", "get_"), piece(0, None, "weather"), piece(0, arguments='{"x":1}')]
    response = chat(*pieces, request=["get_weather"])
    assert triples(response) == [("a", "get_weather", {"x": 1})]
    assert codes(response) == ["name-split"]


def test_NAME_02_a_legacy_name_in_fragments_is_concatenated() -> None:
    parts = [{"name": "get_"}, {"name": "weather"}, {"arguments": '{"x":1}'}]
    response = chat(*(chunk(function_call=part) for part in parts), finish="function_call")
    assert [(call.kind, call.name, call.arguments) for call in response.calls] == [
        ("legacy_function", "get_weather", {"x": 1})
    ]


def test_NAME_02_without_index_only_a_declared_sum_is_one_name() -> None:
    pieces = [piece(None, None, "get_"), piece(None, None, "weather"), piece(None, None, None, "{}")]
    joined = chat(*pieces, request=["get_weather"])
    assert [call.name for call in joined.calls] == ["get_weather"]
    apart = chat(*pieces, request=["get_", "weather"])
    assert [call.name for call in apart.calls] == ["get_", "weather"]


LEAKED = "ls<|channel|>commentary"


@EVERY_FORM
def test_NAME_05_a_name_with_control_tokens_stays_raw_and_is_unknown(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", LEAKED, "{}")], request=["ls"])
    assert triples(response) == [("a", LEAKED, {})]
    assert codes(response) == ["unknown-tool"]


@EVERY_FORM
def test_NAME_05_the_declared_name_is_suggested_on_request(wire: str, streamed: bool) -> None:
    call = only(respond(wire, streamed, [("a", LEAKED, "{}")], request=["ls"]))
    repaired = strip_name(call, ["ls"])
    assert (repaired.call.id, repaired.call.name, repaired.call.arguments) == ("a", "ls", {})
    assert repaired.did
