"""Requests to the Messages API: its own blocks go back unchanged, and those of other wires are encoded or reported."""

from __future__ import annotations

import base64
import json
from functools import partial
from typing import Any

from tests.normalizer.history.conversations import answer, user
from tests.support.events import anthropic_body
from toolparity import normalize
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    Message,
    OpaquePart,
    Request,
    System,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import (
    ApprovalRequest,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    Wire,
)
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE: Wire = "anthropic.messages"
ASK, BYE = user("hi"), user("bye")
THINKS = {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
turn_of = partial(answer, wire=WIRE)


def write(*turns: Message, wire: Wire = WIRE, **more: Any) -> Encoded:
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
    """Return the assistant's content when a decoded response goes back."""
    encoded = write(ASK, Assistant(response), *after, **more)
    assert encoded.losses == []
    return messages(encoded)[1]["content"]


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


def test_thinking_goes_back_to_its_provider_and_if_claude_signed_it_to_every_host() -> None:
    turns: list[Message] = [ASK, turn_of(Reasoning("hm"), Text("so"), provider="other"), BYE]
    encoded = write_request(Request(WIRE, "m", turns, provider="other"))
    assert encoded.body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": ""}
    assert encoded.losses == []
    hosted = write(ASK, turn_of(Reasoning("hm", "sig"), Text("so"), provider="bedrock"), BYE)
    assert messages(hosted)[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}
    for turn, code in (
        (turn_of(Reasoning("hm", None, "enc"), Text("so"), wire="openai.responses", provider="openai"), "reasoning"),
        (turn_of(Reasoning("hm", "sig"), Text("so"), provider="other"), "reasoning"),
        (turn_of(Text("so"), Reasoning("hm", "sig")), "reasoning"),  # nothing follows it
    ):
        encoded = write(ASK, turn, BYE)
        assert messages(encoded)[1]["content"] == [{"type": "text", "text": "so"}]
        assert codes(encoded) == [code]


def test_thinking_is_turned_off_if_a_tool_round_has_no_thinking_that_can_go_back() -> None:
    result = ToolResults([ToolResult("t1", [TextPart("ok")])])
    encoded = write(ASK, turn_of(call(), wire="openai.chat"), result, params=THINKS)
    assert "thinking" not in encoded.body
    assert codes(encoded) == ["param"]
    kept = write(ASK, turn_of(Reasoning("hm", "s"), call()), result, params=THINKS)
    assert kept.body["thinking"] == THINKS["thinking"]


def test_a_server_call_without_its_result_and_a_result_without_its_call_are_left_out() -> None:
    search = ServerToolCall("srvtoolu_1", "web_search", "web_search", "{}")
    found = ServerToolResult("srvtoolu_1", "web_search", raw=FOUND)
    encoded = write(ASK, turn_of(search, Text("a")), BYE, turn_of(found, Text("b")), BYE)
    texts = [[{"type": "text", "text": text}] for text in "ab"]
    assert [message["content"] for message in messages(encoded)[1::2]] == texts
    assert codes(encoded) == ["server-tool", "server-tool"]


def test_calls_made_by_code_are_answered_in_its_container() -> None:
    code = {"type": "server_tool_use", "id": "srvtoolu_9", "name": "code_execution", "input": {"code": "f()"}}
    used = {**USE, "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_9"}}
    body = anthropic_body(code, used, container={"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"})
    response = normalize(body, WIRE, provider="anthropic")
    turns: list[Message] = [ASK, Assistant(response), ToolResults([ToolResult("t1", [TextPart("ok")])])]
    encoded = write(*turns)
    assert encoded.body["container"] == "container_1"
    assert messages(encoded)[1]["content"] == [code, used]
    kept = write(*turns, params={"max_tokens": 9, "container": {"skills": ["s"]}})
    assert kept.body["container"] == {"skills": ["s"], "id": "container_1"}
    other = write(*turns, params={"max_tokens": 9, "container": "container_2"})
    assert other.body["container"] == "container_2"
    ran = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_9", "content": {"stdout": "1"}}
    done = normalize(anthropic_body(ran, CITED, stop="end_turn"), WIRE, provider="anthropic")
    later = write(*turns, Assistant(done), BYE)
    assert [message["content"] for message in messages(later)[1:4:2]] == [[code, used], [ran, CITED]]
    assert later.losses == []


