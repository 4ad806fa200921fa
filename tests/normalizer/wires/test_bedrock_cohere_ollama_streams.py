"""Streams of Bedrock, Cohere and Ollama that deviate from the documentation, and what only these wires have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes, decoded, feed, ran, texts
from tests.support.emit import emit_body, emit_stream
from tests.support.events import COHERE_START, cohere_end, cohere_event, ollama_line, sse
from tests.support.events import converse_delta as delta
from tests.support.events import converse_stop as stop
from tests.support.eventstream import event, exception, message
from toolparity import (
    Opaque,
    Reasoning,
    Response,
    ServerToolCall,
    ServerToolResult,
    StreamDecoder,
    Text,
    Usage,
    normalize,
)
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.body_splitter import responses
from toolparity.normalizer.errors import TooManyCalls
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.call_builder import MAX_CALLS

BEDROCK = "bedrock.converse"
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
    return decoded(BEDROCK, [BEGIN, *messages])


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
    as_event = decoded(BEDROCK, [BEGIN, event(kind, {"message": "no"})])
    assert (as_event.error and as_event.error.type) == kind


def test_reasoning_is_signed_or_redacted_and_goes_back_byte_for_byte() -> None:
    signed = [
        delta(0, reasoningContent=piece) for piece in ({"text": "Two "}, {"text": "cities."}, {"signature": "c2ln"})
    ]
    redacted = [delta(1, reasoningContent={"redactedContent": data}) for data in ("ZW4=", "Yw==")]
    response = played(*signed, stop(0), *redacted, stop(1), *use(2, "functions.f:0", "{}"), end())
    assert response.choices[0].blocks[:2] == [Reasoning("Two cities.", "c2ln"), Reasoning("", None, "ZW5j", True)]
    content = [
        {"reasoningContent": {"reasoningText": {"text": "Two cities.", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "ZW5j"}},
        {"toolUse": {"toolUseId": "functions.f:0", "name": "f", "input": {}}},
    ]
    result = {"toolResult": {"toolUseId": "functions.f:0", "content": [{"text": "ok"}]}}
    contents = [("user", [{"text": "hi"}]), ("assistant", content), ("user", [result])]
    messages = [{"role": role, "content": parts} for role, parts in contents]
    request = read_request({"messages": messages}, BEDROCK)
    assert request.messages[1].response.choices[0].blocks == response.choices[0].blocks  # type: ignore[union-attr]
    assert write_request(request).body["messages"] == messages


def test_a_call_of_the_provider_never_reaches_the_caller_whatever_its_type() -> None:
    for kind, findings in (("server_tool_use", []), ("mcp_tool_use", ["unknown-block"])):
        response = played(*use(0, "s", '{"snippet":"1"}', name="nova_code_interpreter", type=kind), end("end_turn"))
        (call,) = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.tool, call.arguments_text, codes(response)) == ("code_execution", '{"snippet":"1"}', findings)


def test_arguments_under_the_index_of_another_block_run_nothing() -> None:
    call = start(1, toolUse={"toolUseId": "a", "name": "f"})
    response = played(delta(0, text="so"), call, delta(0, toolUse={"input": '{"x":1}'}), end())
    assert [(call.name, call.status) for call in response.calls] == [("f", "truncated"), ("", "invalid")]
    assert {"delta-misplaced", "arguments-misplaced"} <= set(codes(response))


def test_unknown_blocks_deltas_and_events_are_kept_and_reported() -> None:
    poem = [start(0, poem={"lines": 2}), delta(0, poem={"line": "a"}), stop(0)]
    others = event("contentBlockStart", {"contentBlockIndex": 2}), event("mood", {"is": "good"})
    response = played(*poem, delta(1, song="la"), *others, end("end_turn"))
    first, song = response.choices[0].blocks
    assert first == Opaque("poem", {"poem": {"lines": 2, "line": "a"}})
    assert isinstance(song, Opaque)
    assert song.wire_type == "song"
    assert response.extra["events"] == [{"mood": {"is": "good"}}]
    assert set(codes(response)) >= {"unknown-block", "unknown-event"}


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


def call_start(index: int | None, id: str = "f_1", name: str = "f", arguments: str = "") -> dict[str, Any]:
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return cohere_event("tool-call-start", index, tool_calls=call)


def call_delta(index: int | None, text: str) -> dict[str, Any]:
    return cohere_event("tool-call-delta", index, tool_calls={"function": {"arguments": text}})


def read(*events: dict[str, Any], end: dict[str, Any] | None = None) -> Response:
    """The response of a stream of version 2 with these events between its first and its last one."""
    return decoded(COHERE, sse(COHERE_START, *events, end or cohere_end("TOOL_CALL"), "[DONE]"))


def test_arguments_belong_to_the_call_of_their_index_or_to_the_last_one_and_never_run_without_a_call() -> None:
    response = read(call_start(0), call_start(1, "f_2"), call_delta(None, '{"b":1}'))
    assert texts(response) == [("f_1", "f", ""), ("f_2", "f", '{"b":1}')]
    assert "index-missing" in codes(response)
    response = read(call_delta(0, '{"a":'), call_start(0), call_delta(0, "1}"), cohere_event("tool-call-end", 0))
    assert (texts(response), ran(response)) == ([("f_1", "f", '{"a":1}')], ["f_1"])
    response = read(call_start(0), call_delta(0, "{}"), call_delta(7, '{"b":1}'))
    assert ([call.status for call in response.calls], ran(response)) == (["complete", "invalid"], ["f_1"])
    assert "delta-misplaced" in codes(response)
    assert ran(read(cohere_event("tool-call-start", 0, tool_calls={"id": "f_1"}), call_delta(0, "{}"))) == []


def test_content_of_an_unknown_type_and_citations_with_or_without_their_text_are_kept() -> None:
    image = {"type": "image", "url": "u"}
    response = read(cohere_event("content-start", 0, content=image), end=cohere_end("COMPLETE"))
    assert response.choices[0].blocks == [Opaque("image", image)]
    citation = {"start": 0, "end": 1, "text": "A", "sources": [{"type": "document", "id": "d"}]}
    text = cohere_event("content-start", 0, content={"type": "text", "text": "A"})
    cited = cohere_event("citation-start", 0, citations=citation)
    response = read(text, cited, cohere_event("citation-end", 0), end=cohere_end("COMPLETE"))
    assert response.choices[0].blocks == [Text("A", [citation])]
    message = {"role": "assistant", "content": [], "citations": [citation]}
    response = normalize({"id": "r", "message": message, "finish_reason": "COMPLETE"}, COHERE)
    assert response.choices[0].extra == {"message": {"citations": [citation]}}


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


def test_counts_that_are_left_out_are_unknown() -> None:
    assert normalize(ollama_body({"content": "a"}, eval_count=3), OLLAMA).usage == Usage(None, 3, raw={"eval_count": 3})
    assert normalize(ollama_body({"content": "a"}), OLLAMA).usage is None


def test_ids_that_are_missing_are_derived_from_the_time_of_the_response() -> None:
    calls = [{"function": {"name": "f", "arguments": {}}}]
    first, again, later = (
        normalize(ollama_body({"tool_calls": calls}, created_at=at), OLLAMA).calls[0].id for at in ("t1", "t1", "t2")
    )
    assert first == again != later


def test_members_that_no_field_holds_are_kept() -> None:
    frames = ollama_event({"content": "a"}, logprobs=[{"token": "a"}], remote_host="h") + ollama_line("", "stop")
    response = decoded(OLLAMA, frames)
    assert response.extra["logprobs"] == [{"token": "a"}]
    assert response.extra["remote_host"] == "h"
    assert codes(normalize(ollama_body({"content": "a", "new": 1}), OLLAMA)) == ["unknown-member"]


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
