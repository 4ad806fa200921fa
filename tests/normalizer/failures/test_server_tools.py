"""Failures of class server-tools: calls that the provider runs itself, lost, changed or taken for the caller's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2

from tests.support.decoding import assert_not_executed, codes, decoded, ran
from tests.support.events import (
    CREATED,
    MESSAGE_START,
    MESSAGE_STOP,
    TOOL,
    added,
    block_delta,
    block_start,
    block_stop,
    done,
    function_call,
    grow,
    grpc_event,
    grpc_output,
    grpc_response,
    message_delta,
    sse,
    terminal,
    tool_call,
)
from toolparity import Response, normalize
from toolparity.normalizer.model import Opaque, Reasoning, ServerToolCall, ServerToolResult, Stop, Text, ToolCall

TURIN = ToolCall("call_a", "lookup", {"city": "Turin"}, '{"city": "Turin"}')
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Turin weather"}}
HIT = {
    "type": "web_search_result",
    "title": "Turin",
    "url": "https://example.org/turin",
    "encrypted_content": "Eo8BCk==",
    "page_age": "1 day",
}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [HIT]}
CITATION = {
    "type": "web_search_result_location",
    "url": "https://example.org/turin",
    "title": "Turin",
    "encrypted_index": "Eo8BCioIA==",
    "cited_text": "It is sunny.",
}
CITED = {"type": "text", "text": "It is sunny.", "citations": [CITATION]}
USE = {"type": "tool_use", "id": "call_a", "name": "lookup", "input": {"city": "Turin"}}


def anthropic(content: list[dict[str, Any]], stop: str, **more: Any) -> list[Response]:
    """The plain and the streamed response of one Anthropic message; inputs stream in three pieces."""
    message = {**MESSAGE_START["message"], "content": content, "stop_reason": stop, **more}  # type: ignore[dict-item]
    events: list[dict[str, Any]] = [
        {**MESSAGE_START, "message": {**MESSAGE_START["message"], **more}}  # type: ignore[dict-item]
    ]
    for index, block in enumerate(content):
        if "input" in block:
            text = json.dumps(block["input"])
            events.append(block_start(index, **{**block, "input": {}}))
            events += [block_delta(index, "input_json", piece) for piece in (text[:3], text[3:9], text[9:])]
        elif block["type"] == "text":
            events.append(block_start(index, type="text", text=""))
            events += [block_delta(index, "citations", citation) for citation in block.get("citations", [])]
            events.append(block_delta(index, "text", block["text"]))
        elif block["type"] == "thinking":
            events.append(block_start(index, type="thinking", thinking="", signature=""))
            events.append(block_delta(index, "thinking", block["thinking"]))
            events.append(block_delta(index, "signature", block["signature"]))
        else:
            events.append(block_start(index, **block))
        events.append(block_stop(index))
    streamed = decoded("anthropic.messages", sse(*events, message_delta(stop), MESSAGE_STOP))
    return [normalize(json.dumps(message), "anthropic.messages"), streamed]


def responses(items: list[dict[str, Any]], **options: Any) -> list[Response]:
    """The plain and the streamed response of one Responses output."""
    events = [event for index, item in enumerate(items) for event in (added(index, item), done(index, item))]
    whole = normalize(json.dumps(terminal(items)["response"]), "openai.responses", **options)
    return [whole, decoded("openai.responses", sse(CREATED, *events, terminal(items)), **options)]


def test_SRV_01_a_pause_is_not_an_end_and_its_server_call_is_complete() -> None:
    for response in anthropic([{"type": "text", "text": "Searching."}, SEARCH], "pause_turn"):
        (choice,) = response.choices
        assert choice.stop == Stop("pause", "pause_turn")
        assert choice.blocks == [
            Text("Searching."),
            ServerToolCall("srvtoolu_1", "web_search", "web_search", '{"query": "Turin weather"}'),
        ]
        assert (response.complete, codes(response)) == (True, ["paused"])
        assert_not_executed(response, calls=0)


def test_PEER_02_a_pause_is_distinct_from_an_end() -> None:
    for response in anthropic([{"type": "text", "text": "Searching."}, SEARCH], "pause_turn"):
        stop = response.choices[0].stop
        assert (stop.reason, stop.raw) == ("pause", "pause_turn")
    for ended in anthropic([{"type": "text", "text": "Found."}], "end_turn"):
        assert ended.choices[0].stop.reason == "end_turn"


def test_SRV_02_the_streamed_input_of_a_server_call_is_kept() -> None:
    _, response = anthropic([SEARCH], "pause_turn")
    (call,) = response.choices[0].blocks
    assert call == ServerToolCall("srvtoolu_1", "web_search", "web_search", '{"query": "Turin weather"}')


@pytest.mark.parametrize(
    ("kind", "item", "tool"),
    [
        ("mcp_call_arguments", {"type": "mcp_call", "id": "i", "server_label": "s", "name": "n"}, "mcp"),
        ("code_interpreter_call_code", {"type": "code_interpreter_call", "id": "i"}, "code_execution"),
    ],
)
def test_SRV_02_the_streamed_input_of_a_responses_server_call_is_kept(
    kind: str, item: dict[str, Any], tool: str
) -> None:
    pieces = ["{", '"deed": ', "7}"]
    response = decoded(
        "openai.responses", sse(CREATED, added(0, item), *(grow(kind, 0, piece) for piece in pieces), terminal([]))
    )
    (call,) = response.choices[0].blocks
    assert isinstance(call, ServerToolCall)
    assert (call.id, call.tool, call.arguments_text) == ("i", tool, '{"deed": 7}')


def test_SRV_03_server_blocks_keep_their_order_and_every_member() -> None:
    for response in anthropic([SEARCH, FOUND, CITED], "end_turn"):
        assert response.choices[0].blocks == [
            ServerToolCall("srvtoolu_1", "web_search", "web_search", '{"query": "Turin weather"}'),
            ServerToolResult("srvtoolu_1", "web_search", False, FOUND),
            Text("It is sunny.", [CITATION]),
        ]
        assert response.findings == ()


def test_SRV_03_server_items_of_responses_keep_every_member() -> None:
    action = {"type": "search", "query": "Turin weather", "sources": [{"type": "url", "url": "https://example.org"}]}
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    for response in responses([item]):
        (call,) = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.id, call.tool, call.status) == ("ws_1", "web_search", "completed")
        assert json.loads(call.arguments_text) == action
        assert response.choices[0].stop.reason == "end_turn"


@pytest.mark.parametrize("content", [[SEARCH], [FOUND], [SEARCH, FOUND]], ids=["call alone", "result alone", "pair"])
def test_SRV_04_a_server_call_and_its_result_are_never_client_calls(content: list[dict[str, Any]]) -> None:
    for response in anthropic([*content, USE], "tool_use"):
        *server, client = response.choices[0].blocks
        assert client == TURIN
        ids = [b.id if isinstance(b, ServerToolCall) else b.call_id for b in server]  # type: ignore[union-attr]
        assert ids == ["srvtoolu_1"] * len(content)
        assert ran(response) == ["call_a"]


FUTURE = {"type": "future_call", "id": "fut_1", "status": "completed", "name": "lookup", "arguments": '{"a": 1}'}
X_SEARCH = {"type": "x_search_call", "id": "xs_1", "status": "completed", "action": {"query": "turin"}}


def test_SRV_05_a_hosted_call_of_an_unknown_type_is_a_server_call() -> None:
    for response in responses([FUTURE], request=["lookup"]):
        (call,) = response.choices[0].blocks
        assert call == ServerToolCall("fut_1", "future", "lookup", '{"a": 1}', "completed", {"item": FUTURE})
        assert response.choices[0].stop.reason == "end_turn"
        assert set(codes(response)) == {"unknown-block"}
        assert_not_executed(response, calls=0)


def test_SRV_05_an_x_search_call_is_a_server_call() -> None:
    for response in responses([X_SEARCH]):
        (call,) = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.id, call.tool, json.loads(call.arguments_text)) == ("xs_1", "x_search", {"query": "turin"})
        assert_not_executed(response, calls=0)


def test_SRV_05_an_unknown_anthropic_block_is_kept_and_never_run() -> None:
    block = {"type": "future_tool_use", "id": "f_1", "name": "lookup", "query": {"a": 1}}
    for response in anthropic([block, USE], "tool_use"):
        assert response.choices[0].blocks == [Opaque("future_tool_use", block), TURIN]
        assert codes(response) == ["unknown-block"]
        assert ran(response) == ["call_a"]


def test_SRV_05_an_xai_call_of_an_unknown_type_is_a_server_call() -> None:
    calls = [tool_call("{}", "srv_1", "future", type=99), tool_call('{"city": "Turin"}', "call_a", "lookup")]
    whole = normalize(grpc_response(grpc_output(tool_calls=calls, finish="REASON_TOOL_CALLS")), "xai.grpc")
    streamed = decoded("xai.grpc", [grpc_event(tool_calls=calls), grpc_event(finish="REASON_TOOL_CALLS")])
    for response in (whole, streamed):
        assert response.choices[0].blocks == [ServerToolCall("srv_1", "type_99", "future", "{}", "in_progress"), TURIN]
        assert codes(response) == ["unknown-block"]
        assert ran(response) == ["call_a"]


WEB_SEARCH = chat_pb2.ToolCallType.Value("TOOL_CALL_TYPE_WEB_SEARCH_TOOL")
COMPLETED = chat_pb2.ToolCallStatus.Value("TOOL_CALL_STATUS_COMPLETED")


def test_SRV_06_server_and_client_calls_of_one_list_are_distinguished_by_type() -> None:
    server = tool_call('{"query": "x"}', "srv_1", "lookup", type=WEB_SEARCH, status=COMPLETED)
    client = tool_call('{"city": "Turin"}', "call_a", "lookup")
    whole = normalize(grpc_response(grpc_output(tool_calls=[server, client], finish="REASON_TOOL_CALLS")), "xai.grpc")
    streamed = decoded("xai.grpc", [grpc_event(tool_calls=[server, client]), grpc_event(finish="REASON_TOOL_CALLS")])
    for response in (whole, streamed):
        assert response.choices[0].blocks == [
            ServerToolCall("srv_1", "web_search", "lookup", '{"query": "x"}', "completed"),
            TURIN,
        ]
        assert ran(response) == ["call_a"]


def test_SRV_06_a_server_call_repeated_with_its_result_is_one_call_and_one_result() -> None:
    def search(status: int) -> Any:
        return tool_call('{"query": "x"}', "srv_1", "web_search", type=WEB_SEARCH, status=status)

    whole = normalize(
        grpc_response(
            grpc_output(0, tool_calls=[search(0)]),
            grpc_output(1, role=TOOL, tool_calls=[search(COMPLETED)], content="found"),
            grpc_output(2, content="Sunny.", finish="REASON_STOP"),
        ),
        "xai.grpc",
    )
    streamed = decoded(
        "xai.grpc",
        [
            grpc_event(0, tool_calls=[search(0)]),
            grpc_event(1, role=TOOL, tool_calls=[search(COMPLETED)], content="found"),
            grpc_event(2, content="Sunny.", finish="REASON_STOP"),
        ],
    )
    for response in (whole, streamed):
        assert response.choices[0].blocks == [
            ServerToolCall("srv_1", "web_search", "web_search", '{"query": "x"}', "completed", {"index": 0}),
            ServerToolResult("srv_1", "web_search", False, {"content": "found"}, {"index": 1}),
            Text("Sunny.", [], {"index": 2}),
        ]
        assert_not_executed(response, calls=0)


def test_SRV_07_citations_and_their_encrypted_indexes_are_unchanged() -> None:
    second = {**CITATION, "encrypted_index": "Eo8BDifferent==", "cited_text": "sunny"}
    for response in anthropic([{**CITED, "citations": [CITATION, second]}], "end_turn"):
        assert response.choices[0].blocks == [Text("It is sunny.", [CITATION, second])]


def test_SRV_07_annotations_and_encrypted_reasoning_of_responses_are_unchanged() -> None:
    note = {"type": "url_citation", "start_index": 0, "end_index": 2, "url": "https://example.org", "title": "T"}
    part = {"type": "output_text", "text": "It is sunny.", "annotations": [note]}
    items = [
        {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "gAAAA+/=="},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]},
    ]
    for response in responses(items):
        reasoning, text = response.choices[0].blocks
        assert isinstance(reasoning, Reasoning)
        assert (reasoning.encrypted, reasoning.redacted, reasoning.extra["id"]) == ("gAAAA+/==", True, "rs_0")
        assert isinstance(text, Text)
        assert (text.text, text.annotations) == ("It is sunny.", [note])


def test_SRV_08_the_result_of_a_tool_search_is_kept_with_its_references() -> None:
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "lookup"}],
    }
    use = {
        "type": "server_tool_use",
        "id": "srvtoolu_9",
        "name": "tool_search_tool_regex",
        "input": {"pattern": "look"},
    }
    result = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_9", "content": found}
    for response in anthropic([use, result, USE], "tool_use"):
        assert response.choices[0].blocks == [
            ServerToolCall("srvtoolu_9", "tool_search", "tool_search_tool_regex", '{"pattern": "look"}'),
            ServerToolResult("srvtoolu_9", "tool_search", False, result),
            TURIN,
        ]


def test_SRV_08_an_unknown_member_is_kept_and_reported() -> None:
    for response in anthropic([{**FOUND, "billing": {"tier": 2}}], "end_turn"):
        (block,) = response.choices[0].blocks
        assert isinstance(block, ServerToolResult)
        assert block.raw == {**FOUND, "billing": {"tier": 2}}
        assert codes(response) == ["unknown-member"]


SUB_TOOL = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "",
    "name": "x_semantic_search",
    "input": '{"query": "turin"}',
    "status": "completed",
}
GREPPER = {"type": "custom_tool_call", "id": "ctc_2", "call_id": "call_g", "name": "grep", "input": "turin"}


@pytest.mark.parametrize("name", ["x_semantic_search", "browse_page"])
def test_SRV_09_a_custom_call_of_xais_search_tool_is_a_server_call(name: str) -> None:
    item = {**SUB_TOOL, "name": name}
    for response in responses(
        [item, function_call("call_a", "lookup", '{"city": "Turin"}', id="fc_1")], provider="xai", request=["lookup"]
    ):
        server, client = response.choices[0].blocks
        assert isinstance(server, ServerToolCall)
        assert (server.id, server.name, server.arguments_text) == ("ctc_1", name, '{"query": "turin"}')
        assert isinstance(client, ToolCall)
        assert ran(response) == ["call_a"]
        assert response.findings == ()


def test_SRV_09_a_call_of_a_declared_custom_tool_is_a_client_call_on_xai() -> None:
    request = {"tools": [{"type": "custom", "name": "grep"}, {"type": "x_search"}]}
    for response in responses([SUB_TOOL, GREPPER], provider="xai", request=request):
        server, client = response.choices[0].blocks
        assert isinstance(server, ServerToolCall)
        assert client == ToolCall("call_g", "grep", None, "turin", kind="custom", wire_id="ctc_2")
        assert ran(response) == ["call_g"]


def test_SRV_09_on_other_providers_a_custom_call_is_always_a_client_call() -> None:
    for response in responses([GREPPER], provider="openai"):
        assert ran(response) == ["call_g"]


@pytest.mark.parametrize("streamed", [False, True])
def test_SRV_11_a_call_without_a_type_is_a_client_call_if_its_tool_is_declared(streamed: bool) -> None:
    untyped = tool_call('{"city": "Turin"}', "call_a", "lookup", type=0)
    if streamed:
        frames = [grpc_event(tool_calls=[untyped]), grpc_event(finish="REASON_TOOL_CALLS")]
        known, unknown = (decoded("xai.grpc", frames, request=names) for names in (["lookup"], ["other"]))
    else:
        body = grpc_response(grpc_output(tool_calls=[untyped], finish="REASON_TOOL_CALLS"))
        known, unknown = (normalize(body, "xai.grpc", request=names) for names in (["lookup"], ["other"]))
    assert known.choices[0].blocks == [TURIN]
    assert codes(known) == ["call-type-unset"]
    assert ran(known) == ["call_a"]
    (call,) = unknown.calls
    assert (call.id, call.kind, call.arguments_text) == ("call_a", "unresolved", '{"city": "Turin"}')
    assert "unresolved-call" in codes(unknown)
    assert_not_executed(unknown, calls=1)


def test_GEM_11_signed_reasoning_a_server_call_and_a_client_call_coexist() -> None:
    thought = {"type": "thinking", "thinking": "Both.", "signature": "EqQBCkYIBRgC+/=="}
    for response in anthropic([thought, SEARCH, FOUND, USE], "tool_use"):
        assert response.choices[0].blocks == [
            Reasoning("Both.", "EqQBCkYIBRgC+/=="),
            ServerToolCall("srvtoolu_1", "web_search", "web_search", '{"query": "Turin weather"}'),
            ServerToolResult("srvtoolu_1", "web_search", False, FOUND),
            TURIN,
        ]
        assert ran(response) == ["call_a"]


def test_GEM_11_encrypted_reasoning_a_server_call_and_a_client_call_coexist_on_xai() -> None:
    search = tool_call("{}", "srv_1", "web_search", type=WEB_SEARCH, status=COMPLETED)
    client = tool_call('{"city": "Turin"}', "call_a", "lookup")
    frames = [grpc_event(encrypted_content="c2VhbGVk", tool_calls=[search, client], finish="REASON_TOOL_CALLS")]
    assert decoded("xai.grpc", frames).choices[0].blocks == [
        Reasoning("", None, "c2VhbGVk", True),
        ServerToolCall("srv_1", "web_search", "web_search", "{}", "completed"),
        TURIN,
    ]


CALLER = {"type": "code_execution_20250825", "tool_id": "srvtoolu_7"}
CONTAINER = {"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"}


def test_PTC_01_a_call_made_by_code_keeps_its_caller_and_the_container() -> None:
    use = {**USE, "caller": CALLER}
    message = {**MESSAGE_START["message"], "content": [use], "stop_reason": "tool_use"}  # type: ignore[dict-item]
    whole = normalize({**message, "container": CONTAINER}, "anthropic.messages")
    ending = message_delta("tool_use")
    ending["delta"]["container"] = CONTAINER
    text = block_delta(0, "input_json", '{"city": "Turin"}')
    events = [MESSAGE_START, block_start(0, **{**use, "input": {}}), text, block_stop(0), ending, MESSAGE_STOP]
    for response in (whole, decoded("anthropic.messages", sse(*events))):
        (call,) = response.calls
        assert (call.id, call.caller, call.arguments) == ("call_a", CALLER, {"city": "Turin"})
        assert response.extra["container"] == CONTAINER


@pytest.mark.parametrize("name", [{}, {"name": ""}, {"name": None}])
def test_XAI_07_a_hosted_call_without_a_name_is_identified_by_its_type(name: dict[str, Any]) -> None:
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", **name}
    for response in responses([item], provider="xai", request=["lookup"]):
        (call,) = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.id, call.tool, call.name, call.arguments_text) == ("ws_1", "web_search", "", "")
        assert not {"unknown-tool", "nameless-call"} & set(codes(response))
        assert_not_executed(response, calls=0)
