"""The result of a history on its way to a Responses endpoint, by the failures of the field."""

from __future__ import annotations

from typing import Any

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
from toolparity.normalizer.model import Choice, Reasoning, Refusal, Response, ServerToolCall, Stop, Text, ToolCall
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "openai.responses"
Item = dict[str, Any]
THOUGHT: Item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
CALL: Item = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city": "Paris"}',
}
SAID: Item = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}],
}


def answer(*items: Item, id: str = "resp_1") -> Response:
    """A response as it comes from the provider."""
    body = {"id": id, "object": "response", "status": "completed", "model": "m", "output": list(items)}
    return normalize(body, WIRE, provider="openai")


def back(*turns: Message, wire: str = WIRE, provider: str | None = "openai", **more: Any) -> Encoded:
    return write_request(Request(wire, "m", list(turns), provider=provider, **more), WIRE, provider="openai")


def foreign(*blocks: Any, wire: str = "anthropic.messages", provider: str = "anthropic") -> Assistant:
    return Assistant(Response(wire, provider, "x_1", "m", [Choice(0, list(blocks), Stop("tool_calls"))]))


def codes(encoded: Encoded) -> list[str]:
    return [loss.code for loss in encoded.losses]


# Replay


def test_think_07_a_thought_goes_back_before_its_call_with_its_id_and_its_empty_summary() -> None:
    written = back(Assistant(answer(THOUGHT, CALL, SAID)), ToolResults([ToolResult("call_1", [TextPart("21")])]))
    assert written.body["input"] == [
        THOUGHT,
        CALL,
        SAID,
        {"type": "function_call_output", "call_id": "call_1", "output": "21"},
    ]
    assert written.losses == []


def test_think_07_a_thought_that_led_to_nothing_is_left_out_and_said() -> None:
    written = back(User([TextPart("hi")]), Assistant(answer(SAID, THOUGHT)))
    assert written.body["input"] == [{"role": "user", "content": "hi"}, SAID]
    assert codes(written) == ["reasoning"]


def test_think_08_without_storage_a_thought_that_only_the_server_has_is_left_out_and_said() -> None:
    stored = {k: v for k, v in THOUGHT.items() if k != "encrypted_content"}
    turns = [Assistant(answer(stored, CALL)), ToolResults([ToolResult("call_1", [])])]
    written = back(*turns, params={"store": False})
    bare = {k: v for k, v in CALL.items() if k != "id"}  # its id would ask for the thought
    assert written.body["input"] == [bare, {"type": "function_call_output", "call_id": "call_1", "output": ""}]
    assert codes(written) == ["reasoning"]
    assert "store=false" in written.losses[0].message
    assert back(*turns).body["input"][:2] == [stored, CALL]
    encrypted = back(Assistant(answer(THOUGHT, CALL)), turns[1], params={"store": False})
    assert encrypted.body["input"][:2] == [THOUGHT, CALL]
    assert encrypted.losses == []


def test_id_18_an_item_id_goes_back_only_where_it_is_one() -> None:
    read = read_request({"model": "m", "input": [{**CALL, "id": "call_1"}]}, WIRE)
    assert "id" not in write_request(read).body["input"][0]
    for kind, item in (("x_1", CALL), ("chatcmpl-1", SAID), ("r", THOUGHT)):
        read = read_request({"input": [{**item, "id": kind}, {**SAID, "id": "msg_2"}]}, WIRE, provider="openai")
        assert "id" not in write_request(read).body["input"][0]
        elsewhere = {"input": [{**item, "id": kind}, {**SAID, "id": "msg_2"}]}
        kept = write_request(read_request(elsewhere, WIRE, provider="deepseek"))
        assert kept.body["input"][0]["id"] == kind
    called = foreign(ToolCall("toolu_1", "f", {}, "{}", wire_id="toolu_1"))
    assert back(called).body["input"] == [
        {"type": "function_call", "call_id": "toolu_1", "name": "f", "arguments": "{}"}
    ]


def test_id_13_an_id_that_is_too_long_is_shortened_alike_in_call_and_output() -> None:
    long = "toolu_" + "x" * 80
    written = back(foreign(ToolCall(long, "f", {}, "{}")), ToolResults([ToolResult(long, [TextPart("ok")])]))
    call, output = written.body["input"]
    assert call["call_id"] == output["call_id"]
    assert len(call["call_id"]) <= 64
    assert written.ids == {call["call_id"]: long}


