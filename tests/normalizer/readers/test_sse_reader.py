"""Server-sent events are read by the WHATWG rules, in whatever pieces they arrive."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.decoding import decode_stream
from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.readers import RAW, SseReader, StreamEvent

CAP = 1 << 20
CHUNK = b'data: {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}\n\n'


def read(*pieces: bytes) -> tuple[list[StreamEvent], list[str]]:
    """All items, and the codes of all problems, each once."""
    reader = SseReader(CAP)
    items = [item for piece in pieces for item in reader.feed(piece)] + reader.close()
    return items, list(dict.fromkeys(code for code, _ in reader.problems))


A, B = (None, b'{"a":1}'), (None, b'{"b":2}')
DATA_A, DATA_B = b'data: {"a":1}\n', b'data: {"b":2}\n'
JOINED = ["events-not-separated"]
#: A stream -> its items and the codes of its problems.
STREAMS: dict[str, tuple[bytes, list[StreamEvent], list[str]]] = {
    "newlines of all kinds": (b'data: {"a":1}\r\n\ndata: {"b":2}\n\r\n: note\r\rdata: {"a":1}\r\r', [A, B, A], []),
    "a comment without its blank line": (DATA_A + b"\n: bye\n", [A], []),
    "no space after the colon": (b"data:x\n\n", [(None, b"x")], []),
    "two spaces after the colon": (b"data:  x\n\n", [(None, b" x")], []),
    "another colon": (b"data:a: b\n\n", [(None, b"a: b")], []),
    "several lines of objects": (b'data: {"a":\ndata: {"b":\ndata: {}}}\n\n', [(None, b'{"a":\n{"b":\n{}}}')], []),
    "a text and braces": (b"data: one\ndata: {two}\n\n", [(None, b"one\n{two}")], []),
    "an object and a text": (DATA_A + b"data:\ndata: words\n\n", [(None, b'{"a":1}\n\nwords')], []),
    "data without a colon": (b"data\ndata\n\n", [], ["empty-event"]),
    "empty data with a name": (b"event: x\ndata: \n\n", [], ["empty-event"]),
    "the name last": (DATA_A + b"event: tick\n\n", [("tick", A[1])], []),
    "a name between data": (
        b'data: {"typ\nevent: error\n' + DATA_A + b"\n",
        [(None, b'{"typ'), ("error", A[1])],
        JOINED,
    ),
    "names of events without blank lines": (
        b"event: a\n" + DATA_A + b"id: 7\nevent: b\n" + DATA_B + DATA_A + b"event: c\n\n",
        [("a", A[1]), ("b", B[1]), ("c", A[1])],
        JOINED,
    ),
    "other fields": (b"x-trace: 9\n" + DATA_A + b"took_ms: 4\n\n", [A], []),
    "text inside an event": (DATA_A + b"upstream failed\n\n", [A, (RAW, b"upstream failed")], ["raw-text-in-stream"]),
    "two lines at the end": (
        b"event: tick\n" + DATA_B + b"\n" + DATA_A + DATA_B,
        [("tick", B[1]), A, B],
        [*JOINED, "unterminated-event"],
    ),
    **{
        f"a name of raw text: {name}": (f"event: {name}\n".encode() + DATA_A + b"\n", [(name, A[1])], [])
        for name in ("raw", "RAW", "text between events")
    },
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_has_the_same_items_wherever_it_is_cut(name: str) -> None:
    body, items, codes = STREAMS[name]
    for newline in (b"\n", b"\r", b"\r\n") if b"\r" not in body else (b"\n",):
        written = body.replace(b"\n", newline) if newline != b"\n" else body
        singles = [written[at : at + 1] for at in range(len(written))]
        halves = [(written[:at], written[at:]) for at in range(len(written))]
        for pieces in (*halves, singles, [piece for one in singles for piece in (one, b"")]):
            assert read(*pieces) == (items, codes), pieces


def test_a_last_event_without_its_blank_line_is_read_and_reported() -> None:
    for end in (b"", b"\n", b"\r\n", b"\r"):
        assert read(DATA_A + b"\n" + DATA_B.rstrip() + end) == ([A, B], ["unterminated-event"])


def test_a_decoder_takes_a_byte_order_mark_in_pieces_and_any_name_of_an_event() -> None:
    mark, named = b"\xef\xbb\xbf" + CHUNK, b"event: RAW\n" + CHUNK
    for body, at in [(mark, 1), (mark, 2), (mark, 3), (mark, 4), (named, 5)]:
        response = decode_stream("openai.chat", [body[:at], body[at:]])
        assert (response.text, response.error, response.complete) == ("hi", None, True)


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_the_cap_holds_for_each_event_and_wherever_it_is_cut(piece: int) -> None:
    def feed(body: bytes) -> list[StreamEvent]:
        reader = SseReader(20)
        pieces = [body[at : at + piece] for at in range(0, len(body), piece)]
        return [item for one in pieces for item in reader.feed(one)] + reader.close()

    fits = b"data: " + b"x" * 14 + b"\n\n"
    assert feed(fits * 50) == [(None, b"x" * 14)] * 50
    for too_large in (b"data: " + b"x" * 15 + b"\n\n", b"data: " + b"x" * 500):
        with pytest.raises(EventTooLarge, match="raise max_event_bytes"):
            feed(fits + too_large)


def joined_bytes(pieces: Sequence[bytes]) -> tuple[list[StreamEvent], int]:
    """The items, and how many bytes the reader copied by joining what was pending."""
    joined = 0

    def counted(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal joined
        if event == "c_call" and arg.__name__ == "join" and isinstance(arg.__self__, bytes):
            held = (value for value in vars(reader).values() if isinstance(value, list))
            joined += sum(len(piece) for pieces in held for piece in pieces if isinstance(piece, bytes))

    reader = SseReader(1 << 24)
    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        items = [item for piece in pieces for item in reader.feed(piece)] + reader.close()
    finally:
        sys.setprofile(before)
    return items, joined


@pytest.mark.parametrize(("size", "piece"), [(5 * 1024 * 1024, 1024), (200 * 1024, 1)])
def test_a_large_event_in_small_pieces_is_joined_once(size: int, piece: int) -> None:
    body = b'data: "' + b"x" * size + b'"\n\n'
    items, joined = joined_bytes([body[at : at + piece] for at in range(0, len(body), piece)])
    assert items == [(None, b'"' + b"x" * size + b'"')]
    assert size <= joined <= len(body)


LINES = st.sampled_from(
    [b"data: ", b"data:", b"data", b"event: tick", b": note", b":", b"id: 1", b"retry: 5", b"", b"stray", b"{}"]
)
TEXTS = st.sampled_from([b"", b'{"a":1}', "é🗼".encode(), b"x" * 30, b": x", b" "])
NEWLINES = st.sampled_from([b"\n", b"\r", b"\r\n"])
LINE_STREAMS = st.lists(st.tuples(LINES, TEXTS, NEWLINES), min_size=1, max_size=12).map(
    lambda lines: b"".join(head + text + newline for head, text, newline in lines)
)


@given(body=LINE_STREAMS, cuts=st.lists(st.integers(0, 400), max_size=8))
def test_any_cut_of_any_stream_gives_the_same_items(body: bytes, cuts: list[int]) -> None:
    body = b"data: 0\n\n" + body
    places = [0, *sorted(min(cut + 9, len(body)) for cut in cuts), len(body)]
    assert read(*(body[start:end] for start, end in pairwise(places))) == read(body)


FORMS = [
    *(CHUNK, DATA_A + b"\n", b"event: tick\n" + DATA_B + b"\n", DATA_A, b'data: {"d":4}\r\n\r\n', b"data: {"),
    *(b'event: tick\r\ndata: {"e":5}\r\n\r\n', b"data: [DONE]\n\n", b":\n\n", b": ok\n\n", b": ping{\n\n"),
    *(b"event: error\n", b"\n", b"\r\n", b"\r", b"data: \n\n", b"id: 1\n"),
]


@example([CHUNK + b":\n\n"] * 2)
@example([CHUNK + b": ping{\n\n"] * 2)
@example([DATA_A + b"\nevent: foo\ndata: {"])
@example([b"event: tick\n" + DATA_B + b"\n" + DATA_A + DATA_B])
@given(pieces=st.lists(st.lists(st.sampled_from(FORMS), min_size=1, max_size=4).map(b"".join), min_size=1, max_size=6))
def test_the_fast_path_returns_the_payloads_of_the_general_reader(pieces: list[bytes]) -> None:
    reader = SseReader(CAP)
    payloads: list[bytes] = []
    for piece in pieces:
        of_fast_path = reader.run(piece)
        payloads += [data for _, data in reader.feed(piece)] if of_fast_path is None else of_fast_path
    payloads += [data for _, data in reader.close()]
    items, codes = read(*pieces)
    assert payloads == [data for _, data in items]
    assert list(dict.fromkeys(code for code, _ in reader.problems)) == codes


def test_events_that_end_with_crlf_take_the_fast_path() -> None:
    reader = SseReader(CAP)
    event = b'data: {"a":1}\r\n\r\n'
    assert [reader.run(given) for given in (event, event, event * 2)] == [[A[1]], [A[1]], [A[1]] * 2]
    assert (reader.feed(event[:9]), reader.feed(event[9:]), reader.run(event)) == ([], [A], [A[1]])
