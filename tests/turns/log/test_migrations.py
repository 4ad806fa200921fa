"""The database is created, migrated or rejected; and optional packages are loaded only when needed."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL

from tests.turns.log.shared import assert_replays, assert_whole, recorded, rows, stored_whole, turn
from tests.turns.playing import Counting, Say, Think, call, script
from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import MissingExtra
from toolparity.turns import log as package
from toolparity.turns.errors import InvalidState, LogFailed, NewerLog
from toolparity.turns.log import Log, engine, upgrade
from toolparity.turns.log.engine import make_engine
from toolparity.turns.log.migrate import LATEST, VERSION_TABLE
from toolparity.turns.log.tables import metadata
from toolparity.turns.machine.state import VERSION
from toolparity.turns.orchestration import replay

pytestmark = pytest.mark.service("turns/log")

LOOKED = [Say("Let me look."), call("look", city="Ulm")]
POST, COUNT, CATS = call("post", text="hello"), call("count"), call("count", of="cats")
#: The model's script of the waiting turn by version of the log, the call that it waits for a decision on, and the
#: number of the event before its recording.
WAITING: dict[str, tuple[list[Any], str, int]] = {
    "0001": ([[*LOOKED, POST]], "post", 28),
    "0002": ([[*LOOKED, POST, COUNT]], "count", -1),
    "0003": ([[Think("Two things."), *LOOKED, CATS], [call("look", city="Bonn"), POST, COUNT]], "post", -1),
}


def config() -> Config:
    result = Config()
    result.set_main_option("script_location", str(Path(package.__file__).parent / "migrations"))
    return result


def schema_differences(url: URL) -> list[Any]:
    """Differences between the tables of the database and the declared ones."""
    database = make_engine(url)
    try:
        with database.connect() as connection:
            options = {"compare_type": True, "version_table": VERSION_TABLE}
            return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))
    finally:
        database.dispose()


def test_migrations_create_the_tables_that_the_code_declares(url: URL) -> None:
    assert len(schema_differences(url)) > 5
    upgrade(url)
    assert schema_differences(url) == []
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]
    assert ScriptDirectory.from_config(config()).get_heads() == [LATEST]


def load_fixture_log(version: str, url: URL) -> None:
    """Insert the rows that an earlier version wrote: a finished turn, and one that waits for a decision."""
    database = make_engine(url)
    with database.begin() as connection:
        migration_config = config()
        migration_config.attributes["connection"] = connection
        command.upgrade(migration_config, version)
    tables = sa.MetaData()
    tables.reflect(database)
    with database.begin() as connection:
        for line in (Path(__file__).parent / f"v{version}.jsonl").read_text("ascii").splitlines():
            kept = json_codec.decode(line)
            connection.execute(sa.insert(tables.tables[kept["table"]]), kept["row"])
    database.dispose()


@pytest.mark.thorough(keep=1, per="{version}")
@pytest.mark.parametrize("version", WAITING)
async def test_turns_of_an_earlier_version_resume_and_can_be_replayed(url: URL, version: str) -> None:
    load_fixture_log(version, url)
    played, name, begin = WAITING[version]
    counting = Counting()
    with Log(url) as log:
        assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]
        if version == "0001":
            assert_whole(await log.turn("over"))
            assert len((await log.events("over")).events) == 56
            with pytest.raises(InvalidState, match="over: the log has no steps of this turn"):
                await log.recording("over")
        else:
            for id in await log.turns():
                await assert_replays(log, id)
        assert await log.turns("waiting") == ["waits"]
        async with log.take("waits") as recorder:
            assert recorder.state is not None
            assert recorder.state.version == VERSION
            options: Any = {"counting": counting, "tools": {name: {"approval": True}}}
            resumed = turn(recorder, script(*played, [Say("Done.")]), **options)
            [waiting] = resumed.outcome.waiting
            assert (waiting.name, waiting.wants) == (name, "decision")
            resumed.decide(waiting.id, True)
            await resumed.run()
        kept = await stored_whole(log, "waits", "natural_completion")
        assert counting.names == [name]
        assert kept.state == resumed.state
        replayed = replay(await log.recording("waits"))
        assert (replayed.difference, replayed.state) == (None, kept.state)
        assert replayed.events == [row.event for row in (await log.events("waits", begin)).events]
        if version == "0002":
            assert "a long result; " * 100 in [(block.content or {}).get("content") for block in kept.blocks]
    if version == "0003":  # its states have other member names: the first of this version is stored completely
        written = [json_codec.decode(change) for (change,) in rows(url, "SELECT change FROM states ORDER BY number")]
        documents = [change[0] if isinstance(change, list) else change for change in written]
        assert [list(document) for document in documents].count([""]) == 2
        assert "turns" not in json_codec.text(documents[-1])
    assert schema_differences(url) == []


@pytest.mark.thorough(keep=1)
async def test_a_replay_compares_the_state_digests_that_version_2_stored(url: URL) -> None:
    """Version 2 stored digests of states, not the states themselves."""
    load_fixture_log("0002", url)
    rows(url, "UPDATE steps SET state = 'another' WHERE turn_id = 'over' AND number = 4")
    with Log(url) as log:
        difference = replay(await log.recording("over")).difference
    assert difference is not None
    assert (difference.path, difference.recorded) == ("state", "another")


async def test_a_database_of_a_later_version_is_rejected_and_not_modified(url: URL) -> None:
    with Log(url) as log:
        recorded_turn = await recorded(log)
    upgrade(url)
    with Log(url) as log:  # the same version keeps its content
        assert (await log.turn(recorded_turn.state.id)).state == recorded_turn.state
    rows(url, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    for attempt in (Log, upgrade):
        with pytest.raises(NewerLog, match=f"version of the turn log: 9999.*knows up to {LATEST}"):
            attempt(url)
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [("9999",)]
    assert rows(url, "SELECT id FROM turns") == [(recorded_turn.state.id,)]


def test_databases_can_be_opened_by_several_threads_at_once(url: URL, tmp_path: Path) -> None:
    """Each thread has a separate connection, like a process."""
    barrier = threading.Barrier(6)

    def open_and_run(url: URL) -> None:
        barrier.wait()
        with Log(url) as log:
            asyncio.run(recorded(log))

    urls = [URL.create("sqlite", database=str(tmp_path / f"{number}.db")) for number in range(6)]
    with ThreadPoolExecutor(6) as threads:
        for opened in ([url] * 6, urls):
            list(threads.map(open_and_run, opened))  # raises the first error
    assert rows(url, "SELECT count(*) FROM turns") == [(6,)]
    for each in [url, *urls]:
        assert schema_differences(each) == []


def test_a_file_that_another_program_writes_is_opened_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite waits for no lock when it switches a file to a write-ahead log: it fails at once."""
    path = tmp_path / "turns.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(engine, "sleep", lambda seconds: writer.execute("ROLLBACK"))
    with Log(path) as log:
        asyncio.run(recorded(log))
    writer.execute("PRAGMA journal_mode = DELETE")
    writer.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(engine, "sleep", lambda seconds: None)
    with pytest.raises(LogFailed, match="locked"):
        Log(path, patience=0.01)
    writer.close()