def test_id_15_ids_of_any_form_stay_as_they_are() -> None:
    written = back(foreign(ToolCall("functions.f:0", "f", {}, "{}")), ToolResults([ToolResult("functions.f:0", [])]))
    assert [item["call_id"] for item in written.body["input"]] == ["functions.f:0", "functions.f:0"]
    assert written.ids == {}


def test_id_09_two_calls_under_one_id_are_told_apart_in_calls_and_outputs() -> None:
    other = {**CALL, "id": "fc_2", "arguments": "{}"}
    body = {
        "input": [
            CALL,
            other,
            {"type": "function_call_output", "call_id": "call_1", "output": "first"},
            {"type": "function_call_output", "call_id": "call_1", "output": "second"},
        ]
    }
    written = write_request(read_request(body, WIRE))
    calls, outputs = written.body["input"][:2], written.body["input"][2:]
    assert [output["output"] for output in outputs] == ["first", "second"]
    assert [call["call_id"] for call in calls] == [output["call_id"] for output in outputs]
    assert calls[0]["call_id"] == "call_1" != calls[1]["call_id"]
    assert written.losses == []


def test_id_10_an_id_that_comes_again_in_a_later_round_is_paired_within_its_round() -> None:
    round_one = [CALL, {"type": "function_call_output", "call_id": "call_1", "output": "a"}]
    again = {**CALL, "id": "fc_2"}
    round_two = [again, {"type": "function_call_output", "call_id": "call_1", "output": "b"}]
    body = {"model": "m", "input": [*round_one, {"role": "user", "content": "again"}, *round_two]}
    assert write_request(read_request(body, WIRE)).body == body


def test_xai_05_what_the_provider_keeps_is_not_sent_again() -> None:
    turns: list[Message] = [
        System([TextPart("Be brief.")], extra={"instructions": True}),
        User([TextPart("hi")]),
        Assistant(answer(CALL)),
        ToolResults([ToolResult("call_1", [TextPart("21")])]),
        User([TextPart("thanks")]),
    ]
    after = [
        {"type": "function_call_output", "call_id": "call_1", "output": "21"},
        {"role": "user", "content": "thanks"},
    ]
    chained = back(*turns, previous_response_id="resp_1")
    assert chained.body == {
        "model": "m",
        "instructions": "Be brief.",
        "input": after,
        "previous_response_id": "resp_1",
    }
    assert chained.losses == []
    assert check_request(chained.body, WIRE, provider="openai") == []
    assert back(*turns).body["input"] == [{"role": "user", "content": "hi"}, CALL, *after]
    elsewhere = back(*turns, previous_response_id="resp_0")
    assert elsewhere.body["input"] == [{"role": "user", "content": "hi"}, CALL, *after]


def test_xai_05_a_conversation_that_the_provider_keeps_gets_only_what_is_new() -> None:
    body = {
        "id": "resp_1",
        "status": "completed",
        "output": [CALL],
        "conversation": {"id": "conv_1"},
    }
    turns = [
        User([TextPart("hi")]),
        Assistant(normalize(body, WIRE, provider="openai")),
        ToolResults([ToolResult("call_1", [])]),
    ]
    written = back(*turns, params={"conversation": "conv_1"})
    assert written.body["input"] == [{"type": "function_call_output", "call_id": "call_1", "output": ""}]


def test_outputs_for_calls_that_the_provider_keeps_are_no_orphans() -> None:
    told = {"type": "function_call_output", "call_id": "call_1", "output": "21"}
    for body in (
        {"previous_response_id": "resp_1", "input": [told]},
        {"previous_response_id": "resp_1", "input": [{"role": "user", "content": "hi"}, told]},
        {"input": [{"type": "item_reference", "id": "fc_1"}, told]},
        {"input": [CALL, told, {"type": "item_reference", "id": "fc_2"}, {**told, "call_id": "call_2"}]},
    ):
        written = write_request(read_request(body, WIRE))
        assert written.body == body
        assert written.losses == []


def test_hist_07_an_output_that_nothing_asked_for_is_left_out_and_said() -> None:
    told = {"type": "function_call_output", "call_id": "call_1", "output": "21"}
    written = write_request(read_request({"input": [{"role": "user", "content": "hi"}, told]}, WIRE))
    assert written.body["input"] == [{"role": "user", "content": "hi"}]
    assert codes(written) == ["orphan"]


