"""What goes to the Messages API: its own blocks as they came, and those of others reported with the blocks it has."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.support.decoding import decode_stream
from tests.support.events import anthropic_body, anthropic_stream, block_start, block_stop, json_delta, tool_start
from toolparity import normalize
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    Message,
    OpaquePart,
    RawItem,
    Request,
    System,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.model import (
    ApprovalRequest,
    Choice,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Stop,
    Text,
    ToolCall,
)
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "anthropic.messages"
ASK = User([TextPart("hi")])
BYE = User([TextPart("bye")])


def said(*blocks: Any, wire: str = WIRE, provider: str | None = "anthropic", **extra: Any) -> Assistant:
    return Assistant(Response(wire, provider, None, "m", [Choice(0, list(blocks), Stop("end_turn"))], extra=extra))


def write(*turns: Message, wire: str = WIRE, **more: Any) -> Encoded:
    request = Request(wire, "m", list(turns), **{"params": {"max_tokens": 9}, **more})
    encoded = write_request(request, WIRE, provider="anthropic")
    assert check_request(encoded.body, WIRE) == []
    return encoded


def messages(encoded: Encoded) -> Any:
    return encoded.body["messages"]


def codes(encoded: Encoded) -> list[str]:
    return [loss.code for loss in encoded.losses]


def call(id: str = "t1", text: str = '{"x":1}', **more: Any) -> ToolCall:
    return ToolCall(id, "f", json.loads(text), text, **more)


def replayed(response: Response, *after: Message, **more: Any) -> Any:
    """The assistant's content when a response goes back as it was decoded."""
    encoded = write(ASK, Assistant(response), *after, **more)
    assert encoded.losses == []
    return messages(encoded)[1]["content"]


THINKING = {"type": "thinking", "thinking": "hm  ", "signature": "c2ln=="}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "x", "page_age": None}],
}
CITED = {
    "type": "text",
    "text": "so",
    "citations": [{"type": "web_search_result_location", "url": "u", "encrypted_index": "i", "cited_text": "c"}],
}


# the model's own blocks go back as they came


def test_thinking_goes_back_first_and_byte_for_byte() -> None:
    """Failures THINK-01 and THINK-02."""
    response = normalize(anthropic_body(THINKING, REDACTED, USE), WIRE, provider="anthropic")
    assert replayed(response, ToolResults([ToolResult("t1", [TextPart("ok")])])) == [THINKING, REDACTED, USE]


def test_streamed_thinking_gets_its_signature_back() -> None:
    events = [
        block_start(0, type="thinking", thinking="", signature=""),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm  "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln=="}},
        block_stop(0),
        tool_start(1, "t1", "f"),
        json_delta(1, '{"x":'),
        json_delta(1, "1}"),
        block_stop(1),
    ]
    response = decode_stream(WIRE, anthropic_stream(*events), provider="anthropic")
    assert replayed(response, ToolResults([ToolResult("t1", [TextPart("ok")])])) == [THINKING, USE]


@pytest.mark.parametrize("signature", [None, ""])
def test_unsigned_thinking_is_left_out_and_reported(signature: str | None) -> None:
    """Failure THINK-03."""
    encoded = write(ASK, said(Reasoning("hm", signature), Text("so")), BYE)
    assert messages(encoded)[1]["content"] == [{"type": "text", "text": "so"}]
    assert codes(encoded) == ["unsigned-reasoning"]


def test_a_compatible_server_gets_its_unsigned_thinking_back() -> None:
    turns = [ASK, said(Reasoning("hm"), Text("so"), provider="other"), BYE]
    encoded = write_request(Request(WIRE, "m", turns, provider="other"))
    assert encoded.body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": ""}
    assert encoded.losses == []


def test_thinking_of_another_wire_or_server_is_not_passed_off_as_its_own() -> None:
    foreign = said(Reasoning("hm", None, "enc"), Text("so"), wire="openai.responses", provider="openai")
    compatible = said(Reasoning("hm", "sig"), Text("so"), provider="other")
    for turn in (foreign, compatible):
        encoded = write(ASK, turn, BYE)
        assert messages(encoded)[1]["content"] == [{"type": "text", "text": "so"}]
        assert codes(encoded) == ["reasoning"]


def test_claude_s_signatures_hold_wherever_it_is_served() -> None:
    turns = [ASK, said(Reasoning("hm", "sig"), Text("so"), provider="bedrock"), BYE]
    assert messages(write(*turns))[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}


