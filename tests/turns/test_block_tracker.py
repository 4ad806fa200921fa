"""The blocks that are streamed and stored while an answer arrives match the complete answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import rows as recorded_rows
from tests.turns import playing
from toolparity import Response, StreamDecoder
from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.traffic import responses
from toolparity.normalizer import json_codec
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop
from toolparity.normalizer.model import Choice, Reasoning, Stop, Text
from toolparity.turns.block_rows import TEXT_TYPES, row_of
from toolparity.turns.block_tracker import BlockTracker
from toolparity.turns.machine.inputs import BlockEnded, BlockExtended, BlockReplaced, BlockRevised, BlockStarted
from toolparity.turns.turn import Turn

from .playing import Counting, Emulated, Say, Think, at_once, call, on_every_wire


def track(decoder: StreamDecoder, pieces: Iterable[Any]) -> tuple[list[Any], Response]:
    """The inputs of the machine while an answer arrives, and the answer."""
    tracker = BlockTracker()
    inputs: list[Any] = []
    for piece in pieces:
        inputs += tracker.feed(decoder.feed(piece))
    response = decoder.finish()
    return [*inputs, *tracker.finish(response)], response


def assert_blocks_match(inputs: list[Any], response: Response) -> None:
    """Each block is opened and closed once, in order, and its final content matches the answer."""
    shown: dict[int, str] = {}
    last: dict[int, tuple[Any, ...]] = {}
    for input in inputs:
        if isinstance(input, BlockStarted):
            assert input.key == len(shown)
            shown[input.key] = ""
            continue
        assert (input.key in last) == isinstance(input, BlockRevised)
        if isinstance(input, BlockRevised) and input.block_type == "thinking":  # the end had a signature if it can
            assert response.wire == "openai.chat" or last[input.key][2] or not input.content
        if isinstance(input, BlockExtended):
            shown[input.key] += input.text
        elif isinstance(input, BlockReplaced):
            shown[input.key] = input.text
        else:
            last[input.key] = (input.block_type, input.text_content, input.content)
            if isinstance(input, BlockEnded) and input.block_type in TEXT_TYPES:
                assert input.text_content == shown[input.key]
    assert shown.keys() == last.keys()
    kept = [last[key] for key in sorted(last)]
    blocks = next((choice.blocks for choice in response.choices if choice.index == 0), [])
    expected = [tuple(row_of(block)) for block in blocks]
    if len(kept) == len(expected):
        assert _counted(kept) == _counted(expected)
    for kind in {row[0] for row in expected}:
        (words, contents), (expected_words, expected_contents) = (
            ("".join(row[1] or "" for row in rows), [row[2] for row in rows if row[2] is not None])
            for rows in ([row for row in all_rows if row[0] == kind] for all_rows in (kept, expected))
        )
        assert (words, contents) == (expected_words, expected_contents)


def _counted(blocks: Iterable[tuple[Any, ...]]) -> Counter[str]:
    return Counter(json_codec.text(list(block)) for block in blocks)


@pytest.mark.thorough(keep=2, per="{chunking}")
@pytest.mark.parametrize("chunking", ["events", "whole", "odd"])
@pytest.mark.parametrize("surface", SURFACES)
def test_the_blocks_of_every_scenario_match_its_answers(surface: str, chunking: str) -> None:
    checked = 0
    for id, script in scripts().items():
        if not SURFACES[surface].plays(script):
            continue
        for answered in responses(id, surface, "stream"):
            if answered.status >= 400:
                continue
            pieces = answered.pieces
            if SURFACES[surface].wire != "xai.grpc":
                pieces = CHUNKINGS[chunking](b"".join(pieces))
            decoder = StreamDecoder(SURFACES[surface].wire, provider=SURFACES[surface].provider)
            assert_blocks_match(*track(decoder, pieces))
            checked += 1
    assert checked > 60


@on_every_wire
def test_the_blocks_of_recorded_streams_match_their_answers(wire: str, recordings: Path) -> None:
    checked = 0
    for recorded in recorded_rows(recordings, wire):
        if not recorded.stream or recorded.failed:
            continue
        pieces = recorded.messages if recorded.frames is not None else [recorded.data]
        try:
            inputs, response = track(StreamDecoder(wire, provider=recorded.provider), pieces)
        except ValueError:
            continue  # not a stream of this wire
        assert_blocks_match(inputs, response)
        checked += 1
    assert checked >= (4 if wire == "google.interactions" else 6)


def test_a_text_whose_last_event_lacks_its_end_is_shown_completely() -> None:
    def event(text: str, **more: Any) -> bytes:
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **more}
        return b"data: " + json_codec.encode({"candidates": [candidate]})

    pieces = [event("It is ") + b"\n\n", event("dry.", finishReason="STOP")]
    inputs, response = track(StreamDecoder("google.gemini"), pieces)
    assert response.text == "It is dry."
    assert "".join(input.text for input in inputs if isinstance(input, BlockExtended)) == response.text
    assert_blocks_match(inputs, response)


def test_a_block_contains_the_last_text_and_is_revised_when_its_signature_is_known() -> None:
    tracker = BlockTracker()
    inputs = tracker.feed([BlockStart(0, 0, "reasoning"), BlockDelta(0, 0, "Hm."), BlockStop(0, 0)])
    assert inputs[-1] == BlockEnded(0, "thinking", "Hm.")
    inputs = tracker.feed([BlockStart(0, 1, "text"), BlockDelta(0, 1, "Helo"), BlockReset(0, 1, "Hello")])
    assert inputs[-1] == BlockReplaced(1, "Hello")
    blocks: list[Any] = [Reasoning("Hm.", signature="4k_a"), Text("Hello")]
    response = Response("openai.chat", None, None, None, [Choice(0, blocks, Stop("end_turn"))])
    revised = BlockRevised(0, "thinking", "Hm.", {"signature": "4k_a"})
    assert tracker.finish(response) == [revised, BlockEnded(1, "text", "Hello")]


class Reading(Emulated):
    """Decodes its answers itself: it yields canonical events and the response, instead of bytes of the wire."""

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        decoder = StreamDecoder(self.wire, provider=self.name, request=body)
        async with aclosing(super().ask(body)) as pieces:
            async for piece in pieces:
                for event in decoder.feed(piece):
                    yield event
        yield decoder.finish()


@on_every_wire
def test_a_provider_that_yields_canonical_events_produces_the_same_turn(wire: str) -> None:
    played = playing.script([Think("Hm."), Say("Let me look."), call("look", at=1), call("count")], [Say("All done.")])
    results = []
    for provider in (Emulated(wire, played), Reading(wire, played)):
        turn = Turn(provider, Counting().tools(), id="turn")
        results.append([*at_once(playing.play(turn)), turn.outcome.text, turn.state.usage])
    assert results[0] == results[1]
