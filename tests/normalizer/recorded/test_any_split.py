"""The same bytes, cut at any place, give the same response (law `any-split`), and events that add up to it.

Every recorded stream is fed whole, in the pieces in which it came from the network where that is known, and in
random ones (seeded by its id, so a failure repeats). Byte by byte is quadratic in nothing but takes a call for each
byte: it is done for a fixed sample, every 12th stream and all in other framings than SSE. Hypothesis chooses the cuts
of a smaller sample and shrinks them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2

from tests.normalizer.recorded.rows import Row, feed, streams
from tests.support import thoroughness
from tests.support.merging import merged
from tests.support.thoroughness import examples
from tests.support.wires import BYTE_WIRES, SSE_WIRES
from toolparity import Choice, Reasoning, Refusal, Response, Text, ToolCall, normalize
from toolparity.normalizer import json_codec
from toolparity.normalizer.body_splitter import responses
from toolparity.normalizer.detect import json_object
from toolparity.normalizer.errors import SeveralBodies, ToolparityError
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, Event
from toolparity.normalizer.model import Wire

#: The members that hold what deltas spell out, by the type that a BlockStart names.
SPOKEN: dict[str, tuple[type[Any], str]] = {
    "text": (Text, "text"),
    "refusal": (Refusal, "text"),
    "tool_call": (ToolCall, "arguments_text"),
}


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """The bytes in pieces; places may repeat (an empty piece is a piece)."""
    edges = [0, *sorted(places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def random_cuts(row: Row, data: bytes) -> list[bytes]:
    chosen = random.Random(crc32(row.id.encode()))
    return cut(data, (chosen.randint(0, len(data)) for _ in range(chosen.randint(1, 40))))


def same(row: Row, how: str, whole: Response, other: Response) -> None:
    assert other == whole, f"{row.id}: another response {how}"
    assert other.findings == whole.findings, f"{row.id}: other findings {how}"
    assert json_codec.encode(other) == json_codec.encode(whole), f"{row.id}: other bytes {how}"


def sampled(found: list[Row], every: int, limit: int) -> list[Row]:
    """A fixed sample: each so-many-th stream that is not long, and every stream that is not SSE."""
    odd = [row for row in found if row.body_encoding or row.data.lstrip()[:1] in (b"{", b"[")]
    return [row for row in found[::every] if len(row.data) <= limit] + [r for r in odd if len(r.data) <= limit]


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_stream_in_its_own_pieces_or_at_random_cuts_gives_the_same_response(
    wire: str, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrived = 0
    found = thoroughness.sampled(streams(recordings, wire), plain=150)
    for row in found:
        data = row.data
        whole, events = feed(row, [data])
        in_pieces, other_events = feed(row, random_cuts(row, data))
        same(row, "at random cuts", whole, in_pieces)
        assert merged(other_events) == merged(events), f"{row.id}: other events at random cuts"
        if pieces := row.arrived:
            arrived += 1
            same(row, "in the pieces that came", whole, feed(row, pieces)[0])
    assert found
    with capsys.disabled():
        print(f"\n  {wire}: {len(found)} streams at random cuts, {arrived} in the pieces that came", end="")


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_stream_byte_by_byte_gives_the_same_response(
    wire: str, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = 12 if thoroughness.is_thorough() else 48
    taken = streams(recordings, wire)
    least = 20 if thoroughness.is_thorough() else 5
    found = sampled(taken, every=max(1, min(every, len(taken) // least)), limit=60_000)
    for row in found:
        data = row.data
        whole, events = feed(row, [data])
        slowly, other_events = feed(row, (data[i : i + 1] for i in range(len(data))))
        same(row, "byte by byte", whole, slowly)
        assert merged(other_events) == merged(events), f"{row.id}: other events byte by byte"
    assert len(found) >= min(least, len(taken) // 2)
    with capsys.disabled():
        print(f"\n  {wire}: {len(found)} streams byte by byte", end="")


@pytest.mark.parametrize("wire", SSE_WIRES)
@pytest.mark.parametrize("ending", [b"\r\n", b"\r"], ids=["CRLF", "CR"])
def test_line_endings_split_anywhere_change_nothing(wire: str, ending: bytes, recordings: Path) -> None:
    found = [r for r in streams(recordings, wire)[::9] if not r.body_encoding and b"\r" not in r.data]
    for row in found:
        whole, _ = feed(row, [row.data])
        data = row.data.replace(b"\n", ending)
        same(row, f"with {ending!r} at random cuts", whole, feed(row, random_cuts(row, data))[0])
    assert found


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_hypothesis_finds_no_cuts_that_change_a_response(wire: str, recordings: Path) -> None:
    found = [row for row in streams(recordings, wire) if 500 < len(row.data) < 20_000]
    found = found[:: max(1, len(found) // 25)]
    wholes = {row.id: feed(row, [row.data])[0] for row in found}

    @examples(250, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(found))
        places = data.draw(st.lists(st.integers(0, len(row.data)), max_size=30))
        same(row, f"at {sorted(places)}", wholes[row.id], feed(row, cut(row.data, places))[0])

    holds()


def test_messages_of_xai_as_bytes_or_as_objects_are_one_response(recordings: Path) -> None:
    """Frames are messages: each is fed on its own; the SDK's objects of the same messages give the same."""
    found = streams(recordings, "xai.grpc")
    for row in found:
        whole, events = feed(row, row.messages)
        objects = [chat_pb2.GetChatCompletionChunk.FromString(message) for message in row.messages]
        same(row, "as SDK objects", whole, feed(row, objects)[0])  # type: ignore[arg-type]
        assert whole.complete is (len(objects) > 1), row.id
        assert list(disagreements(whole, events)) == [], row.id
    assert found