def test_thinking_is_switched_off_where_the_tool_round_has_none_that_can_go_back() -> None:
    thinks = {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    result = ToolResults([ToolResult("t1", [TextPart("ok")])])
    encoded = write(ASK, said(call(), wire="openai.chat"), result, params=thinks)
    assert "thinking" not in encoded.body
    assert codes(encoded) == ["param"]
    assert write(ASK, said(Reasoning("hm", "s"), call()), result, params=thinks).body["thinking"] == thinks["thinking"]


def test_server_calls_go_back_whole_with_their_results_and_citations() -> None:
    """Failures SRV-03 and SRV-07."""
    response = normalize(anthropic_body(SEARCH, FOUND, CITED, stop="end_turn"), WIRE, provider="anthropic")
    assert replayed(response, BYE) == [SEARCH, FOUND, CITED]


def test_a_paused_turn_goes_back_with_its_open_call() -> None:
    """Failure SRV-01."""
    response = normalize(anthropic_body(SEARCH, stop="pause_turn"), WIRE, provider="anthropic")
    assert replayed(response) == [SEARCH]
    rest = normalize(anthropic_body(FOUND, CITED, stop="end_turn"), WIRE, provider="anthropic")
    encoded = write(ASK, Assistant(response), Assistant(rest), BYE)
    assert [message["content"] for message in messages(encoded)[1:3]] == [[SEARCH], [FOUND, CITED]]
    assert encoded.losses == []


def test_a_server_call_without_its_result_is_never_answered_by_the_caller() -> None:
    """Failures SRV-04 and ORD-03: it is left out, as is a result whose call is elsewhere."""
    search = ServerToolCall("srvtoolu_1", "web_search", "web_search", "{}")
    found = ServerToolResult("srvtoolu_1", "web_search", raw=FOUND)
    alone = write(ASK, said(search, Text("so")), BYE)
    assert messages(alone)[1]["content"] == [{"type": "text", "text": "so"}]
    assert codes(alone) == ["server-tool"]
    split = write(ASK, said(search, Text("a")), BYE, said(found, Text("b")), BYE)
    assert [message["content"] for message in messages(split)[1::2]] == [
        [{"type": "text", "text": "a"}],
        [{"type": "text", "text": "b"}],
    ]
    assert codes(split) == ["server-tool", "server-tool"]


def test_calls_of_code_are_answered_in_the_container_where_it_waits() -> None:
    """Failure PTC-01."""
    code = {"type": "server_tool_use", "id": "srvtoolu_9", "name": "code_execution", "input": {"code": "f()"}}
    used = {**USE, "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_9"}}
    body = anthropic_body(code, used, container={"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"})
    response = normalize(body, WIRE, provider="anthropic")
    turns = [ASK, Assistant(response), ToolResults([ToolResult("t1", [TextPart("ok")])])]
    encoded = write(*turns)
    assert encoded.body["container"] == "container_1"
    assert messages(encoded)[1]["content"] == [code, used]
    kept = write(*turns, params={"max_tokens": 9, "container": {"skills": ["s"]}})
    assert kept.body["container"] == {"skills": ["s"], "id": "container_1"}
    told = write(*turns, params={"max_tokens": 9, "container": "container_2"})
    assert told.body["container"] == "container_2"
    ran = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_9", "content": {"stdout": "1"}}
    done = normalize(anthropic_body(ran, CITED, stop="end_turn"), WIRE, provider="anthropic")
    later = write(*turns, Assistant(done), BYE)
    assert [message["content"] for message in messages(later)[1:4:2]] == [[code, used], [ran, CITED]]
    assert later.losses == []


@pytest.mark.parametrize(
    "block",
    [
        {"type": "compaction", "content": "summary", "encrypted_content": "x"},
        {"type": "compaction", "content": None, "encrypted_content": "x", "signature": "s"},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "block_of_tomorrow", "x": [1]},
    ],
    ids=lambda block: block["type"],
)
def test_blocks_that_carry_state_go_back_as_they_came(block: dict[str, Any]) -> None:
    response = normalize(anthropic_body(block, CITED, stop="end_turn"), WIRE, provider="anthropic")
    assert replayed(response, BYE) == [block, CITED]


def test_mcp_calls_go_back_with_their_server() -> None:
    use = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "wiki", "input": {"q": 1}}
    result = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": []}
    response = normalize(anthropic_body(use, result, CITED, stop="end_turn"), WIRE, provider="anthropic")
    assert replayed(response, BYE) == [use, result, CITED]


# calls and their answers


