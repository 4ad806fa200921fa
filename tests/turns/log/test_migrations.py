"""The database is created, migrated or rejected; and optional dependencies are loaded only when needed."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
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

from tests.turns.log.shared import assert_whole, recorded, rows, turn
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

#: The model's script of the waiting turn in `v0001.jsonl`.
PLAYED_BY_VERSION_1 = script(
    [Say("Let me look."), call("look", city="Ulm"), call("post", text="hello")], [Say("Done.")]
)

#: The model's script of the waiting turn in `v0002.jsonl`, which waited earlier for a decision on `post`.
PLAYED_BY_VERSION_2 = script(
    [Say("Let me look."), call("look", city="Ulm"), call("post", text="hello"), call("count")], [Say("Done.")]
)

#: The model's script of the turn in `v0003.jsonl`, which waits for a decision on `post`.
PLAYED_BY_VERSION_3 = script(
    [Think("Two things."), Say("Let me look."), call("look", city="Ulm"), call("count", of="cats")],
    [call("look", city="Bonn"), call("post", text="hello"), call("count")],
    [Say("Done.")],
)
LONG = "NUL \x00, half a pair \ud800, and more; " * 100

MIGRATIONS = Path(package.__file__).parent / "migrations"


def config() -> Config:
    result = Config()
    result.set_main_option("script_location", str(MIGRATIONS))
    return result


def schema_differences(url: URL) -> list[Any]:
    """Differences between the tables of the database and the declared ones."""
    database = make_engine(url)
    try:
        with database.connect() as connection:
            context = MigrationContext.configure(
                connection, opts={"compare_type": True, "version_table": VERSION_TABLE}
            )
            return list(compare_metadata(context, metadata))
    finally:
        database.dispose()


def test_migrations_create_the_tables_that_the_code_declares(url: URL) -> None:
    assert len(schema_differences(url)) > 5
    upgrade(url)
    assert schema_differences(url) == []
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]


def test_the_latest_migration_is_the_version_that_the_code_expects() -> None:
    assert ScriptDirectory.from_config(config()).get_heads() == [LATEST]


@pytest.mark.thorough(keep=1)
def test_reopening_a_log_keeps_its_content(url: URL) -> None:
    with Log(url) as log:
        recorded_turn = asyncio.run(recorded(log))
    upgrade(url)
    with Log(url) as log:
        assert asyncio.run(log.turn(recorded_turn.state.id)).state == recorded_turn.state


def migrate_to(url: URL, to: str) -> None:
    """Migrate a database to a version."""
    database = make_engine(url)
    with database.begin() as connection:
        migration_config = config()
        migration_config.attributes["connection"] = connection
        command.upgrade(migration_config, to)
    database.dispose()


def load_fixture_log(version: str, url: URL) -> None:
    """Insert the rows that an earlier version wrote: a finished turn, and one that waits for a decision."""
    migrate_to(url, version)
    database = make_engine(url)
    tables = sa.MetaData()
    tables.reflect(database)
    with database.begin() as connection:
        for line in (Path(__file__).parent / f"v{version}.jsonl").read_text("ascii").splitlines():
            kept = json_codec.decode(line)
            connection.execute(sa.insert(tables.tables[kept["table"]]), kept["row"])
    database.dispose()


@pytest.mark.thorough(keep=1)
def test_turns_of_a_version_1_log_resume_and_are_recorded_from_then_on(url: URL) -> None:
    load_fixture_log("0001", url)
    counting = Counting()

    async def run() -> None:
        with Log(url) as log:
            assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]
            assert sorted(await log.turns()) == ["over", "waits"]
            over = await log.turn("over")
            assert_whole(over)
            assert len((await log.events("over")).events) == 56
            with pytest.raises(InvalidState, match="over: the log has no steps of this turn"):
                await log.recording("over")
            assert await log.turns("waiting") == ["waits"]
            async with log.take("waits") as recorder:
                assert recorder.state is not None
                assert recorder.state.version == VERSION
                resumed = turn(recorder, PLAYED_BY_VERSION_1, counting=counting, tools={"post": {"approval": True}})
                [waiting_call] = resumed.outcome.waiting
                assert (waiting_call.name, waiting_call.wants, waiting_call.arguments) == (
                    "post",
                    "decision",
                    {"text": "hello"},
                )
                resumed.decide(waiting_call.id, True)
                await resumed.run()
            kept = await log.turn("waits")
            assert_whole(kept)
            assert (kept.termination, counting.names) == ("natural_completion", ["post"])
            replayed = replay(await log.recording("waits"))
            assert replayed.difference is None
            assert replayed.events == [row.event for row in (await log.events("waits", 28)).events]
            assert replayed.state == kept.state

    asyncio.run(run())
    assert schema_differences(url) == []


@pytest.mark.thorough(keep=1)
def test_turns_of_a_version_2_log_resume_and_can_be_replayed(url: URL) -> None:
    load_fixture_log("0002", url)
    counting = Counting()

    async def run() -> None:
        with Log(url) as log:
            assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]
            assert_whole(await log.turn("over"))
            for id in ("over", "waits"):
                replayed = replay(await log.recording(id))
                assert replayed.difference is None
                assert replayed.events == [row.event for row in (await log.events(id)).events]
                assert replayed.state == (await log.turn(id)).state
            options: Any = {"counting": counting, "tools": {"count": {"approval": True}}}
            async with log.take("waits") as recorder:
                resumed = turn(recorder, PLAYED_BY_VERSION_2, **options)
                resumed.decide(resumed.outcome.waiting[0].id, True)
                await resumed.run()
            kept = await log.turn("waits")
            assert_whole(kept)
            assert (kept.termination, counting.names) == ("natural_completion", ["count"])
            assert "a long result; " * 100 in [(block.content or {}).get("content") for block in kept.blocks]
            replayed = replay(await log.recording("waits"))
            assert replayed.difference is None
            assert replayed.state == kept.state

    asyncio.run(run())
    assert schema_differences(url) == []


@pytest.mark.thorough(keep=1)
def test_turns_of_a_version_3_log_resume_with_states_of_the_current_version(url: URL) -> None:
    """Its states are version 2, with other member names. The next one is stored completely, later ones as changes."""
    load_fixture_log("0003", url)
    counting = Counting()

    async def run() -> None:
        with Log(url) as log:
            before = await log.turn("waits")
            replayed = replay(await log.recording("waits"))
            assert replayed.difference is None
            assert replayed.state == before.state
            async with log.take("waits") as recorder:
                resumed = turn(recorder, PLAYED_BY_VERSION_3, counting=counting, tools={"post": {"approval": True}})
                resumed.decide(resumed.outcome.waiting[0].id, True)
                await resumed.run()
            kept = await log.turn("waits")
            assert_whole(kept)
            assert (kept.termination, counting.names) == ("natural_completion", ["post"])
            assert [call.outcome for call in kept.calls] == ["returned"] * 5
            assert kept.state == resumed.state
            replayed = replay(await log.recording("waits"))
            assert replayed.difference is None
            assert replayed.state == kept.state

    asyncio.run(run())
    written = [json_codec.decode(change) for (change,) in rows(url, "SELECT change FROM states ORDER BY number")]
    documents = [change[0] if isinstance(change, list) else change for change in written]
    assert [list(document) for document in documents].count([""]) == 2  # the first state, and the first of this version
    assert "turns" not in json_codec.text(documents[-1])


@pytest.mark.thorough(keep=1)
def test_a_replay_compares_the_state_digests_that_version_2_stored(url: URL) -> None:
    """Version 2 stored digests of states, not the states themselves."""
    load_fixture_log("0002", url)
    rows(url, "UPDATE steps SET state = 'another' WHERE turn_id = 'over' AND number = 4")
    with Log(url) as log:
        difference = replay(asyncio.run(log.recording("over"))).difference
        assert difference is not None
        assert (difference.path, difference.recorded) == ("state", "another")


def test_a_database_of_a_later_version_is_rejected_and_not_modified(url: URL) -> None:
    with Log(url) as log:
        recorded_turn = asyncio.run(recorded(log))
    rows(url, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    for attempt in (Log, upgrade):
        with pytest.raises(NewerLog, match=f"version of the turn log: 9999.*knows up to {LATEST}"):
            attempt(url)
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [("9999",)]
    assert rows(url, "SELECT id FROM turns") == [(recorded_turn.state.id,)]


def open_concurrently(urls: Sequence[URL]) -> list[BaseException]:
    """Open logs in separate threads and run a turn in each. Return the errors."""
    barrier = threading.Barrier(len(urls))
    errors: list[BaseException] = []

    def open_and_run(url: URL) -> None:
        barrier.wait()
        try:
            with Log(url) as log:
                asyncio.run(recorded(log))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=open_and_run, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_an_empty_database_can_be_opened_by_several_threads_at_once(url: URL) -> None:
    """Each thread has a separate connection, like a process."""
    assert open_concurrently([url] * 6) == []
    assert rows(url, "SELECT count(*) FROM turns") == [(6,)]
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]


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


def test_several_databases_can_be_opened_at_once(tmp_path: Path) -> None:
    urls = [URL.create("sqlite", database=str(tmp_path / f"{number}.db")) for number in range(6)]
    assert open_concurrently(urls) == []
    for url in urls:
        assert rows(url, "SELECT count(*) FROM turns") == [(1,)]
        assert schema_differences(url) == []


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
    ],
)
def test_the_error_of_an_unusable_database_states_the_reason_but_not_the_password(database: str, message: str) -> None:
    with pytest.raises(LogFailed, match=message) as raised:
        Log(database)
    assert "hunter2" not in str(raised.value)


def test_a_path_opens_an_sqlite_file(tmp_path: Path) -> None:
    path = tmp_path / "strange % name.db"
    with Log(path):
        assert path.exists()


def test_without_psycopg_a_postgresql_url_raises_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"toolparity\[postgres\]"):
        make_engine("postgresql://host/turns")


def python_output(code: str, *flags: str) -> str:
    """The output of a new Python process."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    ended = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, env=env, check=True)
    return ended.stdout.strip()


def test_importing_turns_does_not_load_sqlalchemy() -> None:
    imports = "import toolparity.turns, toolparity.turns.turn, toolparity.turns.sse"
    loaded = "[name for name in ('sqlalchemy', 'alembic', 'psycopg') if name in sys.modules]"
    assert python_output(f"import sys; {imports}; print({loaded})") == "[]"


def test_opening_an_up_to_date_log_does_not_load_alembic(tmp_path: Path) -> None:
    upgrade(tmp_path / "turns.db")
    code = f"from toolparity.turns.log import Log; Log({f'sqlite:///{tmp_path}/turns.db'!r}).dispose()"
    assert python_output(f"import sys; {code}; print('alembic' in sys.modules)") == "False"


def test_without_sqlalchemy_importing_the_log_raises_an_error_that_names_the_extra() -> None:
    none = "lambda name, *more: None if name == 'sqlalchemy' else find(name, *more)"
    hidden = f"import importlib.util as util; find = util.find_spec; util.find_spec = {none}"
    tries = "try:\n import toolparity.turns.log\nexcept Exception as error: print(type(error).__name__, error)"
    output = python_output(f"{hidden}\n{tries}")
    assert output.startswith("MissingExtra")
    assert "toolparity[log]" in output
