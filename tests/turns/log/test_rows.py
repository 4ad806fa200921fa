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
from tests.turns.log.shared import recorded, rows
from tests.turns.playing import Say, script
from toolparity.turns.events import (
    CallProgress,
    RoundStarted,
    TurnBlock,
    TurnBlockRevised,
    TurnBlockStop,
    TurnStarted,
)
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.log import Log
from toolparity.turns.turn import Turn

BLOCKS = "SELECT sequence, block_type, text_content, content FROM turn_blocks ORDER BY sequence"


class Anthropic:
    """A provider that returns these blocks, one list per answer."""

    wire = "anthropic.messages"
    name = "anthropic"
    model = "claude-test"

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


FILES = Tools([Tool(name="read_file", function=lambda **arguments: f"{arguments['path']} contents")])


def content(row: Any) -> Any:
    """Decode JSON, which SQLite returns as text."""
    return json.loads(row) if isinstance(row, str) else row


def block_rows(url: URL) -> list[tuple[Any, ...]]:
    return [(*row[:3], content(row[3])) for row in rows(url, BLOCKS)]


@pytest.mark.thorough(keep=1)
def test_document_004_turn_block_sequence_with_tools(log: Log, url: URL) -> None:
    """004, TurnBlock Sequence with Tools: its table, row by row."""
    provider = Anthropic(
        [thinking("I need to check the file..."), text("Let me read the file."), use("toolu_1", "file")],
        [thinking("Now I can see that..."), text("Based on the file, I found...")],
    )

    async def run() -> None:
        async with log.record() as recorder:
            await Turn(provider, FILES, observers=[recorder]).run("Read file.txt")

    asyncio.run(run())
    assert block_rows(url) == [
        (0, "thinking", "I need to check the file...", {"signature": "4k_a"}),
        (1, "text", "Let me read the file.", None),
        (2, "tool_use", None, {"tool_use_id": "toolu_1", "tool_name": "read_file", "input": {"path": "file"}}),
        (3, "tool_result", None, {"tool_use_id": "toolu_1", "content": "file contents", "is_error": False}),
        (4, "thinking", "Now I can see that...", {"signature": "4k_a"}),
        (5, "text", "Based on the file, I found...", None),
    ]
    assert rows(url, "SELECT count(*) FROM turn_blocks WHERE content IS NULL") == [(2,)]  # and not the JSON text null


@pytest.mark.thorough(keep=1)
def test_document_004_multiple_tool_calls(log: Log, url: URL) -> None:
    """004, Multiple Tool Calls: its table, row by row."""
    provider = Anthropic(
        [text("Let me check both files."), use("toolu_1", "a.txt"), use("toolu_2", "b.txt")],
        [text("Comparing both files...")],
    )

    async def run() -> None:
        async with log.record() as recorder:
            await Turn(provider, FILES, observers=[recorder]).run("Compare.")

    asyncio.run(run())
    assert block_rows(url) == [
        (0, "text", "Let me check both files.", None),
        (1, "tool_use", None, {"tool_use_id": "toolu_1", "tool_name": "read_file", "input": {"path": "a.txt"}}),
        (2, "tool_use", None, {"tool_use_id": "toolu_2", "tool_name": "read_file", "input": {"path": "b.txt"}}),
        (3, "tool_result", None, {"tool_use_id": "toolu_1", "content": "a.txt contents", "is_error": False}),
        (4, "tool_result", None, {"tool_use_id": "toolu_2", "content": "b.txt contents", "is_error": False}),
        (5, "text", "Comparing both files...", None),
    ]


def test_the_content_of_blocks_is_jsonb_in_postgresql(postgres_database: URL) -> None:
    with Log(postgres_database) as log:
        asyncio.run(recorded(log))
        cats = 'content @> \'{"input": {"of": "cats"}}\''
        assert rows(postgres_database, f"SELECT content->>'tool_name' FROM turn_blocks WHERE {cats}") == [("count",)]


