"""Recorded traffic: texts without markup stay unchanged, and leaked markup is reported with its dialect.

A maintainer has looked at each leak that is listed here. A new one fails the test.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import decode, feed, rows, streams
from tests.support.wires import WIRES
from toolparity import Response, StreamDecoder, Text
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, Event
from toolparity.normalizer.model import Wire
from toolparity.normalizer.textmode import DIALECTS, TextReader, read_response, report

#: Recordings whose text contains leaked markup, by the beginning and the end of their ids.
LEAKS = {
    ("req_llm.openrouter", "deepseek-v3-1-terminus-tool-round-trip-1.0.4c535e6d"): "deepseek",  # cut off
    ("req_llm.openrouter", "hermes-4-70b-tool-round-trip-1.0.36928c5b"): "hermes",  # empty tags beside a native call
    ("req_llm_sgs.openrouter", "hermes-4-70b-tool-round-trip-1.0.45b0639d"): "hermes",
    ("req_llm_sgs.openrouter", "hermes-4-405b-tool-round-trip-1.0.2deb0363"): "hermes",
    ("req_llm.other", "zai-coder-glm-4-5v-no-tool.0.9d08a7fe"): "glm",  # the opening tag is gone, the rest is there
    ("req_llm_sgs.other", "zai-coder-glm-4-5v-no-tool.0.2af03a3d"): "glm",
    ("chatlas.other", "test-huggingface-tools-async.0.22e6cc52"): "bare-json",  # the whole answer
    ("req_llm.openai", "openai-o4-mini-tool-round-trip-2.0.5cde2ee4"): "bare-json",
    ("req_llm.bedrock", "amazon-bedrock-meta-llama3-3-70b-instruct-v1-0-no-tool.0.5bbe9b0e"): "bare-json",
    ("req_llm.other", "azure-mai-ds-r1-multi-tool.0.0d6514ae"): "thinking",  # then a call whose tokens were stripped
}
_THINKING = re.compile(r"</?think(?:ing)?>")


#: Of the streams of a wire, one in so many is read.
EVERY = {"openai.chat": 25, "openai.responses": 25, "anthropic.messages": 25, "google.gemini": 10}
#: Wires whose recorded streams have no calls.
WITHOUT_CALLS = ("xai.grpc", "google.interactions")
#: How many blocks of text the recordings of a wire hold at least, and how many answers whose thinking is written out.
LEAST = {
    "openai.chat": (4400, 25),
    "openai.responses": (1350, 0),
    "anthropic.messages": (1850, 5),
    "xai.grpc": (25, 0),
    "bedrock.converse": (500, 5),
    "cohere.chat": (75, 0),
    "ollama.chat": (25, 1),
    "google.interactions": (7, 0),
    "google.gemini": (850, 0),
}


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("wire", WIRES)
def test_recorded_texts_without_markup_stay_unchanged_in_every_dialect_and_leaks_are_reported(
    wire: Wire, recordings: Path
) -> None:
    reported: dict[str, str] = {}
    different: dict[Any, tuple[str, Response]] = {}
    blocks = 0
    for id, response in ((row.id, decode(row)) for row in rows(recordings, wire)):
        texts = tuple(block.text for _, _, block in response.walk() if isinstance(block, Text))
        blocks += len(texts)
        different.setdefault((texts, bool(response.calls), response.complete), (id, response))
        found = report(response).findings[len(response.findings) :]
        assert {finding.code for finding in found} <= {"leaked-markup"}
        reported.update((id, finding.message.partition(":")[0]) for finding in found)
    known = {id: leak for id in reported if (leak := _known(id)) is not None}
    false = sorted(set(reported) - set(known))
    assert reported == known, f"look at {false}, and list the leaks"
    assert len(known) == {"openai.chat": len(LEAKS) - 2, "openai.responses": 1, "bedrock.converse": 1}.get(wire, 0)
    thought = 0
    for id, response in different.values():
        thinks = any(_THINKING.search(b.text) for _, _, b in response.walk() if isinstance(b, Text))
        thought += thinks
        for name in (None, *DIALECTS):
            read = read_response(response, name, limit=None)
            assert read is response or thinks or _known(id) is not None, (name, id)
            assert (read.complete, read.usage) == (response.complete, response.usage)
    assert blocks >= LEAST[wire][0]
    assert thought >= LEAST[wire][1]


def _known(id: str) -> str | None:
    """Return the dialect that leaked into a recording of the list."""
    return next((leak for (head, tail), leak in LEAKS.items() if id.startswith(head) and id.endswith(tail)), None)


@pytest.mark.parametrize("wire", WIRES)
def test_a_recorded_stream_without_markup_gives_the_same_response_and_events(wire: Wire, recordings: Path) -> None:
    native = 0
    for row in streams(recordings, wire)[:: EVERY.get(wire, 1)]:
        pieces = row.messages if row.frames is not None else [row.data]
        plain, events = feed(row, pieces)
        texts = [block.text for _, _, block in plain.walk() if isinstance(block, Text)]
        if any(_THINKING.search(text) for text in texts) or _known(row.id) is not None:
            continue
        reader = TextReader(None, StreamDecoder(wire, provider=row.provider, status=row.status))
        shown = [event for piece in pieces for event in reader.feed(piece)]
        assert reader.finish() == plain, row.id
        assert _blocks(shown) == _blocks(events), row.id
        native += bool(plain.calls)
    assert native >= 3 or wire in WITHOUT_CALLS


def _blocks(events: list[Event]) -> list[tuple[str, str | None, str]]:
    """Return kind, name and text of each block, without empty texts."""
    made: dict[tuple[int, int], tuple[str, str | None, str]] = {}
    for event in events:
        if isinstance(event, BlockStart):
            made[event.choice, event.key] = (event.block, event.name, "")
        elif isinstance(event, (BlockDelta, BlockReset)):
            block, name, text = made[event.choice, event.key]
            made[event.choice, event.key] = (
                block,
                name,
                event.text if isinstance(event, BlockReset) else text + event.text,
            )
    return sorted((one for one in made.values() if one[0] != "text" or one[2]), key=str)
