"""Recorded requests of xAI, read and written back, say what they said; so do answers of its own that are replayed."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, MessageToJson, ParseDict
from xai_sdk.chat import Response as SdkResponse
from xai_sdk.chat import file, image, system, text, tool, tool_result, user
from xai_sdk.proto import chat_pb2
from xai_sdk.sync.client import Client

from tests.normalizer.history.xai_grpc_meaning import erased, meaning
from toolparity import normalize
from toolparity.normalizer.conversation import (
    Assistant,
    JsonPart,
    MediaPart,
    OpaquePart,
    RawItem,
    Request,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.model import (
    Choice,
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

WIRE = "xai.grpc"


def requests_in(recordings: Path) -> list[dict[str, Any]]:
    with gzip.open(recordings / "xai.grpc.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def proto(body: dict[str, Any]) -> Any:
    return ParseDict(body, chat_pb2.GetCompletionsRequest())


def with_history(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    roles = ("ROLE_ASSISTANT", "ROLE_TOOL")
    return [row for row in rows if any(m.get("role") in roles for m in row["request"]["messages"])]


@pytest.mark.parametrize("erase", [False, True], ids=["as read", "extra erased"])
def test_every_recorded_request_means_the_same_when_read_and_written(
    recordings: Path, erase: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = requests_in(recordings)
    misses = []
    for row in rows:
        recorded = proto(row["request"])
        request = read_request(row["request"], WIRE)
        written = write_request(erased(request) if erase else request)
        assert written.losses == []
        assert written.ids == written.names == {}
        if meaning(written.body, erased=erase) != meaning(recorded, erased=erase):
            misses.append(row["id"])
    told = with_history(rows)
    with capsys.disabled():
        how = "extra erased" if erase else "as read"
        missed = [row["id"] for row in told if row["id"] in misses]
        print(f"\n  {WIRE}: {len(told) - len(missed)} of {len(told)} histories equal, {how}", end="")
    assert misses == []
    assert len(told) >= 12


def test_written_requests_keep_the_rules_and_name_the_call_that_each_tool_message_answers(recordings: Path) -> None:
    answers = 0
    for row in requests_in(recordings):
        assert row["status"] == 200
        body = write_request(read_request(row["request"], WIRE)).body
        assert check_request(body, WIRE) == []
        asked = {call.id for message in body.messages for call in message.tool_calls}
        for message in body.messages:
            if message.role == chat_pb2.ROLE_TOOL:
                answers += 1
                assert message.tool_call_id in asked
    assert answers >= 12


def test_every_form_of_a_request_is_read_alike() -> None:
    body = {"model": "grok-4", "messages": [{"role": "ROLE_USER", "content": [{"text": "hi"}]}], "n": 2, "seed": 0}
    message = proto(body)
    given = [body, message, message.SerializeToString(), MessageToJson(message), MessageToJson(message).encode()]
    read = [read_request(form, WIRE) for form in given]
    assert read == [
        Request(WIRE, "grok-4", [User([TextPart("hi")])], params={"n": 2, "seed": 0}),
    ] * len(given)


@pytest.mark.parametrize("body", [b"\xff\xff", "[1]", {"messages": 3}, 7, b'{"model":'])
def test_what_is_no_request_is_a_typed_error(body: Any) -> None:
    with pytest.raises(MalformedBody):
        read_request(body, WIRE)


def sdk_replay(response: Any, *before: Any) -> Any:
    """What xAI's own SDK sends back when its response is appended."""
    chat = Client(api_key="none").chat.create(model="grok-4", messages=list(before))
    chat.append(SdkResponse(response, None))
    return chat.proto


def test_every_recorded_answer_goes_back_as_the_sdk_sends_it(recordings: Path) -> None:
    compared = 0
    for row in requests_in(recordings):
        if row["stream"]:
            continue
        data = base64.b64decode(row["frames"][0])
        replayed = sdk_replay(chat_pb2.GetChatCompletionResponse.FromString(data), user("hi"))
        turns = [User([TextPart("hi")]), Assistant(normalize(data, WIRE))]
        ours = write_request(Request(WIRE, "grok-4", turns))
        assert ours.losses == []
        theirs = [message for message in replayed.messages if not empty(message)]
        for message in theirs:
            # The SDK sets an empty reasoning text where there was none.
            if not message.reasoning_content:
                message.ClearField("reasoning_content")
        assert [m for m in ours.body.messages if not empty(m)] == theirs, row["id"]
        compared += 1
    assert compared >= 30


