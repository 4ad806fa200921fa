"""Arguments that a server sends as JSON where the wire has a text: none is lost, and only an object runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes, decoded
from tests.support.events import COHERE_START, cohere_end, cohere_event, sse
from tests.support.eventstream import event
from toolparity import Response, StreamDecoder, normalize, select


def cohere_call(arguments: Any) -> dict[str, Any]:
    return {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": arguments}}


def cohere_body(value: Any) -> Response:
    body = {"id": "r", "message": {"role": "assistant", "tool_calls": [cohere_call(value)]}}
    return normalize({**body, "finish_reason": "TOOL_CALL"}, "cohere.chat")


def cohere_start(value: Any) -> Response:
    events = cohere_event("tool-call-start", 0, tool_calls=cohere_call(value)), cohere_event("tool-call-end", 0)
    return decoded("cohere.chat", sse(COHERE_START, *events, cohere_end("TOOL_CALL")))


def cohere_delta(value: Any) -> Response:
    start = cohere_event("tool-call-start", 0, tool_calls=cohere_call(""))
    delta = cohere_event("tool-call-delta", 0, tool_calls={"function": {"arguments": value}})
    return decoded("cohere.chat", sse(COHERE_START, start, delta, cohere_end("TOOL_CALL")))


def cohere_delta_v1(value: Any) -> Response:
    events = [
        {"is_finished": False, "event_type": "stream-start", "generation_id": "g"},
        {"is_finished": False, "event_type": "tool-calls-chunk", "tool_call_delta": {"index": 0, "name": "f"}},
        {"is_finished": False, "event_type": "tool-calls-chunk", "tool_call_delta": {"index": 0, "parameters": value}},
        {"is_finished": True, "event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": ""}},
    ]
    decoder = StreamDecoder("cohere.chat")
    decoder.feed("".join(json.dumps(each) + "\n" for each in events).encode())
    return decoder.finish()


def converse_delta(value: Any) -> Response:
    start = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}}
    delta = {"contentBlockIndex": 0, "delta": {"toolUse": {"input": value}}}
    events = [event("contentBlockStart", start), event("contentBlockDelta", delta)]
    begin, end = event("messageStart", {"role": "assistant"}), event("messageStop", {"stopReason": "tool_use"})
    return decoded("bedrock.converse", [begin, *events, end])


def anthropic_delta(value: Any) -> Response:
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": value}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    return decoded("anthropic.messages", sse(*events))


SOURCES = [cohere_body, cohere_start, cohere_delta, cohere_delta_v1, converse_delta, anthropic_delta]


@pytest.mark.parametrize("source", SOURCES)
def test_an_object_is_the_arguments(source: Any) -> None:
    response = source({"x": 1})
    assert [(call.arguments, call.arguments_text) for call in select(response).calls] == [({"x": 1}, '{"x":1}')]
    assert "arguments-respelled" in codes(response)


@pytest.mark.parametrize("value", [5, [1], True])
@pytest.mark.parametrize("source", SOURCES)
def test_another_value_is_kept_and_does_not_run(source: Any, value: Any) -> None:
    response = source(value)
    assert [call.arguments_text for call in response.calls] == [json.dumps(value)]
    assert select(response).calls == []


@pytest.mark.parametrize("value", [{"x": 1}, [1], "text"])
def test_partial_arguments_that_are_no_list_of_objects_do_not_run(value: Any) -> None:
    call = {"functionCall": {"name": "f", "partialArgs": value}}
    body = {"candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}]}
    for response in (normalize(body, "google.gemini"), decoded("google.gemini", sse(body))):
        assert [call.status for call in response.calls] == ["invalid"]
        assert select(response).calls == []