def test_the_log_returns_the_events_blocks_and_calls_of_the_turn(log: Log) -> None:
    async def run() -> None:
        turn = await recorded(log)
        kept = await log.turn(turn.state.id)
        page = await log.events(turn.state.id)
        assert kept.state == turn.state
        assert [row.seq for row in page.events] == list(range(kept.seq))
        assert [row.event.seq for row in page.events] == list(range(kept.seq))
        stopped = [row.event.block for row in page.events if isinstance(row.event, TurnBlockStop)]
        assert kept.blocks == stopped
        assert [(c.name, c.status, c.outcome, c.attempts) for c in kept.calls] == [
            ("look", "done", "returned", 1),
            ("count", "done", "returned", 1),
            ("post", "done", "returned", 1),
        ]
        assert [c.key for c in kept.calls] == [c.key for r in turn.state.rounds for c in r.calls]
        assert (kept.status, kept.termination, kept.wire, kept.policy) == (
            "over",
            "natural_completion",
            "anthropic.messages",
            "all",
        )

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_events_are_returned_in_pages(log: Log) -> None:
    async def run() -> None:
        turn = await recorded(log, script([Say("Hello, how are you today?")]))
        whole = await log.events(turn.state.id)
        paged, after = [], -1
        while more := (await log.events(turn.state.id, after, limit=2)).events:
            assert len(more) <= 2
            paged += more
            after = more[-1].seq
        assert paged == whole.events
        assert len(paged) > 4

    asyncio.run(run())


def block(sequence: int, said: str | None, more: Any = None, seq: int = 1) -> TurnBlockStop:
    return TurnBlockStop(seq, 1, TurnBlock(sequence, "text", said, more))


STRANGE = "a\x00b\ud800c\U0001f600\u2028"


def test_characters_that_databases_reject_are_stored_exactly_and_shown_replaced(log: Log, url: URL) -> None:
    strange = block(0, STRANGE, {STRANGE: [STRANGE, None, 1.5]})

    async def run() -> None:
        async with log.record() as recorder:
            await recorder.record([TurnStarted(0, "turn", "openai.chat", "all"), strange], None)
        assert (await log.turn("turn")).blocks == [strange.block]
        assert (await log.events("turn")).events[1].event == strange

    asyncio.run(run())
    replaced = "a\ufffdb\ufffdc\U0001f600\u2028"
    assert block_rows(url) == [(0, "text", replaced, {replaced: [replaced, None, 1.5]})]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.none() | st.text(st.characters(codec=None)), content=VALUES)
@example(said=None, content=2**63 + 1)
def test_any_block_is_read_back_unchanged(log: Log, said: str | None, content: Any) -> None:
    async def run() -> None:
        stop = block(0, said, content)
        async with log.record() as recorder:
            id = f"turn {time.monotonic_ns()}"
            await recorder.record([TurnStarted(0, id, "openai.chat", "all"), stop], None)
        assert (await log.turn(id)).blocks == [stop.block]
        assert (await log.events(id)).events[1].event == stop

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_a_revised_block_replaces_the_stopped_one(log: Log) -> None:
    async def run() -> None:
        settled = TurnBlock(0, "thinking", "Hm.", {"signature": "abc"})
        async with log.record() as recorder:
            await recorder.record([TurnStarted(0, "turn", "openai.chat", "all"), block(0, "Hm.")], None)
            await recorder.event(TurnBlockRevised(2, 1, settled))
        assert (await log.turn("turn")).blocks == [settled]

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_repeating_a_request_removes_the_blocks_of_the_failed_answer(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            begun = [TurnStarted(0, "turn", "openai.chat", "all"), RoundStarted(1, 1, 1, 0)]
            first = [block(0, "kept", seq=2), block(1, "void", seq=3), block(2, "void", seq=4)]
            await recorder.record([*begun, *first], None)
            await recorder.record([RoundStarted(5, 2, 2, 1), block(1, "new", seq=6)], None)
        assert [b.text_content for b in (await log.turn("turn")).blocks] == ["kept", "new"]
        assert len((await log.events("turn")).events) == 7  # the events of the failed answer remain

    asyncio.run(run())


@pytest.mark.thorough(keep=1)
def test_progress_that_is_not_json_is_stored_as_text(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            began = TurnStarted(0, "turn", "openai.chat", "all")
            await recorder.record([began, CallProgress(1, 1, "id", "look", {"at": complex(1, 2)})], None)
        assert (await log.events("turn")).events[1].event == CallProgress(1, 1, "id", "look", "{'at': (1+2j)}")

    asyncio.run(run())
