"""A stream decoder merges the deltas of one block in a chunk, and returns no events to a caller that needs none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolparity import StreamDecoder
from toolparity.normalizer.events import BlockDelta

WORDS = [f"word {number} " for number in range(40)]


def _chat() -> list[dict[str, Any]]:
    chunks = [{"id": "c", "choices": [{"index": 0, "delta": {"content": word}}]} for word in WORDS]
    return [*chunks, {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def _responses() -> list[dict[str, Any]]:
    at = {"output_index": 0, "item_id": "m"}
    item = {"type": "message", "id": "m", "role": "assistant", "content": []}
    deltas = [{"type": "response.output_text.delta", **at, "content_index": 0, "delta": word} for word in WORDS]
    text = {"type": "output_text", "text": "".join(WORDS), "annotations": []}
    whole = {"id": "r", "model": "m", "status": "completed", "output": [{**item, "content": [text]}]}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *deltas,
        {"type": "response.completed", "response": whole},
    ]


def _anthropic() -> list[dict[str, Any]]:
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in WORDS
    ]
    return [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


STREAMS = {"openai.chat": _chat, "openai.responses": _responses, "anthropic.messages": _anthropic}


def _bytes(events: list[dict[str, Any]]) -> list[bytes]:
    return [f"data: {json.dumps(event)}\n\n".encode() for event in events]


@pytest.mark.parametrize("wire", STREAMS)
def test_the_deltas_of_a_block_in_one_chunk_become_one_event_after_the_first(wire: str) -> None:
    decoder = StreamDecoder(wire)  # type: ignore[arg-type]
    deltas = [event.text for event in decoder.feed(b"".join(_bytes(STREAMS[wire]()))) if isinstance(event, BlockDelta)]
    assert "".join(deltas) == "".join(WORDS) == decoder.finish().text
    assert len(deltas) <= 2


@pytest.mark.parametrize("wire", STREAMS)
def test_each_chunk_returns_the_delta_that_it_contains(wire: str) -> None:
    decoder = StreamDecoder(wire)  # type: ignore[arg-type]
    shown = [decoder.feed(piece) for piece in _bytes(STREAMS[wire]())]
    assert [event.text for events in shown for event in events if isinstance(event, BlockDelta)] == WORDS


@pytest.mark.parametrize("wire", STREAMS)
def test_a_decoder_without_events_returns_none_and_the_same_response(wire: str) -> None:
    pieces = _bytes(STREAMS[wire]())
    with_events, without = StreamDecoder(wire), StreamDecoder(wire, events=False)  # type: ignore[arg-type]
    for piece in pieces:
        with_events.feed(piece)
        assert without.feed(piece) == []
    assert without.finish() == with_events.finish()