def test_all_answers_stand_in_one_message_in_call_order() -> None:
    """Failures HIST-02, ORD-01 and ORD-02."""
    late = ToolResults([ToolResult("t2", [TextPart("two")]), ToolResult("t1", [TextPart("one")])])
    encoded = write(ASK, said(call("t1"), call("t2"), call("t3")), late, BYE)
    assert messages(encoded)[2]["role"] == "user"
    results = messages(encoded)[2]["content"]
    assert [(block["type"], block["tool_use_id"]) for block in results] == [
        ("tool_result", "t1"),
        ("tool_result", "t2"),
        ("tool_result", "t3"),
    ]
    assert [block["content"] for block in results[:2]] == ["one", "two"]
    assert results[2]["is_error"] is True
    assert messages(encoded)[3] == {"role": "user", "content": "bye"}
    assert codes(encoded) == ["answered"]


@pytest.mark.parametrize(
    ("text", "status", "written"),
    [
        ("", "complete", {}),
        ('{"x": ', "truncated", {"_raw": '{"x": '}),
        ("[1]", "invalid", {"_raw": "[1]"}),
        ('"{}"', "invalid", {"_raw": '"{}"'}),
        ('{"f": NaN}', "invalid", {"_raw": '{"f": NaN}'}),
        ('{"f": 1e400}', "invalid", {"_raw": '{"f": 1e400}'}),
    ],
)
def test_the_input_of_a_call_is_always_an_object(text: str, status: Any, written: dict[str, Any]) -> None:
    """Failures ARG-08, INV-01 and INV-02."""
    given = ToolCall("t1", "f", {} if status == "complete" else None, text, status)
    encoded = write(ASK, said(given), ToolResults([ToolResult("t1", [TextPart("no")], is_error=True)]))
    assert messages(encoded)[1]["content"] == [{"type": "tool_use", "id": "t1", "name": "f", "input": written}]
    assert messages(encoded)[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}
    ]
    assert codes(encoded) == (["arguments"] if "_raw" in written else [])


def test_foreign_ids_and_names_become_legal_and_stay_different() -> None:
    """Failures ID-13, ID-19 and NAME-04."""
    calls = [ToolCall(id, name, {}, "{}") for id, name in (("call.0", "a.b"), ("call:0", "a:b"), ("call_0", "a_b"))]
    results = ToolResults([ToolResult(one.id, [TextPart(one.id)]) for one in calls])
    encoded = write(ASK, said(*calls, wire="openai.chat"), results, wire="openai.chat")
    uses, answers = messages(encoded)[1]["content"], messages(encoded)[2]["content"]
    assert [use["id"] for use in uses] == [answer["tool_use_id"] for answer in answers]
    assert len({use["id"] for use in uses}) == len({use["name"] for use in uses}) == 3
    assert (uses[2]["id"], uses[2]["name"]) == ("call_0", "a_b")
    assert [encoded.ids.get(use["id"], use["id"]) for use in uses] == ["call.0", "call:0", "call_0"]
    assert [encoded.names.get(use["name"], use["name"]) for use in uses] == ["a.b", "a:b", "a_b"]


PNG = MediaPart("image", "image/png", data="iVBORw0KGgo=")
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


@pytest.mark.parametrize(
    ("parts", "plain", "content"),
    [
        ([], True, None),
        ([TextPart("")], False, None),
        ([TextPart("ok")], True, "ok"),
        ([TextPart("ok")], False, [{"type": "text", "text": "ok"}]),
        ([JsonPart({"a": [1, None]})], True, [{"type": "text", "text": '{"a":[1,null]}'}]),
        ([TextPart("see"), PNG], False, [{"type": "text", "text": "see"}, IMAGE]),
        (
            [OpaquePart("search_result", {"type": "search_result", "source": "s"})],
            False,
            [{"type": "search_result", "source": "s"}],
        ),
    ],
)
def test_results_hold_whatever_a_tool_returned(parts: Any, plain: bool, content: Any) -> None:
    """Failures RES-03 and BED-02."""
    encoded = write(ASK, said(call()), ToolResults([ToolResult("t1", parts, plain=plain)]))
    (block,) = messages(encoded)[2]["content"]
    assert block == {"type": "tool_result", "tool_use_id": "t1"} | ({} if content is None else {"content": content})
    assert encoded.losses == []


