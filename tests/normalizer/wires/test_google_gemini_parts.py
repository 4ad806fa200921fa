"""Parts of Gemini, whole and streamed: signatures, streamed arguments, candidates, the provider's tools, filters."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from google.genai import types

from tests.support.decoding import codes, decode_stream
from tests.support.events import sse
from toolparity import (
    Response,
    ServerToolCall,
    ServerToolResult,
    StreamDecoder,
    Text,
    normalize,
    select,
)
from toolparity.normalizer.conversation import Assistant, Request, TextPart, User
from toolparity.normalizer.errors import SeveralBodies
from toolparity.normalizer.events import BlockDelta, BlockStart, BlockStop
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.google_gemini.partial_args import UnfitPartialArg, assembled
from toolparity.normalizer.wires.registry import WIRES

WIRE = "google.gemini"


def answer(*parts: dict[str, Any], finish: str | int | None = "STOP", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, **more}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r1"}


def whole(*parts: dict[str, Any], finish: str | int | None = "STOP", **more: Any) -> Response:
    return normalize(json.dumps(answer(*parts, finish=finish, **more)), WIRE)


def streamed(*events: dict[str, Any]) -> Response:
    return decode_stream(WIRE, sse(*events))


def pieces(*parts: dict[str, Any]) -> Response:
    """The parts as a stream, one in each event."""
    return streamed(*(answer(part, finish=None) for part in parts), answer({"text": ""}))


def sent_back(response: Response) -> list[dict[str, Any]]:
    """The parts of the response in the next request."""
    request = Request(WIRE, "m", [User([TextPart("hi")]), Assistant(response)])
    parts: list[dict[str, Any]] = write_request(request).body["contents"][1]["parts"]
    return parts


CALL = {"functionCall": {"name": "f", "args": {"x": 1}}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
CODE = {"executableCode": {"language": "PYTHON", "code": "1", "id": "c"}}
SEARCH = {"toolCall": {"toolType": "FILE_SEARCH", "id": "t", "args": {"q": 1}}}
FOUND = {"toolResponse": {"toolType": "FILE_SEARCH", "id": "t", "response": {}}}


# texts, thoughts and signatures


@pytest.mark.parametrize("read", [whole, pieces])
def test_a_signature_goes_back_on_the_part_that_had_it(read: Callable[..., Response]) -> None:
    for part in ({"text": "hi"}, {"text": ""}, {"text": "hm", "thought": True}, {}, CALL, CODE, SEARCH, FOUND, IMAGE):
        parts = [{"text": "before", "thoughtSignature": "YQ=="}, part | {"thoughtSignature": "c2ln"}]
        assert sent_back(read(*parts)) == parts


# streamed arguments


def begun(name: str, id: str) -> dict[str, Any]:
    return {"functionCall": {"name": name, "id": id, "willContinue": True}}


PARTIAL: list[dict[str, Any]] = [
    *({"jsonPath": "$.city", "stringValue": "Os", "willContinue": True}, {"jsonPath": "$.city", "stringValue": "lo"}),
    *({"jsonPath": "$.days[0]", "numberValue": 1}, {"jsonPath": "$.days[1]['a.b']", "boolValue": False}),
    {"jsonPath": "$.none", "nullValue": "NULL_VALUE"},
]
END: dict[str, Any] = {"functionCall": {}}
CONTINUED = [{"functionCall": {"partialArgs": [one], "willContinue": True}} for one in PARTIAL]
STREAMED = [begun("f", "c1"), *CONTINUED, END]
ARGUMENTS = {"city": "Oslo", "days": [1, {"a.b": False}], "none": None}


def test_a_text_that_another_value_interrupts_keeps_its_fragments() -> None:
    text = [{"jsonPath": "$.a", "stringValue": piece, "willContinue": True} for piece in ("x", "y")]
    assert assembled(None, [*text, {"jsonPath": "$.b", "numberValue": 1}]) == {"a": "xy", "b": 1}
    assert assembled(None, [*text, {"jsonPath": "$.a"}]) == {"a": "xy"}
    assert assembled(None, text) == {"a": "xy"}


def test_arguments_without_their_call_run_nothing() -> None:
    """The first event does not report that its call continues."""
    part = {"functionCall": {"partialArgs": [{"jsonPath": "$.x", "stringValue": "a"}]}}
    response = pieces({"functionCall": {"name": "f"}}, part)
    assert [call.status for call in response.calls] == ["truncated", "invalid"]
    assert select(response).calls == []
    assert "arguments-misplaced" in codes(response)
    second = pieces(*STREAMED[:2], begun("g", "c2"), END)
    assert [(call.name, call.status) for call in second.calls] == [("f", "truncated"), ("g", "complete")]


@pytest.mark.parametrize("path", [None, "city", "$", "$.a[999999999]", "$.x.y", "$..a"])
def test_a_path_that_fits_no_arguments_makes_the_call_invalid(path: str | None) -> None:
    partial = {"stringValue": "a"} | ({} if path is None else {"jsonPath": path})
    with pytest.raises(UnfitPartialArg):
        assembled({"x": 1}, [partial])
    response = pieces({"functionCall": {"name": "f", "args": {"x": 1}, "partialArgs": [partial]}})
    assert [call.status for call in response.calls] == ["invalid"]


def test_events_show_each_call_with_its_arguments() -> None:
    decoder = StreamDecoder(WIRE)
    events = decoder.feed(sse(*(answer(part, finish=None) for part in (*STREAMED, CALL)), answer({"text": ""})))
    shown = [event for event in events if isinstance(event, (BlockStart, BlockDelta, BlockStop))]
    text = json.dumps(ARGUMENTS, separators=(",", ":"))
    assert shown[:3] == [BlockStart(0, 0, "tool_call", "c1", "f"), BlockDelta(0, 0, text), BlockStop(0, 0)]
    assert shown[3:] == [BlockStart(0, 1, "tool_call", None, "f"), BlockDelta(0, 1, '{"x": 1}'), BlockStop(0, 1)]


# candidates and ends


def test_finish_reasons_may_be_numbers() -> None:
    assert whole(CALL, finish=9).choices[0].stop.reason == "content_filter"
    numbers = [whole({"text": "hi"}, finish=number).choices[0].stop.reason for number in (1, 2)]
    assert numbers == ["end_turn", "max_tokens"]


@pytest.mark.parametrize(
    ("first", "second", "total", "several"),
    [
        *(("r1", "r1", 9, True), ("r1", "r1", None, False), ("r1", "r2", 10, True)),
        *((None, None, 9, True), (None, None, 8, True), (None, None, None, False)),
    ],
)
def test_a_second_response_is_rejected_if_its_figures_or_its_id_do_not_continue_the_first(
    first: str | None, second: str | None, total: int | None, several: bool
) -> None:
    events = [answer(CALL) | {"responseId": id} for id in (first, second)]
    for event, figure in zip(events, (9, total), strict=True):
        event["usageMetadata"] = {"promptTokenCount": 5, "totalTokenCount": figure} if figure else None
    if several:
        with pytest.raises(SeveralBodies):
            streamed(*events)
    else:
        assert [call.name for call in streamed(*events).calls] == ["f", "f"]


def test_members_beside_a_further_text_are_kept() -> None:
    more = {"error": {"code": 500, "message": "overloaded"}, "createTime": "2026-11-26T00:00:00Z"}
    response = streamed(answer({"text": "a"}, finish=None), {**answer({"text": "b"}, finish=None), **more})
    assert response.error is not None
    assert response.error.message == "overloaded"
    assert response.extra["createTime"] == more["createTime"]
    assert response.choices[0].blocks == [Text("ab")]


# the provider's own tools


def test_code_searches_and_images_are_server_calls_and_results() -> None:
    failed = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no", "id": "c"}}
    response = whole(CODE, failed, IMAGE, SEARCH, FOUND)
    found = [block for block in response.choices[0].blocks if isinstance(block, ServerToolCall | ServerToolResult)]
    assert [(type(block), block.tool) for block in found] == [
        *(
            (ServerToolCall, "code_execution"),
            (ServerToolResult, "code_execution"),
            (ServerToolResult, "code_execution"),
        ),
        *((ServerToolCall, "file_search"), (ServerToolResult, "file_search")),
    ]
    assert [block.is_error for block in found if isinstance(block, ServerToolResult)] == [True, False, False]
    assert response.calls == []
    assert [getattr(block, "tool", "") for block in whole(IMAGE).choices[0].blocks] == ["image_generation"]


def test_supports_of_grounding_are_annotations_of_the_part_that_they_cite() -> None:
    supports = [{"segment": {"partIndex": 1, "text": "b"}, "groundingChunkIndices": [0]}, {"segment": {"text": "c"}}]
    grounding = {"groundingChunks": [{"web": {"uri": "u"}}], "groundingSupports": supports}
    choice = whole({"text": "a"}, {"text": "b"}, {"text": "c"}, groundingMetadata=grounding).choices[0]
    assert [block.annotations for block in choice.blocks if isinstance(block, Text)] == [[], supports[:1], supports[1:]]
    assert choice.extra == {"groundingMetadata": {"groundingChunks": [{"web": {"uri": "u"}}]}}


def test_a_part_with_several_contents_is_several_blocks() -> None:
    several = whole({"text": "a", **CALL, **CODE, "thoughtSignature": "c2ln"})
    assert [type(block).__name__ for block in several.choices[0].blocks] == ["Text", "ToolCall", "ServerToolCall"]


@pytest.mark.parametrize("mode", ["python", "json"])
def test_dictionaries_of_the_sdk_are_read_like_its_objects(mode: str) -> None:
    """Logs hold them: `model_dump` writes `snake_case`, every unset member, and three members that the SDK adds."""
    thought, text = {"text": "th", "thought": True}, {"text": 'snake_case: "finish_reason"'}
    model = types.GenerateContentResponse.model_validate(answer(thought, CALL | {"thoughtSignature": "+/8="}, text))
    body = json.loads(json.dumps(model.model_dump(mode=mode), default=lambda value: base64.b64encode(value).decode()))
    assert normalize(json.dumps(body)) == normalize(body, WIRE) == normalize(model)
    decoder = StreamDecoder(WIRE)
    decoder.feed(model)
    assert streamed(body) == decoder.finish()
    for response in (normalize(body, WIRE), streamed(body)):
        assert response.choices[0].blocks[1].extra == {"thoughtSignature": "+/8="}
        assert set(codes(response)) == {"arguments-respelled", "id-missing"}


# tools


def test_a_schema_in_the_form_of_openapi_is_translated_without_a_loss() -> None:
    schema = {"type": "OBJECT", "properties": {"x": {"type": "STRING", "nullable": True}}, "required": ["x"]}
    tools = [{"functionDeclarations": [{"name": "f", "description": "d", "parameters": schema}]}]
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": tools}
    request = read_request(body, WIRE)
    assert write_request(request).body == body
    properties = {"x": {"type": ["string", "null"]}}
    for wire in set(WIRES) - {WIRE}:
        written = write_request(request, wire)
        assert [loss for loss in written.losses if loss.code == "extra"] == []
        [tool] = read_request(written.body, wire).tools
        assert tool.parameters == {"type": "object", "properties": properties, "required": ["x"]}
