"""JSON without server-sent events: lines, objects run together, one array, or one whole body."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.readers import JsonLinesReader, StreamEvent, sniff
from toolparity.normalizer.readers.jsonseq import JsonArrayReader

CAP = 1 << 20


def read(*pieces: bytes, cap: int = CAP, array: bool = False) -> tuple[list[bytes], list[str]]:
    """All payloads, and the codes of all problems."""
    reader = JsonArrayReader(cap) if array else JsonLinesReader(cap)
    items: list[StreamEvent] = [item for piece in pieces for item in reader.feed(piece)] + reader.close()
    return [payload for _, payload in items], [code for code, _ in reader.problems]


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def fast(reader: JsonLinesReader, piece: bytes) -> list[bytes]:
    """The payloads of a piece, from the fast path if it takes the piece."""
    of_fast_path = reader.run(piece)
    return [payload for _, payload in reader.feed(piece)] if of_fast_path is None else of_fast_path


A, B = b'{"a":1}', b'{"b":[{"c":2}]}'
PRETTY = json.dumps({"choices": [{"message": {"content": "a\nb"}}]}, indent=2).encode()
#: A stream -> its payloads and the codes of its problems.
STREAMS: dict[str, tuple[bytes, list[bytes], list[str]]] = {
    "a pretty-printed body": (PRETTY, [PRETTY], []),
    "a sentinel": (A + b"\n[DONE]\n", [A, b"[DONE]"], []),
    "a sentinel of server-sent events": (A + b"\ndata: [DONE]\n", [A, b"[DONE]"], []),
    "text between and after": (A + b"\nupstream failed\n" + B + b"\nbye", [A, B], ["raw-text-in-stream"] * 2),
    "half an object": (A + b"\n" + B[:-1], [A, B[:-1]], ["unterminated-event"]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_objects_are_separated_whatever_is_between_them(name: str) -> None:
    body, payloads, problems = STREAMS[name]
    assert read(body) == read(*cut(body, 1)) == (payloads, problems)


TRICKY = [
    *({"text": text} for text in ("} ] { [", 'a "quoted" word', "\\", '\\"}', "\\\\", "東京 🗼")),
    {"deep": {"er": [{"and": [{}]}, [], "]"]}},
]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='{}[]"\\,: aé🗼'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='{}"\\a', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(alphabet='{}"\\a', max_size=3), VALUES, max_size=3), min_size=1, max_size=4)
CUTS = st.lists(st.integers(0, 400), max_size=8)
LINES = st.lists(
    st.sampled_from([A + b"\n", B + b"\n", A, A + b"\r\n", b"\n", b"{\n", b"text\n", A + B + b"\n", A + b",\n"]),
    max_size=9,
)


def edges(body: bytes, cuts: list[int]) -> list[tuple[int, int]]:
    """The beginnings and ends of pieces."""
    return list(itertools.pairwise(sorted({0, len(body), *(min(at, len(body)) for at in cuts)})))


@example(objects=TRICKY, array=False, indent=None, between="\n", cuts=[1, 30, 60])
@example(objects=TRICKY, array=True, indent=2, between="", cuts=[1, 30, 60])
@given(
    objects=OBJECTS,
    array=st.booleans(),
    indent=st.sampled_from([None, 2]),
    between=st.sampled_from(["", "\n", " , ", "\r\n", "\x1e"]),
    cuts=CUTS,
)
def test_any_cut_of_any_objects_gives_the_same_items(
    objects: list[Any], array: bool, indent: int | None, between: str, cuts: list[int]
) -> None:
    written = [json.dumps(value, ensure_ascii=False, indent=indent) for value in objects]
    body = (f" [{', '.join(written)}]" if array else between.join(written)).encode()
    payloads, problems = read(*(body[start:end] for start, end in edges(body, cuts)), array=array)
    assert ([json.loads(payload) for payload in payloads], problems) == (objects, [])


@given(lines=LINES, cuts=CUTS)
def test_the_fast_path_returns_the_objects_of_the_general_reader(lines: list[bytes], cuts: list[int]) -> None:
    body = b"".join(lines)
    reader = JsonLinesReader(CAP)
    payloads = [payload for start, end in edges(body, cuts) for payload in fast(reader, body[start:end])]
    payloads += [payload for _, payload in reader.close()]
    assert (payloads, [code for code, _ in reader.problems]) == read(*cut(body, 1))


@given(objects=OBJECTS, between=st.sampled_from([b"\n", b"\r\n", b" , ", b" text ", b"\x1e"]), cuts=CUTS)
def test_an_object_is_returned_as_soon_as_it_is_complete(objects: list[Any], between: bytes, cuts: list[int]) -> None:
    lines = [json.dumps(value).encode() + between for value in objects]
    body, ends = b"".join(lines), list(itertools.accumulate(map(len, lines)))
    reader, returned = JsonLinesReader(CAP), 0
    for start, end in edges(body, cuts):
        returned += len(fast(reader, body[start:end]))
        assert returned == sum(complete - len(between) <= end for complete in ends)


def test_a_stream_of_lines_stays_on_the_fast_path_wherever_it_is_cut() -> None:
    body = (A + b"\n" + B + b"\n") * 50
    for size in (*range(len(A + B), 3 * len(A + B)), len(body)):
        reader = JsonLinesReader(CAP)
        assert [payload for piece in cut(body, size) for payload in reader.run(piece) or []] == [A, B] * 50


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_the_cap_holds_for_each_object_and_wherever_it_is_cut(piece: int) -> None:
    fits = b'{"a": "' + b"x" * 11 + b'"}'
    assert read(*cut(fits * 50, piece), cap=len(fits)) == ([fits] * 50, [])
    for too_large in (b'{"a": "' + b"x" * 12 + b'"}', b'{"a": "' + b"x" * 500):
        with pytest.raises(EventTooLarge, match="raise max_event_bytes"):
            read(*cut(fits + too_large, piece), cap=len(fits))


def test_the_first_character_decides_the_framing() -> None:
    for head in (b'{"a"', b' \n{"a"'):
        assert type(sniff(head, 100)) is JsonLinesReader
    for head in (b"[{", b"\xef\xbb\xbf["):
        assert type(sniff(head, 100)) is JsonArrayReader
    assert sniff(b"", 100) is None
