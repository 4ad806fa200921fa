"""Streams of ConverseStream as servers send them: by index, without starts, with exceptions and unknown events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes, decoded
from tests.support.events import converse_delta as delta
from tests.support.events import converse_stop as stop
from tests.support.eventstream import event, exception, message
from toolparity import Opaque, Reasoning, Response, ServerToolCall, ServerToolResult, StreamDecoder, Text
from toolparity.normalizer.errors import TooManyCalls
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.call_builder import MAX_CALLS

WIRE = "bedrock.converse"
BEGIN = event("messageStart", {"role": "assistant"})


def start(index: int, **block: Any) -> bytes:
    return event("contentBlockStart", {"contentBlockIndex": index, "start": block})


def end(reason: str = "tool_use") -> bytes:
    return event("messageStop", {"stopReason": reason})


def use(index: int, id: str, *pieces: str, name: str = "f", **more: Any) -> list[bytes]:
    """A whole call."""
    inputs = [delta(index, toolUse={"input": piece}) for piece in pieces]
    return [start(index, toolUse={"toolUseId": id, "name": name, **more}), *inputs, stop(index)]


def played(*messages: bytes) -> Response:
    return decoded(WIRE, [BEGIN, *messages])


def test_members_of_the_invocation_beside_a_further_text_are_kept() -> None:
    metrics = {"amazon-bedrock-invocationMetrics": {"outputTokenCount": 2}}
    further = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "b"}}, **metrics}
    response = played(delta(0, text="a"), message(json.dumps(further).encode()), stop(0), end("end_turn"))
    assert response.choices[0].blocks == [Text("ab")]
    assert response.extra == metrics


@pytest.mark.parametrize("kind", ["throttlingException", "modelStreamErrorException", "internalServerException"])
def test_an_exception_in_the_stream_ends_the_answer_and_nothing_runs(kind: str) -> None:
    response = played(*use(0, "a", "{}"), exception(kind, {"message": "no", "originalStatusCode": 500}))
    assert response.error is not None
    assert (response.error.type, response.error.message, response.complete) == (kind, "no", False)
    assert response.error.raw["error"]["originalStatusCode"] == 500
    as_event = decoded(WIRE, [BEGIN, event(kind, {"message": "no"})])
    assert (as_event.error and as_event.error.type) == kind


def test_reasoning_is_signed_or_redacted_and_goes_back_byte_for_byte() -> None:
    response = played(
        delta(0, reasoningContent={"text": "Two "}),
        delta(0, reasoningContent={"text": "cities."}),
        delta(0, reasoningContent={"signature": "c2ln"}),
        stop(0),
        delta(1, reasoningContent={"redactedContent": "ZW4="}),
        delta(1, reasoningContent={"redactedContent": "Yw=="}),
        stop(1),
        *use(2, "functions.f:0", "{}"),
        end(),
    )
    assert response.choices[0].blocks[:2] == [Reasoning("Two cities.", "c2ln"), Reasoning("", None, "ZW5j", True)]
    content = [
        {"reasoningContent": {"reasoningText": {"text": "Two cities.", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "ZW5j"}},
        {"toolUse": {"toolUseId": "functions.f:0", "name": "f", "input": {}}},
    ]
    result = {"toolResult": {"toolUseId": "functions.f:0", "content": [{"text": "ok"}]}}
    contents = [("user", [{"text": "hi"}]), ("assistant", content), ("user", [result])]
    messages = [{"role": role, "content": parts} for role, parts in contents]
    request = read_request({"messages": messages}, WIRE)
    assert request.messages[1].response.choices[0].blocks == response.choices[0].blocks  # type: ignore[union-attr]
    assert write_request(request).body["messages"] == messages


def test_a_call_of_the_provider_never_reaches_the_caller_whatever_its_type() -> None:
    for kind, findings in (("server_tool_use", []), ("mcp_tool_use", ["unknown-block"])):
        response = played(*use(0, "s", '{"snippet":"1"}', name="nova_code_interpreter", type=kind), end("end_turn"))
        (call,) = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.tool, call.arguments_text, codes(response)) == ("code_execution", '{"snippet":"1"}', findings)


def test_arguments_under_the_index_of_another_block_run_nothing() -> None:
    response = played(
        delta(0, text="so"),
        start(1, toolUse={"toolUseId": "a", "name": "f"}),
        delta(0, toolUse={"input": '{"x":1}'}),
        end(),
    )
    assert [(call.name, call.status) for call in response.calls] == [("f", "truncated"), ("", "invalid")]
    assert {"delta-misplaced", "arguments-misplaced"} <= set(codes(response))


def test_an_image_of_the_model_is_a_result_of_the_provider() -> None:
    response = played(
        start(0, image={"format": "png"}), delta(0, image={"source": {"bytes": "AAAA"}}), stop(0), end("end_turn")
    )
    raw = {"image": {"format": "png", "source": {"bytes": "AAAA"}}}
    assert response.choices[0].blocks == [ServerToolResult("", "image_generation", False, raw)]


def test_unknown_blocks_deltas_and_events_are_kept_and_reported() -> None:
    response = played(
        start(0, poem={"lines": 2}),
        delta(0, poem={"line": "a"}),
        stop(0),
        delta(1, song="la"),
        event("contentBlockStart", {"contentBlockIndex": 2}),
        event("mood", {"is": "good"}),
        end("end_turn"),
    )
    poem, song = response.choices[0].blocks
    assert isinstance(poem, Opaque)
    assert (poem.wire_type, poem.raw) == ("poem", {"poem": {"lines": 2, "line": "a"}})
    assert isinstance(song, Opaque)
    assert song.wire_type == "song"
    assert response.extra["events"] == [{"mood": {"is": "good"}}]
    assert set(codes(response)) >= {"unknown-block", "unknown-event"}


def test_the_texts_of_a_result_that_bedrock_streams_are_one_text() -> None:
    pieces = [delta(0, toolResult=[{"text": "a"}]), delta(0, toolResult=[{"text": "b"}, {"json": {"x": 1}}])]
    response = played(start(0, toolResult={"toolUseId": "t"}), *pieces, stop(0), end("end_turn"))
    (block,) = response.choices[0].blocks
    assert isinstance(block, ServerToolResult)
    assert block.raw["toolResult"]["content"] == [{"text": "ab"}, {"json": {"x": 1}}]


def test_a_stream_of_more_blocks_than_any_answer_has_is_refused() -> None:
    decoder = StreamDecoder(WIRE)
    with pytest.raises(TooManyCalls, match="4096 content blocks"):
        decoder.feed(BEGIN + b"".join(delta(n, text="a") for n in range(MAX_CALLS + 1)))
