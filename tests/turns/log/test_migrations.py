"""The database is made, brought up to date, or refused; and what opening it costs who does not need it."""

from __future__ import annotations

import asyncio
import os
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
from toolparity.normalizer.turns import log as package
from toolparity.normalizer.turns.errors import InvalidState, LogFailed, NewerLog
from toolparity.normalizer.turns.log import Log, engine, upgrade
from toolparity.normalizer.turns.log.engine import make_engine
from toolparity.normalizer.turns.log.migrate import LATEST, VERSION_TABLE
from toolparity.normalizer.turns.log.tables import metadata
from toolparity.normalizer.turns.machine.state import VERSION
from toolparity.normalizer.turns.orchestration import replay

#: What the model of `v0001.jsonl` does in the turn that waits.
PLAYED_BY_VERSION_1 = script(
    [Say("Let me look."), call("look", city="Ulm"), call("post", text="hello")], [Say("Done.")]
)

#: What it does in the turn of `v0002.jsonl` that waits, and waited before for a decision on `post`.
PLAYED_BY_VERSION_2 = script(
    [Say("Let me look."), call("look", city="Ulm"), call("post", text="hello"), call("count")], [Say("Done.")]
)

#: What it does in the turn of `v0003.jsonl`, which waits for a decision on `post`.
PLAYED_BY_VERSION_3 = script(
    [Think("Two things."), Say("Let me look."), call("look", city="Ulm"), call("count", of="cats")],
    [call("look", city="Bonn"), call("post", text="hello"), call("count")],
    [Say("Done.")],
)
LONG = "NUL \x00, half a pair \ud800, and more; " * 100

MIGRATIONS = Path(package.__file__).parent / "migrations"


def config() -> Config:
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS))
    return made


def differences(url: URL) -> list[Any]:
    """Between the database and what the program thinks of it."""
    made = make_engine(url)
    try:
        with made.connect() as connection:
            context = MigrationContext.configure(
                connection, opts={"compare_type": True, "version_table": VERSION_TABLE}
            )
            return list(compare_metadata(context, metadata))
    finally:
        made.dispose()


def test_the_migrations_make_the_tables_that_the_program_uses(url: URL) -> None:
    assert len(differences(url)) > 5
    upgrade(url)
    assert differences(url) == []
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]


def test_the_last_migration_is_the_one_that_the_program_knows() -> None:
    assert ScriptDirectory.from_config(config()).get_heads() == [LATEST]


def test_opening_a_log_again_keeps_what_is_in_it(url: URL) -> None:
    with Log(url) as log:
        made = asyncio.run(recorded(log))
    upgrade(url)
    with Log(url) as log:
        assert asyncio.run(log.turn(made.state.id)).state == made.state


def migrated(url: URL, to: str) -> None:
    """Bring a database to some version."""
    made = make_engine(url)
    with made.begin() as connection:
        way = config()
        way.attributes["connection"] = connection
        command.upgrade(way, to)
    made.dispose()


def written_by(version: str, url: URL) -> None:
    """What a version of the log wrote: one turn that is over, and one that waits for a decision."""
    migrated(url, version)
    made = make_engine(url)
    tables = sa.MetaData()
    tables.reflect(made)
    with made.begin() as connection:
        for line in (Path(__file__).parent / f"v{version}.jsonl").read_text("ascii").splitlines():
            kept = json_codec.decode(line)
            connection.execute(sa.insert(tables.tables[kept["table"]]), kept["row"])
    made.dispose()


def test_a_log_of_version_1_goes_on_and_its_turns_are_recorded_from_there(url: URL) -> None:
    written_by("0001", url)
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
                went = turn(recorder, PLAYED_BY_VERSION_1, counting=counting, tools={"post": {"approval": True}})
                [waits] = went.outcome.waiting
                assert (waits.name, waits.wants, waits.arguments) == ("post", "decision", {"text": "hello"})
                went.decide(waits.id, True)
                await went.run()
            kept = await log.turn("waits")
            assert_whole(kept)
            assert (kept.termination, counting.names) == ("natural_completion", ["post"])
            again = replay(await log.recording("waits"))
            assert again.difference is None
            assert again.events == [row.event for row in (await log.events("waits", 28)).events]
            assert again.state == kept.state

    asyncio.run(run())
    assert differences(url) == []


def test_a_log_of_version_2_goes_on_and_its_turns_can_be_run_again(url: URL) -> None:
    written_by("0002", url)
    counting = Counting()

    async def run() -> None:
        with Log(url) as log:
            assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]
            assert_whole(await log.turn("over"))
            for id in ("over", "waits"):
                again = replay(await log.recording(id))
                assert again.difference is None
                assert again.events == [row.event for row in (await log.events(id)).events]
                assert again.state == (await log.turn(id)).state
            options: Any = {"counting": counting, "tools": {"count": {"approval": True}}}
            async with log.take("waits") as recorder:
                went = turn(recorder, PLAYED_BY_VERSION_2, **options)
                went.decide(went.outcome.waiting[0].id, True)
                await went.run()
            kept = await log.turn("waits")
            assert_whole(kept)
            assert (kept.termination, counting.names) == ("natural_completion", ["count"])
            assert "a long result; " * 100 in [(block.content or {}).get("content") for block in kept.blocks]
            again = replay(await log.recording("waits"))
            assert again.difference is None
            assert again.state == kept.state

    asyncio.run(run())
    assert differences(url) == []


