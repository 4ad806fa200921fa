"""What another wire's conversation becomes on Chat Completions, and what is reported on the way."""

from __future__ import annotations

import re
from typing import Any

import pytest

from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    Message,
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
from toolparity.normalizer.model import (
    Block,
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

WIRE = "openai.chat"


def said(*blocks: Block, wire: str = "anthropic.messages", provider: str | None = "anthropic") -> Assistant:
    return Assistant(Response(wire, provider, None, "m", [Choice(0, list(blocks), Stop("tool_calls"))]))


def called(id: str = "toolu_1", name: str = "f", text: str = '{"a": 1}', **more: Any) -> ToolCall:
    return ToolCall(id, name, more.pop("arguments", {"a": 1}), text, **more)


def write(
    turns: list[Message], provider: str | None = "openai", wire: str = "anthropic.messages", **more: Any
) -> Encoded:
    return write_request(Request(wire, "m", turns, **more), WIRE, provider=provider)


def losses(encoded: Encoded) -> list[tuple[str, int | None, int | None]]:
    return [(loss.code, loss.message_index, loss.block) for loss in encoded.losses]


def test_text_stands_beside_the_calls_of_its_turn() -> None:
    """HIST-09, LEG-02, INV-01: nothing of a mixed turn is dropped, broken arguments neither."""
    broken = ToolCall("toolu_2", "g", None, '{"a": ', "truncated")
    encoded = write(
        [said(Text("let me see"), called(), broken), ToolResults([ToolResult("toolu_1", [TextPart("ok")])])]
    )
    assert encoded.body["messages"][0] == {
        "role": "assistant",
        "content": "let me see",
        "tool_calls": [
            {"id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            {"id": "toolu_2", "type": "function", "function": {"name": "g", "arguments": '{"a": '}},
        ],
    }
    assert encoded.body["messages"][1] == {"role": "tool", "tool_call_id": "toolu_1", "content": "ok"}
    unanswered = encoded.body["messages"][2]
    assert (unanswered["tool_call_id"], unanswered["content"][:13]) == ("toolu_2", "[tool_error] ")
    assert [loss.code for loss in encoded.losses] == ["answered"]


@pytest.mark.parametrize(
    ("provider", "content"), [(None, None), ("openai", None), ("deepseek", None), ("xai", ""), ("mistral", None)]
)
def test_a_turn_of_calls_alone_has_the_content_that_its_provider_takes(provider: str | None, content: Any) -> None:
    """EMPTY-01"""
    (message,) = write([said(called("abcdefgh1"))], provider).body["messages"]
    assert message == {
        "role": "assistant",
        "content": content,
        "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }


def test_what_stands_between_calls_and_results_comes_after_the_results() -> None:
    """HIST-08, ORD-02"""
    turns: list[Message] = [
        said(called()),
        said(Text("one moment")),
        User([TextPart("hurry")]),
        ToolResults([ToolResult("toolu_1", [TextPart("ok")])]),
    ]
    encoded = write(turns)
    assert [(m["role"], m.get("content")) for m in encoded.body["messages"]] == [
        ("assistant", None),
        ("tool", "ok"),
        ("assistant", "one moment"),
        ("user", "hurry"),
    ]
    assert [loss.code for loss in encoded.losses] == ["order"]


def test_reasoning_and_hosted_calls_of_another_provider_are_left_out_and_reported() -> None:
    turn = said(
        Reasoning("hm", signature="sig"),
        ServerToolCall("srv", "web_search", "web_search", "{}"),
        ServerToolResult("srv", "web_search", raw={}),
        Text("found", [{"type": "citation"}]),
        Opaque("hologram", {"type": "hologram"}),
    )
    encoded = write([User([TextPart("go")]), turn])
    assert encoded.body["messages"][1] == {"role": "assistant", "content": "found"}
    assert losses(encoded) == [
        ("reasoning", 1, 0),
        ("server-tool", 1, 1),
        ("server-tool", 1, 2),
        ("annotations", 1, 3),
        ("opaque", 1, 4),
    ]


def test_a_signature_on_a_call_goes_back_to_its_provider_and_is_reported_elsewhere() -> None:
    """THINK-05, THINK-06, PASS-02"""
    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    turn = said(called("a", extra=signed), called("b"), wire=WIRE, provider="google")
    plain = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    own = write([turn], "google", WIRE)
    assert own.body["messages"][0]["tool_calls"] == [{"id": "a", **plain, **signed}, {"id": "b", **plain}]
    assert own.losses == []
    foreign = write([turn], "openai", WIRE)
    assert foreign.body["messages"][0]["tool_calls"] == [{"id": "a", **plain}, {"id": "b", **plain}]
    assert losses(foreign) == [("extra", 0, 0)]


def test_a_turn_of_which_nothing_can_be_said_is_left_out_and_reported() -> None:
    encoded = write([said(Reasoning("hm")), User([TextPart("go")])])
    assert encoded.body["messages"] == [{"role": "user", "content": "go"}]
    assert losses(encoded) == [("reasoning", 0, 0), ("empty", 0, None)]


def test_several_texts_are_parts_or_one_text_where_parts_are_not_taken() -> None:
    turn = said(Text("a"), Text("b"))
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert write([turn]).body["messages"] == [{"role": "assistant", "content": parts}]
    assert write([turn], "deepseek").body["messages"] == [{"role": "assistant", "content": "ab"}]


def test_a_refusal_keeps_its_member_at_openai_and_is_text_elsewhere() -> None:
    assert write([said(Refusal("no"))]).body["messages"] == [{"role": "assistant", "refusal": "no", "content": None}]
    encoded = write([said(Refusal("no"))], "groq")
    assert encoded.body["messages"] == [{"role": "assistant", "content": "no"}]
    assert losses(encoded) == [("refusal", 0, 0)]


def test_ids_become_nine_letters_and_figures_for_mistral_in_call_and_result_and_lead_back() -> None:
    """ID-13, ID-19: no two of ten thousand collide, and those that differ in one sign differ."""
    ids = [f"toolu_{'x' * 70}{n}" for n in range(10_000)] + ["call.0", "call:0", "call_0"]
    turns: list[Message] = [
        said(*(called(id) for id in ids)),
        ToolResults([ToolResult(id, [TextPart("ok")]) for id in ids]),
    ]
    encoded = write(turns, "mistral")
    made = [call["id"] for call in encoded.body["messages"][0]["tool_calls"]]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", id) for id in made)
    assert [encoded.ids[id] for id in made] == ids
    assert [message["tool_call_id"] for message in encoded.body["messages"][1:]] == made


def test_an_id_that_the_target_takes_stays_as_it_is() -> None:
    """ID-15, ID-20"""
    kimi = said(called("functions.f:0"), wire=WIRE, provider="moonshot")
    message = write([kimi], "moonshot", WIRE).body["messages"][0]
    assert message["tool_calls"][0]["id"] == "functions.f:0"
    assert write([kimi], "openai").ids == {}


def test_an_id_is_at_most_forty_characters_for_openai_and_as_long_as_it_was_for_who_gave_it() -> None:
    long = "tool_" + "x" * 60
    encoded = write([said(called(long))])
    (made,) = (call["id"] for call in encoded.body["messages"][0]["tool_calls"])
    assert len(made) <= 40
    assert encoded.ids == {made: long}
    own = said(called(long), wire=WIRE, provider="openrouter")
    assert write([own], "openrouter", WIRE).body["messages"][0]["tool_calls"][0]["id"] == long


def test_a_name_that_xai_reserves_is_an_alias_in_declaration_and_history_and_leads_back() -> None:
    """XAI-08, NAME-08"""
    turns: list[Message] = [said(called(name="web_search")), ToolResults([ToolResult("toolu_1", [TextPart("ok")])])]
    tools = [
        ToolDefinition("web_search"),
        ToolDefinition("search-a"),
        ToolDefinition("search_a"),
        ToolDefinition("search.a"),
    ]
    encoded = write(turns, "xai", tools=tools, tool_choice=ToolChoice("named", "web_search"))
    names = [tool["function"]["name"] for tool in encoded.body["tools"]]
    assert len(set(names)) == 4
    assert [encoded.names.get(name, name) for name in names] == ["web_search", "search-a", "search_a", "search.a"]
    assert encoded.body["messages"][0]["tool_calls"][0]["function"]["name"] == names[0] != "web_search"
    assert encoded.body["tool_choice"] == {"type": "function", "function": {"name": names[0]}}
    assert check_request(encoded.body, WIRE, provider="xai") == []


def test_a_pseudo_call_goes_back_under_a_legal_name() -> None:
    """NAME-04"""
    turn = said(called(name="multi_tool_use.parallel"), wire=WIRE, provider="openai")
    encoded = write([turn], "openai", WIRE)
    name = encoded.body["messages"][0]["tool_calls"][0]["function"]["name"]
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", name)
    assert encoded.names == {name: "multi_tool_use.parallel"}


def test_free_text_calls_are_functions_with_one_text_where_nobody_takes_free_text() -> None:
    call = ToolCall("abcdefgh1", "sql", None, "SELECT 1", kind="custom")
    tools = [ToolDefinition("sql", "runs it", kind="custom")]
    encoded = write([said(call)], "mistral", tools=tools)
    assert encoded.body["messages"][0]["tool_calls"][0] == {
        "id": "abcdefgh1",
        "type": "function",
        "function": {"name": "sql", "arguments": '{"input":"SELECT 1"}'},
    }
    schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    assert encoded.body["tools"] == [
        {"type": "function", "function": {"name": "sql", "description": "runs it", "parameters": schema}}
    ]
    assert [loss.code for loss in encoded.losses] == ["kind", "kind"]
    own = write([said(call)], "openai", tools=tools).body
    assert own["messages"][0]["tool_calls"][0] == {
        "id": "abcdefgh1",
        "type": "custom",
        "custom": {"name": "sql", "input": "SELECT 1"},
    }
    assert own["tools"] == [{"type": "custom", "custom": {"name": "sql", "description": "runs it"}}]


def test_images_of_a_result_follow_in_a_user_message_behind_all_results() -> None:
    """RES-03, RES-02: no base64 inside text, and exactly the documented members on each tool message."""
    image = MediaPart("image", "image/png", data="AAAA")
    results = ToolResults([ToolResult("a", [TextPart("see"), image]), ToolResult("b", [JsonPart({"n": 1})], name="f")])
    encoded = write([said(called("a"), called("b")), results])
    note = "[image: image/png] The tool's result goes on in the next user message."
    assert encoded.body["messages"][1:] == [
        {"role": "tool", "tool_call_id": "a", "content": f"see\n{note}"},
        {"role": "tool", "tool_call_id": "b", "content": '{"n":1}'},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Returned for a:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        },
    ]
    assert losses(encoded) == [("media", 1, None)]
    inside = write([said(called("a"), called("b")), results], "openrouter")
    assert inside.body["messages"][1]["content"][1]["type"] == "image_url"
    assert inside.losses == []


def test_a_failed_result_has_no_member_for_it() -> None:
    """RES-01, RES-02, RES-07"""
    encoded = write([said(called()), ToolResults([ToolResult("toolu_1", [TextPart("no")], is_error=True)])])
    assert encoded.body["messages"][1] == {"role": "tool", "tool_call_id": "toolu_1", "content": "[tool_error] no"}
    read = read_request(encoded.body, WIRE).messages[1]
    assert read == ToolResults([ToolResult("toolu_1", [TextPart("no")], is_error=True)])


def test_the_assistant_speaks_between_a_result_and_the_user_at_mistral() -> None:
    """ORD-04"""
    turns: list[Message] = [
        said(called("abcdefgh1")),
        ToolResults([ToolResult("abcdefgh1", [TextPart("ok")])]),
        User([TextPart("go on")]),
    ]
    encoded = write(turns, "mistral")
    assert encoded.body["messages"][1:] == [
        {"role": "tool", "tool_call_id": "abcdefgh1", "content": "ok"},
        {"role": "assistant", "content": "OK."},
        {"role": "user", "content": "go on"},
    ]
    assert losses(encoded) == [("bridge", 2, None)]
    assert write(turns, "openai").losses == []


def test_deepseek_thinks_only_where_every_turn_with_calls_says_what_it_thought() -> None:
    own = said(Reasoning("hm"), called("a"), wire=WIRE, provider="deepseek")
    turns: list[Message] = [
        own,
        ToolResults([ToolResult("a", [])]),
        said(called("b")),
        ToolResults([ToolResult("b", [])]),
    ]
    body = write(turns, "deepseek", WIRE, params={"thinking": {"type": "enabled"}}).body
    assert [m.get("reasoning_content") for m in body["messages"]] == ["hm", None, "", None]
    assert check_request(body, WIRE, provider="deepseek") == []
    quiet = write(turns, "deepseek", WIRE).body["messages"]
    assert ["reasoning_content" in message for message in quiet] == [True, False, False, False]


def test_reasoning_goes_back_in_the_member_of_its_provider() -> None:
    def one(provider: str, block: Reasoning) -> dict[str, Any]:
        turn = said(block, Text("so"), wire=WIRE, provider=provider)
        message: dict[str, Any] = write([turn], provider, WIRE).body["messages"][0]
        return message

    assert one("deepseek", Reasoning("hm")) == {"role": "assistant", "content": "so", "reasoning_content": "hm"}
    assert one("groq", Reasoning("hm")) == {"role": "assistant", "content": "so", "reasoning": "hm"}
    assert one("mistral", Reasoning("hm"))["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "so"},
    ]
    assert one("openrouter", Reasoning("hm", "sig"))["reasoning_details"] == [
        {"type": "reasoning.text", "text": "hm", "signature": "sig"}
    ]
    assert one("openrouter", Reasoning("", None, "enc", True))["reasoning_details"] == [
        {"type": "reasoning.encrypted", "data": "enc"}
    ]


def test_a_strict_provider_gets_no_member_that_it_does_not_document() -> None:
    cited = Text("so", [{"type": "url_citation"}])
    turn = said(cited, wire=WIRE, provider="groq")
    encoded = write([turn], "groq", WIRE)
    assert encoded.body["messages"] == [{"role": "assistant", "content": "so"}]
    assert losses(encoded) == [("annotations", 0, 0)]
    kept = write([said(cited, wire=WIRE, provider="openai")], "openai", WIRE).body["messages"]
    assert kept == [{"role": "assistant", "content": "so", "annotations": [{"type": "url_citation"}]}]


@pytest.mark.parametrize(
    ("choice", "openai", "mistral"),
    [
        (ToolChoice("auto"), "auto", "auto"),
        (ToolChoice("none"), "none", "none"),
        (ToolChoice("required"), "required", "any"),
        (
            ToolChoice("named", "f"),
            {"type": "function", "function": {"name": "f"}},
            {"type": "function", "function": {"name": "f"}},
        ),
    ],
)
def test_each_way_to_choose_has_the_words_of_its_provider(choice: ToolChoice, openai: Any, mistral: Any) -> None:
    """TC-01"""
    for provider, expected in (("openai", openai), ("mistral", mistral)):
        encoded = write([User([TextPart("go")])], provider, tools=[ToolDefinition("f")], tool_choice=choice)
        assert encoded.body["tool_choice"] == expected
        assert encoded.losses == []


def test_a_way_to_choose_without_counterpart_or_without_tools_is_reported() -> None:
    raw = write([User([TextPart("go")])], tools=[ToolDefinition("f")], tool_choice=ToolChoice("raw", raw={"type": "x"}))
    assert ("tool_choice" in raw.body, losses(raw)) == (False, [("tool-choice", None, None)])
    hosted = [ToolDefinition("search", kind="hosted", wire="openai.responses", raw={"type": "web_search"})]
    bare = write([User([TextPart("go")])], tools=hosted, tool_choice=ToolChoice("required"), parallel=False)
    assert set(bare.body) == {"model", "messages"}
    assert losses(bare) == [("hosted-tool", None, None), ("tool-choice", None, None)]


def test_calls_one_at_a_time_is_said_where_there_is_a_switch_and_reported_where_not() -> None:
    turns: list[Message] = [User([TextPart("go")])]
    assert write(turns, tools=[ToolDefinition("f")], parallel=False).body["parallel_tool_calls"] is False
    encoded = write(turns, "deepseek", tools=[ToolDefinition("f")], parallel=False)
    assert ("parallel_tool_calls" in encoded.body, losses(encoded)) == (False, [("parallel", None, None)])


def test_a_tool_is_declared_with_all_that_the_wire_knows_of_it() -> None:
    number = {"a": {"type": "integer"}}
    schema = {"type": "object", "properties": number, "required": ["a"], "additionalProperties": False}
    tool = ToolDefinition(
        "f", "does it", schema, strict=True, waiting_hint="wait", extra={"cache_control": {"type": "ephemeral"}}
    )
    encoded = write([User([TextPart("go")])], tools=[tool])
    assert encoded.body["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "does it", "parameters": schema, "strict": True}}
    ]
    assert [loss.code for loss in encoded.losses] == ["extra"]


def test_media_of_a_user_are_parts_of_this_wire_or_a_note() -> None:
    parts = [
        MediaPart("image", url="https://example.org/a.png"),
        MediaPart("audio", "audio/wav", data="AAAA"),
        MediaPart("file", "application/pdf", data="AAAA", name="a.pdf"),
        MediaPart("file", file_id="file_1"),
        MediaPart("video", url="https://example.org/a.mp4"),
    ]
    encoded = write([User([*parts], plain=False)])
    assert encoded.body["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {"type": "text", "text": "[file: file_1]"},
        {"type": "text", "text": "[video: https://example.org/a.mp4]"},
    ]
    assert [loss.code for loss in encoded.losses] == ["media", "media"]


def test_standing_instructions_are_the_developers_at_openai_and_the_systems_elsewhere() -> None:
    turns: list[Message] = [System([TextPart("be brief")], "developer")]
    assert write(turns).body["messages"] == [{"role": "developer", "content": "be brief"}]
    assert write(turns, "mistral").body["messages"] == [{"role": "system", "content": "be brief"}]


def test_figures_of_the_request_are_renamed_or_reported() -> None:
    params = {"max_tokens": 9, "stop_sequences": ["x"], "temperature": 0.5, "top_k": 3}
    encoded = write([User([TextPart("go")])], wire="anthropic.messages", params=params, previous_response_id="resp_1")
    told = {key: value for key, value in encoded.body.items() if key != "messages"}
    assert told == {"model": "m", "max_completion_tokens": 9, "stop": ["x"], "temperature": 0.5}
    assert [loss.code for loss in encoded.losses] == ["param", "param"]
    assert write([User([TextPart("go")])], "groq", params={"max_tokens": 9}).body["max_tokens"] == 9


def test_items_of_another_wire_are_left_out_and_reported() -> None:
    encoded = write([RawItem("openai.responses", {"type": "item_reference", "id": "x"}), User([TextPart("go")])])
    assert encoded.body["messages"] == [{"role": "user", "content": "go"}]
    assert losses(encoded) == [("opaque", 0, None)]


def test_a_prefilled_answer_is_marked_as_one_at_mistral() -> None:
    assert write([User([TextPart("go")]), said(Text("{"))], "mistral").body["messages"][-1] == {
        "role": "assistant",
        "content": "{",
        "prefix": True,
    }


def test_words_after_a_call_stand_before_it_and_are_reported() -> None:
    encoded = write([said(called(), Text("done soon"))])
    assert encoded.body["messages"][0]["content"] == "done soon"
    assert losses(encoded) == [("order", 0, 1)]


def test_empty_arguments_of_another_wire_are_an_empty_object() -> None:
    call = write([said(called(text="", arguments={}))]).body["messages"][0]["tool_calls"][0]
    assert call["function"]["arguments"] == "{}"


def test_a_namespace_or_caller_is_left_out_and_reported() -> None:
    assert losses(write([said(called(namespace="crm"))])) == [("namespace", 0, 0)]
    assert losses(write([said(called(caller={"type": "code"}))])) == [("namespace", 0, 0)]


def test_images_of_results_made_here_stay_outside_even_for_the_own_provider() -> None:
    turn = said(called("a"), wire=WIRE, provider="openai")
    results = ToolResults([ToolResult("a", [MediaPart("image", url="https://example.org/a.png")], is_error=True)])
    request = Request(WIRE, "m", [turn, results], provider="openai")
    messages = write_request(request).body["messages"]
    note = "[image: https://example.org/a.png] The tool's result goes on in the next user message."
    assert messages[1]["content"] == [{"type": "text", "text": f"[tool_error] {note}"}]
    assert messages[2]["content"][1] == {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    routed = write_request(Request(WIRE, "m", [turn, results]), WIRE, provider="openrouter").body["messages"]
    assert routed[1]["content"] == [{"type": "text", "text": "[tool_error] "}, messages[2]["content"][1]]


def test_sound_of_an_answer_goes_back_by_its_id_and_members_of_a_response_stay_behind() -> None:
    said_aloud = {"message": {"audio": {"id": "audio_1", "data": "AAAA"}, "channel": "final", "vendor": 1}}
    response = Response(WIRE, "openai", None, "m", [Choice(0, [Text("so")], Stop("end_turn"), said_aloud)])
    request = Request(WIRE, "m", [Assistant(response)], provider="openai")
    assert write_request(request).body["messages"] == [
        {"role": "assistant", "content": "so", "audio": {"id": "audio_1"}, "vendor": 1}
    ]


def test_several_calls_at_once_are_nothing_to_report_where_there_is_no_switch() -> None:
    assert write([User([TextPart("go")])], "deepseek", tools=[ToolDefinition("f")], parallel=True).losses == []


def test_a_function_without_parameters_is_declared_with_none() -> None:
    body = write([User([TextPart("go")])], tools=[ToolDefinition("f")]).body
    assert body["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    ]


def test_signed_details_say_the_reasoning_once() -> None:
    turn = said(Reasoning("hm", "sig"), Text("so"), wire=WIRE, provider="openrouter")
    assert "reasoning" not in write([turn], "openrouter", WIRE).body["messages"][0]


FUNCTION = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}


@pytest.mark.parametrize(
    ("asked", "answered", "target"),
    [(None, "deepseek", None), ("deepseek", None, None), (None, None, "deepseek"), ("deepseek", "deepseek", None)],
)
def test_who_is_not_told_is_nobody_else(asked: str | None, answered: str | None, target: str | None) -> None:
    """PASS-02: an answer goes back whole where only one side names the provider."""
    turn = said(Reasoning("hm"), called("a", extra=SIGNED), wire=WIRE, provider=answered)
    encoded = write_request(Request(WIRE, "m", [turn], provider=asked), WIRE, provider=target)
    (message,) = encoded.body["messages"]
    assert message["reasoning_content"] == "hm"
    assert message["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]
    assert encoded.losses == []


def test_what_nobody_named_said_is_translated_for_who_refuses_what_others_say() -> None:
    turn = said(Reasoning("hm"), called("abcdefgh1", extra=SIGNED), wire=WIRE, provider=None)
    talk: list[Message] = [turn, ToolResults([ToolResult("abcdefgh1", [TextPart("ok")])])]
    encoded = write_request(Request(WIRE, "m", talk), WIRE, provider="mistral")
    assert check_request(encoded.body, WIRE, provider="mistral") == []
    assert losses(encoded) == [("reasoning", 0, 0), ("extra", 0, 1)]


def test_the_assistant_need_not_speak_after_a_result_where_that_was_recorded_and_goes_back() -> None:
    body = {
        "model": "mistral-small-latest",
        "messages": [
            {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefgh1", **FUNCTION}]},
            {"role": "tool", "tool_call_id": "abcdefgh1", "content": "ok"},
            {"role": "user", "content": "go on"},
        ],
    }
    own = write_request(read_request(body, WIRE, provider="mistral"))
    assert (own.body, own.losses) == (body, [])
    foreign = write_request(read_request(body, WIRE, provider="openai"), WIRE, provider="mistral")
    assert [message["role"] for message in foreign.body["messages"]] == ["assistant", "tool", "assistant", "user"]
    other = write_request(read_request({**body, "model": "mistral-medium"}, WIRE, provider="mistral"))
    assert [loss.code for loss in other.losses] == ["bridge"]


def test_an_assistant_that_says_nothing_is_left_out_at_mistral_and_stays_elsewhere() -> None:
    go, nothing = {"role": "user", "content": "go"}, {"role": "assistant", "content": ""}
    body = {"model": "m", "messages": [go, nothing, go]}
    encoded = write_request(read_request(body, WIRE, provider="mistral"))
    assert encoded.body["messages"] == [go, go]
    assert losses(encoded) == [("empty", 1, None)]
    assert write_request(read_request(body, WIRE, provider="openai")).body == body


PICTURE = MediaPart("image", url="https://example.org/a.png")
PAPER = MediaPart("file", "application/pdf", data="AAAA", name="a.pdf")
SONG = MediaPart("audio", "audio/mpeg", data="AAAA")
SHOWN: dict[str, Any] = {
    "image": {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    "file": {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
    "document": {
        "type": "document_url",
        "document_url": "data:application/pdf;base64,AAAA",
        "document_name": "a.pdf",
    },
    "sound": {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
    "no image": {"type": "text", "text": "[image: https://example.org/a.png]"},
    "no file": {"type": "text", "text": "[file: a.pdf]"},
    "no sound": {"type": "text", "text": "[audio: audio/mpeg]"},
}


@pytest.mark.parametrize(
    ("provider", "shown"),
    [
        ("openai", ["image", "file", "sound"]),
        ("mistral", ["image", "document", "sound"]),
        ("openrouter", ["image", "file", "sound"]),
        ("xai", ["image", "no file", "no sound"]),
        ("groq", ["image", "no file", "no sound"]),
        ("deepseek", ["no image", "no file", "no sound"]),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_media_have_the_form_that_their_provider_takes_or_are_named(provider: str, shown: list[str], own: bool) -> None:
    turn = User([PICTURE, PAPER, SONG], plain=False)
    request = Request(WIRE, "m", [turn], provider=provider if own else "other")
    encoded = write_request(request, WIRE, provider=provider)
    content = encoded.body["messages"][0]["content"]
    if isinstance(content, str):
        assert content == "\n\n".join(SHOWN[name]["text"] for name in shown)
    else:
        assert content == [SHOWN[name] for name in shown]
    assert [loss.code for loss in encoded.losses] == ["media" for name in shown if name.startswith("no ")]
    assert check_request(encoded.body, WIRE, provider=provider) == []


def test_sound_of_a_format_that_the_target_does_not_take_is_named_there() -> None:
    turn = User([MediaPart("audio", "audio/flac", data="AAAA"), MediaPart("audio", "audio/x-wav", data="AAAA")])
    encoded = write([turn])
    assert encoded.body["messages"][0]["content"] == [
        {"type": "text", "text": "[audio: audio/flac]"},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ]
    assert [loss.code for loss in encoded.losses] == ["media"]
    routed = write([turn], "openrouter").body["messages"][0]["content"]
    assert [part["input_audio"]["format"] for part in routed] == ["flac", "wav"]


@pytest.mark.parametrize("format", ["mp3", "wav", "mpeg", "flac"])
def test_sound_is_read_as_its_mime_type_and_goes_back_in_its_own_words(format: str) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": format}}
    body = {"messages": [{"role": "user", "content": [sound]}]}
    request = read_request(body, WIRE, provider="openai")
    (part,) = request.messages[0].parts  # type: ignore[union-attr]
    assert isinstance(part, MediaPart)
    assert part.media_type == {"mp3": "audio/mpeg", "mpeg": "audio/mpeg"}.get(format, f"audio/{format}")
    assert write_request(request).body == body


def test_the_name_of_a_document_is_read_and_goes_on() -> None:
    document = {"type": "document_url", "document_url": "https://example.org/a", "document_name": "a.pdf", "x": 1}
    body = {"messages": [{"role": "user", "content": [document]}]}
    request = read_request(body, WIRE, provider="mistral")
    (part,) = request.messages[0].parts  # type: ignore[union-attr]
    assert isinstance(part, MediaPart)
    assert (part.url, part.name) == ("https://example.org/a", "a.pdf")
    assert write_request(request).body == body


def test_a_bare_address_of_an_image_is_no_member_to_miss() -> None:
    picture = {"type": "image_url", "image_url": "https://example.org/a.png"}
    request = read_request({"messages": [{"role": "user", "content": [picture]}]}, WIRE, provider="mistral")
    assert write_request(request).body["messages"][0]["content"] == [picture]
    for wire, provider in (("openai.chat", "openai"), ("openai.responses", "openai"), ("xai.grpc", "xai")):
        assert write_request(request, wire, provider=provider).losses == []


ASKED = {
    "max_completion_tokens": 5,
    "stream": True,
    "stream_options": {"include_usage": True},
    "seed": 1,
    "user": "ann",
    "n": 1,
    "logprobs": True,
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
    "reasoning_effort": "low",
    "store": True,
    "metadata": {"a": "b"},
    "verbosity": "low",
    "service_tier": "auto",
    "temperature": None,
}


@pytest.mark.parametrize(
    ("provider", "changed", "lost"),
    [
        ("mistral", {"max_tokens": 5, "random_seed": 1}, {"stream_options", "user"}),
        ("groq", {"max_tokens": 5}, {"logprobs"}),
        ("deepseek", {"max_tokens": 5}, {"user", "response_format"}),
        ("openrouter", {"max_tokens": 5}, set()),
    ],
)
def test_members_of_one_providers_body_go_to_another_under_its_names_or_are_told(
    provider: str, changed: dict[str, Any], lost: set[str]
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "go"}], **ASKED}
    encoded = write_request(read_request(body, WIRE, provider="openai"), WIRE, provider=provider)
    foreign = {"store", "metadata", "verbosity", "service_tier"}
    told = {loss.message.split(" ")[0] for loss in encoded.losses}
    assert told == foreign | lost
    alone = {"max_completion_tokens", "temperature"} | ({"seed"} if "random_seed" in changed else set())
    unsaid = {"n"} if provider in ("groq", "deepseek") else set()
    kept = {key: value for key, value in ASKED.items() if key not in told | alone | unsaid}
    assert encoded.body == {"model": "m", "messages": body["messages"], **kept, **changed}
    assert check_request(encoded.body, WIRE, provider=provider) == []


def test_members_go_back_to_their_own_provider_as_they_were() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "go"}], **ASKED}
    for provider in ("openai", "mistral", None):
        encoded = write_request(read_request(body, WIRE, provider=provider))
        assert (encoded.body, encoded.losses) == (body, [])


def test_of_members_that_nobody_named_a_provider_gets_what_it_documents() -> None:
    body = {"messages": [{"role": "user", "content": "go"}], "safe_prompt": True, "random_seed": 1, "store": True}
    encoded = write_request(read_request(body, WIRE), WIRE, provider="mistral")
    assert encoded.body == {key: value for key, value in body.items() if key != "store"}
    assert [loss.message for loss in encoded.losses] == ["store was left out"]


def test_of_two_limits_one_goes_on_and_the_other_is_told() -> None:
    body = {"messages": [{"role": "user", "content": "go"}], "max_completion_tokens": 5, "max_tokens": 6}
    encoded = write_request(read_request(body, WIRE, provider="other"), WIRE, provider="openai")
    assert encoded.body == {"messages": body["messages"], "max_completion_tokens": 5}
    assert [loss.code for loss in encoded.losses] == ["param"]
    more = write_request(read_request({**body, "max_tokens": 5, "n": 2}, WIRE, provider="other"), WIRE, provider="groq")
    assert more.body == {"messages": body["messages"], "max_tokens": 5}
    assert [loss.message for loss in more.losses] == ["n was left out"]


CLOSED: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({**CLOSED, "properties": {"a": {"type": "string"}}, "required": ["a"]}, True),
        ({**CLOSED, "properties": {"a": {"type": "string"}}}, False),
        ({**CLOSED, "properties": {"a": {"type": "object", "properties": {}}}, "required": ["a"]}, False),
        (None, True),
    ],
)
def test_strict_is_asked_for_where_the_schema_allows_it_and_else_told(schema: Any, strict: bool) -> None:
    tools = [ToolDefinition("f", parameters=schema, strict=True)]
    encoded = write([User([TextPart("go")])], tools=tools)
    assert encoded.body["tools"][0]["function"]["strict"] is strict
    assert [loss.message.split(" ")[0] for loss in encoded.losses] == ([] if strict else ["strict:"])
    assert check_request(encoded.body, WIRE, provider="openai") == []
    own = write_request(Request(WIRE, "m", [], tools, provider="openai"))
    assert (own.body["tools"][0]["function"]["strict"], own.losses) == (True, [])


def test_a_choice_of_a_tool_that_cannot_be_declared_is_left_to_the_model_and_told() -> None:
    hosted = ToolDefinition("web_search", kind="hosted", wire="anthropic.messages", raw={"type": "web_search_20250305"})
    for name in ("web_search", None, "g"):
        encoded = write(
            [User([TextPart("go")])], tools=[hosted, ToolDefinition("f")], tool_choice=ToolChoice("named", name)
        )
        assert encoded.body["tool_choice"] == "auto"
        assert [loss.code for loss in encoded.losses] == ["hosted-tool", "tool-choice"]
        assert check_request(encoded.body, WIRE, provider="openai") == []


def test_members_of_the_message_that_held_the_results_are_told() -> None:
    turns: list[Message] = [
        said(called("a")),
        ToolResults([ToolResult("a", [TextPart("ok")])], {"cache_control": {}, "mark": 1}),
    ]
    assert losses(write(turns)) == [("extra", 1, None)]
    assert write(turns).losses[0].message == "left out: mark"


def test_what_is_said_twice_or_is_nothing_goes_back_and_is_not_missed_elsewhere() -> None:
    asked = {"id": "abcdefgh1", **FUNCTION}
    body: dict[str, Any] = {
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": "so",
                "reasoning": "hm",
                "reasoning_content": "hm",
                "prefix": False,
                "tool_calls": [asked],
                "function_call": {"name": "f", "arguments": "{}"},
            },
            {"role": "tool", "tool_call_id": "abcdefgh1", "name": "f", "content": "ok"},
        ],
        "functions": [{"name": "f"}],
        "max_tokens": 99,
    }
    request = read_request(body, WIRE, provider="other")
    assert write_request(request).body == body
    for wire, provider in ((WIRE, "groq"), ("openai.responses", "openai"), ("anthropic.messages", "anthropic")):
        told = [loss.code for loss in write_request(request, wire, provider=provider).losses]
        assert set(told) == {"reasoning"} or set(told) == {"unsigned-reasoning"}, wire


def test_two_different_thoughts_of_one_message_are_missed_elsewhere() -> None:
    spoken = {"role": "assistant", "content": "so", "reasoning": "a", "reasoning_content": "b"}
    request = read_request({"messages": [spoken]}, WIRE, provider="other")
    assert write_request(request).body["messages"] == [spoken]
    assert [loss.code for loss in write_request(request, WIRE, provider="groq").losses] == ["reasoning", "extra"]


@pytest.mark.parametrize("strict", [None, False, True])
@pytest.mark.parametrize("target", ["openai.chat", "openai.responses"])
def test_SCH_31_openai_gets_an_object_schema_with_properties(target: Any, strict: bool | None) -> None:
    for wire in (None, "anthropic.messages"):  # a tool that the application declares, and one of another wire
        bare = {"type": "object", "additionalProperties": False}
        tool = ToolDefinition("f", parameters=bare, strict=strict, wire=wire)
        encoded = write_request(Request("anthropic.messages", "m", [User([TextPart("hi")])], [tool]), target)
        (written,) = encoded.body["tools"]
        assert written.get("function", written)["parameters"] == {**bare, "properties": {}}
        assert check_request(encoded.body, target) == []
        assert [loss.code for loss in encoded.losses] == []
    as_read = {**encoded.body, "tools": [nested_schema(written, bare)]}
    assert [found.rule for found in check_request(as_read, target)] == ["tool-schema"]
    assert write_request(read_request(as_read, target)).body["tools"] == as_read["tools"]


def nested_schema(tool: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A tool of either of OpenAI's wires with another schema."""
    return (
        {**tool, "function": {**tool["function"], "parameters": schema}}
        if "function" in tool
        else {**tool, "parameters": schema}
    )
