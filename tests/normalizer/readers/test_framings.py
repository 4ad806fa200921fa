"""One answer in any framing, whole or as a stream, with what is before and after it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.emit import LOOKUP, emit_body, emit_stream
from tests.support.wires import SSE_WIRES
from toolparity import Response, StreamDecoder, normalize, select
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.detect import MOST_BEFORE
from toolparity.normalizer.errors import AmbiguousBody, MalformedBody, SeveralBodies
from toolparity.normalizer.readers import SseReader

MARK = b"\xef\xbb\xbf"
STEPS = [Say("I look."), LOOKUP]
ERROR = b'{"error": {"type": "server_error", "message": "Down."}}'

#: The wires on which a whole body is not also an event of a stream.
wires = pytest.mark.parametrize("wire", [wire for wire in SSE_WIRES if wire != "google.gemini"])
told = pytest.mark.parametrize("say_which", [True, False])


def feed(wire: str | None, *pieces: Any, **more: Any) -> Response:
    decoder = StreamDecoder(wire, **more)
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


def cuts(body: bytes) -> list[list[bytes]]:
    """The body at once, cut in two at some places, and byte by byte."""
    halves = [[body[:at], body[at:]] for at in range(1, len(body), max(1, len(body) // 40))]
    return [[body], *halves, [body[at : at + 1] for at in range(len(body))]]


def codes(response: Response) -> list[str]:
    return [finding.code for finding in response.findings]


def events(wire: str) -> list[bytes]:
    """The payloads of a stream's events that are JSON."""
    lines = b"".join(emit_stream(wire, STEPS)).splitlines()
    return [line[6:] for line in lines if line.startswith(b"data: {")]


def framed(wire: str) -> dict[str, bytes]:
    sse = b"".join(emit_stream(wire, STEPS))
    return {
        "JSON lines": b"\n".join(events(wire)),
        "an array": b"[" + b",\n".join(events(wire)) + b"]",
        "retry first": b"retry: 3000\n\n" + sse,
        "a mark before events": MARK + sse,
        "a mark before lines": MARK + b"\n".join(events(wire)),
    }


@pytest.mark.thorough(keep=1, per="{wire}")
@wires
@told
@pytest.mark.parametrize("framing", ["JSON lines", "an array", "retry first", "a mark before events"])
def test_a_stream_given_as_a_body_is_read_in_every_framing(wire: str, framing: str, say_which: bool) -> None:
    body = framed(wire)[framing]
    response = normalize(body, wire if say_which else None)
    assert response == feed(wire, body)
    assert (response.complete, [call.id for call in response.calls]) == (True, ["call_a"])
    assert "stream-body" in codes(response)


@wires
@told
def test_a_list_of_parsed_events_is_read(wire: str, say_which: bool) -> None:
    response = normalize([json.loads(event) for event in events(wire)], wire if say_which else None)
    assert (response.wire, response.complete, [call.id for call in response.calls]) == (wire, True, ["call_a"])


@wires
@told
def test_a_byte_order_mark_before_a_body_is_no_part_of_it(wire: str, say_which: bool) -> None:
    body = emit_body(wire, STEPS)
    for given in (MARK + body, MARK + b"\n" + body, "\ufeff" + body.decode()):
        assert normalize(given, wire if say_which else None) == normalize(body, wire)


@pytest.mark.thorough(keep=1, per="{wire}")
@wires
@pytest.mark.parametrize("framing", ["JSON lines", "an array", "retry first", "a mark before events"])
def test_a_stream_in_any_framing_is_the_same_wherever_it_is_cut(wire: str, framing: str) -> None:
    body = b"\r\n \n" + framed(wire)[framing]
    whole = feed(wire, body)
    for pieces in cuts(body):
        response = feed(wire, *pieces)
        assert (response, response.findings) == (whole, whole.findings)


@pytest.mark.thorough(keep=1, per="{wire}")
@wires
@pytest.mark.parametrize("between", [b"\n", b"", b"\n\nnoise\n"])
@told
def test_an_error_after_a_whole_body_is_reported_wherever_it_is_cut(wire: str, between: bytes, say_which: bool) -> None:
    body = emit_body(wire, STEPS)
    for pieces in cuts(body + between + ERROR + b"\n"):
        response = feed(wire if say_which else None, *pieces)
        assert response.choices == normalize(body, wire).choices
        found = sorted(set(codes(response)) - {"raw-text-in-stream"})
        assert found == ["event-after-end", "plain-body", "stream-error"]
        assert ("raw-text-in-stream" in codes(response)) is (b"noise" in between)
        assert response.error is not None
        assert (response.error.message, select(response).kept) == ("Down.", [])