def test_hist_06_a_call_that_the_conversation_passed_over_is_answered() -> None:
    written = write_request(read_request({"input": [CALL, {"role": "user", "content": "well?"}]}, WIRE))
    call, output, asked = written.body["input"]
    assert (call, asked) == (CALL, {"role": "user", "content": "well?"})
    assert output["call_id"] == "call_1"
    assert "not executed" in output["output"]
    assert codes(written) == ["answered"]


def test_items_of_one_answer_are_one_turn_and_outputs_another() -> None:
    told = {"type": "function_call_output", "call_id": "call_1", "output": "21"}
    request = read_request({"input": [THOUGHT, SAID, CALL, told, {"role": "user", "content": "hi"}]}, WIRE)
    kinds = [type(turn) for turn in request.messages]
    assert kinds == [Assistant, ToolResults, User]
    turn = request.messages[0]
    assert isinstance(turn, Assistant)
    assert [type(block) for block in turn.response.choices[0].blocks] == [Reasoning, Text, ToolCall]
    assert turn.response.calls == answer(THOUGHT, SAID, CALL).calls


def test_rsp_06_an_approval_goes_back_behind_the_outputs_of_its_turn() -> None:
    asked = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "n", "arguments": "{}"}
    allowed = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    told = {"type": "function_call_output", "call_id": "call_1", "output": "21"}
    for given in ([asked, CALL, told, allowed], [asked, CALL, allowed, told]):
        written = write_request(read_request({"input": given}, WIRE))
        answers = written.body["input"][2:]
        assert written.body["input"][:2] == [asked, CALL]
        assert sorted(answers, key=lambda item: item["type"]) == [told, allowed]
        assert written.losses == []


def test_hist_01_and_arg_04_argument_texts_go_back_exactly_as_they_came() -> None:
    for text in ("", "{", '{"a":1}{"b":2}', '"{\\"a\\":1}"', "[1]", '{ "a" :1 }'):
        called = {**CALL, "arguments": text}
        assert back(Assistant(answer(called))).body["input"] == [called]


def test_inv_01_an_invalid_call_of_another_wire_keeps_its_text() -> None:
    written = back(
        foreign(ToolCall("c", "f", None, "{oops", "invalid")), ToolResults([ToolResult("c", [], is_error=True)])
    )
    assert written.body["input"] == [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{oops"},
        {"type": "function_call_output", "call_id": "c", "output": "[tool_error] "},
    ]
    assert back(foreign(ToolCall("c", "f", {}, ""))).body["input"][0]["arguments"] == "{}"


def test_messages_come_back_spelled_as_they_came() -> None:
    said = [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b", "annotations": [{"n": 1}]}]
    parts = [{"type": "input_text", "text": "hi"}]
    body = {
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "message", "role": "user", "content": parts},
            {"role": "developer", "content": parts, "status": "completed", "id": "msg_0"},
            {"role": "assistant", "content": "a"},
            {"type": "message", "role": "assistant", "content": "b"},
            {"role": "assistant", "content": [{**part, "annotations": part.get("annotations", [])} for part in said]},
            {"type": "message", "role": "assistant", "content": []},
        ]
    }
    assert write_request(read_request(body, WIRE, provider="openai")).body == body


# Kinds of calls


def test_cust_02_each_kind_of_call_gets_the_output_item_of_its_kind() -> None:
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
    assert written[6:] == [
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ran"},
        {
            "type": "computer_call_output",
            "call_id": "c2",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"},
        },
        {"type": "local_shell_call_output", "call_id": "c3", "id": "c3", "output": "a b"},
        {
            "type": "shell_call_output",
            "call_id": "c4",
            "output": [{"stdout": "", "stderr": "no such file", "outcome": {"type": "exit", "exit_code": 1}}],
        },
        {"type": "apply_patch_call_output", "call_id": "c5", "status": "failed", "output": "conflict"},
        {
            "type": "tool_search_output",
            "call_id": "c6",
            "execution": "client",
            "status": "completed",
            "tools": [{"type": "function", "name": "g"}],
        },
    ]


