"""The examples of the page about the turn log."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL
from starlette.testclient import TestClient

from tests.conformance.pages import DOCS, blocks
from tests.support import postgres
from tests.turns.log.shared import TWO_ROUNDS, assert_whole, killed, rows
from tests.turns.playing import Counting, Emulated, Say, call, names_of_page, script
from toolparity.turns.execution.tool import Tool
from toolparity.turns.log import Log
from toolparity.turns.log.tables import metadata

PAGE = "turn-log.md"


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names that the page defines outside its section on PostgreSQL, with a provider and tools."""
    monkeypatch.chdir(tmp_path)
    given = {"provider": Emulated("anthropic.messages", TWO_ROUNDS), "tools": Counting().tools()}
    namespace = names_of_page(PAGE, given, without="PostgreSQL")
    yield namespace
    namespace["log"].dispose()


@pytest.mark.page("docs/pages/turn-log.md")
async def test_the_page_examples_record_read_and_stream_a_turn(
    names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = await names["answer"]("Go.")
    assert outcome.text == "All done."
    listed = await names["show"](outcome.state.id)
    assert [event.seq for event in listed] == list(range(outcome.state.seq))
    pieces = [piece async for piece in names["stream"](outcome.state.id, str(outcome.state.seq - 2))]
    assert [json.loads(piece.split(b"data: ")[1])["type"] for piece in pieces[1:]] == ["turn_complete"]
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "over natural_completion"
    assert "7 text All done. None" in shown
    assert "post done returned 1" in shown
    assert Path("turns.db").exists()


@pytest.mark.page("docs/pages/turn-log.md")
@pytest.mark.parametrize("function", ["recover", "give_up"])
async def test_the_page_examples_finish_turns_that_a_crash_interrupted(
    names: dict[str, Any], tmp_path: Path, function: str
) -> None:
    left = [await killed(names["log"], steps) or "" for steps in (1, 9, 20, 30)]
    rows(URL.create("sqlite", database=str(tmp_path / "turns.db")), "UPDATE turns SET lease_until = 0")
    await names[function]()
    for id in left:
        kept = await names["log"].turn(id)
        assert_whole(kept)
        assert kept.termination == ("natural_completion" if function == "recover" else "cancelled")


@pytest.mark.page("docs/pages/turn-log.md")
async def test_the_page_examples_decide_a_call_supply_a_result_and_replay_the_turn(
    names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    names["provider"] = Emulated("anthropic.messages", script([call("post"), call("look")], [Say("Done.")]))
    names["tools"] = [Tool(name="post"), *(tool for tool in Counting().tools(look={"approval": True}).values())][:2]
    outcome = await names["answer"]("Go.")
    post, look = outcome.waiting
    wanted: list[Any] = [("post", "result", {}), ("look", "decision", {})]
    assert [(one.name, one.wants, one.arguments) for one in (post, look)] == wanted
    outcome = await names["decide"](outcome.state.id, look.id, True)
    outcome = await names["give"](outcome.state.id, post.id, "posted")
    assert outcome.text == "Done."
    listed = await names["show"](outcome.state.id)
    capsys.readouterr()
    assert await names["again"](outcome.state.id) == listed
    assert capsys.readouterr().out == "None\n"


@pytest.mark.page("docs/pages/turn-log.md")
def test_a_browser_that_reconnects_to_the_page_example_receives_only_the_missing_events(names: dict[str, Any]) -> None:
    with TestClient(names["app"]) as browser:
        turn = browser.post("/turns", json={"message": "Go."}).json()["turn"]

        def followed(seen: int | None = None) -> Any:
            headers = {} if seen is None else {"last-event-id": str(seen)}
            return browser.get(f"/turns/{turn}/events", headers=headers)

        assert followed().headers["content-type"].startswith("text/event-stream")
        frames = [frame for frame in followed().text.split("\n\n") if frame.startswith("id: ")]
        assert all(part in frames[-1] for part in ("event: turn_complete", '"text":"All done."'))
        for seen in range(len(frames) - 1):
            assert followed(seen).text.split("\n\n")[1:-1] == frames[seen + 1 :]
        after_the_end = followed(len(frames) - 1)
        assert (after_the_end.status_code, after_the_end.content) == (204, b"")


@pytest.mark.page("docs/pages/turn-log.md")
def test_the_page_commands_start_use_and_stop_a_postgresql_server(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = postgres.owner_of_a_server()
    start, use, stop = (block for block in blocks(PAGE) if block.section == "PostgreSQL")
    with postgres.folder_of(owner) as folder:
        monkeypatch.chdir(folder)
        shell = ("bash", "-euo", "pipefail", "-c")
        started = postgres.run(owner, folder, *shell, start.text)
        try:
            assert started.returncode == 0, started.stdout
            namespace: dict[str, Any] = {}
            exec(use.text, namespace)
            with namespace["log"] as log:
                assert asyncio.run(log.turns()) == []
        finally:
            stopped = postgres.run(owner, folder, *shell, stop.text)
        assert stopped.returncode == 0, stopped.stdout


def test_the_page_lists_every_table_with_its_columns() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    listed = {row.split("|")[1].strip(" `"): row for row in page.splitlines() if row.startswith("| `")}
    assert set(listed) == set(metadata.tables)
    for name, table in metadata.tables.items():
        in_prose = {"created", "updated", "exact", "state"} | ({"seq"} if name == "states" else set())
        columns = set(re.findall(r"`(\w+)`", listed[name])) - {name}
        assert {column.name for column in table.c} - in_prose == columns


async def test_a_search_path_selects_the_schema_of_the_tables(postgres_database: URL) -> None:
    rows(postgres_database, "CREATE SCHEMA gateway")
    with_search_path = postgres_database.update_query_dict({"options": "-csearch_path=gateway"})
    for _ in range(2):
        with Log(with_search_path) as log:
            assert await log.turns() == []
    schemas = rows(postgres_database, "SELECT schemaname FROM pg_tables WHERE tablename = 'turns'")
    assert schemas == [("gateway",)]
