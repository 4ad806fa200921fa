"""The content of the tables, as document 004 shows it (TurnBlock Sequence with Tools, Multiple Tool Calls, Tool
Execution Phases), and that it equals the events.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from sqlalchemy import URL

from tests.support.thoroughness import examples
from tests.turns.log.shared import BEGAN, recorded, rows, stored_whole
from toolparity.turns.events import CallProgress, RoundStarted, TurnBlock, TurnBlockRevised, TurnBlockStop, TurnStarted
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.log import Log
from toolparity.turns.turn import Turn

pytestmark = pytest.mark.thorough(keep=1)

BLOCKS = "SELECT sequence, block_type, text_content, content FROM turn_blocks ORDER BY sequence"


class Anthropic:
    """A provider that returns these blocks, one list per answer."""

    wire, name, model = "anthropic.messages", "anthropic", "claude-test"

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self._answers = iter(answers)

    async def ask(self, body: Any) -> AsyncIterator[bytes]:
        blocks = next(self._answers)
        stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "content": blocks}
        yield json.dumps({**message, "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()


def thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "4k_a"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(id: str, path: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "read_file", "input": {"path": path}}


def block_rows(url: URL) -> list[tuple[Any, ...]]:
    """The rows of blocks. SQLite returns JSON as text."""
    return [(*row[:3], json.loads(row[3]) if isinstance(row[3], str) else row[3]) for row in rows(url, BLOCKS)]


async def read_files(log: Log, url: URL, *answers: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows of blocks of a turn with these answers."""
    files = Tools([Tool(name="read_file", function=lambda **arguments: f"{arguments['path']} contents")])
    async with log.record() as recorder:
        await Turn(Anthropic(*answers), files, observers=[recorder]).run("Read.")
    return block_rows(url)


async def test_document_004_turn_block_sequence_with_tools(log: Log, url: URL) -> None:
    """004, TurnBlock Sequence with Tools, 1. LLM Requests Tool, 4. Executor Creates tool_result Block: row by row."""
    asked = [thinking("I need to check the file..."), text("Let me read the file."), use("toolu_1", "file")]
    answered = [thinking("Now I can see that..."), text("Based on the file, I found...")]
    assert await read_files(log, url, asked, answered) == [
        (0, "thinking", "I need to check the file...", {"signature": "4k_a"}),
        (1, "text", "Let me read the file.", None),
        (2, "tool_use", None, {"tool_use_id": "toolu_1", "tool_name": "read_file", "input": {"path": "file"}}),
        (3, "tool_result", None, {"tool_use_id": "toolu_1", "content": "file contents", "is_error": False}),
        (4, "thinking", "Now I can see that...", {"signature": "4k_a"}),
        (5, "text", "Based on the file, I found...", None),
    ]
    assert rows(url, "SELECT count(*) FROM turn_blocks WHERE content IS NULL") == [(2,)]  # and not the JSON text null


async def test_document_004_multiple_tool_calls(log: Log, url: URL) -> None:
    """004, Multiple Tool Calls: its table, row by row."""
    asked = [text("Let me check both files."), use("toolu_1", "a.txt"), use("toolu_2", "b.txt")]
    assert await read_files(log, url, asked, [text("Comparing both files...")]) == [
        (0, "text", "Let me check both files.", None),
        (1, "tool_use", None, {"tool_use_id": "toolu_1", "tool_name": "read_file", "input": {"path": "a.txt"}}),
        (2, "tool_use", None, {"tool_use_id": "toolu_2", "tool_name": "read_file", "input": {"path": "b.txt"}}),
        (3, "tool_result", None, {"tool_use_id": "toolu_1", "content": "a.txt contents", "is_error": False}),
        (4, "tool_result", None, {"tool_use_id": "toolu_2", "content": "b.txt contents", "is_error": False}),
        (5, "text", "Comparing both files...", None),
    ]


