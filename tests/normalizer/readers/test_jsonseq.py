"""JSON without server-sent events: lines, objects run together, one array, or one whole body."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolparity import StreamDecoder
from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.readers import JsonLinesReader, StreamEvent, sniff
from toolparity.normalizer.readers.jsonseq import JsonArrayReader


def read(*pieces: bytes, cap: int = 1 << 20, array: bool = False) -> tuple[list[StreamEvent], list[str]]:
    """All items, and the codes of all problems."""
    reader = JsonArrayReader(cap) if array else JsonLinesReader(cap)
    items = [item for piece in pieces for item in reader.feed(piece)] + reader.close()
    return items, [code for code, _ in reader.problems]


def singles(body: bytes) -> list[bytes]:
    return [body[at : at + 1] for at in range(len(body))]


A, B = b'{"a":1}', b'{"b":[{"c":2}]}'
ITEMS: list[StreamEvent] = [(None, A), (None, B)]
TRICKY = [
    {"text": "} ] { ["},
    {"text": 'a "quoted" word'},
    {"text": "\\"},
    {"text": '\\"}'},
    {"text": "\\\\"},
    {"text": "東京 🗼"},
    {"deep": {"er": [{"and": [{}]}, [], "]"]}},
]


@pytest.mark.parametrize("between", [b"\n", b"\r\n", b"", b" ", b"\n\n", b",\n", b"\x1e"])
def test_objects_are_told_apart_whatever_stands_between_them(between: bytes) -> None:
    body = A + between + B
    assert read(body) == (ITEMS, [])
    assert read(*singles(body)) == (ITEMS, [])


@pytest.mark.parametrize("indent", [None, 2])
def test_the_objects_of_an_array_are_given_one_by_one(indent: int | None) -> None:
    body = json.dumps([{"a": 1}, {"b": [{"c": 2}]}], indent=indent).encode()
    items, problems = read(body, array=True)
    assert [json.loads(data) for _, data in items] == [{"a": 1}, {"b": [{"c": 2}]}]
    assert problems == []
    assert read(*singles(body), array=True) == (items, [])


@pytest.mark.parametrize("array", [False, True])
def test_braces_quotes_and_escapes_inside_strings_split_nothing(array: bool) -> None:
    body = json.dumps(TRICKY, ensure_ascii=False) if array else "\n".join(map(json.dumps, TRICKY))
    whole = body.encode()
    items, problems = read(whole, array=array)
    assert [json.loads(data) for _, data in items] == TRICKY
    assert problems == []
    assert read(*singles(whole), array=array) == (items, [])
    for at in range(len(whole)):
        assert read(whole[:at], whole[at:], array=array) == (items, [])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='{}[]"\\,: aé🗼'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='{}"\\a', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(alphabet='{}"\\a', max_size=3), VALUES, max_size=3), min_size=1, max_size=4)


@given(objects=OBJECTS, array=st.booleans(), between=st.sampled_from(["", "\n", " , "]), data=st.data())
def test_any_cut_of_any_objects_gives_the_same_items(
    objects: list[Any], array: bool, between: str, data: st.DataObject
) -> None:
    body = (json.dumps(objects) if array else between.join(map(json.dumps, objects))).encode()
    places = sorted({0, len(body), *data.draw(st.lists(st.integers(0, len(body)), max_size=8))})
    items, problems = read(*(body[a:b] for a, b in itertools.pairwise(places)), array=array)
    assert [json.loads(data) for _, data in items] == objects
    assert problems == []


LINES = st.lists(
    st.sampled_from([A + b"\n", B + b"\n", A, A + b"\r\n", b"\n", b"{\n", b"text\n", A + B + b"\n", A + b",\n"]),
    max_size=9,
)


@given(lines=LINES, data=st.data())
def test_the_fast_path_returns_the_objects_of_the_general_reader(lines: list[bytes], data: st.DataObject) -> None:
    body = b"".join(lines)
    places = sorted({0, len(body), *data.draw(st.lists(st.integers(0, len(body)), max_size=6))})
    reader = JsonLinesReader(1 << 20)
    objects: list[bytes] = []
    for start, end in itertools.pairwise(places):
        of_fast_path = reader.run(body[start:end])
        objects += [item for _, item in reader.feed(body[start:end])] if of_fast_path is None else of_fast_path
    objects += [item for _, item in reader.close()]
    items, codes = read(*singles(body))
    assert (objects, [code for code, _ in reader.problems]) == ([item for _, item in items], codes)


@given(objects=OBJECTS, between=st.sampled_from([b"\n", b"\r\n", b" , ", b" text ", b"\x1e"]), data=st.data())
def test_an_object_is_returned_as_soon_as_it_is_complete(
    objects: list[Any], between: bytes, data: st.DataObject
) -> None:
    lines = [json.dumps(value).encode() + between for value in objects]
    body, ends = b"".join(lines), list(itertools.accumulate(map(len, lines)))
    places = sorted({0, len(body), *data.draw(st.lists(st.integers(0, len(body)), max_size=6))})
    reader, returned = JsonLinesReader(1 << 20), 0
    for start, end in itertools.pairwise(places):
        of_fast_path = reader.run(body[start:end])
        returned += len(reader.feed(body[start:end]) if of_fast_path is None else of_fast_path)
        assert returned == sum(complete - len(between) <= end for complete in ends)


def test_a_stream_of_lines_stays_on_the_fast_path_wherever_it_is_cut() -> None:
    body = b"".join(A + b"\n" + B + b"\n" for _ in range(50))
    for size in range(len(A + B), 3 * len(A + B)):
        reader = JsonLinesReader(1 << 20)
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        assert [item for piece in pieces for item in reader.run(piece) or []] == [A, B] * 50


def test_lines_of_one_object_take_the_fast_path() -> None:
    assert JsonLinesReader(1 << 20).run(A + b"\n" + B + b"\n") == [A, B]


def test_one_whole_body_is_one_item_pretty_printed_or_not() -> None:
    for indent in (None, 2):
        body = json.dumps({"choices": [{"message": {"content": "a\nb"}}]}, indent=indent).encode()
        assert read(body) == ([(None, body)], [])
        assert read(*singles(body)) == ([(None, body)], [])


def test_the_closing_word_of_a_chat_stream_is_an_item() -> None:
    assert read(A + b"\n[DONE]\n") == ([(None, A), (None, b"[DONE]")], [])
    assert read(A + b"\ndata: [DONE]\n") == ([(None, A), (None, b"[DONE]")], [])


def test_text_between_objects_is_reported() -> None:
    body = A + b"\nupstream went away\n" + B
    assert read(body) == (ITEMS, ["raw-text-in-stream"])
    assert read(*singles(body)) == (ITEMS, ["raw-text-in-stream"])
    assert read(body + b"\nbye") == (ITEMS, ["raw-text-in-stream"] * 2)


def test_an_object_that_is_not_whole_is_handed_on_and_reported() -> None:
    assert read(A + b"\n" + B[:-1]) == ([(None, A), (None, B[:-1])], ["unterminated-event"])


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_the_cap_holds_for_each_object_and_wherever_it_is_cut(piece: int) -> None:
    def feed(body: bytes) -> list[StreamEvent]:
        return read(*(body[at : at + piece] for at in range(0, len(body), piece)), cap=20)[0]

    fits = b'{"a": "' + b"x" * 11 + b'"}'
    assert len(fits) == 20
    assert feed(fits * 50) == [(None, fits)] * 50
    for too_large in (b'{"a": "' + b"x" * 12 + b'"}', b'{"a": "' + b"x" * 500):
        with pytest.raises(EventTooLarge, match="raise max_event_bytes"):
            feed(fits + too_large)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b'{"a"', JsonLinesReader),
        (b' \n{"a"', JsonLinesReader),
        (b"[{", JsonArrayReader),
        (b"\xef\xbb\xbf[", JsonArrayReader),
    ],
)
def test_the_framing_is_told_by_the_first_character(head: bytes, kind: type) -> None:
    assert type(sniff(head, 100)) is kind
    assert sniff(head[:0], 100) is None


CHUNKS: list[dict[str, Any]] = [
    {"id": "r1", "choices": [{"index": 0, "delta": {"content": "It is "}}]},
    {"id": "r1", "choices": [{"index": 0, "delta": {"content": "sunny."}, "finish_reason": "stop"}]},
]


@pytest.mark.parametrize(
    "body",
    [
        "\n".join(map(json.dumps, CHUNKS)),
        "".join(map(json.dumps, CHUNKS)),
        json.dumps(CHUNKS),
        json.dumps(CHUNKS, indent=1),
        "\n".join(map(json.dumps, CHUNKS)) + "\n[DONE]\n",
    ],
    ids=["lines", "run together", "array", "pretty array", "lines and [DONE]"],
)
def test_a_stream_in_any_of_these_framings_is_one_response(body: str) -> None:
    for pieces in ([body.encode()], singles(body.encode())):
        decoder = StreamDecoder("openai.chat")
        for piece in pieces:
            decoder.feed(piece)
        response = decoder.finish()
        assert (response.text, response.complete, response.findings) == ("It is sunny.", True, ())
