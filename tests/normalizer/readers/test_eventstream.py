"""AWS event streams are read message by message, and the checksums of each are verified."""

from __future__ import annotations

import base64
import itertools
import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalizer.readers.test_jsonseq import cut
from tests.support.decoding import codes, feed
from tests.support.events import block_start, block_stop, json_delta
from tests.support.eventstream import event, exception, message
from toolparity import Response, ToolCall, normalize
from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.readers import sniff
from toolparity.normalizer.readers.eventstream import EventStreamReader, looks_like_event_stream

CAP = 1 << 20


def wrapped(event: Any) -> bytes:
    """An event as Bedrock's invoke API sends it: in base64, inside an object."""
    inner = base64.b64encode(json.dumps(event).encode()).decode()
    payload = json.dumps({"bytes": inner, "p": "abcdef"}).encode()
    return message(payload, event_type="chunk", content_type="application/json", message_type="event")


def flipped(body: bytes, at: int) -> bytes:
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


USE = {"type": "tool_use", "id": "call_a", "name": "lookup", "input": {}}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "r1", "type": "message", "role": "assistant", "content": []}},
    block_start(0, **USE),
    json_delta(0, '{"city": "東京"}'),
    block_stop(0),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
BODY = b"".join(map(wrapped, EVENTS))
CALL = ToolCall("call_a", "lookup", {"city": "東京"}, '{"city": "東京"}')
A, B = b'{"a": 1}', b'{"b": 2}'


def read(*pieces: bytes, cap: int = CAP) -> tuple[list[tuple[Any, bytes]], list[str]]:
    """All items, and the codes of all problems."""
    reader = EventStreamReader(cap)
    items = [item for piece in pieces for item in reader.feed(piece)] + reader.close()
    return list(items), [code for code, _ in reader.problems]


def decode(*pieces: bytes, wire: Any = "anthropic.messages") -> Response:
    return feed(wire, pieces)[0]


def test_messages_split_at_any_place_have_the_same_payloads() -> None:
    body = b"".join(
        [
            *(wrapped({"a": 1}), message(B), message(b"", message_type="event"), wrapped({"c": "東京"})),
            *(event("messageStart", {"role": "assistant"}), message(b"", event_type="metadata", message_type="event")),
        ]
    )
    payloads = [A, B, json.dumps({"c": "東京"}).encode(), b'{"messageStart":{"role": "assistant"}}', b'{"metadata":{}}']
    for pieces in (cut(body, 1), *((body[:at], body[at:]) for at in range(len(body)))):
        assert read(*pieces) == ([(None, payload) for payload in payloads], [])


@given(cuts=st.lists(st.integers(0, len(BODY)), max_size=10))
def test_a_bedrock_stream_is_one_response_wherever_it_is_cut(cuts: list[int]) -> None:
    places = itertools.pairwise(sorted({0, len(BODY), *cuts}))
    pieces = [BODY[start:end] for start, end in places]
    for wire in ("anthropic.messages", None):
        response = decode(*pieces, wire=wire)
        assert (response.wire, response.complete, response.findings) == ("anthropic.messages", True, ())
        assert response.choices[0].blocks == [CALL]


MESSAGES = st.sampled_from(
    [
        *(wrapped({"a": 1}), message(B), message(b"[3]"), message(b""), event("messageStart", {"role": "assistant"})),
        exception("throttlingException", {"message": "slow down"}),
        *(flipped(wrapped({"a": 1}), 30), wrapped({"a": 1})[:-4], message(b'{"bytes": "no base64"}')),
    ]
)


@given(messages=st.lists(MESSAGES, max_size=8), cuts=st.lists(st.integers(0, 2000), max_size=8))
def test_the_fast_path_returns_the_events_of_the_general_reader(messages: list[bytes], cuts: list[int]) -> None:
    body = b"".join(messages)
    reader = EventStreamReader(CAP)
    events: list[bytes] = []
    for start, end in itertools.pairwise(sorted({0, len(body), *(min(at, len(body)) for at in cuts)})):
        of_fast_path = reader.run(body[start:end])
        events += [item for _, item in reader.feed(body[start:end])] if of_fast_path is None else of_fast_path
    reader.close()
    items, problems = read(body)
    assert (events, [code for code, _ in reader.problems]) == ([item for _, item in items], problems)