def test_an_error_result_holds_text_alone_and_never_nothing() -> None:
    """Failures RES-01, RES-07 and HIST-05: an image goes behind the results."""
    results = [
        ToolResult("t1", [TextPart("bad"), PNG], is_error=True, plain=False),
        ToolResult("t2", [], is_error=True),
    ]
    encoded = write(ASK, said(call("t1"), call("t2")), ToolResults(results))
    first, second = messages(encoded)[2]["content"]
    assert (first["content"], first["is_error"]) == ([{"type": "text", "text": "bad"}], True)
    assert (second["content"], second["is_error"]) == ("The tool failed and said nothing.", True)
    label = {"type": "text", "text": "Returned by t1:"}
    assert messages(encoded)[3] == {"role": "user", "content": [label, IMAGE]}
    assert codes(encoded) == ["order", "empty"]


# what other wires said


def test_blocks_of_other_wires_are_told_or_reported_beside_the_text_and_the_calls() -> None:
    blocks = [
        Refusal("no"),
        ServerToolCall("ws_1", "web_search", "web_search"),
        ServerToolResult("ws_1", "web_search", raw={"type": "x"}),
        ApprovalRequest("a", "s", "n"),
        Opaque("compaction", {"id": "c"}),
        Text("so", [{"type": "url_citation"}], {"logprobs": [1]}),
        ToolCall("t1", "sh", None, "ls -l", kind="custom", namespace="n"),
        Text(""),
    ]
    turns = [
        ASK,
        said(*blocks, wire="openai.responses", provider="openai"),
        ToolResults([ToolResult("t1", [TextPart("ok")])]),
    ]
    encoded = write(*turns, wire="openai.responses")
    assert messages(encoded)[1]["content"] == [
        {"type": "text", "text": "no"},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "t1", "name": "sh", "input": {"input": "ls -l"}},
    ]
    told = ["refusal", "server-tool", "server-tool", "server-tool", "opaque", "annotations", "extra", "kind"]
    assert codes(encoded) == [*told, "namespace"]