def test_every_kind_of_output_comes_back_as_it_was_read() -> None:
    calls = [
        {"type": "computer_call", "id": "cu_1", "call_id": "c2", "actions": [{"type": "wait"}], "status": "completed"},
        {"type": "shell_call", "call_id": "c4", "action": {"commands": ["ls"]}, "status": "completed"},
        {"type": "apply_patch_call", "call_id": "c5", "operation": {"type": "x"}, "status": "completed"},
        {"type": "local_shell_call", "id": "l", "call_id": "c6", "action": {"type": "exec"}, "status": "completed"},
        {"type": "custom_tool_call", "call_id": "c7", "name": "n", "input": "i"},
    ]
    outputs = [
        {
            "type": "computer_call_output",
            "call_id": "c2",
            "output": {"type": "computer_screenshot", "file_id": "file-1"},
            "acknowledged_safety_checks": [{"id": "s"}],
        },
        {
            "type": "shell_call_output",
            "call_id": "c4",
            "max_output_length": 9,
            "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "timeout"}}],
        },
        {"type": "apply_patch_call_output", "id": "apco_1", "call_id": "c5", "status": "failed", "output": "no"},
        {"type": "local_shell_call_output", "id": "c6", "call_id": "c6", "output": ""},
        {"type": "custom_tool_call_output", "call_id": "c7", "output": [{"type": "input_text", "text": "t"}]},
    ]
    written = write_request(read_request({"input": [*calls, *outputs]}, WIRE, provider="openai"))
    assert written.body["input"][5:] == outputs
    assert [{k: item[k] for k in call} for item, call in zip(written.body["input"], calls, strict=False)] == calls
    assert written.losses == []


def test_a_shell_that_the_provider_runs_keeps_its_output_in_the_answer() -> None:
    hosted = {"type": "container_reference", "container_id": "cntr_1"}
    called = {"id": "sh_1", "type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}
    items = [
        {**called, "status": "completed", "environment": hosted},
        {"type": "shell_call_output", "id": "sho_1", "call_id": "c1", "output": []},
        SAID,
    ]
    written = write_request(read_request({"input": items}, WIRE, provider="openai"))
    assert written.body["input"] == items
    assert written.losses == []


# Results


def test_res_05_an_output_is_always_there() -> None:
    for parts in ([], [TextPart("")]):
        written = back(Assistant(answer(CALL)), ToolResults([ToolResult("call_1", list(parts))]))
        assert written.body["input"][1] == {"type": "function_call_output", "call_id": "call_1", "output": ""}


def test_res_02_an_error_adds_no_member_that_the_item_does_not_know() -> None:
    result = ToolResult("call_1", [TextPart("it broke")], is_error=True, name="get_weather")
    written = back(Assistant(answer(CALL)), ToolResults([result]))
    told = {"type": "function_call_output", "call_id": "call_1", "output": "[tool_error] it broke"}
    assert written.body["input"][1] == told
    assert read_request(written.body, WIRE).messages[1] == ToolResults(
        [ToolResult("call_1", [TextPart("it broke")], True)]
    )


def test_res_03_pictures_and_files_stand_in_the_output_as_parts() -> None:
    parts = [
        TextPart("see"),
        MediaPart("image", "image/png", data="AAAA"),
        MediaPart("file", "application/pdf", data="BBBB"),
        MediaPart("file", url="https://example.org/a.pdf"),
        JsonPart({"a": 1}),
    ]
    written = back(
        foreign(ToolCall("c", "f", {}, "{}")),
        ToolResults([ToolResult("c", parts, plain=False)]),
        wire="anthropic.messages",
    )
    assert written.body["input"][1]["output"] == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,BBBB", "filename": "file.pdf"},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_text", "text": '{"a":1}'},
    ]
    assert written.losses == []


def test_media_that_the_wire_cannot_hold_become_a_note_and_a_loss() -> None:
    parts = [MediaPart("video", "video/mp4", data="AAAA"), MediaPart("file", file_id="file_anthropic")]
    written = back(User(parts, plain=False), wire="anthropic.messages", provider="anthropic")
    texts = [part["text"] for part in written.body["input"][0]["content"]]
    assert texts == [
        "[video left out: it has no counterpart here]",
        "[file left out: it is known to its own provider alone]",
    ]
    assert codes(written) == ["media", "media"]


def test_a_computer_call_that_was_not_run_gets_an_empty_picture_and_the_reason_beside_it() -> None:
    called = {"type": "computer_call", "id": "cu_1", "call_id": "c2", "action": {"type": "wait"}}
    written = back(Assistant(answer(called)), User([TextPart("stop")]))
    call, output, why, asked = written.body["input"]
    assert call["call_id"] == output["call_id"] == "c2"
    assert output["output"]["image_url"].startswith("data:image/png;base64,")
    assert "not executed" in why["content"]
    assert asked == {"role": "user", "content": "stop"}
    assert codes(written) == ["answered", "order", "media"]


# From other wires


