"""Events that end with one line feed, without a blank line, are events (GLM and Kimi behind some proxies)."""

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


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", SSE_WIRES)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("colon", [b": ", b":"])
def test_events_separated_by_one_newline_are_the_same_answer(wire: str, newline: bytes, colon: bytes) -> None:
    body = b"".join(emit_stream(wire, ANSWER)).replace(b"\r\n", b"\n").replace(b"\n\n", b"\n").replace(b"\n", newline)
    body = body.replace(b"data: ", b"data" + colon).replace(b"event: ", b"event" + colon)
    response = decoded(wire, body)  # whole and byte by byte
    assert response == decoded(wire, emit_stream(wire, ANSWER))
    assert ran(response) == ["call_a"]
    assert {finding.code for finding in response.findings} >= {"events-not-separated"}
    assert normalize(body, wire) == response
    detected = StreamDecoder()
    detected.feed(body)
    assert detected.finish() == response


@pytest.mark.parametrize("wire", SSE_WIRES)
def test_an_event_is_returned_when_the_next_one_begins(wire: str) -> None:
    """No event waits for a blank line that never comes: a stream of any length is shown while it arrives."""
    body = b"".join(emit_stream(wire, ANSWER)).replace(b"\r\n", b"\n").replace(b"\n\n", b"\n")
    _, events = feed(wire, [body])
    events = [event for event in events if not isinstance(event, UsageUpdate)]
    arrived = StreamDecoder(wire).feed(body[: body.rindex(b"data: {")])
    shown = [event for event in arrived if not isinstance(event, UsageUpdate)]
    assert shown == events[: len(shown)]
    assert len(shown) >= 2


def test_the_cap_is_for_one_event() -> None:
    line = b'data: {"a": "' + b"x" * 40 + b'"}\n'
    assert len(items(line * 30, cap=60)) == len(items(*[line] * 30, cap=60)) == 30
    with pytest.raises(EventTooLarge):
        items(b"data: {\n" + b"data:  \n" * 30, cap=60)


def test_white_space_after_the_sentinel_and_a_brace_or_a_keepalive_inside_data_are_not_errors() -> None:
    body = b"".join(emit_stream("openai.chat", ANSWER)).replace(b"data: [DONE]\n\n", b"")
    for sentinel in (b"data: [DONE]\ndata: \n\n", b"data: [DONE] \n\n", b"data:[DONE]\ndata:\n"):
        assert ran(decoded("openai.chat", body + sentinel)) == ["call_a"]
    assert items(b'data: {"a": "}{"\ndata:}\ndata: {"b": 2}\n\n') == [(None, b'{"a": "}{"\n}'), (None, b'{"b": 2}')]
    assert items(b'data: {"a": 1}\ndata: : keep-alive\ndata: {"b": 2}\n') == [(None, b'{"a": 1}'), (None, b'{"b": 2}')]


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
def test_any_documents_with_any_ends_split_anywhere_are_as_many_events(
    events: list[tuple[Any, ...]], newline: bytes, data: st.DataObject
) -> None:
    body = b""
    for value, indent, name, field, end in events:
        body += b"" if name is None else b"event: " + name.encode() + b"\n"
        body += b"\n".join(field + line for line in json.dumps(value, indent=indent).encode().split(b"\n")) + end
    body = body.replace(b"\n", newline)
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12))), len(body)]
    found = items(*(body[start:end] for start, end in pairwise(edges)))
    assert [(name, json.loads(payload)) for name, payload in found] == [(name, value) for value, _, name, *_ in events]
    assert items(*(body[at : at + 1] for at in range(len(body)))) == found