def test_instructions_go_to_the_top_and_later_ones_stay_in_their_place() -> None:
    turns = [
        System([TextPart("a")]),
        System([TextPart("b")], "developer"),
        ASK,
        said(Text("x")),
        System([TextPart("c")]),
        BYE,
    ]
    encoded = write(*turns, wire="openai.chat")
    assert encoded.body["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert messages(encoded)[2] == {"role": "user", "content": [{"type": "text", "text": "<system>\nc\n</system>"}]}
    assert codes(encoded) == ["order"]
    own = write(System([TextPart("a")]), ASK, said(Text("x")), BYE, System([TextPart("c")]))
    assert (own.body["system"], messages(own)[3]) == ("a", {"role": "system", "content": "c"})


def test_turns_that_say_nothing_are_left_out_and_reported() -> None:
    encoded = write(User([]), ASK, said(Text("")), User([TextPart(" ")]), BYE)
    assert messages(encoded) == [{"role": "user", "content": "hi"}, {"role": "user", "content": "bye"}]
    assert codes(encoded) == ["empty", "empty", "empty"]


@pytest.mark.parametrize(
    ("texts", "left"),
    [(["so "], ["so"]), (["so", " "], ["so"]), (["so \n", " ", "\n"], ["so"]), ([" so", "x"], [" so", "x"])],
)
def test_an_answer_that_is_to_be_continued_ends_neither_in_white_space_nor_in_nothing(
    texts: list[str], left: list[str]
) -> None:
    encoded = write(ASK, said(*map(Text, texts)))
    assert [block["text"] for block in messages(encoded)[1]["content"]] == left
    assert codes(encoded) == ([] if texts == left else ["empty"])
    again = write_request(read_request(encoded.body, WIRE), WIRE)
    assert (again.body["messages"], again.losses) == (messages(encoded), [])


def test_thinking_that_nothing_follows_is_left_out() -> None:
    encoded = write(ASK, said(Text("a"), Reasoning("hm", "sig")), BYE)
    assert messages(encoded)[1]["content"] == [{"type": "text", "text": "a"}]
    assert codes(encoded) == ["reasoning"]


@pytest.mark.parametrize(
    ("part", "source"),
    [
        (MediaPart("image", None, data="/9j/4AAQ"), {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"}),
        (MediaPart("image", url="https://e.org/a.png"), {"type": "url", "url": "https://e.org/a.png"}),
        (
            MediaPart("file", "application/pdf", data="JVBE"),
            {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
        ),
        (
            MediaPart("file", "text/csv", data=base64.b64encode("ä,b".encode()).decode()),
            {"type": "text", "media_type": "text/plain", "data": "ä,b"},
        ),
        (MediaPart("image", "image/tiff", data="SUkq"), None),
        (MediaPart("file", "application/zip", data="UEsD"), None),
        (MediaPart("file", file_id="file_1"), None),
        (MediaPart("audio", "audio/wav", data="UklG"), None),
    ],
)
def test_media_of_other_wires_is_carried_or_noted(part: MediaPart, source: Any) -> None:
    encoded = write(User([TextPart("see"), part], plain=False), wire="openai.chat")
    block = messages(encoded)[0]["content"][1]
    if source is None:
        assert block["type"] == "text"
        assert block["text"].endswith("not carried over]")
        assert codes(encoded) == ["media"]
    else:
        assert block == {"type": "image" if part.kind == "image" else "document", "source": source}
        assert encoded.losses == []


# what is beside the messages

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}


def test_tools_are_declared_with_their_schema_and_own_members() -> None:
    hosted = {"type": "web_search_20250305", "name": "web_search", "max_uses": 1}
    tools = [
        ToolDefinition("f", "does f", SCHEMA, True, wire=WIRE, extra={"defer_loading": True}),
        ToolDefinition("g"),
        ToolDefinition("sh", kind="custom"),
        ToolDefinition("web_search", kind="hosted", wire=WIRE, raw=hosted),
        ToolDefinition("x_search", kind="hosted", wire="xai.grpc", raw={}),
        ToolDefinition("h", None, {"properties": {}}, False, wire="openai.chat", extra={"type": "function"}),
    ]
    encoded = write(ASK, tools=tools)
    free = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    assert encoded.body["tools"] == [
        {"name": "f", "description": "does f", "input_schema": SCHEMA, "strict": True, "defer_loading": True},
        {"name": "g", "input_schema": {"type": "object", "properties": {}}},
        {"name": "sh", "input_schema": free},
        hosted,
        {"name": "h", "input_schema": {"type": "object", "properties": {}}, "strict": False},
    ]
    assert codes(encoded) == ["kind", "hosted-tool", "extra"]


@pytest.mark.parametrize(
    ("choice", "parallel", "written"),
    [
        (None, None, None),
        (None, True, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        (ToolChoice("auto"), None, {"type": "auto"}),
        (ToolChoice("required"), False, {"type": "any", "disable_parallel_tool_use": True}),
        (ToolChoice("named", "f"), True, {"type": "tool", "name": "f", "disable_parallel_tool_use": False}),
        (ToolChoice("none"), False, {"type": "none"}),
    ],
)
def test_the_choice_of_tools_is_told_in_its_words(choice: Any, parallel: Any, written: Any) -> None:
    """Failure TC-01."""
    encoded = write(ASK, tools=[ToolDefinition("f")], tool_choice=choice, parallel=parallel)
    assert encoded.body.get("tool_choice") == written
    assert encoded.losses == []
    assert "tool_choice" not in write(ASK, tool_choice=choice, parallel=parallel, wire="openai.chat").body


@pytest.mark.parametrize(
    ("choice", "params"),
    [
        (ToolChoice("required"), {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (ToolChoice("named", "g"), {"max_tokens": 9}),
    ],
)
def test_a_choice_that_would_be_refused_becomes_auto(choice: ToolChoice, params: dict[str, Any]) -> None:
    encoded = write(ASK, tools=[ToolDefinition("f")], tool_choice=choice, params=params)
    assert encoded.body["tool_choice"] == {"type": "auto"}
    assert codes(encoded) == ["tool-choice"]


def test_members_of_other_wires_are_translated_or_reported() -> None:
    params = {
        "max_completion_tokens": 7,
        "temperature": 1.5,
        "stop": "x",
        "top_p": 0.5,
        "stream": True,
        "n": 1,
        "seed": 2,
    }
    encoded = write(ASK, wire="openai.chat", params=params, previous_response_id="resp_1")
    told = {"max_tokens": 7, "temperature": 1, "stop_sequences": ["x"], "top_p": 0.5, "stream": True}
    assert {key: value for key, value in encoded.body.items() if key not in ("model", "messages")} == told
    assert codes(encoded) == ["param", "param", "param"]
    assert write(ASK, wire="openai.chat", params={}).body["max_tokens"] == 4096


# reading


def test_a_request_is_read_into_turns_parts_tools_and_params() -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {**IMAGE, "cache_control": {}}]},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, USE]},
            {"role": "assistant", "content": [{**USE, "id": "t2"}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": [IMAGE], "is_error": False},
                    {"type": "text", "text": "go on"},
                ],
            },
            {"role": "tool", "content": 1},
        ],
        "tools": [{"name": "f", "input_schema": SCHEMA, "strict": True, "cache_control": {}}, {"type": "bash_1"}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    }
    request = read_request(body, WIRE, provider="anthropic")
    system, user, assistant, results, more, other = request.messages
    assert system == System([TextPart("s", {"cache_control": {"type": "ephemeral"}})], plain=False)
    assert user == User([TextPart("hi"), MediaPart(**{**as_dict(PNG), "extra": {"cache_control": {}}})], plain=False)
    assert isinstance(assistant, Assistant)
    assert assistant.response.choices[0].blocks == [
        Text("a"),
        ToolCall("t1", "f", {"x": 1}, '{"x":1}'),
        ToolCall("t2", "f", {"x": 1}, '{"x":1}'),
    ]
    assert results == ToolResults([ToolResult("t1", [], name="f"), ToolResult("t2", [PNG], name="f", plain=False)])
    assert more == User([TextPart("go on")], plain=False)
    assert other == RawItem(WIRE, {"role": "tool", "content": 1})
    assert request.tools == [
        ToolDefinition("f", None, SCHEMA, True, wire=WIRE, extra={"cache_control": {}}),
        ToolDefinition("bash_1", kind="hosted", wire=WIRE, raw={"type": "bash_1"}),
    ]
    assert (request.tool_choice, request.parallel) == (ToolChoice("required"), False)
    assert request.params == {"max_tokens": 9}


def as_dict(part: MediaPart) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__struct_fields__}


