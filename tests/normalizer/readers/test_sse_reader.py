"""Server-sent events are read by the WHATWG rules, in whatever pieces they arrive."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolparity import StreamDecoder
from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.readers import RAW, SseReader, StreamEvent

CAP = 1 << 20
CHUNK = b'data: {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}\n\n'


def read(*pieces: bytes) -> tuple[list[StreamEvent], list[str]]:
    """All items, and the codes of all problems, each once."""
    reader = SseReader(CAP)
    items = [item for piece in pieces for item in reader.feed(piece)] + reader.close()
    return items, list(dict.fromkeys(code for code, _ in reader.problems))


def split_everywhere(body: bytes) -> list[tuple[list[StreamEvent], list[str]]]:
    """The readings of every cut in two, and of the single bytes with nothing between them."""
    halves = [read(body[:at], body[at:]) for at in range(1, len(body))]
    singles = [body[at : at + 1] for at in range(len(body))]
    return [*halves, read(*singles), read(*(piece for one in singles for piece in (one, b"")))]


A, B = (None, b'{"a":1}'), (None, b'{"b":2}')


@pytest.mark.parametrize("newline", [b"\n", b"\r", b"\r\n"])
def test_lines_end_with_any_newline_and_events_with_a_blank_line(newline: bytes) -> None:
    body = b'data: {"a":1}\n\nevent: tick\ndata: {"b":2}\n\n'.replace(b"\n", newline)
    expected = ([A, ("tick", b'{"b":2}')], [])
    assert read(body) == expected
    assert split_everywhere(body) == [expected] * (len(body) + 1)


def test_newlines_of_all_kinds_may_be_mixed() -> None:
    body = b'data: {"a":1}\r\n\ndata: {"b":2}\n\r\n: note\r\rdata: {"a":1}\r\r'
    assert read(body) == ([A, B, A], [])
    assert split_everywhere(body) == [([A, B, A], [])] * (len(body) + 1)


def test_a_carriage_return_before_a_line_feed_is_one_newline_whatever_stands_between_the_reads() -> None:
    assert read(b"data: 1\r", b"", b"\ndata: 2\r", b"\n\r", b"", b"", b"\n") == ([(None, b"1\n2")], [])


@pytest.mark.parametrize("body", [b": note\n\n", b":\n\n", b":note\n:note\n\n", b": data: no\n\n", b"\n\n\n\n"])
def test_comments_and_blank_lines_are_no_events(body: bytes) -> None:
    assert read(body) == ([], [])


def test_comments_inside_an_event_are_left_out_of_it() -> None:
    assert read(b': one\ndata: {"a":1}\n: two\n\n') == ([A], [])


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (b'data:{"a":1}', b'{"a":1}'),
        (b'data: {"a":1}', b'{"a":1}'),
        (b'data:  {"a":1}', b' {"a":1}'),
        (b"data: x", b"x"),
        (b"data: [DONE]", b"[DONE]"),
        (b"data:a: b", b"a: b"),
    ],
)
def test_one_space_after_the_colon_is_dropped_and_no_more(line: bytes, data: bytes) -> None:
    assert read(line + b"\n\n") == ([(None, data)], [])


def test_several_data_lines_are_joined_with_line_feeds() -> None:
    assert read(b"data: {\ndata:  1\ndata:\ndata: }\n\n") == ([(None, b"{\n 1\n\n}")], [])


@pytest.mark.parametrize("body", [b"event: ping\n\n", b"id: 7\n\n", b"retry: 10\n\n", b"id\n\n", b"id\nretry\n\n"])
def test_an_event_without_data_is_no_event(body: bytes) -> None:
    assert read(body) == ([], [])


@pytest.mark.parametrize("body", [b"data:\n\n", b"data\n\n", b"data: \n\n", b"data\ndata\n\n", b"event: x\ndata:\n\n"])
def test_an_empty_data_field_is_no_event_and_is_reported(body: bytes) -> None:
    assert read(body) == ([], ["empty-event"])


def test_a_keepalive_wrapped_into_data_is_no_event_and_is_reported() -> None:
    assert read(b'data: : keepalive\n\ndata: {"a":1}\n\n') == ([A], ["keepalive-in-data"])


@pytest.mark.parametrize("body", [b'event: tick\ndata: {"a":1}\n\n', b'data: {"a":1}\nevent: tick\n\n'])
def test_an_event_has_its_name_wherever_the_field_stands(body: bytes) -> None:
    assert read(body) == ([("tick", b'{"a":1}')], [])


def test_a_name_holds_for_one_event() -> None:
    assert read(b'event: tick\ndata: {"a":1}\n\ndata: {"b":2}\n\n') == ([("tick", A[1]), B], [])


def test_an_event_line_between_data_lines_begins_another_event() -> None:
    items = [(None, b'{"typ'), ("error", A[1])]
    assert read(b'data: {"typ\nevent: error\ndata: {"a":1}\n\n') == (items, ["events-not-separated"])


def test_fields_of_another_name_are_ignored_beside_known_ones() -> None:
    assert read(b'x-trace: 9\ndata: {"a":1}\ntook_ms: 4\n\n') == ([A], [])


@pytest.mark.parametrize(
    "raw", [b'{"error": "boom"}', b"Internal Server Error", b"Error: boom", b"<html>502</html>", b"data {1}"]
)
def test_text_that_is_no_field_is_handed_on_and_reported(raw: bytes) -> None:
    assert read(b'data: {"a":1}\n\n' + raw + b"\n\n") == ([A, (RAW, raw)], ["raw-text-in-stream"])


def test_raw_text_inside_an_event_does_not_cost_the_event() -> None:
    assert read(b'data: {"a":1}\nupstream went away\n\n') == (
        [A, (RAW, b"upstream went away")],
        ["raw-text-in-stream"],
    )


def test_a_byte_order_mark_at_the_beginning_is_no_text() -> None:
    assert read(b'\xef\xbb\xbfdata: {"a":1}\n\n') == ([A], [])


def test_a_byte_order_mark_may_be_split_between_reads() -> None:
    body = b"\xef\xbb\xbf" + CHUNK
    for at in range(1, 6):
        decoder = StreamDecoder("openai.chat")
        decoder.feed(body[:at])
        decoder.feed(body[at:])
        response = decoder.finish()
        assert (response.text, response.findings) == ("hi", ())


def test_characters_split_between_reads_stay_whole() -> None:
    data = '{"city": "東京 🗼"}'.encode()
    body = "event: é\ndata: ".encode() + data + b"\n\n"
    assert split_everywhere(body) == [([("é", data)], [])] * (len(body) + 1)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_a_last_event_without_its_blank_line_is_read_and_reported(end: bytes) -> None:
    assert read(b'data: {"a":1}\n\ndata: {"b":2}' + end) == ([A, B], ["unterminated-event"])


def test_a_comment_without_its_blank_line_is_not_worth_a_report() -> None:
    assert read(b'data: {"a":1}\n\n: bye\n') == ([A], [])


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
STREAMS = st.lists(st.tuples(LINES, TEXTS, NEWLINES), min_size=1, max_size=12).map(
    lambda lines: b"".join(head + text + newline for head, text, newline in lines)
)


@given(body=STREAMS, cuts=st.lists(st.integers(0, 400), max_size=8))
def test_any_cut_of_any_stream_gives_the_same_items(body: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    body = b"data: 0\n\n" + body
    places = [0, *(place + 9 for place in places[1:-1]), len(body)]
    pieces = [body[a:b] for a, b in pairwise(places)]
    assert b"".join(pieces) == body
    assert read(*pieces) == read(body)


@pytest.mark.parametrize("name", ["raw", "RAW", "text between events"])
def test_no_name_that_a_sender_writes_makes_an_event_raw_text(name: str) -> None:
    event = f"event: {name}\n".encode() + CHUNK
    assert read(event) == ([(name, CHUNK[6:-2])], [])
    for pieces in ([event], [event[at : at + 1] for at in range(len(event))]):
        decoder = StreamDecoder("openai.chat")
        for piece in pieces:
            decoder.feed(piece)
        response = decoder.finish()
        assert (response.text, response.error, response.complete) == ("hi", None, True)


@pytest.mark.parametrize("rest", [b"event: foo", b": foo", b"data: {", b"event: foo\ndata: {", b"event: foo\n"])
def test_a_chunk_may_end_inside_of_an_event_of_another_form(rest: bytes) -> None:
    reader = SseReader(CAP)
    chunk = b'data: {"a":1}\n\n' + rest
    payloads = reader.run(chunk)
    first = [data for _, data in reader.feed(chunk)] if payloads is None else payloads
    assert first == [b'{"a":1}']


PIECES = st.lists(
    st.sampled_from(
        [
            CHUNK,
            b'data: {"a":1}\n\n',
            b'event: tick\ndata: {"b":2}\n\n',
            b'data: {"c":3}\n',
            b'data: {"d":4}\r\n\r\n',
            b'event: tick\r\ndata: {"e":5}\r\n\r\n',
            b"data: [DONE]\n\n",
            b"data: {",
            b":\n\n",
            b": ok\n\n",
            b": ping{\n\n",
            b"event: error\n",
            b"\n",
            b"\r\n",
            b"\r",
            b"data: \n\n",
            b"id: 1\n",
        ]
    ),
    min_size=1,
    max_size=4,
).map(b"".join)


def assert_fast_path_agrees(pieces: list[bytes]) -> None:
    """Assert that the fast path, where it takes a piece, returns the payloads of the general reader."""
    reader = SseReader(CAP)
    payloads: list[bytes] = []
    for piece in pieces:
        of_fast_path = reader.run(piece)
        payloads += [data for _, data in reader.feed(piece)] if of_fast_path is None else of_fast_path
    payloads += [data for _, data in reader.close()]
    items, codes = read(*pieces)
    assert payloads == [data for _, data in items]
    assert list(dict.fromkeys(code for code, _ in reader.problems)) == codes


@given(pieces=st.lists(PIECES, min_size=1, max_size=6))
def test_the_fast_path_returns_the_payloads_of_the_general_reader(pieces: list[bytes]) -> None:
    assert_fast_path_agrees(pieces)


@pytest.mark.parametrize("comment", [b":\n\n", b": ok\n\n", b": ping{\n\n"])
def test_an_event_and_a_comment_in_one_piece_are_read_each_time_they_come(comment: bytes) -> None:
    assert_fast_path_agrees([CHUNK + comment] * 2)


def test_events_that_end_with_crlf_take_the_fast_path() -> None:
    reader = SseReader(CAP)
    event = b'data: {"a":1}\r\n\r\n'
    assert [reader.run(event), reader.run(event), reader.run(event * 2)] == [
        [b'{"a":1}'],
        [b'{"a":1}'],
        [b'{"a":1}'] * 2,
    ]
    assert reader.feed(event[:9]) == []
    assert reader.feed(event[9:]) == [(None, b'{"a":1}')]
    assert reader.run(event) == [b'{"a":1}']


def test_two_pending_lines_of_data_are_two_events_at_the_end() -> None:
    assert_fast_path_agrees([b'event: tick\ndata: {"b":2}\n\ndata: {"a":1}\ndata: {"b":2}\n'])
