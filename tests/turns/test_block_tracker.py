"""Rows: what is shown of an answer while it arrives, and kept when it stops, is what the whole answer says."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.recorded.rows import rows
from tests.turns import playing
from tests.turns.playing import Counting, Emulated, Say, Think, at_once, call
from tests.wires import WIRES
from toolparity import Response, StreamDecoder
from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.traffic import responses
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Encoded
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop
from toolparity.normalizer.model import Choice, Reasoning, Stop, Text, ToolCall
from toolparity.normalizer.turns.block_rows import TEXT_TYPES, row_of
from toolparity.normalizer.turns.block_tracker import BlockTracker
from toolparity.normalizer.turns.machine.inputs import (
    BlockEnded,
    BlockExtended,
    BlockReplaced,
    BlockRevised,
    BlockStarted,
)
from toolparity.normalizer.turns.turn import Turn


def heard(decoder: StreamDecoder, pieces: Iterable[Any]) -> tuple[list[Any], Response]:
    """Everything that happens while an answer arrives, and the answer."""
    listener = BlockTracker()
    happened: list[Any] = []
    for piece in pieces:
        happened += listener.feed(decoder.feed(piece))
    response = decoder.finish()
    return [*happened, *listener.finish(response)], response


def assert_told_whole(happened: list[Any], response: Response) -> None:
    """Rows in order, each opened, closed once, and at the end saying what the answer says."""
    opened: dict[int, str] = {}
    text: dict[int, str] = {}
    last: dict[int, tuple[Any, ...]] = {}
    for one in happened:
        if isinstance(one, BlockStarted):
            assert one.key == len(opened)
            opened[one.key], text[one.key] = one.block_type, ""
        elif isinstance(one, BlockExtended):
            assert one.key not in last
            text[one.key] += one.text
        elif isinstance(one, BlockReplaced):
            assert one.key not in last
            text[one.key] = one.text
        elif isinstance(one, BlockEnded):
            assert one.key not in last
            last[one.key] = (one.block_type, one.text_content, one.content)
            if one.block_type in TEXT_TYPES and one.text_content != text[one.key]:
                pytest.fail(f"row {one.key} was shown as {text[one.key]!r} and kept as {one.text_content!r}")
        else:
            assert isinstance(one, BlockRevised)
            assert one.key in last
            last[one.key] = (one.block_type, one.text_content, one.content)
    assert opened.keys() == last.keys()
    last = {key: last[key] for key in sorted(last)}
    blocks = next((choice.blocks for choice in response.choices if choice.index == 0), [])
    expected = [tuple(row_of(block)) for block in blocks]
    if len(last) == len(expected):
        assert _told(last.values()) == _told(expected)
    for kind in {made[0] for made in expected}:
        told = [made for made in last.values() if made[0] == kind]
        known = [made for made in expected if made[0] == kind]
        assert "".join(made[1] or "" for made in told) == "".join(made[1] or "" for made in known)
        assert [made[2] for made in told if made[2] is not None] == [made[2] for made in known if made[2] is not None]


def _told(made: Iterable[tuple[Any, ...]]) -> Counter[str]:
    return Counter(json_codec.text(list(one)) for one in made)


@pytest.mark.parametrize("chunking", ["events", "whole", "odd"])
@pytest.mark.parametrize("surface", SURFACES)
def test_the_rows_of_every_scenario_say_what_its_answers_say(surface: str, chunking: str) -> None:
    found = 0
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
            assert_told_whole(*heard(decoder, pieces))
            found += 1
    assert found > 60


@pytest.mark.parametrize("wire", WIRES)
def test_the_rows_of_recorded_streams_say_what_the_answers_say(wire: str, recordings: Path) -> None:
    found = 0
    for recorded in rows(recordings, wire):
        if not recorded.stream or recorded.failed:
            continue
        pieces = recorded.messages if recorded.frames is not None else [recorded.data]
        try:
            happened, response = heard(StreamDecoder(wire, provider=recorded.provider), pieces)
        except ValueError:
            continue  # no stream of this wire: the readers' own tests say so
        assert_told_whole(happened, response)
        found += 1
    assert found > 5


def _response(*blocks: Any, complete: bool = True) -> Response:
    return Response("openai.chat", None, None, None, [Choice(0, list(blocks), Stop("end_turn"))], complete=complete)


def test_words_end_where_another_block_begins_and_words_that_come_later_are_a_row_of_their_own() -> None:
    listener = BlockTracker()
    happened = listener.feed(
        [
            BlockStart(0, 0, "text"),
            BlockDelta(0, 0, "Let me "),
            BlockStart(0, 1, "tool_call", "c1", "look"),
            BlockDelta(0, 1, "{}"),
            BlockDelta(0, 0, "see."),
        ]
    )
    happened += listener.finish(_response(Text("Let me see."), ToolCall("c1", "look", {}, "{}")))
    closed = [one for one in happened if isinstance(one, BlockEnded)]
    assert [(one.key, one.block_type, one.text_content) for one in closed] == [
        (0, "text", "Let me "),
        (1, "tool_use", None),
        (2, "text", "see."),
    ]
    assert not any(isinstance(one, BlockRevised) for one in happened)


def test_a_row_that_the_wire_ends_is_kept_at_once_and_settled_when_its_signature_is_known() -> None:
    listener = BlockTracker()
    happened = listener.feed([BlockStart(0, 0, "reasoning"), BlockDelta(0, 0, "Hm."), BlockStop(0, 0)])
    assert happened[-1] == BlockEnded(0, "thinking", "Hm.")
    happened = listener.finish(_response(Reasoning("Hm.", signature="4k_a")))
    assert happened == [BlockRevised(0, "thinking", "Hm.", {"signature": "4k_a"})]


def test_a_row_that_was_told_anew_holds_what_was_told_last() -> None:
    listener = BlockTracker()
    happened = listener.feed([BlockStart(0, 0, "text"), BlockDelta(0, 0, "Helo"), BlockReset(0, 0, "Hello")])
    assert happened[-1] == BlockReplaced(0, "Hello")
    assert listener.finish(_response(Text("Hello"))) == [BlockEnded(0, "text", "Hello")]


def test_what_was_never_announced_is_shown_at_the_end() -> None:
    happened = BlockTracker().finish(_response(Text("Hi."), ToolCall("c1", "look", {"a": 1}, '{"a":1}')))
    assert [type(one) for one in happened] == [BlockStarted, BlockExtended, BlockEnded, BlockStarted, BlockEnded]
    assert happened[-1].content == {"tool_use_id": "c1", "tool_name": "look", "input": {"a": 1}}  # type: ignore[union-attr]


def test_rows_of_an_answer_that_broke_off_are_cut() -> None:
    listener = BlockTracker()
    listener.feed([BlockStart(0, 0, "text"), BlockDelta(0, 0, "It was in")])
    (closed,) = listener.finish(_response(Text("It was in"), complete=False))
    assert isinstance(closed, BlockEnded)
    assert closed.cut


def test_other_alternatives_are_not_shown() -> None:
    listener = BlockTracker()
    assert listener.feed([BlockStart(1, 0, "text"), BlockDelta(1, 0, "Another.")]) == []


def test_names_and_ids_that_the_wire_did_not_take_are_shown_as_they_were_declared() -> None:
    encoded = Encoded("openai.chat", {}, ids={"c1": "call of mine"}, names={"look_1": "look.up"})
    (opened,) = BlockTracker(encoded).feed([BlockStart(0, 0, "tool_call", "c1", "look_1")])
    assert isinstance(opened, BlockStarted)
    assert (opened.id, opened.name) == ("call of mine", "look.up")


def test_arguments_that_are_no_object_are_kept_as_they_came() -> None:
    made = row_of(ToolCall("c1", "look", None, '{"a": ', "truncated"))
    assert made.content == {
        "tool_use_id": "c1",
        "tool_name": "look",
        "input": None,
        "arguments_text": '{"a": ',
        "status": "truncated",
    }
    free = row_of(ToolCall("c1", "run", None, "ls -l", kind="custom"))
    assert free.content == {"tool_use_id": "c1", "tool_name": "run", "input": "ls -l", "kind": "custom"}


class Reading(Emulated):
    """Reads its answers itself: it yields canonical events and the answer so far, instead of bytes of the wire.

    ``breaks``: at the first block that stops.
    """

    breaks = False

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        decoder = StreamDecoder(self.wire, provider=self.name, request=body)
        async with aclosing(super().ask(body)) as pieces:
            async for piece in pieces:
                for event in decoder.feed(piece):
                    yield event
                    if self.breaks and isinstance(event, BlockStop):
                        yield decoder.finish()
                        raise ConnectionResetError("the line is dead")
        yield decoder.finish()


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_without_bytes_of_the_wire_tells_the_same(wire: str) -> None:
    played = playing.script([Think("Hm."), Say("Let me look."), call("look", at=1), call("count")], [Say("All done.")])
    told = []
    for provider in (Emulated(wire, played), Reading(wire, played)):
        turn = Turn(provider, Counting().tools(), id="turn")
        told.append([*at_once(playing.play(turn)), turn.outcome.text, turn.state.usage])
    assert told[0] == told[1]


def test_what_such_a_provider_had_said_when_it_broke_is_kept_and_not_acted_on() -> None:
    counting = Counting()
    provider = Reading("anthropic.messages", playing.script([Say("Let me look."), call("look")]))
    provider.breaks = True
    turn = Turn(provider, counting.tools())
    at_once(playing.play(turn))
    assert turn.outcome.termination == "provider_failed"
    assert turn.outcome.error is not None
    assert turn.outcome.error.message == "the line is dead"
    [said] = turn.state.rounds[0].ai_response_content
    assert isinstance(said, Text)
    assert said.text == "Let me look."
    assert counting.names == []
    playing.assert_legal(turn)