def test_arguments_are_read_as_they_stood_in_the_bytes() -> None:
    body = (
        b'{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{ "x": 1.0 }}]}]}'
    )
    (turn,) = read_request(body, WIRE).messages
    assert isinstance(turn, Assistant)
    assert [one.arguments_text for one in turn.response.calls] == ['{ "x": 1.0 }']


def test_an_id_that_stands_twice_in_one_turn_is_answered_in_order() -> None:
    """Failure ID-09."""
    uses = [{**USE, "input": {"x": number}} for number in (1, 2)]
    answers = [{"type": "tool_result", "tool_use_id": "t1", "content": str(number)} for number in (1, 2)]
    body = {"messages": [{"role": "assistant", "content": uses}, {"role": "user", "content": answers}]}
    request = read_request(body, WIRE)
    assistant, results = request.messages
    assert isinstance(assistant, Assistant)
    assert isinstance(results, ToolResults)
    assert [one.id for one in assistant.response.calls] == [result.call_id for result in results.results]
    written = write_request(request)
    assert [one["content"] for one in written.body["messages"][1]["content"]] == ["1", "2"]
    assert len({one["id"] for one in written.body["messages"][0]["content"]}) == 2
    assert written.losses == []


@pytest.mark.parametrize("body", [b"{", "[1]", {"messages": 3}, 7, {}, object()])
def test_what_is_no_request_is_a_typed_error(body: Any) -> None:
    with pytest.raises(MalformedBody):
        read_request(body, WIRE)


@pytest.mark.parametrize(
    "message",
    [
        "hi",
        {"role": "user"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": {"type": "text"}},
        {"role": "assistant", "content": [3, {"type": "tool_use", "input": 3}, {"type": "text", "text": 3}]},
        {"role": "user", "content": [3, {"type": "tool_result", "tool_use_id": 3, "content": {}}, {"type": "image"}]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "a", "media_type": 1}}]},
    ],
)
def test_what_providers_refuse_is_read_and_written_all_the_same(message: Any) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}, message], "tools": {"a": 1}, "tool_choice": "auto"}
    written = write_request(read_request(body, WIRE)).body
    assert written["messages"][0] == {"role": "user", "content": "hi"}
    assert (written["tools"], written["tool_choice"]) == ({"a": 1}, "auto")


def test_an_image_by_its_address_is_a_note_where_only_data_is_taken() -> None:
    image = MediaPart("image", url="https://example.invalid/a.png")
    request = Request(WIRE, "m", [User([image], plain=False)], params={"max_tokens": 9})
    taken = write_request(request, WIRE, provider="anthropic")
    assert taken.body["messages"][0]["content"][0]["type"] == "image"
    assert taken.losses == []
    noted = write_request(request, WIRE, provider="bedrock")
    assert check_request(noted.body, WIRE, provider="bedrock") == []
    assert noted.body["messages"][0]["content"][0]["type"] == "text"
    assert codes(noted) == ["media"]
