"""Failures of class server-tools: calls that the provider runs itself, lost, changed or taken for the caller's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from xai_sdk.proto import chat_pb2

from tests.support.decoding import assert_not_executed, codes, decoded, ran
from tests.support.events import (
    CREATED,
    MESSAGE_START,
    MESSAGE_STOP,
    added,
    block_delta,
    block_start,
    block_stop,
    done,
    function_call,
    grpc_event,
    grpc_output,
    grpc_response,
    message_delta,
    sse,
    terminal,
    tool_call,
)
from toolparity import Response, normalize
from toolparity.normalizer.model import Block, Opaque, Reasoning, ServerToolCall, ServerToolResult, Stop, Text, ToolCall

CLAUDE, RESPONSES, XAI = "anthropic.messages", "openai.responses", "xai.grpc"
TURIN = ToolCall("call_a", "lookup", {"city": "Turin"}, '{"city": "Turin"}')
QUERY = {"query": "Turin weather"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": QUERY}
SEARCHED = ServerToolCall("srvtoolu_1", "web_search", "web_search", '{"query": "Turin weather"}')
HIT = {"type": "web_search_result", "title": "Turin", "url": "https://example.org", "encrypted_content": "Eo8BCk=="}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [HIT]}
RESULT = ServerToolResult("srvtoolu_1", "web_search", False, FOUND)
CITATION = {"type": "web_search_result_location", "url": "https://example.org", "encrypted_index": "Eo8BCioIA=="}
CITATIONS = [CITATION, {**CITATION, "encrypted_index": "Eo8BDifferent=="}]
USE = {"type": "tool_use", "id": "call_a", "name": "lookup", "input": {"city": "Turin"}}
NEW = {"type": "future_tool_use", "id": "f_1", "name": "lookup", "query": {"a": 1}}
BILLED = {**FOUND, "billing": {"tier": 2}}
THOUGHT = {"type": "thinking", "thinking": "Both.", "signature": "EqQBCkYIBRgC+/=="}
REGEX = {"type": "server_tool_use", "id": "s_9", "name": "tool_search_tool_regex", "input": {"pattern": "look"}}
REFERENCES = [{"type": "tool_reference", "tool_name": "lookup"}]
TOOLS = {
    "type": "tool_search_tool_result",
    "tool_use_id": "s_9",
    "content": {"type": "tool_search_tool_search_result", "tool_references": REFERENCES},
}


def anthropic(content: list[dict[str, Any]], stop: str) -> list[Response]:
    """The plain and the streamed response of one anthropic_messages message; inputs stream in three pieces."""
    message = {**MESSAGE_START["message"], "content": content, "stop_reason": stop}  # type: ignore[dict-item]
    events: list[dict[str, Any]] = [MESSAGE_START]
    for index, block in enumerate(content):
        if "input" in block:
            text = json.dumps(block["input"])
            begun = {**block, "input": {}}
            deltas = [("input_json", piece) for piece in (text[:3], text[3:9], text[9:])]
        elif block["type"] == "text":
            begun = {"type": "text", "text": ""}
            deltas = [*(("citations", one) for one in block.get("citations", [])), ("text", block["text"])]
        elif block["type"] == "thinking":
            begun = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [(kind, block[kind]) for kind in ("thinking", "signature")]
        else:
            begun, deltas = block, []
        events.append(block_start(index, **begun))
        events += [block_delta(index, kind, value) for kind, value in deltas]
        events.append(block_stop(index))
    streamed = decoded(CLAUDE, sse(*events, message_delta(stop), MESSAGE_STOP))
    return [normalize(json.dumps(message), CLAUDE), streamed]


class Case(NamedTuple):
    """The content of a message of anthropic_messages, its canonical blocks, and the codes of its findings."""

    content: list[dict[str, Any]]
    blocks: list[Block]
    findings: list[str] = []  # noqa: RUF012 - never changed


#: The first word of a case is the failure that it proves.
CASES = {
    "SRV-03 every member in order": Case(
        [SEARCH, FOUND, {"type": "text", "text": "Sunny.", "citations": [CITATION]}],
        [SEARCHED, RESULT, Text("Sunny.", [CITATION])],
    ),
    "SRV-04 a call alone": Case([SEARCH, USE], [SEARCHED, TURIN]),
    "SRV-04 a result alone": Case([FOUND, USE], [RESULT, TURIN]),
    "SRV-04 a call and its result": Case([SEARCH, FOUND, USE], [SEARCHED, RESULT, TURIN]),
    "SRV-05 an unknown block": Case([NEW, USE], [Opaque("future_tool_use", NEW), TURIN], ["unknown-block"]),
    "SRV-07 encrypted indexes": Case(
        [{"type": "text", "text": "Sunny.", "citations": CITATIONS}], [Text("Sunny.", CITATIONS)]
    ),
    "SRV-08 a tool search": Case(
        [REGEX, TOOLS, USE],
        [
            ServerToolCall("s_9", "tool_search", "tool_search_tool_regex", '{"pattern": "look"}'),
            ServerToolResult("s_9", "tool_search", False, TOOLS),
            TURIN,
        ],
    ),
    "SRV-08 an unknown member": Case(
        [BILLED], [ServerToolResult("srvtoolu_1", "web_search", False, BILLED)], ["unknown-member"]
    ),
    "GEM-11 beside signed reasoning": Case(
        [THOUGHT, SEARCH, FOUND, USE], [Reasoning("Both.", "EqQBCkYIBRgC+/=="), SEARCHED, RESULT, TURIN]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_server_blocks_are_kept_completely_and_never_run(name: str, proves: Callable[[str], None]) -> None:
    content, blocks, findings = CASES[name]
    for response in anthropic(content, "tool_use" if USE in content else "end_turn"):
        assert response.choices[0].blocks == blocks
        assert codes(response) == findings
        assert ran(response) == ["call_a"] * (USE in content)
    proves(name.partition(" ")[0])


def test_SRV_01_SRV_02_PEER_02_a_pause_is_not_an_end_and_its_server_call_is_complete() -> None:
    for response in anthropic([{"type": "text", "text": "Searching."}, SEARCH], "pause_turn"):
        (choice,) = response.choices
        assert (choice.stop, choice.blocks) == (Stop("pause", "pause_turn"), [Text("Searching."), SEARCHED])
        assert (response.complete, codes(response)) == (True, ["paused"])
        assert_not_executed(response, calls=0)


CALLER = {"type": "code_execution_20250825", "tool_id": "srvtoolu_7"}
CONTAINER = {"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"}


def test_PTC_01_a_call_made_by_code_keeps_its_caller_and_the_container() -> None:
    use = {**USE, "caller": CALLER}
    message = {**MESSAGE_START["message"], "content": [use], "stop_reason": "tool_use"}  # type: ignore[dict-item]
    ending = message_delta("tool_use")
    ending["delta"]["container"] = CONTAINER
    text = block_delta(0, "input_json", '{"city": "Turin"}')
    events = [MESSAGE_START, block_start(0, **{**use, "input": {}}), text, block_stop(0), ending, MESSAGE_STOP]
    for response in (normalize({**message, "container": CONTAINER}, CLAUDE), decoded(CLAUDE, sse(*events))):
        (call,) = response.calls
        assert (call.id, call.caller, call.arguments) == ("call_a", CALLER, {"city": "Turin"})
        assert response.extra["container"] == CONTAINER


# openai.responses


def responses(items: list[dict[str, Any]], **options: Any) -> list[Response]:
    """The plain and the streamed response of one output of openai_responses."""
    events = [event for index, item in enumerate(items) for event in (added(index, item), done(index, item))]
    whole = normalize(json.dumps(terminal(items)["response"]), RESPONSES, **options)
    return [whole, decoded(RESPONSES, sse(CREATED, *events, terminal(items)), **options)]


@pytest.mark.parametrize("tool", ["web_search", "x_search", "future"])
@pytest.mark.parametrize("name", [{}, {"name": ""}, {"name": None}])
def test_SRV_03_SRV_05_XAI_07_a_hosted_call_is_a_server_call_of_the_tool_in_its_type(
    tool: str, name: dict[str, Any]
) -> None:
    action = {"type": "search", "query": "Turin", "sources": [{"type": "url", "url": "https://example.org"}]}
    item = {"type": f"{tool}_call", "id": "ws_1", "status": "completed", "action": action, **name}
    for response in responses([item], provider="xai", request=["lookup"]):
        (call,) = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.id, call.tool, call.name, call.status) == ("ws_1", tool, "", "completed")
        assert tool == "future" or json.loads(call.arguments_text) == action
        assert set(codes(response)) == ({"unknown-block"} if tool == "future" else set())
        assert response.choices[0].stop.reason == "end_turn"
        assert_not_executed(response, calls=0)
    declared = item | {"name": "lookup", "arguments": "{}"}
    for response in responses([declared], request=["lookup"]) if tool == "future" else ():
        assert_not_executed(response, calls=0)


CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "", "input": '{"query": "x"}', "status": "completed"}
GREP = {"type": "custom_tool_call", "id": "ctc_2", "call_id": "call_g", "name": "grep", "input": "turin"}


@pytest.mark.parametrize("name", ["x_semantic_search", "browse_page"])
def test_SRV_09_a_custom_call_of_xai_is_a_client_call_only_if_its_tool_is_declared(name: str) -> None:
    request = {
        "tools": [{"type": "custom", "name": "grep"}, {"type": "x_search"}, {"type": "function", "name": "lookup"}]
    }
    for response in responses(
        [{**CUSTOM, "name": name}, function_call("call_a", "lookup", '{"city": "Turin"}', id="fc_1"), GREP],
        provider="xai",
        request=request,
    ):
        server, _, custom = response.choices[0].blocks
        assert isinstance(server, ServerToolCall)
        assert (server.id, server.name, server.arguments_text) == ("ctc_1", name, '{"query": "x"}')
        assert custom == ToolCall("call_g", "grep", None, "turin", kind="custom", wire_id="ctc_2")
        assert ran(response) == ["call_a", "call_g"]
        assert response.findings == ()
    for response in responses([GREP], provider="openai"):  # there, the caller runs every custom call
        assert ran(response) == ["call_g"]


# xai.grpc

WEB_SEARCH = chat_pb2.ToolCallType.Value("TOOL_CALL_TYPE_WEB_SEARCH_TOOL")
COMPLETED = chat_pb2.ToolCallStatus.Value("TOOL_CALL_STATUS_COMPLETED")
CLIENT_CALL = tool_call('{"city": "Turin"}', "call_a", "lookup")


def grpc(*calls: Any, finish: str = "REASON_TOOL_CALLS", **message: Any) -> list[Response]:
    """The plain and the streamed response of one output of xai_grpc."""
    return [
        normalize(grpc_response(grpc_output(tool_calls=calls, finish=finish, **message)), XAI),
        decoded(XAI, [grpc_event(tool_calls=calls, **message), grpc_event(finish=finish)]),
    ]


def test_SRV_05_SRV_06_GEM_11_server_and_client_calls_of_xai_grpc_are_distinguished_by_type() -> None:
    search = tool_call('{"query": "x"}', "srv_1", "lookup", type=WEB_SEARCH, status=COMPLETED)
    for response in grpc(search, CLIENT_CALL, encrypted_content="c2VhbGVk"):
        assert response.choices[0].blocks == [
            Reasoning("", None, "c2VhbGVk", True),
            ServerToolCall("srv_1", "web_search", "lookup", '{"query": "x"}', "completed"),
            TURIN,
        ]
        assert (codes(response), ran(response)) == ([], ["call_a"])
    for response in grpc(tool_call("{}", "srv_1", "future", type=99), CLIENT_CALL):
        assert response.choices[0].blocks == [ServerToolCall("srv_1", "type_99", "future", "{}", "in_progress"), TURIN]
        assert (codes(response), ran(response)) == (["unknown-block"], ["call_a"])


def test_SRV_11_a_call_without_a_type_is_a_client_call_if_its_tool_is_declared() -> None:
    untyped = [tool_call('{"city": "Turin"}', "call_a", "lookup", type=0)]
    frames = [grpc_event(tool_calls=untyped), grpc_event(finish="REASON_TOOL_CALLS")]
    body = grpc_response(grpc_output(tool_calls=untyped, finish="REASON_TOOL_CALLS"))
    for known in (decoded(XAI, frames, request=["lookup"]), normalize(body, XAI, request=["lookup"])):
        assert known.choices[0].blocks == [TURIN]
        assert (codes(known), ran(known)) == (["call-type-unset"], ["call_a"])
    for unknown in (decoded(XAI, frames, request=["other"]), normalize(body, XAI, request=["other"])):
        (call,) = unknown.calls
        assert (call.id, call.kind, call.arguments_text) == ("call_a", "unresolved", '{"city": "Turin"}')
        assert "unresolved-call" in codes(unknown)
        assert_not_executed(unknown, calls=1)