def test_words_stand_beside_calls_and_what_cannot_be_carried_is_said() -> None:
    turn = foreign(
        Reasoning("hm", "sig"),
        Text("Let me ", [{"cited_text": "x"}]),
        Text("look."),
        ServerToolCall("srvtoolu_1", "web_search", "web_search", "{}"),
        Refusal("No."),
        ToolCall("toolu_1", "f", {}, "{}", caller={"type": "direct"}),
    )
    written = back(turn)
    assert written.body["input"] == [
        {"role": "assistant", "content": "Let me look."},
        {"role": "assistant", "content": "No."},
        {"type": "function_call", "call_id": "toolu_1", "name": "f", "arguments": "{}"},
    ]
    assert codes(written) == ["reasoning", "annotations", "server-tool", "refusal", "namespace"]
    assert [loss.message_index for loss in written.losses] == [0] * 5


def test_an_answer_of_the_same_wire_but_another_provider_keeps_no_ids_and_no_encrypted_state() -> None:
    own = normalize({"id": "resp_1", "status": "completed", "output": [THOUGHT, CALL, SAID]}, WIRE, provider="xai")
    written = back(Assistant(own))
    assert written.body["input"] == [
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Paris"}'},
        {"role": "assistant", "content": "Sunny."},
    ]
    assert [(loss.code, loss.message) for loss in written.losses][1:] == [("extra", "left out of a text: phase")]
    assert codes(written)[0] == "reasoning"


def test_an_opaque_part_of_another_wire_is_left_out_and_said() -> None:
    turn = User([TextPart("hi"), OpaquePart("search_result", {})], plain=False)
    written = back(turn, wire="anthropic.messages")
    assert written.body["input"] == [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    assert codes(written) == ["opaque"]


def test_kinds_of_calls_that_the_wire_does_not_know_are_carried_as_functions() -> None:
    written = back(
        foreign(ToolCall("c", "bash", {"a": 1}, '{"a":1}', kind="unresolved")),
        ToolResults([ToolResult("c", [TextPart("x")])]),
    )
    assert written.body["input"] == [
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c", "output": "x"},
    ]
    assert codes(written) == ["kind"]


# Tools and switches


def test_tools_are_flat_and_strictness_is_said_where_the_other_wire_left_it_open() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [
        ToolDefinition("get_weather", "Weather.", schema, wire="openai.chat", waiting_hint="Looking…"),
        ToolDefinition("save", strict=True),
        ToolDefinition("run", kind="custom", extra={"format": {"type": "text"}}, wire=WIRE),
        ToolDefinition("web_search", kind="hosted", wire="anthropic.messages", raw={"type": "web_search_20250305"}),
    ]
    written = back(wire="openai.chat", tools=tools, tool_choice=ToolChoice("named", "run"), parallel=False)
    assert written.body["tools"] == [
        {
            "type": "function",
            "name": "get_weather",
            "description": "Weather.",
            "parameters": schema,
            "strict": False,
        },
        {
            "type": "function",
            "name": "save",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
            "strict": True,
        },
        {"type": "custom", "name": "run", "format": {"type": "text"}},
    ]
    assert written.body["tool_choice"] == {"type": "custom", "name": "run"}
    assert written.body["parallel_tool_calls"] is False
    assert codes(written) == ["hosted-tool"]


def test_a_schema_that_strict_does_not_take_is_declared_without_it_and_said() -> None:
    open_schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    written = back(wire="openai.chat", tools=[ToolDefinition("f", parameters=open_schema, strict=True)])
    assert written.body["tools"] == [{"type": "function", "name": "f", "parameters": open_schema, "strict": False}]
    assert codes(written) == ["param"]
    closed = {**open_schema, "additionalProperties": False}
    written = back(wire="openai.chat", tools=[ToolDefinition("f", parameters=closed, strict=True)])
    assert (written.body["tools"][0]["strict"], written.losses) == (True, [])


def test_xai_08_a_reserved_name_gets_an_alias_for_xai_alone() -> None:
    request = Request(
        "openai.chat",
        "m",
        [foreign(ToolCall("c", "web_search", {}, "{}"))],
        [ToolDefinition("web_search")],
        ToolChoice("named", "web_search"),
    )
    written = write_request(request, WIRE, provider="xai")
    alias = written.body["tools"][0]["name"]
    assert written.names == {alias: "web_search"}
    assert written.body["tool_choice"] == {"type": "function", "name": alias}
    assert written.body["input"][0]["name"] == alias
    assert check_request(written.body, WIRE, provider="xai")[0].rule == "call-answered"
    assert write_request(request, WIRE, provider="openai").names == {}


def test_a_choice_that_the_wire_cannot_say_becomes_the_nearest_and_is_said() -> None:
    for choice in (ToolChoice("raw", raw={"mode": "ANY"}), ToolChoice("named", "elsewhere")):
        written = back(wire="openai.chat", tools=[ToolDefinition("f")], tool_choice=choice)
        assert written.body["tool_choice"] == "auto"
        assert codes(written) == ["tool-choice"]


def test_members_of_a_chat_body_go_under_the_names_they_have_here() -> None:
    params = {
        "max_completion_tokens": 5,
        "temperature": 0.5,
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "logit_bias": {},
    }
    written = back(wire="openai.chat", params=params)
    assert written.body == {
        "model": "m",
        "input": [],
        "max_output_tokens": 16,
        "temperature": 0.5,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}},
    }
    assert codes(written) == ["param", "param"]


