"""Events of Ollama's streams, and bodies: what only this wire does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes, decoded
from tests.support.emit import emit_body, emit_stream, scripted_call
from tests.support.events import ollama_line
from toolparity import Stop, StreamDecoder, Usage, normalize
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.body_splitter import responses
from toolparity.normalizer.errors import TooManyCalls

WIRE = "ollama.chat"
F = scripted_call(('{"x":1}',), "a", "f")


def body(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", **message}, "done": True, "done_reason": "stop", **more}


def line(message: dict[str, Any], **more: Any) -> bytes:
    return (
        json.dumps({"model": "m", "message": {"role": "assistant", **message}, "done": False, **more}).encode() + b"\n"
    )


def test_the_word_stop_ends_calls_too_without_a_finding() -> None:
    response = decoded(WIRE, emit_stream(WIRE, [Say("so"), F]))
    assert response.choices[0].stop == Stop("tool_calls", "stop")
    assert response.findings == ()
    assert normalize(emit_body(WIRE, [Say("so"), F]), WIRE).choices == response.choices


def test_the_time_of_the_last_event_that_has_one_counts_at_any_cut() -> None:
    events = [line({"content": "a"}, created_at=time) for time in ("1", "2", None)]
    whole, pieces = StreamDecoder(WIRE), StreamDecoder(WIRE)
    whole.feed(b"".join(events))
    for event in events:
        pieces.feed(event)
    assert whole.finish().extra == pieces.finish().extra == {"created_at": "2"}


def test_an_error_inside_a_stream_ends_the_response() -> None:
    frames = [
        *emit_stream(WIRE, [F], None),
        b'{"error":"an error was encountered while running the model","status":500}\n',
    ]
    response = decoded(WIRE, b"".join(frames))
    assert response.error is not None
    assert (response.error.message, response.error.status) == ("an error was encountered while running the model", 500)
    assert (response.complete, response.choices[0].stop.reason) == (False, "error")
    assert "stream-error" in codes(response)


def test_counts_that_are_left_out_are_unknown() -> None:
    assert normalize(body({"content": "a"}, eval_count=3), WIRE).usage == Usage(None, 3, raw={"eval_count": 3})
    assert normalize(body({"content": "a"}), WIRE).usage is None


def test_ids_that_are_missing_are_derived_from_the_time_of_the_response() -> None:
    calls = [{"function": {"name": "f", "arguments": {}}}]
    first, again, later = (
        normalize(body({"tool_calls": calls}, created_at=at), WIRE).calls[0].id for at in ("t1", "t1", "t2")
    )
    assert first == again != later


def test_members_that_no_field_holds_are_kept() -> None:
    frames = line({"content": "a"}, logprobs=[{"token": "a"}], remote_host="h") + ollama_line("", "stop")
    response = decoded(WIRE, frames)
    assert response.extra["logprobs"] == [{"token": "a"}]
    assert response.extra["remote_host"] == "h"
    assert codes(normalize(body({"content": "a", "new": 1}), WIRE)) == ["unknown-member"]


def test_responses_that_follow_each_other_are_distinguished_by_their_last_events() -> None:
    one, other = (b"".join(emit_stream(WIRE, [Say(text)], "end_turn")) for text in ("a", "b"))
    whole = emit_body(WIRE, [Say("c")], "end_turn")
    parts = responses(one + other + whole + whole)
    assert [normalize(part, WIRE).text for part in parts] == ["a", "b", "c", "c"]


def test_a_stream_of_endless_calls_is_refused() -> None:
    call = {"function": {"name": "f", "arguments": {}}}
    decoder = StreamDecoder(WIRE)
    decoder.feed(line({"content": "", "tool_calls": [call] * 4096}))
    with pytest.raises(TooManyCalls):
        decoder.feed(line({"content": "", "tool_calls": [call]}))