def empty(message: Any) -> bool:
    return not (
        message.tool_calls
        or message.encrypted_content
        or message.reasoning_content
        or any(p.text for p in message.content)
    )


def test_content_of_every_kind_comes_back_as_it_was() -> None:
    chat = Client(api_key="none").chat.create(
        model="grok-4",
        tools=[tool("f", "does f", {"type": "object", "properties": {"x": {"type": "integer"}}})],
        tool_choice="required",
        parallel_tool_calls=False,
        store_messages=True,
        max_tokens=7,
        temperature=0.3,
        stop=["a", "b"],
    )
    chat.append(system("be brief", "really"))
    chat.append(
        user(
            "look",
            image("https://example.org/a.png", detail="low"),
            image("data:image/png;base64,AAAA"),
            file("file_1"),
            file(data=b"\x00\x01", filename="a.bin", mime_type="application/octet-stream"),
            file(url="https://example.org/a.pdf"),
        )
    )
    chat.append(chat_pb2.Message(role=chat_pb2.ROLE_DEVELOPER, content=[text("d")], name="dev"))
    # What compaction leaves: a user's message that only xAI can read.
    chat.append(chat_pb2.Message(role=chat_pb2.ROLE_USER, encrypted_content="zzz"))
    call = chat_pb2.ToolCall(id="c1", type=1, status=1, function=chat_pb2.FunctionCall(name="f", arguments='{ "x":1 }'))
    chat.append(
        chat_pb2.Message(
            role=chat_pb2.ROLE_ASSISTANT,
            content=[text("a"), text("b"), file("file_2")],
            reasoning_content="r",
            encrypted_content="e",
            name="bot",
            tool_calls=[call],
        )
    )
    chat.append(tool_result("done", "c1"))
    request = read_request(chat.proto, WIRE)
    written = write_request(request)
    assert written.losses == []
    assert written.body == chat.proto
    blocks = request.messages[4].response.choices[0].blocks  # type: ignore[union-attr]
    assert [type(block) for block in blocks] == [Reasoning, Text, ToolCall, type(blocks[3])]
    assert (blocks[1].text, blocks[2].arguments_text) == ("ab", '{ "x":1 }')


def said(*blocks: Any, wire: str = "anthropic.messages") -> Assistant:
    return Assistant(Response(wire, "anthropic", "r", "m", [Choice(0, list(blocks), Stop("tool_calls"))]))


def as_json(body: Any) -> list[dict[str, Any]]:
    return [MessageToDict(message, preserving_proto_field_name=True) for message in body.messages]


def test_answers_of_others_become_reasoning_words_and_calls_in_one_message() -> None:
    turns = [
        User([TextPart("hi")]),
        said(
            Reasoning("hmm", signature="sig"),
            Text("I "),
            Text("look", [{"cited": 1}]),
            ToolCall("a", "f", {"x": 1}, '{"x":1}'),
            Text("and"),
            ToolCall("b", "free", None, "words", kind="custom"),
            ServerToolCall("s", "web_search", "web_search"),
            ServerToolResult("s", "web_search"),
        ),
        ToolResults([ToolResult("b", [JsonPart({"k": [1]})], is_error=True), ToolResult("a", [])]),
        said(Refusal("no")),
        said(ServerToolCall("t", "web_search", "web_search")),
    ]
    written = write_request(Request("anthropic.messages", "m", turns), WIRE)
    client = {"type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL", "status": "TOOL_CALL_STATUS_COMPLETED"}
    assert as_json(written.body)[1:] == [
        {
            "role": "ROLE_ASSISTANT",
            "reasoning_content": "hmm",
            "content": [{"text": "I "}, {"text": "look"}, {"text": "and"}],
            "tool_calls": [
                {"id": "a", **client, "function": {"name": "f", "arguments": '{"x":1}'}},
                {"id": "b", **client, "function": {"name": "free", "arguments": '{"input":"words"}'}},
            ],
        },
        {"role": "ROLE_TOOL", "content": [{"text": ""}], "tool_call_id": "a"},
        {"role": "ROLE_TOOL", "content": [{"text": '[tool_error] {"k":[1]}'}], "tool_call_id": "b"},
        {"role": "ROLE_ASSISTANT", "content": [{"text": "no"}]},
    ]
    assert [(loss.code, loss.message_index, loss.block) for loss in written.losses] == [
        ("reasoning", 1, 0),
        ("annotations", 1, 2),
        ("order", 1, 4),
        ("kind", 1, 5),
        ("server-tool", 1, 6),
        ("server-tool", 1, 7),
        ("refusal", 3, 0),
        ("server-tool", 4, 0),
        ("empty", 4, None),
    ]
    assert check_request(written.body, WIRE) == []