def damaged(row: Row) -> Iterator[bytes]:
    """The body whole, and with an event lost, repeated, and swapped with the next one, and an error at its end."""
    data = row.data
    yield data
    events = [event for event in data.split(b"\n\n" if b"\n\n" in data else b"\n") if event.strip()]
    if row.body_encoding or len(events) < 2 or data.lstrip()[:1] == b"[":
        return
    at = random.Random(crc32(row.id.encode())).randrange(len(events) - 1)
    error = b'{"error":{"message":"Down.","code":503}}'
    lost, swapped = events[:at] + events[at + 1 :], [*events[:at], events[at + 1], events[at], *events[at + 2 :]]
    for changed in (
        lost,
        [*events[:at], *events[at:][:1], *events[at:]],
        swapped,
        [*events, events[-1]],
        [*events, error],
    ):
        yield b"\n\n".join(changed) + b"\n\n"


def fed(row: Row, data: bytes) -> Response:
    return feed(row, [data])[0]


def normalized(row: Row, data: bytes) -> Response:
    return normalize(data, cast(Wire, row.wire), provider=row.provider, status=row.status)


def outcome(read: Callable[[Row, bytes], Response], row: Row, data: bytes) -> Response | type[ToolparityError]:
    try:
        response = read(row, data)
    except ToolparityError as error:
        return type(error)
    return response.with_findings([f for f in response.findings if f.code != "stream-body"])


@pytest.mark.parametrize("folder", ["recordings", "recordings3"])
@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_stream_a_body_and_a_file_agree_where_a_response_ends(wire: str, folder: str, recordings: Path) -> None:
    folders = recordings.parent / folder
    if not (folders / f"{wire}.jsonl.gz").exists():
        pytest.skip(f"{folder} has no traffic of this wire")
    for row in thoroughness.sampled(streams(folders, wire), plain=100):
        if row.failed or row.body is None:
            continue  # the body of a failed request is not a stream
        for data in damaged(row):
            if json_object(data) is not None:
                continue  # one event: it is read as a body
            streamed = outcome(fed, row, data)
            assert outcome(normalized, row, data) == streamed, row.id
            assert (streamed is SeveralBodies) is (len(responses(data)) > 1), row.id
            assert data is not row.data or streamed is not SeveralBodies, row.id


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_what_is_shown_while_it_arrives_is_what_stands_in_the_response(wire: str, recordings: Path) -> None:
    for row in streams(recordings, wire):
        whole, events = feed(row, [row.data])
        if any(f.code in ("plain-body", "arguments-disagree", "output-disagrees") for f in whole.findings):
            continue  # the findings say that the end is not what was streamed
        if wire == "google.gemini" and any(f.code == "unterminated-event" for f in whole.findings):
            continue  # the last event, which has text on this wire, is read at the end
        assert list(disagreements(whole, events)) == [], row.id


def disagreements(response: Response, events: list[Event]) -> Iterator[str]:
    """Where the pieces of a kind of block, joined by key, are not what the response's blocks of that kind hold."""
    shown: dict[tuple[int, int], str] = {}
    kinds: dict[tuple[int, int], str] = {}
    for event in events:
        if isinstance(event, BlockStart):
            if (event.choice, event.key) in kinds:
                yield f"block {event.key} begins twice"
            kinds[event.choice, event.key] = event.block
            shown[event.choice, event.key] = ""
        elif isinstance(event, BlockDelta):
            shown[event.choice, event.key] += event.text
        elif isinstance(event, BlockReset):
            shown[event.choice, event.key] = event.text
    for choice in response.choices:
        for kind, (cls, member) in SPOKEN.items():
            told = [s for (c, k), s in shown.items() if c == choice.index and kinds[c, k] == kind]
            stands = [getattr(block, member) for block in choice.blocks if type(block) is cls]
            if list(filter(None, told)) != list(filter(None, stands)):
                yield f"choice {choice.index}: {kind} shown as {told!r} stands as {stands!r}"
        yield from _reasoning(
            choice, [s for (c, k), s in shown.items() if c == choice.index and kinds[c, k] == "reasoning"]
        )


def _reasoning(choice: Choice, told: list[str]) -> Iterator[str]:
    """Parts of a summary are shown one after the other, separated by a blank line."""
    stands = [block.text for block in choice.blocks if type(block) is Reasoning]
    if "".join(told).replace("\n", "") != "".join(stands).replace("\n", ""):
        yield f"choice {choice.index}: reasoning shown as {told!r} stands as {stands!r}"