def called(id: str) -> Item:
    return {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"}


def output(id: str, text: str) -> Item:
    return {"type": "function_call_output", "call_id": id, "output": text}


def again(*items: Any, **more: Any) -> Encoded:
    """A request of the wire, read and written back."""
    return write_request(read_request({"model": "m", "input": list(items), **more}, WIRE, provider="openai"))


def test_answers_to_calls_that_the_provider_keeps_stand_beside_those_to_calls_that_stand_here() -> None:
    asked = {"role": "user", "content": "hi"}
    given = [output("c1", "kept"), asked, called("c1"), output("c1", "here")]
    written = again(*given, previous_response_id="resp_1")
    assert (written.body["input"], written.losses) == (given, [])
    reference = {"type": "item_reference", "id": "fc_1"}
    written = again(asked, reference, called("c2"), output("c1", "kept"), output("c2", "here"))
    assert written.body["input"] == [asked, reference, called("c2"), output("c2", "here"), output("c1", "kept")]
    assert written.losses == []


def test_hist_08_an_answer_behind_later_calls_is_the_one_that_its_call_gets() -> None:
    given = [called("c1"), called("c2"), output("c1", "1"), called("c3"), output("c2", "2"), output("c3", "3")]
    written = again({"role": "user", "content": "hi"}, *given)
    assert [i["output"] for i in written.body["input"] if "output" in i] == ["1", "2", "3"]
    assert codes(written) == ["order"]


def test_a_tool_in_the_form_of_a_chats_is_read_and_goes_back_in_that_form() -> None:
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
    flat = {"type": "function", "name": "f", "description": "d", "parameters": schema, "strict": False}
    assert write_request(request, provider="xai").body["tools"] == [flat]


def test_a_strange_tool_in_the_form_of_a_chats_stays_whole() -> None:
    for odd in ({"name": 5}, {"description": "no name"}, {"name": "f", "more": 1}):
        tool = {"type": "function", "function": odd}
        request = read_request({"model": "m", "input": "hi", "tools": [tool]}, WIRE, provider="openai")
        assert request.tools[0].kind == "hosted"
        assert write_request(request).body["tools"] == [tool]


def test_a_schema_that_is_open_further_in_is_declared_without_strict() -> None:
    inner = {"type": "object", "properties": {"c": {"type": "string"}}, "additionalProperties": False}
    schema = {"type": "object", "properties": {"b": inner}, "required": ["b"], "additionalProperties": False}
    written = back(wire="anthropic.messages", tools=[ToolDefinition("f", parameters=schema, strict=True)])
    assert written.body["tools"][0]["strict"] is False
    assert codes(written) == ["param"]
    refused = {"type": "function", "name": "f", "parameters": schema, "strict": True}
    body = {"model": "m", "input": "hi", "tools": [refused]}
    assert [found.rule for found in check_request(body, WIRE, provider="openai")] == ["strict-schema"]


def test_what_one_provider_keeps_does_not_go_to_another_untold() -> None:
    params = {"conversation": "conv_1", "prompt": {"id": "pmpt_1"}, "metadata": {"a": "b"}}
    request = Request(WIRE, "m", [User([TextPart("hi")])], provider="openai", params=params)
    written = write_request(request, provider="xai")
    assert written.body.keys() == {"model", "input", "metadata"}
    assert [loss.message.split(":")[0] for loss in written.losses] == ["conversation", "prompt"]
    assert write_request(request).losses == []
