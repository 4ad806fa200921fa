"""Requests that are written for Chat Completions: the forms of its providers, and the losses."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.normalizer.history.conversations import answer
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
from toolparity.normalizer.model import Block, Choice, Reasoning, Refusal, Response, Stop, Text, ToolCall, Wire
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.registry import spec

WIRE: Wire = "openai.chat"
GO = User([TextPart("go")])
FUNCTION = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
CITATION = {"type": "url_citation"}
NEXT = "The tool's result goes on in the next user message."
VIDEO = "https://example.org/a.mp4"
turn_of = partial(answer, wire="anthropic.messages")


def own(provider: str | None, *blocks: Block) -> Assistant:
    """Return an answer of Chat Completions."""
    return answer(*blocks, provider=provider)


def called(id: str = "toolu_1", name: str = "f", text: str = '{"a": 1}', **more: Any) -> ToolCall:
    return ToolCall(id, name, more.pop("arguments", {"a": 1}), text, **more)


def write(
    turns: list[Message], provider: str | None = "openai", wire: Wire = "anthropic.messages", **more: Any
) -> Encoded:
    return write_request(Request(wire, "m", turns, **more), WIRE, provider=provider)


def losses(encoded: Encoded) -> list[tuple[str, int | None, int | None]]:
    return [(loss.code, loss.message_index, loss.block) for loss in encoded.losses]


def test_a_turn_is_written_as_its_provider_accepts_it() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    cited = {"role": "assistant", "content": "so", "annotations": [CITATION]}
    plain = [{"id": "abcdefgh1", **FUNCTION}]
    empty_function = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    empty = {"role": "assistant", "content": None, "tool_calls": [{"id": "abcdefgh1", **empty_function}]}
    calls, signed = {"role": "assistant", "content": None, "tool_calls": plain}, called("abcdefgh1", extra=SIGNED)
    cases: list[tuple[list[Message], str | None, dict[str, Any] | None, list[str]]] = [
        ([turn_of(called("abcdefgh1"))], None, calls, []),
        ([turn_of(called("abcdefgh1"))], "deepseek", calls, []),
        ([turn_of(called("abcdefgh1"))], "mistral", calls, []),
        ([turn_of(called("abcdefgh1"))], "xai", calls | {"content": ""}, []),
        ([turn_of(called("abcdefgh1", text="", arguments={}))], "openai", empty, []),
        ([turn_of(called("abcdefgh1"), Text("done soon"))], "openai", calls | {"content": "done soon"}, ["order"]),
        ([turn_of(called("abcdefgh1", namespace="crm"))], "openai", calls, ["namespace"]),
        ([turn_of(called("abcdefgh1", caller={"type": "code"}))], "openai", calls, ["namespace"]),
        ([own("google", signed)], "google", calls | {"tool_calls": [{**plain[0], **SIGNED}]}, []),
        ([own("google", signed)], "openai", calls, ["extra"]),
        ([turn_of(Text("a"), Text("b"))], "openai", {"role": "assistant", "content": parts}, []),
        ([turn_of(Text("a"), Text("b"))], "deepseek", {"role": "assistant", "content": "ab"}, []),
        ([turn_of(Refusal("no"))], "openai", {"role": "assistant", "refusal": "no", "content": None}, []),
        ([turn_of(Refusal("no"))], "groq", {"role": "assistant", "content": "no"}, ["refusal"]),
        ([own("groq", Text("so", [CITATION]))], "groq", {"role": "assistant", "content": "so"}, ["annotations"]),
        ([own("openai", Text("so", [CITATION]))], "openai", cited, []),
        ([turn_of(Reasoning("hm"))], "openai", None, ["reasoning", "empty"]),
        ([RawItem("openai.responses", {"type": "item_reference", "id": "x"})], "openai", None, ["opaque"]),
        ([turn_of(Text("{"))], "mistral", {"role": "assistant", "content": "{", "prefix": True}, []),
        ([own("mistral", Text("")), GO], "mistral", None, ["empty"]),
        ([own("openai", Text("")), GO], "openai", {"role": "assistant", "content": ""}, []),
        ([System([TextPart("be brief")], "developer")], "openai", {"role": "developer", "content": "be brief"}, []),
        ([System([TextPart("be brief")], "developer")], "mistral", {"role": "system", "content": "be brief"}, []),
    ]
    for turns, provider, message, lost in cases:
        encoded = write([GO, *turns], provider, WIRE)
        written = [each for each in encoded.body["messages"] if each != {"role": "user", "content": "go"}]
        assert written == ([] if message is None else [message])
        assert [loss.code for loss in encoded.losses] == lost, message


def test_a_custom_call_is_a_function_with_one_text_for_a_provider_without_custom_tools() -> None:
    call = ToolCall("abcdefgh1", "sql", None, "SELECT 1", kind="custom")
    tools = [ToolDefinition("sql", "runs it", kind="custom")]
    encoded = write([turn_of(call)], "mistral", tools=tools)
    function = {"name": "sql", "arguments": '{"input":"SELECT 1"}'}
    schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    declared = {"name": "sql", "description": "runs it"}
    assert encoded.body["messages"][0]["tool_calls"] == [{"id": "abcdefgh1", "type": "function", "function": function}]
    assert encoded.body["tools"] == [{"type": "function", "function": {**declared, "parameters": schema}}]
    assert [loss.code for loss in encoded.losses] == ["kind", "kind"]
    body = write([turn_of(call)], "openai", tools=tools).body
    custom = {"name": "sql", "input": "SELECT 1"}
    assert body["messages"][0]["tool_calls"] == [{"id": "abcdefgh1", "type": "custom", "custom": custom}]
    assert body["tools"] == [{"type": "custom", "custom": declared}]


def test_images_of_a_result_follow_in_a_user_message_after_all_results() -> None:
    image = MediaPart("image", "image/png", data="AAAA")
    results = ToolResults([ToolResult("a", [TextPart("see"), image]), ToolResult("b", [JsonPart({"n": 1})], name="f")])
    encoded = write([turn_of(called("a"), called("b")), results])
    label = {"type": "text", "text": "Returned for a:"}
    assert encoded.body["messages"][1:] == [
        {"role": "tool", "tool_call_id": "a", "content": f"see\n[image: image/png] {NEXT}"},
        {"role": "tool", "tool_call_id": "b", "content": '{"n":1}'},
        {"role": "user", "content": [label, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
    ]
    assert losses(encoded) == [("media", 1, None)]
    inside = write([turn_of(called("a"), called("b")), results], "openrouter")
    assert inside.body["messages"][1]["content"][1]["type"] == "image_url"
    assert inside.losses == []
    turns: list[Message] = [own("openai", called("a")), ToolResults([ToolResult("a", [PICTURE], is_error=True)])]
    _, result, user = write_request(Request(WIRE, "m", turns, provider="openai")).body["messages"]
    assert result["content"] == [{"type": "text", "text": f"[tool_error] [image: {PICTURE.url}] {NEXT}"}]
    assert user["content"][1] == WRITTEN["image"]
    routed = write(turns, "openrouter", WIRE).body["messages"]
    assert routed[1]["content"] == [{"type": "text", "text": "[tool_error] "}, WRITTEN["image"]]


def test_deepseek_gets_reasoning_in_every_turn_with_calls_if_it_thinks() -> None:
    turns: list[Message] = [
        own("deepseek", Reasoning("hm"), called("a")),
        ToolResults([ToolResult("a", [])]),
        turn_of(called("b")),
        ToolResults([ToolResult("b", [])]),
    ]
    body = write(turns, "deepseek", WIRE, params={"thinking": {"type": "enabled"}}).body
    assert [m.get("reasoning_content") for m in body["messages"]] == ["hm", None, "", None]
    assert check_request(body, WIRE, provider="deepseek") == []
    quiet = write(turns, "deepseek", WIRE).body["messages"]
    assert ["reasoning_content" in message for message in quiet] == [True, False, False, False]


def test_reasoning_goes_back_in_the_member_of_its_provider() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    signed = {"type": "reasoning.text", "text": "hm", "signature": "sig"}
    encrypted = {"type": "reasoning.encrypted", "data": "enc"}
    for provider, block, members in (
        ("deepseek", Reasoning("hm"), {"content": "so", "reasoning_content": "hm"}),
        ("groq", Reasoning("hm"), {"content": "so", "reasoning": "hm"}),
        ("mistral", Reasoning("hm"), {"content": [thought, {"type": "text", "text": "so"}], "prefix": True}),
        ("openrouter", Reasoning("hm", "sig"), {"content": "so", "reasoning_details": [signed]}),
        ("openrouter", Reasoning("", None, "enc", True), {"content": "so", "reasoning_details": [encrypted]}),
    ):
        messages = write([own(provider, block, Text("so"))], provider, WIRE).body["messages"]
        assert messages == [{"role": "assistant", **members}]


def test_parallel_calls_are_turned_off_or_reported_and_a_required_call_has_its_providers_word() -> None:
    tools = [ToolDefinition("f")]
    assert write([GO], tools=tools, parallel=False).body["parallel_tool_calls"] is False
    encoded = write([GO], "deepseek", tools=tools, parallel=False)
    assert ("parallel_tool_calls" in encoded.body, losses(encoded)) == (False, [("parallel", None, None)])
    assert write([GO], "deepseek", tools=tools, parallel=True).losses == []
    for provider, word in (("openai", "required"), ("mistral", "any")):
        required = write([GO], provider, tools=tools, tool_choice=ToolChoice("required"))
        assert (required.body["tool_choice"], required.losses) == (word, [])


def test_a_tool_is_declared_with_the_members_that_the_wire_has() -> None:
    schema: Any = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    schema["additionalProperties"] = False
    extra = {"cache_control": {"type": "ephemeral"}}
    tools = [ToolDefinition("f", "does it", schema, True, waiting_hint="wait", extra=extra), ToolDefinition("g")]
    encoded = write([GO], tools=tools)
    full = {"name": "f", "description": "does it", "parameters": schema, "strict": True}
    plain = {"name": "g", "parameters": {"type": "object", "properties": {}}}
    assert encoded.body["tools"] == [{"type": "function", "function": function} for function in (full, plain)]
    assert [loss.code for loss in encoded.losses] == ["extra"]


def test_parameters_of_another_wire_are_renamed_or_reported() -> None:
    params = {"max_tokens": 9, "stop_sequences": ["x"], "temperature": 0.5, "top_k": 3}
    encoded = write([GO], params=params, previous_response_id="resp_1")
    renamed = {"model": "m", "max_completion_tokens": 9, "stop": ["x"], "temperature": 0.5}
    assert encoded.body == {"messages": [{"role": "user", "content": "go"}], **renamed}
    assert [loss.code for loss in encoded.losses] == ["param", "param"]
    assert write([GO], "groq", params={"max_tokens": 9}).body["max_tokens"] == 9


def test_audio_of_an_answer_goes_back_by_its_id_without_members_of_the_response() -> None:
    extra = {"message": {"audio": {"id": "audio_1", "data": "AAAA"}, "channel": "final", "vendor": 1}}
    response = Response(WIRE, "openai", None, "m", [Choice(0, [Text("so")], Stop("end_turn"), extra)])
    request = Request(WIRE, "m", [Assistant(response)], provider="openai")
    assert write_request(request).body["messages"] == [
        {"role": "assistant", "content": "so", "audio": {"id": "audio_1"}, "vendor": 1}
    ]


def test_an_answer_goes_back_whole_if_only_one_side_names_the_provider() -> None:
    for asked, answered, target in (
        (None, "deepseek", None),
        ("deepseek", None, None),
        (None, None, "deepseek"),
        ("deepseek", "deepseek", None),
    ):
        turn = own(answered, Reasoning("hm"), called("a", extra=SIGNED))
        encoded = write_request(Request(WIRE, "m", [turn], provider=asked), WIRE, provider=target)
        (message,) = encoded.body["messages"]
        assert message["reasoning_content"] == "hm"
        assert message["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]
        assert encoded.losses == []


def test_an_answer_of_an_unknown_provider_is_translated_for_a_strict_one() -> None:
    turn = own(None, Reasoning("hm"), called("abcdefgh1", extra=SIGNED))
    encoded = write([turn, ToolResults([ToolResult("abcdefgh1", [TextPart("ok")])])], "mistral", WIRE)
    assert check_request(encoded.body, WIRE, provider="mistral") == []
    assert losses(encoded) == [("reasoning", 0, 0), ("extra", 0, 1)]


def test_ORD_04_mistral_gets_an_assistant_message_after_a_result_except_for_models_that_accepted_none() -> None:
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefgh1", **FUNCTION}]},
        {"role": "tool", "tool_call_id": "abcdefgh1", "content": "ok"},
        {"role": "user", "content": "continue"},
    ]
    body = {"model": "mistral-small-latest", "messages": messages}
    same = write_request(read_request(body, WIRE, provider="mistral"))
    assert (same.body, same.losses) == (body, [])
    bridged = [messages[1], {"role": "assistant", "content": "OK."}, messages[2]]
    for given, provider in ((body, "openai"), ({**body, "model": "mistral-medium"}, "mistral")):
        encoded = write_request(read_request(given, WIRE, provider=provider), WIRE, provider="mistral")
        assert encoded.body["messages"][1:] == bridged
        assert [loss.code for loss in encoded.losses] == ["bridge"]


PICTURE = MediaPart("image", url="https://example.org/a.png")
PAPER = MediaPart("file", "application/pdf", data="AAAA", name="a.pdf")
SONG = MediaPart("audio", "audio/mpeg", data="AAAA")
WRITTEN: dict[str, Any] = {
    "image": {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    "file": {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
    "document": {"type": "document_url", "document_url": "data:application/pdf;base64,AAAA", "document_name": "a.pdf"},
    "sound": {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
}
NOTES = {"image": "https://example.org/a.png", "file": "a.pdf", "sound": "audio/mpeg"}
WRITTEN |= {
    f"no {kind}": {"type": "text", "text": f"[{kind.replace('sound', 'audio')}: {of}]"} for kind, of in NOTES.items()
}
WRITTEN["no stored file"] = {"type": "text", "text": "[file: file_1]"}
WRITTEN["no video"] = {"type": "text", "text": f"[video: {VIDEO}]"}


@pytest.mark.parametrize(
    ("provider", "written"),
    [
        ("openai", ["image", "file", "sound"]),
        ("mistral", ["image", "document", "sound"]),
        ("openrouter", ["image", "file", "sound"]),
        ("xai", ["image", "no file", "no sound"]),
        ("groq", ["image", "no file", "no sound"]),
        ("deepseek", ["no image", "no file", "no sound"]),
    ],
)
def test_media_have_the_form_that_their_provider_accepts_or_become_notes(provider: str, written: list[str]) -> None:
    parts = [PICTURE, PAPER, SONG, MediaPart("file", file_id="file_1"), MediaPart("video", url=VIDEO)]
    for source, count in ((provider, 3), ("other", 3), ("other", 5)):
        names = [*written, "no stored file", "no video"][:count]
        request = Request(WIRE, "m", [User([*parts[:count]], plain=False)], provider=source)
        encoded = write_request(request, WIRE, provider=provider)
        content = encoded.body["messages"][0]["content"]
        notes = "\n\n".join(WRITTEN[name].get("text", "") for name in names)
        assert content == (notes if isinstance(content, str) else [WRITTEN[name] for name in names])
        assert [loss.code for loss in encoded.losses] == ["media" for name in names if name.startswith("no ")]
        assert check_request(encoded.body, WIRE, provider=provider) == []


def test_audio_of_a_format_that_the_target_refuses_becomes_a_note() -> None:
    turn = User([MediaPart("audio", "audio/flac", data="AAAA"), MediaPart("audio", "audio/x-wav", data="AAAA")])
    encoded = write([turn])
    note = {"type": "text", "text": "[audio: audio/flac]"}
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    assert encoded.body["messages"][0]["content"] == [note, sound]
    assert [loss.code for loss in encoded.losses] == ["media"]
    routed = write([turn], "openrouter").body["messages"][0]["content"]
    assert [part["input_audio"]["format"] for part in routed] == ["flac", "wav"]


def test_media_are_read_with_type_and_name_and_go_back_unchanged() -> None:
    document = {"type": "document_url", "document_url": "https://example.org/a", "document_name": "a.pdf", "x": 1}
    cases: list[tuple[dict[str, Any], Any]] = [(document, (None, "https://example.org/a", "a.pdf"))]
    for format, media_type in {
        "mp3": "audio/mpeg",
        "wav": "audio/wav",
        "mpeg": "audio/mpeg",
        "flac": "audio/flac",
    }.items():
        sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": format}}
        cases.append((sound, (media_type, None, None)))
    for content, read in cases:
        body = {"messages": [{"role": "user", "content": [content]}]}
        request = read_request(body, WIRE, provider="mistral")
        (part,) = request.messages[0].parts  # type: ignore[union-attr]
        assert isinstance(part, MediaPart)
        assert (part.media_type, part.url, part.name) == read
        assert write_request(request).body == body
    link = {
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "https://example.org/a.png"}]}]
    }
    request = read_request(link, WIRE, provider="mistral")
    assert write_request(request).body == link
    targets: tuple[Wire, ...] = ("openai.chat", "openai.responses", "xai.grpc")
    assert [write_request(request, wire, provider=spec(wire).owner).losses for wire in targets] == [[], [], []]


ASKED: dict[str, Any] = {"max_completion_tokens": 5, "seed": 1, "user": "ann", "n": 1, "logprobs": True, "store": True}
ASKED |= {"stream": True, "stream_options": {"include_usage": True}, "reasoning_effort": "low", "verbosity": "low"}
ASKED |= {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}, "temperature": None}
ASKED |= {"metadata": {"a": "b"}, "service_tier": "auto"}


@pytest.mark.parametrize(
    ("provider", "changed", "lost"),
    [
        ("mistral", {"max_tokens": 5, "random_seed": 1}, {"stream_options", "user"}),
        ("groq", {"max_tokens": 5}, {"logprobs"}),
        ("deepseek", {"max_tokens": 5}, {"user", "response_format"}),
        ("openrouter", {"max_tokens": 5}, set()),
    ],
)
def test_members_of_the_body_get_the_names_of_another_provider_or_are_reported(
    provider: str, changed: dict[str, Any], lost: set[str]
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "go"}], **ASKED}
    encoded = write_request(read_request(body, WIRE, provider="openai"), WIRE, provider=provider)
    reported = {loss.message.split(" ")[0] for loss in encoded.losses}
    assert reported == {"store", "metadata", "verbosity", "service_tier"} | lost
    renamed = {"max_completion_tokens", "temperature"} | ({"seed"} if "random_seed" in changed else set())
    defaults = {"n"} if provider in ("groq", "deepseek") else set()
    kept = {key: value for key, value in ASKED.items() if key not in reported | renamed | defaults}
    assert encoded.body == {"model": "m", "messages": body["messages"], **kept, **changed}
    assert check_request(encoded.body, WIRE, provider=provider) == []


def test_a_provider_gets_the_members_that_it_documents_from_a_body_of_an_unknown_one() -> None:
    body = {"messages": [{"role": "user", "content": "go"}], "safe_prompt": True, "random_seed": 1, "store": True}
    encoded = write_request(read_request(body, WIRE), WIRE, provider="mistral")
    assert encoded.body == {key: value for key, value in body.items() if key != "store"}
    assert [loss.message for loss in encoded.losses] == ["store was left out"]


def test_the_second_of_two_limits_is_reported_if_it_differs() -> None:
    body = {"messages": [{"role": "user", "content": "go"}], "max_completion_tokens": 5, "max_tokens": 6}
    encoded = write_request(read_request(body, WIRE, provider="other"), WIRE, provider="openai")
    assert encoded.body == {"messages": body["messages"], "max_completion_tokens": 5}
    assert [loss.code for loss in encoded.losses] == ["param"]
    same = write_request(read_request({**body, "max_tokens": 5, "n": 2}, WIRE, provider="other"), WIRE, provider="groq")
    assert same.body == {"messages": body["messages"], "max_tokens": 5}
    assert [loss.message for loss in same.losses] == ["n was left out"]


def test_an_old_result_always_has_a_name() -> None:
    old = ToolResults([ToolResult("a", [TextPart("r")], kind="legacy_function")])
    request = Request(WIRE, "m", [own("openai", called("a", kind="legacy_function")), old], provider="openai")
    assert write_request(request).body["messages"][1] == {"role": "function", "content": "r", "name": ""}


def test_extra_members_of_the_message_of_the_results_are_reported() -> None:
    results = ToolResults([ToolResult("a", [TextPart("ok")])], {"cache_control": {}, "mark": 1})
    encoded = write([turn_of(called("a")), results])
    assert losses(encoded) == [("extra", 1, None)]
    assert encoded.losses[0].message == "left out: mark"


def test_repeated_and_empty_members_go_back_and_are_not_reported_as_lost() -> None:
    answer: dict[str, Any] = {"role": "assistant", "content": "so", "reasoning": "hm", "reasoning_content": "hm"}
    answer |= {"prefix": False, "tool_calls": [{"id": "abcdefgh1", **FUNCTION}], "function_call": FUNCTION["function"]}
    result = {"role": "tool", "tool_call_id": "abcdefgh1", "name": "f", "content": "ok"}
    messages = [{"role": "user", "content": "go"}, answer, result]
    body = {"messages": messages, "functions": [{"name": "f"}], "max_tokens": 99}
    request = read_request(body, WIRE, provider="other")
    assert write_request(request).body == body
    for wire, provider in ((WIRE, "groq"), ("openai.responses", "openai"), ("anthropic.messages", "anthropic")):
        lost = {loss.code for loss in write_request(request, wire, provider=provider).losses}
        assert lost in ({"reasoning"}, {"unsigned-reasoning"}), wire
    body["messages"] = [{"role": "assistant", "content": "so", "reasoning": "a", "reasoning_content": "b"}]
    request = read_request(body, WIRE, provider="other")
    assert write_request(request).body == body
    assert [loss.code for loss in write_request(request, WIRE, provider="groq").losses] == ["reasoning", "extra"]


@pytest.mark.parametrize("strict", [None, False, True])
@pytest.mark.parametrize("target", ["openai.chat", "openai.responses"])
def test_SCH_31_openai_gets_an_object_schema_with_properties(target: Any, strict: bool | None) -> None:
    schema = {"type": "object", "additionalProperties": False}
    for wire in (None, "anthropic.messages"):  # a tool that the application declares, and one of another wire
        tool = ToolDefinition("f", parameters=schema, strict=strict, wire=wire)
        encoded = write_request(Request("anthropic.messages", "m", [GO], [tool]), target)
        (written,) = encoded.body["tools"]
        assert written.get("function", written)["parameters"] == {**schema, "properties": {}}
        assert (check_request(encoded.body, target), encoded.losses) == ([], [])
    written.get("function", written)["parameters"] = schema
    assert [found.rule for found in check_request(encoded.body, target)] == ["tool-schema"]
    assert write_request(read_request(encoded.body, target)).body["tools"] == [written]
