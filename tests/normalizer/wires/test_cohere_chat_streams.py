"""Streams of Cohere's Chat API that deviate from the documentation, and those of version 1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes, decoded, ran
from tests.support.events import COHERE_START, cohere_end, cohere_event, sse
from toolparity import Opaque, Response, Text, normalize

WIRE = "cohere.chat"


def begin(index: int | None, id: str = "f_1", name: str = "f", arguments: str = "") -> dict[str, Any]:
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return cohere_event("tool-call-start", index, tool_calls=call)


def grow(index: int | None, text: str) -> dict[str, Any]:
    return cohere_event("tool-call-delta", index, tool_calls={"function": {"arguments": text}})


def stop(index: int | None) -> dict[str, Any]:
    return cohere_event("tool-call-end", index)


def read(*events: dict[str, Any], end: dict[str, Any] | None = None) -> Response:
    """The response of a stream of version 2 with these events between its first and its last one."""
    return decoded(WIRE, sse(COHERE_START, *events, end or cohere_end("TOOL_CALL"), "[DONE]"))


def arguments(response: Response) -> list[tuple[str, str]]:
    return [(call.id, call.arguments_text) for call in response.calls]


def test_arguments_without_an_index_belong_to_the_last_call() -> None:
    response = read(begin(0), begin(1, "f_2"), grow(None, '{"b":1}'))
    assert arguments(response) == [("f_1", ""), ("f_2", '{"b":1}')]
    assert "index-missing" in codes(response)


def test_arguments_of_a_call_that_never_began_do_not_run() -> None:
    response = read(begin(0), grow(0, "{}"), grow(7, '{"b":1}'))
    assert [call.status for call in response.calls] == ["complete", "invalid"]
    assert ran(response) == ["f_1"]
    assert "delta-misplaced" in codes(response)
    assert ran(read(cohere_event("tool-call-start", 0, tool_calls={"id": "f_1"}), grow(0, "{}"))) == []


def test_arguments_may_precede_the_start_of_their_call() -> None:
    response = read(grow(0, '{"a":'), begin(0), grow(0, "1}"), stop(0))
    assert arguments(response) == [("f_1", '{"a":1}')]
    assert ran(response) == ["f_1"]


def test_content_of_an_unknown_type_is_kept() -> None:
    image = {"type": "image", "url": "u"}
    response = read(cohere_event("content-start", 0, content=image), end=cohere_end("COMPLETE"))
    (block,) = response.choices[0].blocks
    assert isinstance(block, Opaque)
    assert (block.wire_type, block.raw) == ("image", image)


def test_the_message_of_the_first_event_may_be_whole() -> None:
    call = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "tool_plan": "p", "content": [{"type": "text", "text": "A"}], "tool_calls": [call]}
    start = {"type": "message-start", "id": "r1", "delta": {"message": message}}
    streamed = decoded(WIRE, sse(start, cohere_end("TOOL_CALL")))
    whole = normalize(json.dumps({"id": "r1", "message": message, "finish_reason": "TOOL_CALL"}).encode(), WIRE)
    assert streamed == whole


CITATION = {"start": 0, "end": 1, "text": "A", "sources": [{"type": "document", "id": "d"}]}


def test_citations_are_annotations_of_their_text() -> None:
    text = cohere_event("content-start", 0, content={"type": "text", "text": "A"})
    cited = cohere_event("citation-start", 0, citations=CITATION)
    response = read(text, cited, cohere_event("citation-end", 0), end=cohere_end("COMPLETE"))
    (block,) = response.choices[0].blocks
    assert isinstance(block, Text)
    assert block.annotations == [CITATION]


def test_a_citation_of_a_message_without_text_is_kept() -> None:
    message = {"role": "assistant", "content": [], "citations": [CITATION]}
    response = normalize({"id": "r", "message": message, "finish_reason": "COMPLETE"}, WIRE)
    assert response.choices[0].extra == {"message": {"citations": [CITATION]}}


# Version 1


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


CALLS = [{"name": "f", "parameters": {"a": 1}}, {"name": "g", "parameters": {}}]
BODY = {
    "response_id": "x",
    "generation_id": "r1",
    "text": "I will ask.",
    "tool_calls": CALLS,
    "finish_reason": "COMPLETE",
    "meta": {"tokens": {"input_tokens": 5, "output_tokens": 2}},
}
STARTED = {"event_type": "stream-start", "is_finished": False, "generation_id": "r1"}
ENDED = {"event_type": "stream-end", "is_finished": True, "finish_reason": "COMPLETE", "response": BODY}


def spoken(text: str) -> dict[str, Any]:
    return {"event_type": "text-generation", "is_finished": False, "text": text}


def chunk(**delta: Any) -> dict[str, Any]:
    return {"event_type": "tool-calls-chunk", "is_finished": False, "tool_call_delta": delta}


@pytest.mark.parametrize(
    "events",
    [
        [],
        [spoken("I will "), spoken("ask.")],
        [{"event_type": "tool-calls-generation", "is_finished": False, "text": "I will ask.", "tool_calls": CALLS}],
        [
            chunk(text="I will ask."),
            chunk(index=0, name="f"),
            chunk(index=0, parameters='{"a":'),
            chunk(index=0, parameters=" 1}"),
            chunk(index=1, name="g"),
            chunk(index=1, parameters="{}"),
        ],
    ],
    ids=["the end alone", "text", "calls", "fragments"],
)
def test_a_stream_of_version_1_is_read_like_its_body(events: list[dict[str, Any]]) -> None:
    streamed = decoded(WIRE, lines(STARTED, *events, ENDED))
    whole = normalize(json.dumps(BODY).encode())
    assert streamed.choices[0].text == whole.choices[0].text == "I will ask."
    assert [(call.name, call.arguments) for call in streamed.calls] == [("f", {"a": 1}), ("g", {})]
    assert [call.id for call in streamed.calls] == [call.id for call in whole.calls]
    assert streamed.choices[0].stop == whole.choices[0].stop
    assert "stop-disagrees" not in {*codes(streamed), *codes(whole)}
    assert streamed.usage == whole.usage
    assert ran(streamed) == ran(whole)


def test_the_calls_of_the_last_event_of_version_1_count() -> None:
    response = decoded(WIRE, lines(STARTED, chunk(index=0, name="f"), chunk(index=0, parameters='{"a": 2}'), ENDED))
    assert [call.arguments for call in response.calls] == [{"a": 1}, {}]
    assert "arguments-disagree" in codes(response)
