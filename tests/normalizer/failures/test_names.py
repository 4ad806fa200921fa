"""Failures of class name: names leaked into, or of a hosted tool; see openai_chat_fragments.toml, too."""

from __future__ import annotations

import json

import pytest

from tests.support.decoding import FORMS, codes, only, respond, triples
from tests.support.events import (
    anthropic_body,
    chat_body,
    chat_call,
    function_call,
    grpc_body,
    grpc_call,
    responses_body,
)
from toolparity import ServerToolCall, normalize, select
from toolparity.normalizer.repair import strip_name, unwrap_parallel

EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)
PARALLEL = (
    '{"tool_uses": [{"recipient_name": "functions.f", "parameters": {"x": 1}},'
    ' {"recipient_name": "functions.g", "parameters": {"y": 2}}]}'
)


@EVERY_FORM
def test_NAME_04_the_pseudo_tool_is_one_call_whose_calls_are_unwrapped_on_request(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "multi_tool_use.parallel", PARALLEL)], request=["f", "g"])
    call = only(response)
    assert (call.name, call.arguments, call.status) == ("multi_tool_use.parallel", json.loads(PARALLEL), "complete")
    assert codes(response) == ["pseudo-parallel"]
    assert len(select(response).kept) == 1
    unwrapped = unwrap_parallel(call, ["f", "g"]).calls
    assert [(inner.id, inner.name, inner.arguments, inner.status) for inner in unwrapped] == [
        ("a_0", "f", {"x": 1}, "complete"),
        ("a_1", "g", {"y": 2}, "complete"),
    ]


HOSTED = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
USE = {"type": "tool_use", "id": "a", "name": "web_search", "input": {"q": 1}}
EXECUTED = [{"index": 0, "type": "search", "name": "web_search", "arguments": '{"q":0}', "output": "found"}]
#: A call of a client tool beside one of a hosted tool with the same name.
NAMESAKES = {
    "openai.responses": responses_body(function_call("a", "web_search", '{"q":1}'), HOSTED),
    "anthropic.messages": anthropic_body({**USE, "type": "server_tool_use", "id": "srvtoolu_1"}, USE),
    "xai.grpc": grpc_body(
        grpc_call("s", "web_search", '{"q":0}', kind=2), grpc_call("a", "web_search", '{"q":1}', kind=1)
    ),
    "openai.chat": chat_body(chat_call("a", "web_search", '{"q":1}'), executed_tools=EXECUTED),
}


@pytest.mark.parametrize("wire", NAMESAKES)
def test_NAME_07_the_type_and_not_the_name_of_a_call_decides_which_side_runs_it(wire: str) -> None:
    # On xai_grpc, a call whose function is declared is the caller's, whatever its type.
    declared = None if wire == "xai.grpc" else ["web_search"]
    response = normalize(NAMESAKES[wire], wire, request=declared)
    assert triples(response) == [("a", "web_search", {"q": 1})]
    assert [block.tool for block in response.choices[0].blocks if isinstance(block, ServerToolCall)] == ["web_search"]
    assert [ref.id for ref in select(response).kept] == ["a"]


@EVERY_FORM
def test_NAME_05_a_name_with_control_tokens_is_unknown_and_stripped_on_request(wire: str, streamed: bool) -> None:
    leaked = "ls<|channel|>commentary"
    response = respond(wire, streamed, [("a", leaked, "{}")], request=["ls"])
    assert triples(response) == [("a", leaked, {})]
    assert codes(response) == ["unknown-tool"]
    repaired = strip_name(only(response), ["ls"])
    assert (repaired.call.id, repaired.call.name, repaired.call.arguments) == ("a", "ls", {})