def test_a_failed_migration_leaves_the_database_unchanged(url: URL) -> None:
    rows(url, "CREATE TABLE calls (mine TEXT)")  # a table of another program
    with pytest.raises(LogFailed, match="calls"):
        Log(url)
    database = make_engine(url)
    assert sa.inspect(database).get_table_names() == ["calls"]
    database.dispose()


@pytest.mark.parametrize(
    ("database", "message"),
    [
        ("no url", "invalid database URL"),
        ("mysql://user:hunter2@host/turns", "unsupported database: mysql"),
        ("sqlite://", "a turn log cannot be in memory"),
        ("sqlite:///:memory:", "a turn log cannot be in memory"),
        ("sqlite:////proc/no/such/folder/turns.db", "unable to open database file"),
        ("postgresql://user:hunter2@127.0.0.1:1/turns", "turns"),
        ("postgresql://user@127.0.0.1:1/turns?password=hunter2&application_name=a", "turns.application_name=a"),
    ],
)
def test_the_error_of_an_unusable_database_states_the_reason_but_not_the_password(database: str, message: str) -> None:
    with pytest.raises(LogFailed, match=message) as raised:
        Log(database)
    assert "hunter2" not in str(raised.value)


def test_a_path_opens_an_sqlite_file(tmp_path: Path) -> None:
    path = tmp_path / "unusual % name.db"
    with Log(path):
        assert path.exists()


def test_without_psycopg_a_postgresql_url_raises_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"toolparity\[postgres\]"):
        make_engine("postgresql://host/turns")
