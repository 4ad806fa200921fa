"""AWS event streams are read message by message, each held to its checksums."""

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

from tests.support.eventstream import event, exception, message
from toolparity import StreamDecoder, ToolCall, normalize
from toolparity.normalizer.errors import EventTooLarge
from toolparity.normalizer.readers import StreamEvent, sniff
from toolparity.normalizer.readers.eventstream import EventStreamReader, looks_like_event_stream


def wrapped(event: Any) -> bytes:
    """An event as Bedrock's invoke API sends it: in base64, inside an object."""
    inner = base64.b64encode(json.dumps(event).encode()).decode()
    payload = json.dumps({"bytes": inner, "p": "abcdef"}).encode()
    return message(payload, event_type="chunk", content_type="application/json", message_type="event")


def flipped(body: bytes, at: int) -> bytes:
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "r1", "type": "message", "role": "assistant", "content": []}},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "call_a", "name": "lookup", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"city": "東京"}'},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
BODY = b"".join(map(wrapped, EVENTS))
CALL = ToolCall("call_a", "lookup", {"city": "東京"}, '{"city": "東京"}')


def read(*pieces: bytes, cap: int = 1 << 20) -> tuple[list[StreamEvent], list[str]]:
    """All items, and the codes of all problems."""
    reader = EventStreamReader(cap)
    items = [item for piece in pieces for item in reader.feed(piece)] + reader.close()
    return items, [code for code, _ in reader.problems]


def test_wrapped_and_bare_payloads_are_both_given() -> None:
    assert read(wrapped({"a": 1}) + message(b'{"b": 2}')) == ([(None, b'{"a": 1}'), (None, b'{"b": 2}')], [])


def test_a_message_without_a_payload_is_no_event() -> None:
    assert read(message(b"", message_type="event") + message(b'{"b": 2}')) == ([(None, b'{"b": 2}')], [])


def test_messages_split_at_any_place_are_the_same() -> None:
    body = wrapped({"a": 1}) + wrapped({"b": "東京"})
    whole = read(body)
    assert whole == ([(None, b'{"a": 1}'), (None, json.dumps({"b": "東京"}).encode())], [])
    for at in range(len(body)):
        assert read(body[:at], body[at:]) == whole
    assert read(*(body[at : at + 1] for at in range(len(body)))) == whole


@given(cuts=st.lists(st.integers(0, len(BODY)), max_size=10))
def test_a_bedrock_stream_is_one_response_wherever_it_is_cut(cuts: list[int]) -> None:
    places = sorted({0, len(BODY), *cuts})
    for wire in ("anthropic.messages", None):
        decoder = StreamDecoder(wire)
        for start, end in itertools.pairwise(places):
            decoder.feed(BODY[start:end])
        response = decoder.finish()
        assert (response.wire, response.complete, response.findings) == ("anthropic.messages", True, ())
        assert response.choices[0].blocks == [CALL]


MESSAGES = st.sampled_from(
    [
        wrapped({"a": 1}),
        message(b'{"b": 2}'),
        message(b"[3]"),
        message(b""),
        event("messageStart", {"role": "assistant"}),
        exception("throttlingException", {"message": "slow down"}),
        flipped(wrapped({"a": 1}), 30),
        wrapped({"a": 1})[:-4],
        message(b'{"bytes": "no base64"}'),
    ]
)


@given(messages=st.lists(MESSAGES, max_size=8), data=st.data())
def test_the_fast_path_returns_the_events_of_the_general_reader(messages: list[bytes], data: st.DataObject) -> None:
    body = b"".join(messages)
    places = sorted({0, len(body), *data.draw(st.lists(st.integers(0, len(body)), max_size=8))})
    reader = EventStreamReader(1 << 20)
    events: list[bytes] = []
    for start, end in itertools.pairwise(places):
        of_fast_path = reader.run(body[start:end])
        events += [item for _, item in reader.feed(body[start:end])] if of_fast_path is None else of_fast_path
    reader.close()
    items, codes = read(body)
    assert (events, [code for code, _ in reader.problems]) == ([item for _, item in items], codes)


def test_valid_messages_stay_on_the_fast_path_wherever_they_are_cut() -> None:
    body = (wrapped({"a": 1}) + message(b'{"b": 2}')) * 20
    for size in (1, 7, 12, 40, 100, 300):
        reader = EventStreamReader(1 << 20)
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        assert [item for piece in pieces for item in reader.run(piece) or []] == [b'{"a": 1}', b'{"b": 2}'] * 20


def test_whole_messages_take_the_fast_path() -> None:
    pieces = wrapped({"a": 1}) * 2, event("messageStop", {"stopReason": "end_turn"})
    reader = EventStreamReader(1 << 20)
    expected = [[b'{"a": 1}'] * 2, [data for _, data in read(pieces[1])[0]]]
    assert [reader.run(piece) for piece in pieces] == expected


