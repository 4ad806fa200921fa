"""Item 8: events that end with one line feed, without a blank line, are events (GLM and Kimi behind some proxies)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import decoded, feed, ran
from tests.support.emit import LOOKUP, emit_stream
from tests.support.thoroughness import examples
from tests.support.wires import SSE_WIRES
from toolparity import StreamDecoder, normalize
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.events import UsageUpdate
from toolparity.normalizer.readers import SseReader, StreamEvent

ANSWER = [Say("I look."), LOOKUP]


def items(*pieces: bytes, cap: int = 1 << 20) -> list[StreamEvent]:
    reader = SseReader(cap)
    return [item for piece in pieces for item in reader.feed(piece)] + reader.close()


def run_together(wire: str, colon: bytes = b": ", newline: bytes = b"\n") -> bytes:
    """A streamed answer with one newline between its events."""
    body = b"".join(emit_stream(wire, ANSWER)).replace(b"\r\n", b"\n").replace(b"\n\n", b"\n")
    for field in (b"data", b"event"):
        body = body.replace(field + b": ", field + colon)
    return body.replace(b"\n", newline)


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", SSE_WIRES)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("colon", [b": ", b":"])
def test_item_8_events_separated_by_one_newline_are_the_same_answer(wire: str, newline: bytes, colon: bytes) -> None:
    body = run_together(wire, colon, newline)
    response = decoded(wire, body)  # whole and byte by byte
    assert response == decoded(wire, emit_stream(wire, ANSWER))
    assert ran(response) == ["call_a"]
    assert {f.code for f in response.findings} >= {"events-not-separated"}
    assert normalize(body, wire) == response
    detected = StreamDecoder()
    detected.feed(body)
    assert detected.finish() == response


@pytest.mark.parametrize("wire", SSE_WIRES)
def test_item_8_an_event_is_given_when_the_next_one_begins(wire: str) -> None:
    """Nothing waits for a blank line that never comes: a stream of any length is shown while it arrives."""
    body = run_together(wire)
    last = body.rindex(b"data: {")
    _, events = feed(wire, [body])
    decoder = StreamDecoder(wire)
    shown = [event for event in decoder.feed(body[:last]) if not isinstance(event, UsageUpdate)]
    assert shown == [event for event in events if not isinstance(event, UsageUpdate)][: len(shown)]
    assert len(shown) >= 2


def test_item_8_the_cap_is_for_one_event() -> None:
    line = b'data: {"a": "' + b"x" * 40 + b'"}\n'
    assert len(items(line * 30, cap=60)) == 30
    assert len(items(*[line] * 30, cap=60)) == 30
    with pytest.raises(EventTooLarge):
        items(b"data: {\n" + b"data:  \n" * 30, cap=60)


def test_item_8_lines_of_one_event_are_joined_as_the_standard_says() -> None:
    assert items(b'data: {"a":\ndata: {"b":\ndata: {}}}\n\n') == [(None, b'{"a":\n{"b":\n{}}}')]
    assert items(b'data: {"a": "}{"\ndata:}\ndata: {"b": 2}\n\n') == [(None, b'{"a": "}{"\n}'), (None, b'{"b": 2}')]
    assert items(b"data: one\ndata: {two}\n\n") == [(None, b"one\n{two}")]
    assert items(b'data: {"a": 1}\ndata: : keep-alive\ndata: {"b": 2}\n') == [(None, b'{"a": 1}'), (None, b'{"b": 2}')]
    assert items(b'data: {"a": 1}\ndata:\ndata: words\n\n') == [(None, b'{"a": 1}\n\nwords')]


@pytest.mark.parametrize("sentinel", [b"data: [DONE]\ndata: \n\n", b"data: [DONE] \n\n", b"data:[DONE]\ndata:\n"])
def test_item_8_white_space_after_the_sentinel_is_no_error(sentinel: bytes) -> None:
    body = b"".join(emit_stream("openai.chat", ANSWER)).replace(b"data: [DONE]\n\n", b"")
    assert ran(decoded("openai.chat", body + sentinel)) == ["call_a"]


def test_item_8_each_event_has_its_own_name() -> None:
    body = b'event: a\ndata: {"n": 1}\nid: 7\nevent: b\ndata: {"n": 2}\ndata: {"n": 3}\nevent: c\n\n'
    assert items(body) == [("a", b'{"n": 1}'), ("b", b'{"n": 2}'), ("c", b'{"n": 3}')]


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\{}[]: \n', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\{}', max_size=3), inner, max_size=3),
    max_leaves=6,
)
_events = st.lists(
    st.tuples(
        st.dictionaries(st.text("ab{}", max_size=3), _values, min_size=1, max_size=3),
        st.sampled_from([None, 0, 2]),  # how the document is indented: over how many lines it is spread
        st.sampled_from([None, "tick", "error"]),
        st.sampled_from([b"data: ", b"data:"]),
        st.sampled_from([b"\n", b"\n", b"\n\n", b"\n: note\n", b"\nid: 3\n", b"\n\n\n"]),
    ),
    min_size=1,
    max_size=8,
)


@examples(300)
@given(_events, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.data())
def test_item_8_any_documents_with_any_ends_split_anywhere_are_as_many_events(
    events: list[tuple[Any, ...]], newline: bytes, data: st.DataObject
) -> None:
    body = b""
    expected = []
    for value, indent, name, field, end in events:
        lines = json.dumps(value, indent=indent).encode().split(b"\n")
        body += b"" if name is None else b"event: " + name.encode() + b"\n"
        body += b"\n".join(field + line for line in lines) + end
        expected.append((name, value))
    body = body.replace(b"\n", newline)
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    edges = [0, *places, len(body)]
    found = items(*(body[start:end] for start, end in pairwise(edges)))
    assert [(name, json.loads(payload)) for name, payload in found] == expected
    assert items(*(body[at : at + 1] for at in range(len(body)))) == found