def test_a_log_of_version_3_goes_on_with_states_of_this_version(url: URL) -> None:
    """Its states were version 2, with other names of members. The next state is stored whole, and then changes."""
    written_by("0003", url)
    counting = Counting()

    async def run() -> None:
        with Log(url) as log:
            before = await log.turn("waits")
            again = replay(await log.recording("waits"))
            assert again.difference is None
            assert again.state == before.state
            async with log.take("waits") as recorder:
                went = turn(recorder, PLAYED_BY_VERSION_3, counting=counting, tools={"post": {"approval": True}})
                went.decide(went.outcome.waiting[0].id, True)
                await went.run()
            kept = await log.turn("waits")
            assert_whole(kept)
            assert (kept.termination, counting.names) == ("natural_completion", ["post"])
            assert [call.outcome for call in kept.calls] == ["returned"] * 5
            assert kept.state == went.state
            again = replay(await log.recording("waits"))
            assert again.difference is None
            assert again.state == kept.state

    asyncio.run(run())
    written = [json_codec.decode(change) for (change,) in rows(url, "SELECT change FROM states ORDER BY number")]
    documents = [change[0] if isinstance(change, list) else change for change in written]
    assert [list(document) for document in documents].count([""]) == 2  # the first state, and the first of this version
    assert "turns" not in json_codec.text(documents[-1])


def test_what_version_2_kept_of_a_state_is_still_compared(url: URL) -> None:
    """It kept the digests of states, and not the states."""
    written_by("0002", url)
    rows(url, "UPDATE steps SET state = 'another' WHERE turn_id = 'over' AND number = 4")
    with Log(url) as log:
        difference = replay(asyncio.run(log.recording("over"))).difference
        assert difference is not None
        assert (difference.path, difference.recorded) == ("state", "another")


def test_a_database_of_a_later_version_is_refused_and_left_alone(url: URL) -> None:
    with Log(url) as log:
        made = asyncio.run(recorded(log))
    rows(url, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    for attempt in (Log, upgrade):
        with pytest.raises(NewerLog, match=f"version of the turn log: 9999.*knows up to {LATEST}"):
            attempt(url)
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [("9999",)]
    assert rows(url, "SELECT id FROM turns") == [(made.state.id,)]


def opened_at_once(urls: Sequence[URL]) -> list[BaseException]:
    """Open logs in separate threads and run a turn in each. Return the errors."""
    together = threading.Barrier(len(urls))
    failed: list[BaseException] = []

    def opens(url: URL) -> None:
        together.wait()
        try:
            with Log(url) as log:
                asyncio.run(recorded(log))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=opens, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def test_many_that_open_an_empty_database_at_once_all_get_it(url: URL) -> None:
    """With separate connections, as processes have them."""
    assert opened_at_once([url] * 6) == []
    assert rows(url, "SELECT count(*) FROM turns") == [(6,)]
    assert rows(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(LATEST,)]


def test_many_databases_can_be_opened_at_once(tmp_path: Path) -> None:
    urls = [URL.create("sqlite", database=str(tmp_path / f"{number}.db")) for number in range(6)]
    assert opened_at_once(urls) == []
    for url in urls:
        assert rows(url, "SELECT count(*) FROM turns") == [(1,)]
        assert differences(url) == []


def test_a_migration_that_fails_leaves_the_database_as_it_was(url: URL) -> None:
    rows(url, "CREATE TABLE calls (mine TEXT)")  # of another program
    with pytest.raises(LogFailed, match="calls"):
        Log(url)
    made = make_engine(url)
    assert sa.inspect(made).get_table_names() == ["calls"]
    made.dispose()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("no url", "invalid database URL"),
        ("mysql://user:hunter2@host/turns", "unsupported database: mysql"),
        ("sqlite://", "a turn log cannot be in memory"),
        ("sqlite:///:memory:", "a turn log cannot be in memory"),
        ("sqlite:////proc/no/such/folder/turns.db", "unable to open database file"),
        ("postgresql://user:hunter2@127.0.0.1:1/turns", "turns"),
    ],
)
def test_a_database_that_cannot_be_says_why_and_not_its_password(given: str, said: str) -> None:
    with pytest.raises(LogFailed, match=said) as failed:
        Log(given)
    assert "hunter2" not in str(failed.value)


def test_a_path_is_a_file_of_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "strange % name.db"
    with Log(path):
        assert path.exists()


def test_without_psycopg_postgresql_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"toolparity\[postgres\]"):
        make_engine("postgresql://host/turns")


def python(code: str, *flags: str) -> str:
    """What a fresh Python prints."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    ended = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, env=env, check=True)
    return ended.stdout.strip()


def test_nobody_else_loads_sqlalchemy() -> None:
    imports = "import toolparity.turns, toolparity.normalizer.turns.turn, toolparity.normalizer.turns.sse"
    loaded = "[name for name in ('sqlalchemy', 'alembic', 'psycopg') if name in sys.modules]"
    assert python(f"import sys; {imports}; print({loaded})") == "[]"


def test_opening_a_log_that_is_up_to_date_loads_no_alembic(tmp_path: Path) -> None:
    upgrade(tmp_path / "turns.db")
    opens = f"from toolparity.normalizer.turns.log import Log; Log({f'sqlite:///{tmp_path}/turns.db'!r}).dispose()"
    assert python(f"import sys; {opens}; print('alembic' in sys.modules)") == "False"


def test_without_sqlalchemy_the_log_says_what_to_install() -> None:
    none = "lambda name, *more: None if name == 'sqlalchemy' else find(name, *more)"
    hidden = f"import importlib.util as util; find = util.find_spec; util.find_spec = {none}"
    tries = "try:\n import toolparity.turns.log\nexcept Exception as error: print(type(error).__name__, error)"
    said = python(f"{hidden}\n{tries}")
    assert said.startswith("MissingExtra")
    assert "toolparity[log]" in said
