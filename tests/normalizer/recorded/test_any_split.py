"""The same bytes, cut at any place, give the same response (law `any-split`), and events that add up to it.

Every recorded stream is fed whole, in the pieces in which it came from the network where that is known, and in
random ones (seeded by its id, so a failure repeats). Byte by byte takes a call for each byte: it is done for a fixed
sample, and for streams in other framings than server-sent events. With and without the fast paths, and without
events, it is the same response.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from xai_sdk.proto import chat_pb2

from benchmarks import fast_paths
from tests.normalizer.recorded.rows import Row, decode, feed, rows, streams
from tests.support import thoroughness
from tests.support.merging import merged
from tests.support.wires import BYTE_WIRES
from toolparity import Reasoning, Refusal, Response, StreamDecoder, Text, ToolCall
from toolparity.normalizer import json_codec
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, Event
from toolparity.normalizer.wires.call_builder import CallBuilder
from toolparity.normalizer.wires.registry import spec
from toolparity.normalizer.wires.stream_base import StreamBase

#: The members that hold what deltas contain, by the type that a BlockStart names.
STREAMED: dict[str, tuple[type[Any], str]] = {
    "text": (Text, "text"),
    "refusal": (Refusal, "text"),
    "tool_call": (ToolCall, "arguments_text"),
}


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """The bytes in pieces; places may repeat (an empty piece is a piece)."""
    return [data[start:end] for start, end in pairwise([0, *sorted(places), len(data)])]


def random_cuts(row: Row, data: bytes) -> list[bytes]:
    chosen = random.Random(crc32(row.id.encode()))
    return cut(data, (chosen.randint(0, len(data)) for _ in range(chosen.randint(1, 40))))


def same(row: Row, how: str, whole: Response, other: Response) -> None:
    assert other == whole, f"{row.id}: another response {how}"
    assert other.findings == whole.findings, f"{row.id}: other findings {how}"
    assert json_codec.encode(other) == json_codec.encode(whole), f"{row.id}: other bytes {how}"


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_stream_in_any_pieces_gives_the_same_response(
    wire: str, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrived = bytewise = 0
    taken = streams(recordings, wire)
    found = thoroughness.sampled(taken, plain=150)
    every = max(1, min(12 if thoroughness.is_thorough() else 48, len(taken) // 5))
    slow = [row for row in taken[::every] if len(row.data) <= 60_000]
    slow += [row for row in taken if row.body_encoding or row.data.lstrip()[:1] in (b"{", b"[")][:20]
    for row in (*found, *slow):
        data = row.data
        whole, events = feed(row, [data])
        ways: dict[str, list[bytes]] = {"at random cuts": random_cuts(row, data)}
        if any(row is each for each in slow):
            ways["byte by byte"] = [data[at : at + 1] for at in range(len(data))]
            bytewise += 1
        if pieces := row.arrived:
            ways["in the pieces that came"] = pieces
            arrived += 1
        for how, fed in ways.items():
            response, other_events = feed(row, fed)
            same(row, how, whole, response)
            assert merged(other_events) == merged(events), f"{row.id}: other events {how}"
    assert found
    assert bytewise >= min(5, len(taken) // 2)
    with capsys.disabled():
        print(f"\n  {wire}: {len(found)} streams, {arrived} in the pieces that came, {bytewise} byte by byte", end="")


def test_messages_of_xai_as_bytes_or_as_objects_are_one_response(recordings: Path) -> None:
    """Frames are messages: each is fed separately; the SDK's objects of the same messages give the same."""
    found = streams(recordings, "xai.grpc")
    for row in found:
        whole, events = feed(row, row.messages)
        objects = [chat_pb2.GetChatCompletionChunk.FromString(message) for message in row.messages]
        same(row, "as SDK objects", whole, feed(row, objects)[0])  # type: ignore[arg-type]
        assert whole.complete is (len(objects) > 1), row.id
        assert list(disagreements(whole, events)) == [], row.id
    assert found


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_the_events_of_a_stream_add_up_to_its_response(wire: str, recordings: Path) -> None:
    for row in streams(recordings, wire):
        whole, events = feed(row, [row.data])
        found = {finding.code for finding in whole.findings}
        if found & {"plain-body", "arguments-disagree", "output-disagrees"}:
            continue  # the end of the stream differs from its deltas
        if wire == "google.gemini" and "unterminated-event" in found:
            continue  # the last event, which has text on this wire, is read at the end
        assert list(disagreements(whole, events)) == [], row.id


