"""Histories and requests that are written for a Responses endpoint: items, results, tools and their losses."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.normalizer.history import conversations
from toolparity import normalize
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    Message,
    OpaquePart,
    Part,
    Request,
    System,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Refusal, Response, ServerToolCall, Text, ToolCall, Wire
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE: Wire = "openai.responses"
Item = dict[str, Any]
THOUGHT: Item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
CALL: Item = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "get_weather"}
CALL |= {"arguments": '{"city": "Paris"}'}
ANSWERED: Item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "phase": "final_answer"}
ANSWERED |= {"content": [{"type": "output_text", "text": "Sunny.", "annotations": []}]}
GO = User([TextPart("hi")])


def answer(*items: Item, id: str = "resp_1") -> Response:
    body = {"id": id, "object": "response", "status": "completed", "model": "m", "output": list(items)}
    return normalize(body, WIRE, provider="openai")


def back(*turns: Message, wire: Wire = WIRE, provider: str | None = "openai", **more: Any) -> Encoded:
    return write_request(Request(wire, "m", list(turns), provider=provider, **more), WIRE, provider="openai")


foreign = partial(conversations.answer, wire="anthropic.messages", id="x_1")


def codes(encoded: Encoded) -> list[str]:
    return [loss.code for loss in encoded.losses]


def call(id: str, **more: Any) -> Item:
    return {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}", **more}


def output(id: str, text: str) -> Item:
    return {"type": "function_call_output", "call_id": id, "output": text}


def test_reasoning_without_a_following_item_is_left_out_and_reported() -> None:
    written = back(GO, Assistant(answer(ANSWERED, THOUGHT)))
    assert written.body["input"] == [{"role": "user", "content": "hi"}, ANSWERED]
    assert codes(written) == ["reasoning"]


def test_an_item_id_goes_back_only_if_openai_made_it() -> None:
    for id, item in (("x_1", CALL), ("chatcmpl-1", ANSWERED), ("r", THOUGHT)):
        body = {"input": [{**item, "id": id}, {**ANSWERED, "id": "msg_2"}]}
        assert "id" not in write_request(read_request(body, WIRE, provider="openai")).body["input"][0]
        assert write_request(read_request(body, WIRE, provider="deepseek")).body["input"][0]["id"] == id
    assert back(foreign(ToolCall("toolu_1", "f", {}, "{}", wire_id="toolu_1"))).body["input"] == [call("toolu_1")]


def test_stored_messages_are_not_sent_again() -> None:
    instructions = System([TextPart("Be brief.")], extra={"instructions": True})
    results = ToolResults([ToolResult("call_1", [TextPart("21")])])
    turns: list[Message] = [instructions, GO, Assistant(answer(CALL)), results, User([TextPart("thanks")])]
    after = [output("call_1", "21"), {"role": "user", "content": "thanks"}]
    chained = back(*turns, previous_response_id="resp_1")
    members = {"model": "m", "instructions": "Be brief.", "previous_response_id": "resp_1"}
    assert (chained.body, chained.losses) == (members | {"input": after}, [])
    assert check_request(chained.body, WIRE, provider="openai") == []
    elsewhere = back(*turns, previous_response_id="resp_0")
    assert elsewhere.body["input"] == [{"role": "user", "content": "hi"}, CALL, *after]


def test_a_stored_conversation_gets_only_new_items() -> None:
    body = {"id": "resp_1", "status": "completed", "output": [CALL], "conversation": {"id": "conv_1"}}
    stored = Assistant(normalize(body, WIRE, provider="openai"))
    results = ToolResults([ToolResult("call_1", [])])
    written = back(GO, stored, results, params={"conversation": "conv_1"})
    assert written.body["input"] == [output("call_1", "")]


def test_an_output_of_a_stored_call_is_kept() -> None:
    result, asked = output("call_1", "21"), {"role": "user", "content": "hi"}
    reference, other = {"type": "item_reference", "id": "fc_1"}, output("call_2", "here")
    for body in (
        {"previous_response_id": "resp_1", "input": [result]},
        {"previous_response_id": "resp_1", "input": [asked, result]},
        {"previous_response_id": "resp_1", "input": [result, asked, call("call_1"), output("call_1", "here")]},
        {"input": [reference, result]},
        {"input": [CALL, result, {"type": "item_reference", "id": "fc_2"}, other]},
    ):
        written = write_request(read_request(body, WIRE))
        assert (written.body, written.losses) == (body, [])
    mixed = write_request(read_request({"input": [asked, reference, call("call_2"), result, other]}, WIRE))
    assert mixed.body["input"] == [asked, reference, call("call_2"), other, result]
    assert mixed.losses == []


def test_an_approval_goes_back_with_the_outputs_of_its_turn() -> None:
    asked = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "n", "arguments": "{}"}
    allowed = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    result = output("call_1", "21")
    for given in ([asked, CALL, result, allowed], [asked, CALL, allowed, result]):
        written = write_request(read_request({"input": given}, WIRE))
        assert written.body["input"][:2] == [asked, CALL]
        assert sorted(written.body["input"][2:], key=lambda item: item["type"]) == [result, allowed]
        assert written.losses == []


def test_each_kind_of_call_gets_the_output_item_of_its_kind() -> None:
    exec_ = {"type": "exec", "command": ["ls"], "env": {}}
    patch = {"type": "delete_file", "path": "a"}
    calls: list[Item] = [
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "run", "input": "not json {"},
        {"type": "computer_call", "id": "cu_1", "call_id": "c2", "action": {"type": "wait"}, "status": "completed"},
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "c3", "action": exec_, "status": "completed"},
        {"type": "shell_call", "id": "sh_1", "call_id": "c4", "action": {"commands": ["ls"]}, "status": "completed"},
        {"type": "apply_patch_call", "id": "apc_1", "call_id": "c5", "operation": patch, "status": "completed"},
        {"type": "tool_search_call", "id": "tsc_1", "call_id": "c6", "arguments": {"q": "x"}, "execution": "client"},
    ]
    results = [
        ToolResult("c1", [TextPart("ran")]),
        ToolResult("c2", [MediaPart("image", "image/png", data="AAAA")]),
        ToolResult("c3", [TextPart("a b")]),
        ToolResult("c4", [TextPart("no such file")], is_error=True),
        ToolResult("c5", [TextPart("conflict")], is_error=True),
        ToolResult("c6", [JsonPart([{"type": "function", "name": "g"}])]),
    ]
    written = back(Assistant(answer(*calls)), ToolResults(results)).body["input"]
    assert [{k: v for k, v in item.items() if k in calls[n]} for n, item in enumerate(written[:6])] == calls
    screen = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
    failed = {"stdout": "", "stderr": "no such file", "outcome": {"type": "exit", "exit_code": 1}}
    found = {"execution": "client", "status": "completed", "tools": [{"type": "function", "name": "g"}]}
    assert written[6:] == [
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ran"},
        {"type": "computer_call_output", "call_id": "c2", "output": screen},
        {"type": "local_shell_call_output", "call_id": "c3", "id": "c3", "output": "a b"},
        {"type": "shell_call_output", "call_id": "c4", "output": [failed]},
        {"type": "apply_patch_call_output", "call_id": "c5", "status": "failed", "output": "conflict"},
        {"type": "tool_search_output", "call_id": "c6", **found},
    ]


def test_every_kind_of_output_goes_back_as_it_was_read() -> None:
    hosted = {"type": "container_reference", "container_id": "cntr_1"}
    shell = {"type": "shell_call", "action": {"commands": ["ls"]}, "status": "completed"}
    waiting = {"type": "computer_call", "actions": [{"type": "wait"}], "status": "completed"}
    calls: list[Item] = [
        {**shell, "id": "sh_1", "call_id": "c1", "environment": hosted},
        {"type": "shell_call_output", "id": "sho_1", "call_id": "c1", "output": []},
        {**waiting, "id": "cu_1", "call_id": "c2"},
        {**shell, "call_id": "c4"},
        {"type": "apply_patch_call", "call_id": "c5", "operation": {"type": "x"}, "status": "completed"},
        {"type": "local_shell_call", "id": "l", "call_id": "c6", "action": {"type": "exec"}, "status": "completed"},
        {"type": "custom_tool_call", "call_id": "c7", "name": "n", "input": "i"},
    ]
    screen = {"type": "computer_screenshot", "file_id": "file-1"}
    checks = {"acknowledged_safety_checks": [{"id": "s"}]}
    ran = {"stdout": "a", "stderr": "", "outcome": {"type": "timeout"}}
    outputs: list[Item] = [
        {"type": "computer_call_output", "call_id": "c2", "output": screen, **checks},
        {"type": "shell_call_output", "call_id": "c4", "max_output_length": 9, "output": [ran]},
        {"type": "apply_patch_call_output", "id": "apco_1", "call_id": "c5", "status": "failed", "output": "no"},
        {"type": "local_shell_call_output", "id": "c6", "call_id": "c6", "output": ""},
        {"type": "custom_tool_call_output", "call_id": "c7", "output": [{"type": "input_text", "text": "t"}]},
    ]
    written = write_request(read_request({"input": [*calls, *outputs]}, WIRE, provider="openai"))
    assert written.body["input"][7:] == outputs
    assert [{k: item[k] for k in given} for item, given in zip(written.body["input"], calls, strict=False)] == calls
    assert written.losses == []


def test_images_and_files_of_a_result_are_parts_of_its_output() -> None:
    parts: list[Part] = [
        TextPart("see"),
        MediaPart("image", "image/png", data="AAAA"),
        MediaPart("file", "application/pdf", data="BBBB"),
        MediaPart("file", url="https://example.org/a.pdf"),
        JsonPart({"a": 1}),
    ]
    made, returned = foreign(ToolCall("c", "f", {}, "{}")), ToolResults([ToolResult("c", parts, plain=False)])
    written = back(made, returned, wire="anthropic.messages")
    assert written.body["input"][1]["output"] == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,BBBB", "filename": "file.pdf"},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_text", "text": '{"a":1}'},
    ]
    assert written.losses == []


def test_parts_that_the_wire_cannot_represent_become_notes_or_are_left_out_and_reported() -> None:
    video, file = MediaPart("video", "video/mp4", data="AAAA"), MediaPart("file", file_id="file_anthropic")
    turn = User([video, file, OpaquePart("search_result", {})], plain=False)
    written = back(turn, wire="anthropic.messages", provider="anthropic")
    assert [part["text"] for part in written.body["input"][0]["content"]] == [
        "[video left out: it has no counterpart here]",
        "[file left out: it is known to its own provider alone]",
    ]
    assert codes(written) == ["media", "media", "opaque"]


def test_a_computer_call_that_was_not_executed_gets_an_empty_image_and_a_message_with_the_reason() -> None:
    computer_call = {"type": "computer_call", "id": "cu_1", "call_id": "c2", "action": {"type": "wait"}}
    written = back(Assistant(answer(computer_call)), User([TextPart("stop")]))
    called, screen, reason, asked = written.body["input"]
    assert called["call_id"] == screen["call_id"] == "c2"
    assert screen["output"]["image_url"].startswith("data:image/png;base64,")
    assert "not executed" in reason["content"]
    assert asked == {"role": "user", "content": "stop"}
    assert codes(written) == ["answered", "order", "media"]


def test_texts_and_refusals_are_messages_beside_calls_and_lost_members_are_reported() -> None:
    texts = [Text("Let me ", [{"cited_text": "x"}]), Text("look.")]
    search = ServerToolCall("srvtoolu_1", "web_search", "web_search", "{}")
    written = back(
        foreign(*texts, search, Refusal("No."), ToolCall("toolu_1", "f", {}, "{}", caller={"type": "direct"}))
    )
    messages = [{"role": "assistant", "content": text} for text in ("Let me look.", "No.")]
    assert written.body["input"] == [*messages, call("toolu_1")]
    assert codes(written) == ["annotations", "server-tool", "refusal", "namespace"]
    assert [loss.message_index for loss in written.losses] == [0] * 4


def test_a_response_of_another_provider_of_the_wire_goes_without_ids_and_encrypted_reasoning() -> None:
    own = normalize({"id": "resp_1", "status": "completed", "output": [THOUGHT, CALL, ANSWERED]}, WIRE, provider="xai")
    written = back(Assistant(own))
    weather = call("call_1", name="get_weather", arguments='{"city": "Paris"}')
    assert written.body["input"] == [weather, {"role": "assistant", "content": "Sunny."}]
    assert codes(written) == ["reasoning", "extra"]
    assert written.losses[1].message == "left out of a text: phase"


def test_a_call_of_an_unknown_kind_goes_as_a_function_call() -> None:
    unresolved = foreign(ToolCall("c", "bash", {"a": 1}, '{"a":1}', kind="unresolved"))
    written = back(unresolved, ToolResults([ToolResult("c", [TextPart("x")])]))
    assert written.body["input"] == [call("c", name="bash", arguments='{"a":1}'), output("c", "x")]
    assert codes(written) == ["kind"]


def test_tools_are_flat_and_strict_is_explicit() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [
        ToolDefinition("get_weather", "Weather.", schema, wire="openai.chat", waiting_hint="Looking…"),
        ToolDefinition("save", strict=True),
        ToolDefinition("run", kind="custom", extra={"format": {"type": "text"}}, wire=WIRE),
        ToolDefinition("web_search", kind="hosted", wire="anthropic.messages", raw={"type": "web_search_20250305"}),
    ]
    written = back(wire="openai.chat", tools=tools, tool_choice=ToolChoice("named", "run"), parallel=False)
    weather = {"type": "function", "name": "get_weather", "description": "Weather.", "parameters": schema}
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    assert written.body["tools"] == [
        {**weather, "strict": False},
        {"type": "function", "name": "save", "parameters": nothing, "strict": True},
        {"type": "custom", "name": "run", "format": {"type": "text"}},
    ]
    assert written.body["tool_choice"] == {"type": "custom", "name": "run"}
    assert written.body["parallel_tool_calls"] is False
    assert codes(written) == ["hosted-tool"]


def test_members_of_a_chat_body_get_the_names_of_the_wire() -> None:
    format = {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}
    params = {"max_completion_tokens": 5, "temperature": 0.5, "reasoning_effort": "low", "logit_bias": {}}
    written = back(wire="openai.chat", params={**params, "response_format": format})
    text = {"format": {"type": "json_schema", "name": "n", "schema": {}}}
    head = {"model": "m", "input": [], "max_output_tokens": 16, "temperature": 0.5}
    assert written.body == {**head, "reasoning": {"effort": "low"}, "text": text}
    assert codes(written) == ["param", "param"]


def test_a_tool_in_the_form_of_chat_completions_goes_back_in_that_form() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}
    body = {"model": "m", "input": "hi", "tools": [tool], "max_output_tokens": 99}
    request = read_request(body, WIRE, provider="openai")
    (read,) = request.tools
    assert (read.name, read.description, read.parameters, read.kind) == ("f", "d", schema, "function")
    assert write_request(request).body["tools"] == [tool]
    elsewhere = write_request(request, "anthropic.messages", provider="anthropic")
    assert elsewhere.body["tools"] == [{"name": "f", "description": "d", "input_schema": schema}]
    assert elsewhere.losses == []
    for function in ({"name": 5}, {"description": "no name"}, {"name": "f", "more": 1}):
        malformed = {"model": "m", "input": "hi", "tools": [{"type": "function", "function": function}]}
        kept = read_request(malformed, WIRE, provider="openai")
        assert (kept.tools[0].kind, write_request(kept).body["tools"]) == ("hosted", malformed["tools"])
    flat = {"type": "function", "name": "f", "description": "d", "parameters": schema, "strict": False}
    assert write_request(request, provider="xai").body["tools"] == [flat]


def test_references_to_stored_objects_go_to_no_other_provider_and_are_reported() -> None:
    params = {"conversation": "conv_1", "prompt": {"id": "pmpt_1"}, "metadata": {"a": "b"}}
    request = Request(WIRE, "m", [GO], provider="openai", params=params)
    written = write_request(request, provider="xai")
    assert written.body.keys() == {"model", "input", "metadata"}
    assert [loss.message.split(":")[0] for loss in written.losses] == ["conversation", "prompt"]
    assert write_request(request).losses == []