def test_valid_messages_stay_on_the_fast_path_wherever_they_are_cut() -> None:
    end = event("messageStop", {"stopReason": "end_turn"})
    body = (wrapped({"a": 1}) + message(B) + end) * 20
    for size in (1, 7, 12, 40, 100, 300, len(body)):
        reader = EventStreamReader(CAP)
        payloads = [payload for piece in cut(body, size) for payload in reader.run(piece) or []]
        assert payloads == [A, B, read(end)[0][0][1]] * 20


def test_the_prelude_shows_an_event_stream() -> None:
    assert looks_like_event_stream(BODY)
    assert not looks_like_event_stream(BODY[:11])
    assert not looks_like_event_stream(b"\x00\x00\x00\x20\x00\x00\x00\x00nope")
    assert isinstance(sniff(BODY[:12], CAP), EventStreamReader)
    assert sniff(BODY[:11], CAP) is None
    response = normalize(BODY, "anthropic.messages")
    assert (response.choices[0].blocks, codes(response)) == ([CALL], ["stream-body"])


FIRST = message(A, event_type="chunk")


def test_a_message_with_a_wrong_checksum_is_reported_and_the_next_one_read() -> None:
    for at in range(12, len(FIRST)):
        ((failure, data), following), problems = read(flipped(FIRST, at) + message(B))
        assert problems == ["undecodable-event"]
        assert (failure, json.loads(data)["error"]["type"]) == ("error", "undecodable_event")
        assert following == (None, B)


def test_nothing_is_read_after_a_wrong_prelude_as_its_length_cannot_be_trusted() -> None:
    prelude = struct.pack(">II", 15, 0)  # too small for a message
    too_small = prelude + struct.pack(">I", zlib.crc32(prelude)) + b"abc"
    for broken in (*(flipped(FIRST, at) for at in range(12)), too_small):
        body = message(B) + broken + message(b'{"c": 3}')
        assert read(body) == read(*cut(body, 1)) == ([(None, B)], ["undecodable-event"])


def test_bytes_that_are_not_base64_are_reported_and_a_payload_nested_too_deep_by_the_wire() -> None:
    for text in (b"x", "\u00e9".encode(), b"\xff"):
        items, problems = read(message(b'{"bytes": "' + text + b'"}'))
        assert ([name for name, _ in items], problems) == (["error"], ["undecodable-event"])
    for member in (b"x", b"bytes"):
        payload = b'{"' + member + b'": ' + b"[" * 100_000
        assert read(message(payload)) == ([(None, payload)], [])
        response = decode(message(payload))
        assert (response.complete, "undecodable-event" in codes(response)) == (False, True)


def test_a_message_that_is_not_whole_is_not_read() -> None:
    assert read(FIRST + FIRST[:-1]) == ([(None, A)], ["unterminated-event"])
    response = decode(BODY[:-3])
    assert (response.complete, codes(response)) == (False, ["unterminated-event", "stream-incomplete"])


def test_an_exception_is_an_error_of_its_type_and_stops_the_calls_before_it() -> None:
    slow_down = {"message_type": "exception", "exception_type": "throttlingException"}
    for headers in (slow_down, {"message_type": "error", "error_code": "internalServerException"}):
        ((name, data),), problems = read(message(b'{"message": "m", "originalStatusCode": 500}', **headers))
        assert (name, problems) == ("error", [])
        kind = list(headers.values())[1]
        assert json.loads(data) == {"error": {"type": kind, "message": "m", "originalStatusCode": 500}}
    response = decode(b"".join(map(wrapped, EVENTS[:4])) + message(b"slow down", **slow_down))
    assert response.error is not None
    assert (response.error.type, response.error.message) == ("throttlingException", "slow down")
    assert (response.complete, response.choices[0].blocks) == (False, [CALL])


@pytest.mark.parametrize("size", [1, 16, 1000])
def test_a_message_larger_than_the_cap_is_refused_before_it_is_held(size: int) -> None:
    large = message(b"x" * 500)
    with pytest.raises(EventTooLarge, match="raise max_event_bytes"):
        read(*cut(large, size), cap=len(large) - 1)
    assert read(large, cap=len(large)) == ([(None, b"x" * 500)], [])
