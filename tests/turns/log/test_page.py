"""What the page about the turn log shows does what it says."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL

from tests import postgres
from tests.conformance.pages import DOCS, blocks
from tests.turns.log.shared import TWO_ROUNDS, assert_whole, killed, rows
from tests.turns.playing import Counting, Emulated, Say, call, script
from toolparity.normalizer.turns.execution.tools import Tool
from toolparity.normalizer.turns.log import Log
from toolparity.normalizer.turns.log.tables import metadata

PAGE = "turn-log.md"


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the page defines but for its part on PostgreSQL, with a provider and tools as its reader has them."""
    monkeypatch.chdir(tmp_path)
    made: dict[str, Any] = {"provider": Emulated("anthropic.messages", TWO_ROUNDS), "tools": Counting().tools()}
    for block in blocks(PAGE):
        if block.language == "python" and block.section != "PostgreSQL":
            exec(block.text, made)
    yield made
    made["log"].dispose()


def test_a_turn_is_written_read_and_streamed(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        outcome = await names["answer"]("Go.")
        assert outcome.text == "All done."
        told = await names["show"](outcome.state.id)
        assert [event.seq for event in told] == list(range(outcome.state.seq))
        pieces = [piece async for piece in names["stream"](outcome.state.id, str(outcome.state.seq - 2))]
        assert [json.loads(piece.split(b"data: ")[1])["type"] for piece in pieces[1:]] == ["turn_complete"]

    asyncio.run(run())
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "over natural_completion"
    assert "7 text All done. None" in shown
    assert "post done returned 1" in shown
    assert Path("turns.db").exists()


@pytest.mark.parametrize("way", ["recover", "give_up"])
def test_what_a_crash_left_is_brought_to_an_end(names: dict[str, Any], tmp_path: Path, way: str) -> None:
    async def run() -> None:
        left = [await killed(names["log"], steps) or "" for steps in (1, 9, 20, 30)]
        rows(URL.create("sqlite", database=str(tmp_path / "turns.db")), "UPDATE turns SET lease_until = 0")
        await names[way]()
        for turn in left:
            kept = await names["log"].turn(turn)
            assert_whole(kept)
            assert kept.termination == ("natural_completion" if way == "recover" else "cancelled")

    asyncio.run(run())


def test_a_decision_is_taken_by_whoever_hears_of_it(names: dict[str, Any]) -> None:
    names["provider"] = Emulated("anthropic.messages", script([call("post")], [Say("Done.")]))
    names["tools"] = Counting().tools(post={"approval": True})

    async def run() -> None:
        waiting = await names["answer"]("Go.")
        assert waiting.text == ""
        outcome = await names["decide"](waiting.state.id, waiting.waiting[0].id, True)
        assert outcome.text == "Done."

    asyncio.run(run())


def test_a_result_is_given_by_whoever_has_it_and_the_turn_is_run_again(
    names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    names["provider"] = Emulated("anthropic.messages", script([call("post"), call("look")], [Say("Done.")]))
    names["tools"] = [Tool(name="post"), *(one for one in names["tools"].values() if one.name != "post")]

    async def run() -> None:
        outcome = await names["answer"]("Go.")
        [waits] = outcome.waiting
        assert (waits.name, waits.wants, waits.arguments) == ("post", "result", {})
        outcome = await names["give"](outcome.state.id, waits.id, "posted")
        assert outcome.text == "Done."
        told = await names["show"](outcome.state.id)
        capsys.readouterr()
        assert await names["again"](outcome.state.id) == told

    asyncio.run(run())
    assert capsys.readouterr().out == "None\n"


def test_a_server_of_postgresql_is_started_used_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = postgres.owner_of_a_server()
    start, use, stop = (block for block in blocks(PAGE) if block.section == "PostgreSQL")
    with postgres.folder_of(owner) as folder:
        monkeypatch.chdir(folder)
        shell = ("bash", "-euo", "pipefail", "-c")
        started = postgres.run(owner, folder, *shell, start.text)
        try:
            assert started.returncode == 0, started.stdout
            made: dict[str, Any] = {}
            exec(use.text, made)
            with made["log"] as log:
                assert asyncio.run(log.turns()) == []
        finally:
            stopped = postgres.run(owner, folder, *shell, stop.text)
        assert stopped.returncode == 0, stopped.stdout


def test_the_page_names_every_table_and_its_columns() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    told = {row.split("|")[1].strip(" `"): row for row in page.splitlines() if row.startswith("| `")}
    assert set(told) == set(metadata.tables)
    for name, table in metadata.tables.items():
        untold = {"created", "updated", "exact", "state"} | ({"seq"} if name == "states" else set())  # said in words
        assert {column.name for column in table.c} - untold == set(re.findall(r"`(\w+)`", told[name])) - {name}


def test_a_search_path_keeps_the_tables_apart(postgres_database: URL) -> None:
    rows(postgres_database, "CREATE SCHEMA gateway")
    apart = postgres_database.update_query_dict({"options": "-csearch_path=gateway"})
    for _ in range(2):
        with Log(apart) as log:
            assert asyncio.run(log.turns()) == []
    found = rows(postgres_database, "SELECT schemaname FROM pg_tables WHERE tablename = 'turns'")
    assert found == [("gateway",)]