def disagreements(response: Response, events: list[Event]) -> Iterator[str]:
    """The kinds of blocks whose deltas, joined by key, are not the content of the blocks in the response."""
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
        of_kind: dict[str, list[str]] = {kind: [] for kind in (*STREAMED, "reasoning")}
        for (index, key), text in shown.items():
            if index == choice.index and text:
                of_kind.setdefault(kinds[index, key], []).append(text)
        for kind, (cls, member) in STREAMED.items():
            held = [text for block in choice.blocks if type(block) is cls and (text := getattr(block, member))]
            if of_kind[kind] != held:
                yield f"choice {choice.index}: {kind} {held!r}, in the events {of_kind[kind]!r}"
        # Parts of a summary come one after the other, separated by a blank line.
        thoughts = "".join(block.text for block in choice.blocks if type(block) is Reasoning).replace("\n", "")
        if "".join(of_kind["reasoning"]).replace("\n", "") != thoughts:
            yield f"choice {choice.index}: reasoning {thoughts!r}, in the events {of_kind['reasoning']!r}"


def without_fast_paths(wire: str, patch: pytest.MonkeyPatch) -> None:
    """Let the general readers decode everything, while the patch lasts."""
    patch.setattr(CallBuilder, "regular_call", lambda *arguments, **more: None)
    patch.setattr(spec(wire).stream, "run", StreamBase.run)
    for module in map(import_module, (spec(wire).decode.__module__, spec(wire).stream.__module__)):
        for name in ("decode_regular", "regular_choice"):
            if hasattr(module, name):
                patch.setattr(module, name, lambda *arguments: None)


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_response_is_the_same_without_the_fast_path(
    wire: str, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = [row for row in rows(recordings, wire) if not row.stream and row.data]
    found = [*thoroughness.sampled(bodies, plain=400), *thoroughness.sampled(streams(recordings, wire), plain=150)]
    for row in found:
        for request in (None, row.request) if isinstance(row.request, dict) else (None,):
            with monkeypatch.context() as patch:
                without_fast_paths(wire, patch)
                general = decode(row, request=request)
            if not row.stream:
                same(row, "without the fast path", general, decode(row, request=request))
                continue
            ways: list[Iterable[bytes]] = [[row.data], random_cuts(row, row.data), row.arrived or [row.data]]
            for how, pieces in zip(("whole", "at random cuts", "in its pieces"), ways, strict=True):
                same(row, f"with the fast path, {how}", general, feed(row, pieces, request=request)[0])
    assert found


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_stream_decoded_without_events_gives_the_same_response(wire: str, recordings: Path) -> None:
    for row in thoroughness.sampled(streams(recordings, wire), plain=100):
        decoder = StreamDecoder(row.wire, provider=row.provider, status=row.status, events=False)
        shown = [decoder.feed(piece) for piece in random_cuts(row, row.data)]
        same(row, "without events", decode(row), decoder.finish())
        assert not any(shown)


@pytest.mark.parametrize("wire", fast_paths.JSON_WIRES)
def test_nearly_all_recordings_of_each_provider_take_the_fast_path(wire: str, recordings: Path) -> None:
    # Few exchanges of these wires are recorded.
    least = {"google.interactions": 1, "ollama.chat": 5}.get(wire, 20)
    shares = [share for share in fast_paths.shares(recordings, wire) if share.recordings >= least]
    assert {share.kind for share in shares} == {"bodies", "events"}
    assert [share for share in shares if share.percent < 95] == []
