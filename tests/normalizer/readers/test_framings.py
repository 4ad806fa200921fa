"""One answer in any framing, whole or as a stream, with what is before and after it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import codes, decode_stream
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


def feed(wire: Any, *pieces: Any) -> Response:
    return decode_stream(wire, list(pieces))


def cuts(body: bytes) -> list[list[bytes]]:
    """The body at once, cut in two at some places, and byte by byte."""
    halves = [[body[:at], body[at:]] for at in range(1, len(body), max(1, len(body) // 40))]
    return [[body], *halves, [body[at : at + 1] for at in range(len(body))]]


def assert_same(wire: str, body: bytes, expected: Response, detected: bool = False) -> None:
    """The response and its findings do not depend on the cuts."""
    for pieces in cuts(body):
        response = feed(None if detected else wire, *pieces)
        assert (response, response.findings) == (expected, expected.findings)


def events(wire: str) -> list[bytes]:
    """The payloads of a stream's events that are JSON."""
    lines = b"".join(emit_stream(wire, STEPS)).splitlines()
    return [line[6:] for line in lines if line.startswith(b"data: {")]


@wires
def test_a_stream_is_the_same_in_every_framing_as_a_body_and_wherever_it_is_cut(wire: str) -> None:
    sse, payloads = b"".join(emit_stream(wire, STEPS)), events(wire)
    for body in (
        *(b"\n".join(payloads), b"".join(payloads)),
        b"[" + b",\n".join(payloads) + b"]",
        b"retry: 3000\n\n" + sse,
        MARK + sse,
        MARK + b"\n".join(payloads),
    ):
        whole = feed(wire, body)
        assert (whole.complete, [call.id for call in whole.calls]) == (True, ["call_a"])
        for given in (wire, None):
            response = normalize(body, given)
            assert response == whole
            assert "stream-body" in codes(response)
        assert_same(wire, body, whole)
    assert_same(wire, b"\r\n \n" + sse, feed(wire, sse))
    for given in (wire, None):
        parsed = normalize([json.loads(payload) for payload in payloads], given)
        assert (parsed.wire, parsed.complete, [call.id for call in parsed.calls]) == (wire, True, ["call_a"])


@wires
def test_a_byte_order_mark_before_a_body_does_not_belong_to_it(wire: str) -> None:
    body = emit_body(wire, STEPS)
    for given in (MARK + body, MARK + b"\n" + body, "\ufeff" + body.decode()):
        assert normalize(given, wire) == normalize(given) == normalize(body, wire)


@pytest.mark.parametrize("detected", [False, True])
@wires
def test_an_error_after_a_whole_body_is_reported_and_anything_else_is_a_typed_error(wire: str, detected: bool) -> None:
    body = emit_body(wire, STEPS)
    given = None if detected else wire
    for between in (b"\n", b"", b"\n\nnoise\n"):
        for pieces in cuts(body + between + ERROR + b"\n"):
            response = feed(given, *pieces)
            assert response.choices == normalize(body, wire).choices
            found = sorted(set(codes(response)))
            noise = ["raw-text-in-stream"] * (b"noise" in between)
            assert found == ["event-after-end", "plain-body", *noise, "stream-error"]
            assert response.error is not None
            assert (response.error.message, select(response).kept) == ("Down.", [])
        for pieces in cuts(body + between + emit_body(wire, [LOOKUP]) + b"\n"):
            with pytest.raises(SeveralBodies, match="after a complete body"):
                feed(given, *pieces)
    assert codes(feed(given, body + b"\n\n")) == ["plain-body"]
    parsed = feed(given, json.loads(body))
    assert (parsed, codes(parsed)[0]) == (normalize(json.loads(body), wire), "plain-body")
    with pytest.raises(SeveralBodies, match="after a complete body"):
        feed(given, json.loads(body), json.loads(body))


@pytest.mark.parametrize("general", [False, True])
@wires
def test_findings_have_the_same_order_wherever_the_stream_is_cut(
    wire: str, general: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings about the framing precede those of the decoder, although a later piece holds their cause."""
    unknown = b'data: {"type":"never_seen","choices":[],"never_seen":1}\n\n'
    first, *others = (b"data: " + payload + b"\n\n" for payload in events(wire))
    pieces = [first, unknown, *others, b"data: : waiting\n\n", unknown, b"data: \n\n", b"data: [DONE]"]
    if general:
        monkeypatch.setattr(SseReader, "run", lambda self, chunk: None)
    whole = feed(wire, b"".join(pieces))
    assert codes(whole)[:2] == ["keepalive-in-data", "empty-event"]
    assert {"unknown-event", "unknown-member"} & set(codes(whole))
    assert_same(wire, b"".join(pieces), whole)
    assert feed(wire, *pieces).findings == whole.findings


@pytest.mark.parametrize(
    "first", [b'event: meta\ndata: {"server": 1}\n\n', b"data: hello\n\n", b'data: {"type":"x"}\n\n']
)
@wires
def test_events_that_fit_several_wires_wait_for_one_that_fits_one(wire: str, first: bytes) -> None:
    body = first + b"".join(emit_stream(wire, STEPS))
    assert_same(wire, body, feed(wire, body), detected=True)
    assert normalize(body).wire == wire
    given = [{"server": 1}, *map(json.loads, events(wire))]
    assert feed(None, *given) == feed(wire, *given)


def test_events_that_never_fit_a_wire_are_an_error() -> None:
    first = b'data: {"server": 1}\n\n'
    with pytest.raises(AmbiguousBody, match="fits no known wire"):
        feed(None, first)
    decoder = StreamDecoder()
    for _ in range(MOST_BEFORE - 1):
        assert decoder.feed(first) == []
    with pytest.raises(AmbiguousBody, match="fits no known wire"):
        decoder.feed(first)


@pytest.mark.parametrize("body", [b'{"choices": [', b'{"choices": []} and more', b"[1, 2]", b"<html>"])
def test_what_is_neither_a_body_nor_a_stream_stays_a_typed_error(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        normalize(body, "openai.chat")


def test_white_space_before_a_stream_is_not_kept_and_each_stray_text_is_reported_once() -> None:
    decoder = StreamDecoder("openai.chat")
    for piece in [b"\n", b" \t", b"\r\n"] * 1000:
        decoder.feed(piece)
    assert decoder._beginning.unframed == b""
    for piece in emit_stream("openai.chat", STEPS):
        decoder.feed(piece)
    assert [call.id for call in decoder.finish().calls] == ["call_a"]
    # each stray text is reported once
    strays = [b"<p>%d</p>\n\n" % (number % 3) for number in range(9)]
    response = feed("openai.chat", *strays, *emit_stream("openai.chat", STEPS))
    messages = [finding.message for finding in response.findings if finding.code == "raw-text-in-stream"]
    assert messages == ["<p>0</p>", "<p>1</p>", "<p>2</p>"]


@wires
def test_bytes_that_are_not_utf_8_in_a_whole_body_are_reported(wire: str) -> None:
    body = emit_body(wire, [Say("caf\u00e9")]).replace("\u00e9".encode(), b"\xe9").replace(b"\\u00e9", b"\xe9")
    response = normalize(body, wire)
    assert (response.text, codes(response).count("corrupt-text")) == ("caf\ufffd", 1)
