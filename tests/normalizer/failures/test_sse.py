"""Failures of class sse: server-sent events as proxies and gateways mangle them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, feed, ran, triples
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.events import sse
from tests.support.wires import SSE_WIRES, TEXT_WIRES, WIRES
from toolparity import Response
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.wires.registry import spec

sse_wires = pytest.mark.parametrize("wire", SSE_WIRES)
all_wires = pytest.mark.parametrize("wire", WIRES)
text_wires = pytest.mark.parametrize("wire", [wire for wire in SSE_WIRES if wire in TEXT_WIRES])
STEPS = [Say("I look."), LOOKUP]
#: What gateways put between events -> the finding.
BETWEEN = {
    b": OPENROUTER PROCESSING\n\n": [],
    b":\n\n": [],
    b": keepalive\n": [],
    b":ping\n:pong\n\n": [],
    b"retry: 3000\n\n": [],
    b"id: 17\n\n": [],
    b"id: 17\n: ping\n\n": [],
    b"event: ping\n\n": [],
    b"data: : keepalive\n\n": ["keepalive-in-data"],
    b"data:\n\n": ["empty-event"],
    b"data\n\n": ["empty-event"],
    b"event: ping\ndata:\n\n": ["empty-event"],
}


@sse_wires
def test_SSE_01_SSE_09_SSE_10_comments_and_events_without_data_do_not_change_the_response(wire: str) -> None:
    frames = emit_stream(wire, STEPS)
    clean = decoded(wire, frames)
    for between, found in BETWEEN.items():
        response = decoded(wire, between + between.join(frames) + between)
        assert (response, codes(response)) == (clean, found), between


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@sse_wires
def test_SSE_03_line_endings_and_data_in_several_lines_do_not_change_the_response(wire: str, newline: bytes) -> None:
    frames = emit_stream(wire, STEPS)
    clean = decoded(wire, frames)
    assert decoded(wire, b"".join(frames).replace(b"\n", newline)) == clean
    lines = []
    for line in b"".join(frames).splitlines():
        field, _, value = line.partition(b": ")
        if field == b"data" and value != b"[DONE]":
            lines += [b"data: " + part.encode() for part in json.dumps(json.loads(value), indent=1).splitlines()]
        else:
            lines.append(line)
    response = decoded(wire, newline.join(lines) + newline)
    assert triples(response) == triples(clean)
    assert response == clean or wire not in TEXT_WIRES  # the others have the text of their arguments from the events
    assert response.findings == ()


@all_wires
def test_SSE_04_characters_split_between_reads_are_decoded(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [Say("Gleich… 東京🗼"), scripted_call(('{"city": "東京', ' 🗼 Ōta"}'))]))
    assert response.text == "Gleich… 東京🗼"
    assert [call.arguments for call in response.calls] == [{"city": "東京 🗼 Ōta"}]
    assert response.findings == ()


@all_wires
def test_SSE_05_a_replacement_character_in_arguments_is_reported_and_the_call_kept(wire: str) -> None:
    text = '{"city": "T\ufffdkyo"}'
    given = [emit_stream(wire, [scripted_call((text[:12], text[12:]))])]
    if wire in SSE_WIRES:  # invalid UTF-8 becomes such a character
        given.append([frame.replace("\ufffd".encode(), b"\xe6\x9d") for frame in given[0]])
    for frames in given:
        response = decoded(wire, frames)
        (call,) = response.calls
        assert (call.arguments, call.status) == ({"city": "T\ufffdkyo"}, "complete")
        assert set(codes(response)) == {"corrupt-text"}
        assert ran(response) == ["call_a"]


#: The error event of each wire, and the type in it.
ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "openai.chat": ({"error": {"type": "server_error", "message": "engine died", "code": 500}}, "server_error"),
    "openai.responses": ({"type": "error", "code": "server_error", "message": "engine died"}, "server_error"),
    "anthropic.messages": (
        {"type": "error", "error": {"type": "overloaded_error", "message": "engine died"}},
        "overloaded_error",
    ),
    "cohere.chat": ({"type": "message-end", "delta": {"error": "engine died", "finish_reason": "ERROR"}}, "error"),
    "google.interactions": (
        {"error": {"code": "internal_error", "message": "engine died"}, "event_type": "error"},
        "internal_error",
    ),
    "google.gemini": ({"error": {"code": 503, "message": "engine died", "status": "UNAVAILABLE"}}, "UNAVAILABLE"),
}
HALF = scripted_call(('{"city":', '"Tu'), closed=False)


def assert_failed(response: Response, type: str, message: str = "engine died", calls: int = 1) -> None:
    """The response has this error, is not complete, and none of its calls runs."""
    assert response.error is not None
    assert (response.error.type, response.error.message, response.complete) == (type, message, False)
    assert_not_executed(response, calls=calls)


@sse_wires
def test_SSE_06_SSE_07_no_call_before_an_error_runs_whatever_follows(wire: str) -> None:
    raw, type = ERRORS[wire]
    *frames, last = emit_stream(wire, STEPS)
    for error in (sse(raw), b"data: " + json.dumps(raw).encode() + b"\n\n"):
        for ending in ([error], [error, last]):
            response = decoded(wire, [*frames, *ending])
            assert_failed(response, type)
            assert response.text == "I look."
            assert "stream-error" in codes(response)


@text_wires
def test_SSE_08_TERM_04_a_cut_last_event_is_an_error_and_the_call_does_not_become_empty(wire: str) -> None:
    for pieces in (('{"city":', '"Tu'), ("",), ()):
        frames = emit_stream(wire, [scripted_call(pieces, closed=False)], None)
        start = "{}" if spec(wire).parsed_arguments else ""  # the start of the call holds an empty object
        text = "".join(pieces) or start
        cut, broken = decoded(wire, [*frames, b'data: {"choi']), decoded(wire, frames)
        assert_failed(cut, "undecodable_event", '{"choi')
        assert {"undecodable-event", "unterminated-event"} <= set(codes(cut))
        assert "stream-incomplete" in codes(broken)
        for response in (cut, broken):
            (call,) = response.calls
            assert (call.id, call.name, call.arguments, call.arguments_text, call.status) == (
                *("call_a", "lookup", None, text, "truncated"),
            )
            assert_not_executed(response, calls=1)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ('{"error": {"type": "server_error", "message": "CUDA out of memory"}}', "CUDA out of memory"),
        ("Internal Server Error", "Internal Server Error"),
        ("<html><body>502 Bad Gateway</body></html>", "<html><body>502 Bad Gateway</body></html>"),
    ],
    ids=["json", "text", "html"],
)
@sse_wires
def test_SSE_11_raw_error_text_inside_a_stream_is_an_error_with_its_bytes_kept(wire: str, raw: str, kept: str) -> None:
    frames = emit_stream(wire, [LOOKUP], None)
    for end in ("", "\n", "\n\n"):
        response = decoded(wire, [*frames, (raw + end).encode()])
        assert response.error is not None
        assert response.error.message == kept
        assert raw in [f.message for f in response.findings if f.code == "raw-text-in-stream"]
        assert_not_executed(response, calls=1)


@sse_wires
def test_SSE_12_an_error_event_inside_an_unterminated_one_is_found(wire: str) -> None:
    raw, type = ERRORS[wire]
    error = b"event: error\ndata: " + json.dumps(raw).encode() + b"\n\n"
    response = decoded(wire, [*emit_stream(wire, [HALF], None), b'data: {"typ\n' + error])
    assert_failed(response, type)
    assert "undecodable-event" in codes(response)
    assert [(call.arguments, call.status) for call in response.calls] == [(None, "truncated")]


@sse_wires
def test_SSE_13_an_event_over_the_cap_is_a_typed_error_wherever_it_is_split(wire: str) -> None:
    pending = b"data: " + b"x" * (11 * 1024 * 1024)
    ended = b"".join(emit_stream(wire, [scripted_call(('{"city": "' + "T" * 5000 + '"}',))]))
    given: list[tuple[bytes, int, dict[str, int]]] = [
        *((pending, size, {}) for size in (64 * 1024, len(pending))),
        *((ended, size, {"max_event_bytes": 5000}) for size in (1, 700, len(ended))),
    ]
    for body, size, options in given:
        with pytest.raises(EventTooLarge, match="max_event_bytes"):
            feed(wire, [body[at : at + size] for at in range(0, len(body), size)], **options)