def test_images_that_a_tool_returned_follow_in_a_message_of_the_user() -> None:
    turns = [
        said(ToolCall("a", "shot", {}, "{}"), ToolCall("b", "f", {}, "{}")),
        ToolResults(
            [
                ToolResult("a", [TextPart("here"), MediaPart("image", "image/png", data="AAAA")], name="shot"),
                ToolResult("b", [TextPart("ok")]),
            ]
        ),
    ]
    written = write_request(Request("anthropic.messages", "m", turns), WIRE)
    assert as_json(written.body)[1:] == [
        {"role": "ROLE_TOOL", "content": [{"text": "here"}], "tool_call_id": "a"},
        {"role": "ROLE_TOOL", "content": [{"text": "ok"}], "tool_call_id": "b"},
        {
            "role": "ROLE_USER",
            "content": [
                {"text": "Returned by shot (a):"},
                {"image_url": {"image_url": "data:image/png;base64,AAAA", "detail": "DETAIL_AUTO"}},
            ],
        },
    ]
    assert [loss.code for loss in written.losses] == ["order"]


def test_what_only_another_wire_knows_is_left_out_and_told() -> None:
    turns = [
        User([OpaquePart("container_upload", {}), MediaPart("file", file_id="file-1"), TextPart("x", {"cache": 1})]),
        RawItem("openai.responses", {"type": "compaction"}),
    ]
    tools = [
        ToolDefinition("web_search", kind="hosted", wire="openai.responses", raw={"type": "web_search"}),
        ToolDefinition("grep", kind="custom", description="d"),
    ]
    params = {"temperature": 0.5, "max_output_tokens": 9, "stop": "x", "truncation": "auto", "seed": None, "n": "x"}
    request = Request(
        "openai.responses", "m", turns, tools, ToolChoice("raw", raw={"type": "allowed"}), True, "resp_1", params=params
    )
    written = write_request(request, WIRE)
    assert MessageToDict(written.body, preserving_proto_field_name=True) == {
        "model": "m",
        "messages": [{"role": "ROLE_USER", "content": [{"text": "[file left out: file-1]"}, {"text": "x"}]}],
        "tools": [
            {
                "function": {
                    "name": "grep",
                    "description": "d",
                    "parameters": '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}',
                }
            }
        ],
        "tool_choice": {"mode": "TOOL_MODE_AUTO"},
        "parallel_tool_calls": True,
        "temperature": 0.5,
        "max_tokens": 9,
        "stop": ["x"],
    }
    assert [loss.code for loss in written.losses] == [
        *("param", "opaque", "media", "extra", "opaque", "hosted-tool", "kind", "tool-choice", "param", "param"),
    ]


def test_only_what_comes_after_the_stored_response_is_sent() -> None:
    call = ToolCall("a", "f", {}, "{}")
    stored = Assistant(Response(WIRE, "xai", "resp_1", "m", [Choice(0, [call], Stop("tool_calls"))]))
    turns = [User([TextPart("hi")]), stored, ToolResults([ToolResult("a", [TextPart("ok")])]), User([TextPart("and?")])]
    written = write_request(Request(WIRE, "m", turns, previous_response_id="resp_1", params={"store_messages": True}))
    assert as_json(written.body) == [
        {"role": "ROLE_TOOL", "content": [{"text": "ok"}], "tool_call_id": "a"},
        {"role": "ROLE_USER", "content": [{"text": "and?"}]},
    ]
    assert (written.body.previous_response_id, written.body.store_messages, written.losses) == ("resp_1", True, [])
    # Read again, the answers belong to calls that xAI holds: they are not orphans.
    again = read_request(written.body, WIRE)
    assert again.previous_response_id == "resp_1"
    assert write_request(again).body == written.body
    assert check_request(written.body, WIRE) == []


