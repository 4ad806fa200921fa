"""Streams of Bedrock, Cohere and Ollama that deviate from the documentation, and what only these wires have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes, decoded, feed, ran
from tests.support.emit import emit_body, emit_stream
from tests.support.events import cohere_end, sse
from tests.support.events import converse_delta as delta
from tests.support.events import converse_stop as stop
from tests.support.eventstream import event, message
from toolparity import (
    Response,
    ServerToolResult,
    StreamDecoder,
    Text,
    normalize,
)
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.body_splitter import responses
from toolparity.normalizer.errors import TooManyCalls
from toolparity.normalizer.wires.call_builder import MAX_CALLS

BEDROCK = "bedrock.converse"
BEGIN = event("messageStart", {"role": "assistant"})


def start(index: int, **block: Any) -> bytes:
    return event("contentBlockStart", {"contentBlockIndex": index, "start": block})


def end(reason: str = "tool_use") -> bytes:
    return event("messageStop", {"stopReason": reason})


def played(*messages: bytes) -> Response:
    return decoded(BEDROCK, [BEGIN, *messages])


def test_members_of_the_invocation_beside_a_further_text_are_kept() -> None:
    metrics = {"amazon-bedrock-invocationMetrics": {"outputTokenCount": 2}}
    further = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "b"}}, **metrics}
    response = played(delta(0, text="a"), message(json.dumps(further).encode()), stop(0), end("end_turn"))
    assert response.choices[0].blocks == [Text("ab")]
    assert response.extra == metrics


def test_the_pieces_of_a_result_and_of_an_image_of_bedrock_are_put_together() -> None:
    pieces = [delta(0, toolResult=[{"text": "a"}]), delta(0, toolResult=[{"text": "b"}, {"json": {"x": 1}}])]
    response = played(start(0, toolResult={"toolUseId": "t"}), *pieces, stop(0), end("end_turn"))
    (block,) = response.choices[0].blocks
    assert isinstance(block, ServerToolResult)
    assert block.raw["toolResult"]["content"] == [{"text": "ab"}, {"json": {"x": 1}}]
    image = start(0, image={"format": "png"}), delta(0, image={"source": {"bytes": "AAAA"}})
    raw = {"image": {"format": "png", "source": {"bytes": "AAAA"}}}
    blocks = played(*image, stop(0), end("end_turn")).choices[0].blocks
    assert blocks == [ServerToolResult("", "image_generation", False, raw)]


def test_a_stream_of_more_blocks_than_any_answer_has_is_refused() -> None:
    decoder = StreamDecoder(BEDROCK)
    with pytest.raises(TooManyCalls, match="4096 content blocks"):
        decoder.feed(BEGIN + b"".join(delta(n, text="a") for n in range(MAX_CALLS + 1)))


COHERE = "cohere.chat"


def test_the_message_of_the_first_event_may_be_whole() -> None:
    call = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "tool_plan": "p", "content": [{"type": "text", "text": "A"}], "tool_calls": [call]}
    start = {"type": "message-start", "id": "r1", "delta": {"message": message}}
    streamed = decoded(COHERE, sse(start, cohere_end("TOOL_CALL")))
    whole = normalize(json.dumps({"id": "r1", "message": message, "finish_reason": "TOOL_CALL"}).encode(), COHERE)
    assert streamed == whole


# Version 1


def version_1(*events: dict[str, Any]) -> Response:
    sent = unfinished("stream-start", generation_id="r1"), *events, ENDED
    return decoded(COHERE, b"".join(json.dumps(one).encode() + b"\n" for one in sent))


CALLS = [{"name": "f", "parameters": {"a": 1}}, {"name": "g", "parameters": {}}]
BODY = {
    "response_id": "x",
    "generation_id": "r1",
    "text": "I will ask.",
    "tool_calls": CALLS,
    "finish_reason": "COMPLETE",
    "meta": {"tokens": {"input_tokens": 5, "output_tokens": 2}},
}
ENDED = {"event_type": "stream-end", "is_finished": True, "finish_reason": "COMPLETE", "response": BODY}


def unfinished(kind: str, **members: Any) -> dict[str, Any]:
    return {"event_type": kind, "is_finished": False, **members}


def call_chunks(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [unfinished("tool-calls-chunk", tool_call_delta=delta) for delta in deltas]


FRAGMENTS: list[dict[str, Any]] = [
    *({"text": "I will ask."}, {"index": 0, "name": "f"}, {"index": 0, "parameters": '{"a":'}),
    *({"index": 0, "parameters": " 1}"}, {"index": 1, "name": "g"}, {"index": 1, "parameters": "{}"}),
]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [unfinished("text-generation", text=text) for text in ("I will ", "ask.")],
        [unfinished("tool-calls-generation", text="I will ask.", tool_calls=CALLS)],
        call_chunks(*FRAGMENTS),
    ],
    ids=["the end alone", "text", "calls", "fragments"],
)
def test_a_stream_of_version_1_is_read_like_its_body(events: list[dict[str, Any]]) -> None:
    streamed, whole = version_1(*events), normalize(json.dumps(BODY).encode())
    assert streamed.text == whole.text == "I will ask."
    assert [(call.name, call.arguments) for call in streamed.calls] == [("f", {"a": 1}), ("g", {})]
    assert [call.id for call in streamed.calls] == [call.id for call in whole.calls]
    assert (streamed.choices[0].stop, streamed.usage) == (whole.choices[0].stop, whole.usage)
    assert "stop-disagrees" not in {*codes(streamed), *codes(whole)}
    assert ran(streamed) == ran(whole)


def test_the_calls_of_the_last_event_of_version_1_count() -> None:
    response = version_1(*call_chunks({"index": 0, "name": "f"}, {"index": 0, "parameters": '{"a": 2}'}))
    assert [call.arguments for call in response.calls] == [{"a": 1}, {}]
    assert "arguments-disagree" in codes(response)


OLLAMA = "ollama.chat"


def ollama_body(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", **message}, "done": True, "done_reason": "stop", **more}


def ollama_event(message: dict[str, Any], **more: Any) -> bytes:
    event = {"model": "m", "message": {"role": "assistant", **message}, "done": False, **more}
    return json.dumps(event).encode() + b"\n"


def test_the_time_of_the_last_event_that_has_one_counts_at_any_cut() -> None:
    events = [ollama_event({"content": "a"}, created_at=time) for time in ("1", "2", None)]
    for pieces in (events, [b"".join(events)]):
        assert feed(OLLAMA, pieces)[0].extra == {"created_at": "2"}


def test_ids_that_are_missing_are_derived_from_the_time_of_the_response() -> None:
    calls = [{"function": {"name": "f", "arguments": {}}}]
    first, again, later = (
        normalize(ollama_body({"tool_calls": calls}, created_at=at), OLLAMA).calls[0].id for at in ("t1", "t1", "t2")
    )
    assert first == again != later


def test_responses_that_follow_each_other_are_distinguished_by_their_last_events() -> None:
    one, other = (b"".join(emit_stream(OLLAMA, [Say(text)], "end_turn")) for text in ("a", "b"))
    whole = emit_body(OLLAMA, [Say("c")], "end_turn")
    parts = responses(one + other + whole + whole)
    assert [normalize(part, OLLAMA).text for part in parts] == ["a", "b", "c", "c"]


def test_a_stream_of_endless_calls_is_refused() -> None:
    call = {"function": {"name": "f", "arguments": {}}}
    decoder = StreamDecoder(OLLAMA)
    decoder.feed(ollama_event({"content": "", "tool_calls": [call] * 4096}))
    with pytest.raises(TooManyCalls):
        decoder.feed(ollama_event({"content": "", "tool_calls": [call]}))