def test_a_whole_event_stream_is_told_by_its_prelude() -> None:
    assert looks_like_event_stream(BODY)
    assert not looks_like_event_stream(BODY[:11])
    assert not looks_like_event_stream(b"\x00\x00\x00\x20\x00\x00\x00\x00nope")
    assert isinstance(sniff(BODY[:12], 1 << 20), EventStreamReader)
    assert sniff(BODY[:11], 1 << 20) is None
    response = normalize(BODY, "anthropic.messages")
    assert response.choices[0].blocks == [CALL]
    assert [finding.code for finding in response.findings] == ["stream-body"]


FIRST = message(b'{"a": 1}', event_type="chunk")


@pytest.mark.parametrize("at", range(12, len(FIRST)))
def test_a_message_with_a_wrong_checksum_is_reported_and_the_next_one_read(at: int) -> None:
    ((failure, data), following), problems = read(flipped(FIRST, at) + message(b'{"b": 2}'))
    assert problems == ["undecodable-event"]
    assert (failure, json.loads(data)["error"]["type"]) == ("error", "undecodable_event")
    assert following == (None, b'{"b": 2}')


@pytest.mark.parametrize("at", range(12))
def test_nothing_is_read_after_a_wrong_prelude_as_its_length_cannot_be_trusted(at: int) -> None:
    broken = message(b'{"b": 2}') + flipped(FIRST, at) + message(b'{"c": 3}')
    assert read(broken) == ([(None, b'{"b": 2}')], ["undecodable-event"])
    assert read(*(broken[i : i + 1] for i in range(len(broken)))) == read(broken)


def test_a_length_that_is_too_small_for_a_message_is_a_wrong_prelude() -> None:
    prelude = struct.pack(">II", 15, 0)
    assert read(prelude + struct.pack(">I", zlib.crc32(prelude)) + b"abc") == ([], ["undecodable-event"])


@pytest.mark.parametrize("text", [b"x", "\u00e9".encode(), b"\xff"])
def test_bytes_that_are_no_base64_are_reported(text: bytes) -> None:
    items, problems = read(message(b'{"bytes": "' + text + b'"}'))
    assert ([name for name, _ in items], problems) == (["error"], ["undecodable-event"])


@pytest.mark.parametrize("payload", [b'{"x": ' + b"[" * 100_000, b'{"bytes": ' + b"[" * 100_000])
def test_a_payload_nested_beyond_every_limit_is_handed_on_and_reported_by_the_wire(payload: bytes) -> None:
    assert read(message(payload)) == ([(None, payload)], [])
    decoder = StreamDecoder("anthropic.messages")
    decoder.feed(message(payload))
    response = decoder.finish()
    assert response.complete is False
    assert "undecodable-event" in [finding.code for finding in response.findings]


def test_a_message_that_is_not_whole_is_not_read() -> None:
    assert read(FIRST + FIRST[:-1]) == ([(None, b'{"a": 1}')], ["unterminated-event"])
    response_of_cut = StreamDecoder("anthropic.messages")
    response_of_cut.feed(BODY[:-3])
    response = response_of_cut.finish()
    assert response.complete is False
    assert [finding.code for finding in response.findings] == ["unterminated-event", "stream-incomplete"]


def test_a_type_that_only_the_headers_name_is_put_around_the_payload() -> None:
    body = event("messageStart", {"role": "assistant"}) + message(b"", event_type="metadata", message_type="event")
    assert read(body) == ([(None, b'{"messageStart":{"role": "assistant"}}'), (None, b'{"metadata":{}}')], [])


def test_every_member_of_an_exception_is_kept() -> None:
    items, _ = read(exception("modelStreamErrorException", {"message": "m", "originalStatusCode": 500}))
    (_, data), *_ = items
    error = {"type": "modelStreamErrorException", "message": "m", "originalStatusCode": 500}
    assert json.loads(data) == {"error": error}


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"message_type": "exception", "exception_type": "throttlingException"}, "throttlingException"),
        ({"message_type": "error", "error_code": "internalServerException"}, "internalServerException"),
    ],
)
def test_an_exception_is_an_error_of_its_type(headers: dict[str, str], kind: str) -> None:
    exception = message(b'{"message": "Too many requests"}', **headers)
    items, problems = read(exception)
    assert problems == []
    ((name, data),) = items
    assert name == "error"
    assert json.loads(data) == {"error": {"type": kind, "message": "Too many requests"}}


def test_an_exception_in_mid_stream_stops_the_calls_before_it() -> None:
    exception = message(b"slow down", message_type="exception", exception_type="throttlingException")
    decoder = StreamDecoder("anthropic.messages")
    decoder.feed(b"".join(map(wrapped, EVENTS[:4])) + exception)
    response = decoder.finish()
    assert response.error is not None
    assert (response.error.type, response.error.message) == ("throttlingException", "slow down")
    assert (response.complete, response.choices[0].blocks) == (False, [CALL])


@pytest.mark.parametrize("piece", [1, 16, 1000])
def test_a_message_that_says_it_is_larger_than_the_cap_is_refused_before_it_is_held(piece: int) -> None:
    large = message(b"x" * 500)
    with pytest.raises(EventTooLarge, match="raise max_event_bytes"):
        read(*(large[at : at + piece] for at in range(0, len(large), piece)), cap=len(large) - 1)
    assert read(large, cap=len(large)) == ([(None, b"x" * 500)], [])