def test_blocks_with_state_go_back_unchanged() -> None:
    for block in (
        {"type": "compaction", "content": "summary", "encrypted_content": "x"},
        {"type": "compaction", "content": None, "encrypted_content": "x", "signature": "s"},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "block_of_tomorrow", "x": [1]},
    ):
        response = normalize(anthropic_body(block, CITED, stop="end_turn"), WIRE, provider="anthropic")
        assert replayed(response, BYE) == [block, CITED]


PNG = MediaPart("image", "image/png", data="iVBORw0KGgo=")
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def test_a_result_contains_what_the_tool_returned() -> None:
    found = {"type": "search_result", "source": "s"}
    cases: list[tuple[Any, bool, Any]] = [
        ([], True, None),
        ([TextPart("")], False, None),
        ([TextPart("ok")], True, "ok"),
        ([TextPart("ok")], False, [{"type": "text", "text": "ok"}]),
        ([JsonPart({"a": [1, None]})], True, [{"type": "text", "text": '{"a":[1,null]}'}]),
        ([TextPart("see"), PNG], False, [{"type": "text", "text": "see"}, IMAGE]),
        ([OpaquePart("search_result", found)], False, [found]),
    ]
    for parts, plain, content in cases:
        encoded = write(ASK, turn_of(call()), ToolResults([ToolResult("t1", parts, plain=plain)]))
        (block,) = messages(encoded)[2]["content"]
        assert block == {"type": "tool_result", "tool_use_id": "t1"} | ({} if content is None else {"content": content})
        assert encoded.losses == []


def test_an_error_result_has_only_text_and_its_image_follows_the_results() -> None:
    failed = ToolResult("t1", [TextPart("bad"), PNG], is_error=True, plain=False)
    results = ToolResults([failed, ToolResult("t2", [], is_error=True)])
    encoded = write(ASK, turn_of(call("t1"), call("t2")), results)
    first, second = messages(encoded)[2]["content"]
    assert (first["content"], first["is_error"]) == ([{"type": "text", "text": "bad"}], True)
    assert (second["content"], second["is_error"]) == ("The tool failed and said nothing.", True)
    label = {"type": "text", "text": "Returned by t1:"}
    assert messages(encoded)[3] == {"role": "user", "content": [label, IMAGE]}
    assert codes(encoded) == ["order", "empty"]


def test_blocks_of_other_wires_become_text_or_are_reported() -> None:
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
    results = ToolResults([ToolResult("t1", [TextPart("ok")])])
    encoded = write(ASK, turn_of(*blocks, wire="openai.responses", provider="openai"), results, wire="openai.responses")
    assert messages(encoded)[1]["content"] == [
        {"type": "text", "text": "no"},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "t1", "name": "sh", "input": {"input": "ls -l"}},
    ]
    server, lost = ["server-tool"] * 3, ["opaque", "annotations", "extra", "kind", "namespace"]
    assert codes(encoded) == ["refusal", *server, *lost]


