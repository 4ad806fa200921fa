"""Failures of class sse: server-sent events as proxies and gateways mangle them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, feed, ran, texts, triples
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.events import (
    added,
    block_start,
    converse_start,
    delta_chunk,
    fragment,
    grpc_event,
    sse,
    step_start,
    tool_call,
)
from tests.support.wires import SSE_WIRES, TEXT_WIRES, WIRES
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.wires.registry import spec

sse_wires = pytest.mark.parametrize("wire", SSE_WIRES)
all_wires = pytest.mark.parametrize("wire", WIRES)


def interspersed(wire: str, noise: bytes) -> bytes:
    """One answer with a call, the noise before, between and after its events."""
    return noise + noise.join(emit_stream(wire, [Say("I look."), LOOKUP])) + noise


def clean(wire: str) -> Any:
    return decoded(wire, emit_stream(wire, [Say("I look."), LOOKUP]))


@pytest.mark.thorough(keep=1, per="{wire}")
@sse_wires
@pytest.mark.parametrize("comment", [b": OPENROUTER PROCESSING\n\n", b":\n\n", b": keepalive\n", b":ping\n:pong\n\n"])
def test_SSE_01_comments_do_not_change_the_response(wire: str, comment: bytes) -> None:
    response = decoded(wire, interspersed(wire, comment))
    assert response == clean(wire)
    assert response.findings == ()


@pytest.mark.thorough(keep=3)
@sse_wires
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_SSE_03_every_line_ending_gives_the_same_response(wire: str, newline: bytes) -> None:
    body = b"".join(emit_stream(wire, [Say("I look."), LOOKUP])).replace(b"\n", newline)
    assert decoded(wire, body) == clean(wire)
    whole, _ = feed(wire, [body])
    for at in range(len(body)):
        assert feed(wire, [body[:at], body[at:]])[0] == whole


@sse_wires
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_SSE_03_data_in_several_lines_is_concatenated(wire: str, newline: bytes) -> None:
    lines = []
    for frame in emit_stream(wire, [Say("I look."), LOOKUP]):
        for line in frame.splitlines():
            field, _, value = line.partition(b": ")
            if field == b"data" and value != b"[DONE]":
                spread = json.dumps(json.loads(value), indent=1).encode()
                lines += [b"data: " + part for part in spread.splitlines()]
            else:
                lines.append(line)
    response = decoded(wire, newline.join(lines) + newline * 2)
    if wire in TEXT_WIRES:
        assert response == clean(wire)
    else:  # its arguments are spelled as the events are
        assert triples(response) == triples(clean(wire))
    assert response.findings == ()


EMOJI = scripted_call(('{"city": "東京', ' 🗼 Ōta"}'))


@all_wires
def test_SSE_04_characters_split_between_reads_are_decoded(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [Say("Gleich… 東京🗼"), EMOJI]))
    assert response.text == "Gleich… 東京🗼"
    assert [call.arguments for call in response.calls] == [{"city": "東京 🗼 Ōta"}]
    assert response.findings == ()


@sse_wires
def test_SSE_04_characters_split_at_any_byte_are_decoded(wire: str) -> None:
    frames = emit_stream(wire, [EMOJI])
    body = b"".join(frames)
    assert "東京".encode() in body
    whole, _ = feed(wire, [body])
    for at in range(len(body)):
        assert feed(wire, [body[:at], body[at:]])[0] == whole


@all_wires
def test_SSE_05_a_replacement_character_in_arguments_is_reported_and_the_call_kept(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [scripted_call(('{"city": "T\ufffd', 'kyo"}'))]))
    (call,) = response.calls
    assert (call.arguments, call.status) == ({"city": "T\ufffdkyo"}, "complete")
    assert codes(response) == ["corrupt-text"]
    assert ran(response) == ["call_a"]


@sse_wires
def test_SSE_05_invalid_utf8_becomes_replacement_characters_and_is_reported(wire: str) -> None:
    body = b"".join(emit_stream(wire, [scripted_call(('{"city": "Tokyo"}',))])).replace(b"Tokyo", b"T\xe6\x9dkyo")
    response = decoded(wire, body)
    (call,) = response.calls
    assert call.arguments == {"city": "T\ufffdkyo"}
    assert "corrupt-text" in codes(response)


@pytest.mark.parametrize("wire", SSE_WIRES)
def test_SSE_05_a_lone_surrogate_in_arguments_is_reported_and_the_call_kept(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [scripted_call(('{"city": "\\ud83d', '!"}'))]))
    (call,) = response.calls
    assert (call.arguments, call.status) == ({"city": "\ud83d!"}, "complete")
    assert codes(response) == ["arguments-lone-surrogate"]


#: What each wire's own error event looks like.
ERRORS: dict[str, dict[str, Any]] = {
    "openai.chat": {"error": {"type": "server_error", "message": "engine died", "code": 500}},
    "openai.responses": {"type": "error", "code": "server_error", "message": "engine died", "sequence_number": 9},
    "anthropic.messages": {"type": "error", "error": {"type": "overloaded_error", "message": "engine died"}},
    "cohere.chat": {"type": "message-end", "delta": {"error": "engine died", "finish_reason": "ERROR"}},
    "google.interactions": {"error": {"code": "internal_error", "message": "engine died"}, "event_type": "error"},
    "google.gemini": {"error": {"code": 503, "message": "engine died", "status": "UNAVAILABLE"}},
}
KINDS = {
    "openai.chat": "server_error",
    "openai.responses": "server_error",
    "anthropic.messages": "overloaded_error",
    "cohere.chat": "error",
    "google.interactions": "internal_error",
    "google.gemini": "UNAVAILABLE",
}
HALF = scripted_call(('{"city":', '"Tu'), closed=False)


def test_SSE_06_an_error_event_after_half_a_call_is_an_error_with_the_partial_answer() -> None:
    wire = "anthropic.messages"
    frames = emit_stream(wire, [Say("I look."), HALF], None)
    response = decoded(wire, [*frames, sse(ERRORS[wire])])
    assert response.error is not None
    assert (response.error.type, response.error.message) == ("overloaded_error", "engine died")
    assert (response.error.retryable, response.error.raw) == (True, ERRORS[wire])
    assert response.complete is False
    assert response.text == "I look."
    assert texts(response) == [("call_a", "lookup", '{"city":"Tu')]
    assert "stream-error" in codes(response)
    assert_not_executed(response, calls=1)


@sse_wires
def test_SSE_07_an_error_object_in_a_data_line_ends_in_an_error(wire: str) -> None:
    frames = emit_stream(wire, [Say("I look.")], None)
    response = decoded(wire, [*frames, b"data: " + json.dumps(ERRORS[wire]).encode() + b"\n\n"])
    assert response.error is not None
    assert (response.error.type, response.error.message) == (KINDS[wire], "engine died")
    assert (response.text, response.complete) == ("I look.", False)
    assert codes(response)[0] == "stream-error"


@sse_wires
def test_SSE_06_an_answer_that_ends_properly_after_an_error_is_still_not_complete(wire: str) -> None:
    *frames, last = emit_stream(wire, [LOOKUP])
    response = decoded(wire, [*frames, sse(ERRORS[wire]), last])
    assert response.error is not None
    assert (response.error.message, response.complete) == ("engine died", False)
    assert_not_executed(response, calls=1)


@sse_wires
def test_SSE_07_a_complete_call_before_the_error_is_not_run(wire: str) -> None:
    frames = emit_stream(wire, [LOOKUP], None)
    response = decoded(wire, [*frames, sse(ERRORS[wire])])
    assert_not_executed(response, calls=1)


@pytest.mark.parametrize("wire", [wire for wire in SSE_WIRES if wire in TEXT_WIRES])
@pytest.mark.parametrize("pieces", [('{"city":', '"Tu'), ("",), ()])
def test_SSE_08_a_cut_last_event_is_an_error_and_the_call_does_not_become_empty(wire: str, pieces: tuple[str]) -> None:
    frames = emit_stream(wire, [scripted_call(pieces, closed=False)], None)
    response = decoded(wire, [*frames, b'data: {"choi'])
    assert response.error is not None
    assert (response.error.type, response.error.message) == ("undecodable_event", '{"choi')
    assert {"undecodable-event", "unterminated-event"} <= set(codes(response))
    (call,) = response.calls
    began_with = "{}" if spec(wire).parsed_arguments else ""  # the start of the call holds an empty object
    text = "".join(pieces) or began_with
    assert (call.arguments, call.arguments_text, call.status) == (None, text, "truncated")
    assert_not_executed(response, calls=1)


@sse_wires
def test_SSE_09_a_keepalive_wrapped_as_data_is_tolerated_and_reported_once(wire: str) -> None:
    response = decoded(wire, interspersed(wire, b"data: : keepalive\n\n"))
    assert response == clean(wire)
    assert codes(response) == ["keepalive-in-data"]


@pytest.mark.thorough(keep=1, per="{wire}")
@sse_wires
@pytest.mark.parametrize(
    "control", [b"retry: 3000\n\n", b"id: 17\n\n", b"id: 17\n: ping\n\n", b"event: ping\n\n", b"id\n\n"]
)
def test_SSE_10_events_without_data_are_ignored(wire: str, control: bytes) -> None:
    response = decoded(wire, interspersed(wire, control))
    assert response == clean(wire)
    assert response.findings == ()


@pytest.mark.thorough(keep=1, per="{wire}")
@sse_wires
@pytest.mark.parametrize("empty", [b"data:\n\n", b"data\n\n", b"data: \n\n", b"event: ping\ndata:\n\n"])
def test_SSE_10_an_empty_data_field_is_ignored_and_reported_once(wire: str, empty: bytes) -> None:
    response = decoded(wire, interspersed(wire, empty))
    assert response == clean(wire)
    assert codes(response) == ["empty-event"]


@sse_wires
def test_SSE_11_an_error_object_instead_of_a_stream_is_an_error(wire: str) -> None:
    raw = {"error": {"type": "server_error", "message": "CUDA out of memory"}}
    response = decoded(wire, json.dumps(raw).encode())
    assert response.error is not None
    assert (response.error.message, response.error.raw) == ("CUDA out of memory", raw)
    assert response.choices == []
    assert "error-response" in codes(response)


@pytest.mark.thorough(keep=2, per="{wire}")
@sse_wires
@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b'{"error": {"type": "server_error", "message": "CUDA out of memory"}}', "CUDA out of memory"),
        (b"Internal Server Error", "Internal Server Error"),
        (b"<html><body>502 Bad Gateway</body></html>", "<html><body>502 Bad Gateway</body></html>"),
    ],
)
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_SSE_11_raw_error_text_inside_a_stream_is_an_error_with_its_bytes_kept(
    wire: str, raw: bytes, kept: str, end: bytes
) -> None:
    frames = emit_stream(wire, [LOOKUP], None)
    response = decoded(wire, [*frames, raw + end])
    assert response.error is not None
    assert response.error.message == kept
    assert raw.decode() in [f.message for f in response.findings if f.code == "raw-text-in-stream"]
    assert_not_executed(response, calls=1)


@sse_wires
def test_SSE_12_an_error_event_inside_an_unterminated_one_is_found(wire: str) -> None:
    error = b"event: error\ndata: " + json.dumps(ERRORS[wire]).encode() + b"\n\n"
    frames = emit_stream(wire, [HALF], None)
    response = decoded(wire, [*frames, b'data: {"typ\n' + error])
    assert response.error is not None
    assert (response.error.type, response.error.message) == (KINDS[wire], "engine died")
    assert "undecodable-event" in codes(response)
    (call,) = response.calls
    assert (call.arguments, call.status) == (None, "truncated")
    assert_not_executed(response, calls=1)


@sse_wires
def test_SSE_12_a_stream_that_ends_inside_an_event_is_truncated(wire: str) -> None:
    frames = emit_stream(wire, [LOOKUP])
    *begun, last = frames if wire != "openai.chat" else frames[:-1]
    response = decoded(wire, [*begun, last[:-6]])
    assert response.complete is False
    assert "unterminated-event" in codes(response)
    assert_not_executed(response, calls=1)


@sse_wires
@pytest.mark.parametrize("piece", [64 * 1024, 11 * 1024 * 1024])
def test_SSE_13_a_pending_event_over_the_cap_is_a_typed_error(wire: str, piece: int) -> None:
    body = b"data: " + b"x" * (11 * 1024 * 1024)
    pieces = [body[at : at + piece] for at in range(0, len(body), piece)]
    with pytest.raises(EventTooLarge, match="max_event_bytes"):
        feed(wire, pieces)


@sse_wires
def test_SSE_13_the_cap_can_be_set_and_applies_to_any_split_of_the_event(wire: str) -> None:
    body = b"".join(emit_stream(wire, [scripted_call(('{"city": "' + "T" * 5000 + '"}',))]))
    for piece in (1, 700, len(body)):
        pieces = [body[at : at + piece] for at in range(0, len(body), piece)]
        with pytest.raises(EventTooLarge):
            feed(wire, pieces, max_event_bytes=5000)


EMPTY_CALLS = {
    "cohere.chat": emit_stream("cohere.chat", [scripted_call((), closed=False)], None),
    "openai.chat": [sse(delta_chunk(fragment("", 0, "call_a", "lookup")))],
    "openai.responses": [sse(added(0, {"type": "function_call", "call_id": "call_a", "name": "lookup"}))],
    "anthropic.messages": [sse(block_start(0, type="tool_use", id="call_a", name="lookup", input={}))],
    "xai.grpc": [grpc_event(tool_calls=[tool_call("", "call_a", "lookup")])],
    "google.interactions": [sse(step_start(0, {"type": "function_call", "id": "call_a", "name": "lookup"}))],
    "bedrock.converse": [converse_start(0, "call_a", "lookup")],
    "google.gemini": emit_stream("google.gemini", [scripted_call("{}", closed=False)], None),
}


@pytest.mark.parametrize("wire", TEXT_WIRES)
def test_SSE_08_a_call_without_arguments_is_truncated_if_the_stream_breaks_off(wire: str) -> None:
    response = decoded(wire, EMPTY_CALLS[wire])
    (call,) = response.calls
    assert (call.id, call.name, call.arguments, call.status) == ("call_a", "lookup", None, "truncated")
    assert "stream-incomplete" in codes(response)
    assert_not_executed(response, calls=1)