def test_an_answer_behind_a_message_of_the_user_stays_behind_it_on_its_own_wire() -> None:
    call = chat_pb2.ToolCall(id="c1", type=1, status=1, function=chat_pb2.FunctionCall(name="f", arguments="{}"))
    messages = [
        user("go"),
        chat_pb2.Message(role=chat_pb2.ROLE_ASSISTANT, content=[text("")], tool_calls=[call]),
        user(file("file_1")),
        tool_result("attached", "c1"),
        user("and now?"),
    ]
    body = chat_pb2.GetCompletionsRequest(model="m", messages=messages)
    request = read_request(body, WIRE)
    assert [type(turn) for turn in request.messages] == [User, Assistant, ToolResults, User, User]
    assert write_request(request).body == body


def test_a_tool_message_that_answers_nothing_is_left_out_and_told_or_kept_where_it_names_nothing() -> None:
    body = chat_pb2.GetCompletionsRequest(model="m", messages=[user("go"), tool_result("old", "gone")])
    written = write_request(read_request(body, WIRE))
    assert as_json(written.body) == [{"role": "ROLE_USER", "content": [{"text": "go"}]}]
    assert [loss.code for loss in written.losses] == ["orphan"]
    nameless = chat_pb2.GetCompletionsRequest(model="m", messages=[user("go"), tool_result("old")])
    assert write_request(read_request(nameless, WIRE)).body == nameless


def test_a_call_that_was_answered_in_a_server_side_output_goes_back_whole() -> None:
    served = chat_pb2.ToolCall(id="s1", type=4, status=1, function=chat_pb2.FunctionCall(name="run", arguments="{}"))
    messages = [
        user("go"),
        chat_pb2.Message(role=chat_pb2.ROLE_ASSISTANT, content=[text("")], tool_calls=[served]),
        chat_pb2.Message(
            role=chat_pb2.ROLE_TOOL,
            content=[text("out")],
            tool_calls=[served],
            tool_call_id="s1",
            encrypted_content="enc",
        ),
        chat_pb2.Message(role=chat_pb2.ROLE_ASSISTANT, content=[text("done")]),
    ]
    body = chat_pb2.GetCompletionsRequest(model="m", messages=messages)
    request = read_request(body, WIRE)
    (_, turn) = request.messages
    assert isinstance(turn, Assistant)
    assert [type(block) for block in turn.response.choices[0].blocks] == [ServerToolCall, ServerToolResult, Text]
    assert turn.response.calls == []
    assert write_request(request).body == body
    assert write_request(erased(request)).body == body
    assert check_request(body, WIRE) == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "user", "content": "cut \ud83d"}, "cut \ufffd"),
        ({"role": "system", "content": "cut \ud83d"}, "cut \ufffd"),
        ({"role": "assistant", "content": "cut \ud83d"}, "cut \ufffd"),
    ],
)
def test_uni_02_half_a_surrogate_pair_is_replaced_and_told(message: dict[str, Any], said: str) -> None:
    request = read_request({"model": "m", "messages": [message]}, "openai.chat")
    written = write_request(request, WIRE)
    assert written.body.messages[0].content[0].text == said
    assert [(loss.code, loss.message_index) for loss in written.losses] == [("corrupt-text", 0)]


def test_uni_02_half_a_surrogate_pair_is_escaped_in_the_json_of_arguments() -> None:
    function = {"name": "f", "arguments": '{"a":"\ud83d"}'}
    call = {"id": "a", "type": "function", "function": function}
    told = {"role": "tool", "tool_call_id": "a", "content": "bad \udc00"}
    tool = {"type": "function", "function": {"name": "f", "description": "\ud83d"}}
    body = {"model": "m", "tools": [tool]}
    body["messages"] = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [call]}, told]
    written = write_request(read_request(body, "openai.chat"), WIRE)
    assert written.body.messages[1].tool_calls[0].function.arguments == '{"a":"\\ud83d"}'
    assert written.body.messages[2].content[0].text == "bad \ufffd"
    assert written.body.tools[0].function.description == "\ufffd"
    assert [(loss.code, loss.message_index) for loss in written.losses] == [("corrupt-text", 2), ("corrupt-text", None)]