def test_instructions_go_to_the_top_and_later_ones_stay_at_their_place() -> None:
    first, second, later = System([TextPart("a")]), System([TextPart("b")], "developer"), System([TextPart("c")])
    encoded = write(first, second, ASK, turn_of(Text("x")), later, BYE, wire="openai.chat")
    assert encoded.body["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert messages(encoded)[2] == {"role": "user", "content": [{"type": "text", "text": "<system>\nc\n</system>"}]}
    assert codes(encoded) == ["order"]
    own = write(first, ASK, turn_of(Text("x")), BYE, later)
    assert (own.body["system"], messages(own)[3]) == ("a", {"role": "system", "content": "c"})


def test_empty_turns_are_left_out_and_reported() -> None:
    encoded = write(User([]), ASK, turn_of(Text("")), User([TextPart(" ")]), BYE)
    assert messages(encoded) == [{"role": "user", "content": "hi"}, {"role": "user", "content": "bye"}]
    assert codes(encoded) == ["empty", "empty", "empty"]


def test_a_prefilled_answer_ends_without_white_space() -> None:
    for texts, kept in (
        (["so "], ["so"]),
        (["so", " "], ["so"]),
        (["so \n", " ", "\n"], ["so"]),
        ([" so", "x"], [" so", "x"]),
    ):
        encoded = write(ASK, turn_of(*map(Text, texts)))
        assert [block["text"] for block in messages(encoded)[1]["content"]] == kept
        assert codes(encoded) == ([] if texts == kept else ["empty"])
        again = write_request(read_request(encoded.body, WIRE), WIRE)
        assert (again.body["messages"], again.losses) == (messages(encoded), [])


def test_media_of_other_wires_become_blocks_or_notes() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}
    jpeg = {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"}
    csv = MediaPart("file", "text/csv", data=base64.b64encode("ä,b".encode()).decode())
    sources = [
        (MediaPart("image", None, data="/9j/4AAQ"), jpeg),
        (MediaPart("image", url="https://e.org/a.png"), {"type": "url", "url": "https://e.org/a.png"}),
        (MediaPart("file", "application/pdf", data="JVBE"), pdf),
        (csv, {"type": "text", "media_type": "text/plain", "data": "ä,b"}),
        (MediaPart("image", "image/tiff", data="SUkq"), None),
        (MediaPart("file", "text/csv", data="ä"), None),
        (MediaPart("file", "application/zip", data="UEsD"), None),
        (MediaPart("file", file_id="file_1"), None),
        (MediaPart("audio", "audio/wav", data="UklG"), None),
    ]
    for part, source in sources:
        encoded = write(User([TextPart("see"), part], plain=False), wire="openai.chat")
        block = messages(encoded)[0]["content"][1]
        if source is None:
            assert block["type"] == "text"
            assert block["text"].endswith("not carried over]")
            assert codes(encoded) == ["media"]
        else:
            assert block == {"type": "image" if part.kind == "image" else "document", "source": source}
            assert encoded.losses == []


# Tools and parameters

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}


def test_tools_are_declared_with_their_schema_and_extra_members() -> None:
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


def test_a_tool_choice_and_the_switch_for_parallel_calls_are_one_member() -> None:
    cases: list[tuple[ToolChoice | None, bool | None, Any]] = [
        (None, None, None),
        (None, True, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        (ToolChoice("auto"), None, {"type": "auto"}),
        (ToolChoice("required"), False, {"type": "any", "disable_parallel_tool_use": True}),
        (ToolChoice("named", "f"), True, {"type": "tool", "name": "f", "disable_parallel_tool_use": False}),
        (ToolChoice("none"), False, {"type": "none"}),
    ]
    for choice, parallel, written in cases:
        encoded = write(ASK, tools=[ToolDefinition("f")], tool_choice=choice, parallel=parallel)
        assert (encoded.body.get("tool_choice"), encoded.losses) == (written, [])
        assert "tool_choice" not in write(ASK, tool_choice=choice, parallel=parallel, wire="openai.chat").body


def test_a_forced_choice_beside_thinking_becomes_auto() -> None:
    encoded = write(ASK, tools=[ToolDefinition("f")], tool_choice=ToolChoice("required"), params=THINKS)
    assert (encoded.body["tool_choice"], codes(encoded)) == ({"type": "auto"}, ["tool-choice"])


def test_members_of_other_wires_are_translated_or_reported() -> None:
    params = {"max_completion_tokens": 7, "temperature": 1.5, "stop": "x", "top_p": 0.5, "stream": True, "n": 1}
    encoded = write(ASK, wire="openai.chat", params={**params, "seed": 2}, previous_response_id="resp_1")
    written = {"max_tokens": 7, "temperature": 1, "stop_sequences": ["x"], "top_p": 0.5, "stream": True}
    assert encoded.body == {"model": "m", "messages": messages(encoded), **written}
    assert codes(encoded) == ["param", "param", "param"]
    assert write(ASK, wire="openai.chat", params={}).body["max_tokens"] == 4096


def test_an_image_with_an_address_becomes_a_note_for_a_provider_that_accepts_only_data() -> None:
    image = MediaPart("image", url="https://example.invalid/a.png")
    request = Request(WIRE, "m", [User([image], plain=False)], params={"max_tokens": 9})
    for provider, kind, lost in (("anthropic", "image", []), ("bedrock", "text", ["media"])):
        encoded = write_request(request, WIRE, provider=provider)
        assert (messages(encoded)[0]["content"][0]["type"], codes(encoded)) == (kind, lost)
        assert check_request(encoded.body, WIRE, provider=provider) == []