async def test_the_content_of_blocks_is_jsonb_in_postgresql(postgres_database: URL) -> None:
    with Log(postgres_database) as log:
        await recorded(log)
        cats = 'content @> \'{"input": {"of": "cats"}}\''
        assert rows(postgres_database, f"SELECT content->>'tool_name' FROM turn_blocks WHERE {cats}") == [("count",)]


async def test_the_log_returns_the_events_blocks_and_calls_of_the_turn(log: Log) -> None:
    turn = await recorded(log)
    kept = await stored_whole(log, turn.state.id, "natural_completion")
    page = await log.events(turn.state.id)
    assert kept.state == turn.state
    assert [row.event.seq for row in page.events] == list(range(kept.seq))
    assert kept.blocks == [row.event.block for row in page.events if isinstance(row.event, TurnBlockStop)]
    done = [(name, "done", "returned", 1) for name in ("look", "count", "post")]
    assert [(c.name, c.status, c.outcome, c.attempts) for c in kept.calls] == done
    assert [c.key for c in kept.calls] == [c.key for r in turn.state.rounds for c in r.calls]
    assert (kept.wire, kept.policy) == ("anthropic.messages", "all")
    paged, after = [], -1
    while more := (await log.events(turn.state.id, after, limit=2)).events:
        assert len(more) <= 2
        paged += more
        after = more[-1].seq
    assert paged == page.events


def block(sequence: int, text: str | None, more: Any = None, seq: int = 1) -> TurnBlockStop:
    return TurnBlockStop(seq, 1, TurnBlock(sequence, "text", text, more))


STRANGE = "a\x00b\ud800c\U0001f600\u2028"


@pytest.mark.thorough(keep=2)
async def test_characters_that_databases_reject_are_stored_exactly_and_shown_replaced(log: Log, url: URL) -> None:
    strange = block(0, STRANGE, {STRANGE: [STRANGE, None, 1.5]})
    async with log.record() as recorder:
        await recorder.record([BEGAN, strange, CallProgress(2, 1, "id", "look", {"at": complex(1, 2)})], None)
    assert (await log.turn("turn")).blocks == [strange.block]
    progress = CallProgress(2, 1, "id", "look", "{'at': (1+2j)}")  # what is not JSON is stored as text
    assert [row.event for row in (await log.events("turn")).events] == [BEGAN, strange, progress]
    replaced = "a\ufffdb\ufffdc\U0001f600\u2028"
    assert block_rows(url) == [(0, "text", replaced, {replaced: [replaced, None, 1.5]})]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.none() | st.text(st.characters(codec=None)), content=VALUES)
@example(text=None, content=2**63 + 1)
def test_any_block_is_read_back_unchanged(log: Log, text: str | None, content: Any) -> None:
    async def run() -> None:
        stop, id = block(0, text, content), f"turn {time.monotonic_ns()}"
        async with log.record() as recorder:
            await recorder.record([TurnStarted(0, id, "openai.chat", "all"), stop], None)
        assert (await log.turn(id)).blocks == [stop.block]
        assert (await log.events(id)).events[1].event == stop

    asyncio.run(run())


async def test_later_events_replace_blocks_of_earlier_ones(log: Log) -> None:
    """A revised block replaces the stopped one, and the repetition of a request those of the failed answer."""
    settled = TurnBlock(0, "thinking", "Hm.", {"signature": "abc"})
    first = [block(0, "Hm.", seq=2), block(1, "void", seq=3), block(2, "void", seq=4)]
    async with log.record() as recorder:
        await recorder.record([BEGAN, RoundStarted(1, 1, 1, 0), *first], None)
        await recorder.event(TurnBlockRevised(5, 1, settled))
        assert (await log.turn("turn")).blocks == [settled, first[1].block, first[2].block]
        await recorder.record([RoundStarted(6, 2, 2, 1), block(1, "new", seq=7)], None)
    assert (await log.turn("turn")).blocks == [settled, block(1, "new").block]
    assert len((await log.events("turn")).events) == 8  # the events of the failed answer remain
