"""Arguments that a server sends as JSON where the wire has a text: none is lost, and only an object runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import anthropic, codes, decode_stream, decoded
from tests.support.events import (
    COHERE_START,
    block_stop,
    cohere_end,
    cohere_event,
    converse_delta,
    converse_start,
    json_delta,
    sse,
    tool_start,
)
from tests.support.eventstream import event
from toolparity import Response, normalize, select


def cohere_call(arguments: Any) -> dict[str, Any]:
    return {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": arguments}}


def cohere_body(value: Any) -> Response:
    body = {"id": "r", "message": {"role": "assistant", "tool_calls": [cohere_call(value)]}}
    return normalize({**body, "finish_reason": "TOOL_CALL"}, "cohere.chat")


def cohere_start(value: Any, *more: Any) -> Response:
    start = cohere_event("tool-call-start", 0, tool_calls=cohere_call(value))
    return decoded("cohere.chat", sse(COHERE_START, start, *more, cohere_end("TOOL_CALL")))


def cohere_delta(value: Any) -> Response:
    return cohere_start("", cohere_event("tool-call-delta", 0, tool_calls={"function": {"arguments": value}}))


def cohere_delta_v1(value: Any) -> Response:
    deltas: list[dict[str, Any]] = [{"index": 0, "name": "f"}, {"index": 0, "parameters": value}]
    events: list[dict[str, Any]] = [
        {"event_type": "stream-start", "generation_id": "g"},
        *({"event_type": "tool-calls-chunk", "tool_call_delta": delta} for delta in deltas),
        {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": ""}, "is_finished": True},
    ]
    lines = (json.dumps({"is_finished": False} | each) + "\n" for each in events)
    return decode_stream("cohere.chat", "".join(lines).encode())


def converse_input(value: Any) -> Response:
    frames = [converse_start(0, "t", "f"), converse_delta(0, toolUse={"input": value})]
    begin, end = event("messageStart", {"role": "assistant"}), event("messageStop", {"stopReason": "tool_use"})
    return decoded("bedrock.converse", [begin, *frames, end])


def anthropic_delta(value: Any) -> Response:
    return anthropic(tool_start(0, "t", "f"), json_delta(0, value), block_stop(0))


SOURCES = [cohere_body, cohere_start, cohere_delta, cohere_delta_v1, converse_input, anthropic_delta]


@pytest.mark.parametrize("source", SOURCES)
def test_an_object_is_the_arguments_and_another_value_is_kept_and_does_not_run(source: Any) -> None:
    response = source({"x": 1})
    assert [(call.arguments, call.arguments_text) for call in select(response).calls] == [({"x": 1}, '{"x":1}')]
    assert "arguments-respelled" in codes(response)
    for value in (5, [1], True):
        response = source(value)
        assert [call.arguments_text for call in response.calls] == [json.dumps(value)]
        assert select(response).calls == []


@pytest.mark.parametrize("value", [{"x": 1}, [1], "text"])
def test_partial_arguments_of_another_type_do_not_run(value: Any) -> None:
    call = {"functionCall": {"name": "f", "partialArgs": value}}
    body = {"candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}]}
    for response in (normalize(body, "google.gemini"), decoded("google.gemini", sse(body))):
        assert [call.status for call in response.calls] == ["invalid"]
        assert select(response).calls == []