@pytest.mark.thorough(keep=1, per="{wire}")
@wires
@pytest.mark.parametrize("between", [b"\n", b"", b"\n\nnoise\n"])
@told
def test_anything_else_after_a_whole_body_is_a_typed_error_wherever_it_is_cut(
    wire: str, between: bytes, say_which: bool
) -> None:
    for pieces in cuts(emit_body(wire, STEPS) + between + emit_body(wire, [LOOKUP]) + b"\n"):
        with pytest.raises(SeveralBodies, match="after a complete body"):
            feed(wire if say_which else None, *pieces)


KEEP_ALIVE, EMPTY = b"data: : waiting\n\n", b"data: \n\n"


@wires
@pytest.mark.parametrize("general", [False, True])
def test_findings_have_the_same_order_wherever_the_stream_is_cut(
    wire: str, general: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings about the framing precede those of the decoder, although a later piece holds their cause."""
    payloads = events(wire)
    unknown = b'data: {"type":"never_seen","choices":[],"never_seen":1}\n\n'
    framed_payloads = [b"data: " + payload + b"\n\n" for payload in payloads]
    pieces = [*framed_payloads[:1], unknown, *framed_payloads[1:], KEEP_ALIVE, unknown, EMPTY]
    body = b"".join(pieces) + b"data: [DONE]"
    if general:
        monkeypatch.setattr(SseReader, "run", lambda self, chunk: None)
    whole = feed(wire, body).findings
    assert [f.code for f in whole][:2] == ["keepalive-in-data", "empty-event"]
    assert {"unknown-event", "unknown-member"} & {f.code for f in whole}
    for cut in cuts(body):
        assert feed(wire, *cut).findings == whole
    assert feed(wire, *pieces, b"data: [DONE]").findings == whole


@wires
def test_a_body_without_anything_behind_it_says_nothing_of_that(wire: str) -> None:
    assert codes(feed(wire, emit_body(wire, STEPS) + b"\n\n")) == ["plain-body"]


@wires
@told
def test_a_whole_message_fed_as_an_object_is_read_as_one(wire: str, say_which: bool) -> None:
    body = json.loads(emit_body(wire, STEPS))
    response = feed(wire if say_which else None, body)
    assert response == normalize(body, wire)
    assert codes(response)[0] == "plain-body"
    with pytest.raises(SeveralBodies, match="after a complete body"):
        feed(wire, body, body)


@wires
@pytest.mark.parametrize(
    "first", [b'event: meta\ndata: {"server": 1}\n\n', b"data: hello\n\n", b'data: {"type":"x"}\n\n']
)
def test_events_that_do_not_tell_the_wire_wait_for_one_that_does(wire: str, first: bytes) -> None:
    body = first + b"".join(emit_stream(wire, STEPS))
    whole = feed(wire, body)
    for pieces in cuts(body):
        response = feed(None, *pieces)
        assert (response, response.findings) == (whole, whole.findings)
    assert normalize(body).wire == wire


@wires
def test_parsed_events_that_do_not_tell_the_wire_wait_too(wire: str) -> None:
    first = {"server": 1}
    given = [first, *map(json.loads, events(wire))]
    assert feed(None, *given) == feed(wire, *given)


def test_events_that_never_tell_the_wire_are_an_error() -> None:
    with pytest.raises(AmbiguousBody, match="fits no known wire"):
        feed(None, b'data: {"server": 1}\n\n')
    decoder = StreamDecoder()
    for _ in range(MOST_BEFORE - 1):
        assert decoder.feed(b'data: {"server": 1}\n\n') == []
    with pytest.raises(AmbiguousBody, match="fits no known wire"):
        decoder.feed(b'data: {"server": 1}\n\n')


@pytest.mark.parametrize("body", [b'{"choices": [', b'{"choices": []} and more', b"[1, 2]", b"<html>"])
def test_what_is_neither_a_body_nor_a_stream_stays_a_typed_error(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        normalize(body, "openai.chat")


def test_white_space_before_a_stream_is_not_kept() -> None:
    decoder = StreamDecoder("openai.chat")
    for piece in [b"\n", b" \t", b"\r\n"] * 1000:
        decoder.feed(piece)
    assert decoder._beginning.unframed == b""
    for piece in emit_stream("openai.chat", STEPS):
        decoder.feed(piece)
    assert [call.id for call in decoder.finish().calls] == ["call_a"]


def test_each_stray_text_is_reported_once() -> None:
    strays: Sequence[bytes] = [b"<p>%d</p>\n\n" % (number % 3) for number in range(9)]
    response = feed("openai.chat", *strays, *emit_stream("openai.chat", STEPS))
    assert [f.message for f in response.findings if f.code == "raw-text-in-stream"] == [
        "<p>0</p>",
        "<p>1</p>",
        "<p>2</p>",
    ]


@wires
def test_bytes_that_are_no_utf_8_in_a_whole_body_are_reported(wire: str) -> None:
    body = emit_body(wire, [Say("caf\u00e9")]).replace("\u00e9".encode(), b"\xe9").replace(b"\\u00e9", b"\xe9")
    response = normalize(body, wire)
    assert response.text == "caf\ufffd"
    assert codes(response).count("corrupt-text") == 1
