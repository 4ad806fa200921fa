"""A database that does not answer: no turn waits for ever, and no result that the process has is lost.

A PostgreSQL server is frozen (SIGSTOP) and continues (SIGCONT); a SQLite file is locked by another process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy import URL, Connection

from tests.support import postgres as servers
from tests.turns.log.shared import BEGAN, stored_whole, turn
from tests.turns.playing import Counting, Say, call, script
from toolparity.turns.errors import LogFailed, TurnHeld
from toolparity.turns.events import TurnBlockDelta
from toolparity.turns.log import Log, database
from toolparity.turns.log.engine import make_engine
from toolparity.turns.log.tables import turns
from toolparity.turns.machine.calls import UNKNOWN_OUTCOME

pytestmark = pytest.mark.thorough(keep=1)

#: Seconds that a log waits for its database, which is frozen for longer: a database that is not frozen answers in this
#: time on a busy machine too. And seconds that no test takes unless something hangs.
PATIENCE, HANGS = 2.5, 60.0
PLAYED = script([call("look"), call("post")], [Say("Done.")])

_LOCKS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    connection.execute("BEGIN EXCLUSIVE" if line == "freeze\\n" else "ROLLBACK")
    print(flush=True)
"""


class Frozen(NamedTuple):
    """A database that can be frozen. ``url``: an empty one."""

    url: URL
    freeze: Callable[[], None]
    thaw: Callable[[], None]


@pytest.fixture(scope="module")
def server() -> Iterator[URL]:
    """A PostgreSQL server that no other test uses."""
    if os.environ.get("TOOLPARITY_TEST_POSTGRES_URL"):
        pytest.skip("a separate server is needed, to be frozen")
    with servers.server() as url:
        yield url


@contextmanager
def frozen_postgres(server: URL) -> Iterator[Frozen]:
    folder = Path(str(server.query["host"]))

    def send(number: signal.Signals) -> None:
        postmaster = (folder / "data" / "postmaster.pid").read_text().split()[0]
        of_server = [status.parent.name for status in Path("/proc").glob("[0-9]*/stat") if parent(status) == postmaster]
        for pid in (postmaster, *of_server):
            with suppress(ProcessLookupError):  # a backend or a worker of the server may end meanwhile
                os.kill(int(pid), number)

    with servers.database(server) as url:
        try:
            yield Frozen(url, lambda: send(signal.SIGSTOP), lambda: send(signal.SIGCONT))
        finally:
            send(signal.SIGCONT)


def parent(status: Path) -> str:
    """The id of a process's parent."""
    with suppress(OSError):
        return status.read_text().rpartition(")")[2].split()[1]
    return ""


@contextmanager
def frozen_sqlite(path: Path) -> Iterator[Frozen]:
    command = [sys.executable, "-c", _LOCKS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as other:
        commands, answers = other.stdin, other.stdout
        assert commands is not None
        assert answers is not None

        def send(text: str) -> None:
            commands.write(text + "\n")
            answers.readline()

        yield Frozen(URL.create("sqlite", database=str(path)), lambda: send("freeze"), lambda: send("thaw"))
        commands.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.service("turns/log"))])
def frozen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Frozen]:
    """Each database."""
    sqlite = request.param == "sqlite"
    with frozen_sqlite(tmp_path / "turns.db") if sqlite else frozen_postgres(request.getfixturevalue("server")) as made:
        yield made


def freezing(frozen: Frozen) -> Counting:
    """Tools of which both run before the database freezes, and return after it."""
    running: list[asyncio.Event] = []

    async def returns(**_: Any) -> str:
        running.append(asyncio.Event())
        if len(running) < 2:
            await running[0].wait()
        else:
            frozen.freeze()
            running[0].set()
        return "it ran"

    return Counting(look=returns, post=returns)


async def test_a_result_returned_while_the_database_was_frozen_is_not_lost(frozen: Frozen) -> None:
    with Log(frozen.url, patience=PATIENCE) as log:
        counting = freezing(frozen)
        async with log.record() as recorder:
            with pytest.raises(LogFailed):
                await turn(recorder, PLAYED, counting=counting).run("Go.")
        frozen.thaw()
        async with log.take(recorder.turn or "") as later:
            await turn(later, PLAYED, counting=counting).run()
        kept = await stored_whole(log, recorder.turn, "natural_completion")
        calls = [(one.name, one.outcome, one.attempts) for one in kept.calls]
        assert calls == [("look", "returned", 1), ("post", "returned", 1)]
        assert sorted(counting.names) == ["look", "post"]
        assert UNKNOWN_OUTCOME not in str(kept.blocks)


@pytest.mark.service("turns/log")
async def test_a_turn_continues_when_the_database_responds_again(frozen: Frozen) -> None:
    with Log(frozen.url, patience=HANGS) as log:
        async with log.record() as recorder:
            running = asyncio.create_task(turn(recorder, PLAYED, counting=freezing(frozen)).run("Go."))
            done, _ = await asyncio.wait([running], timeout=PATIENCE)
            assert not done
            frozen.thaw()
            await running
        await stored_whole(log, recorder.turn, "natural_completion")


async def test_a_turn_can_be_cancelled_while_the_database_is_frozen(frozen: Frozen) -> None:
    with Log(frozen.url, patience=PATIENCE) as log:
        counting = freezing(frozen)
        async with log.record() as recorder:
            running = asyncio.create_task(turn(recorder, PLAYED, counting=counting).run("Go."))
            while len(counting.names) < 2:
                await asyncio.sleep(0.01)
            await asyncio.sleep(PATIENCE / 5)
            running.cancel()
            await asyncio.wait([running])
        frozen.thaw()
        while (await log.turn(recorder.turn or "")).status != "over":  # until all queued writes are done
            await asyncio.sleep(0.01)
        kept = await stored_whole(log, recorder.turn, "cancelled")
        assert [one.outcome for one in kept.calls] == ["returned", "returned"]


@pytest.mark.service("turns/log")
async def test_with_a_frozen_database_running_turns_fail_and_new_ones_do_not_begin(frozen: Frozen) -> None:
    with Log(frozen.url, patience=PATIENCE) as log:

        async def one(counting: Counting) -> None:
            async with log.record() as recorder:
                await turn(recorder, PLAYED, counting=counting).run("Go.")

        counted = [freezing(frozen)] + [Counting() for _ in range(10)]
        outcomes = await asyncio.gather(*map(one, counted), return_exceptions=True)
        assert {type(error) for error in outcomes} <= {LogFailed, type(None)}
        assert isinstance(outcomes[0], LogFailed)
        async with log.record() as recorder:
            with pytest.raises(LogFailed, match="nothing was written"):
                await turn(recorder, PLAYED, id="new").run("Go.")
        frozen.thaw()
        while len(await log.left()) < len(await log.turns("open")):  # until all queued writes are done
            await asyncio.sleep(0.01)
        for id in await log.left():
            await log.close(id)
            await stored_whole(log, id)
        assert "new" not in await log.turns()


@pytest.mark.service("turns/log")
async def test_reads_from_a_frozen_database_time_out(server: URL) -> None:
    """SQLite's readers do not wait for a writer."""
    with frozen_postgres(server) as frozen, Log(frozen.url, patience=PATIENCE) as log:
        async with log.record() as recorder:
            await turn(recorder).run("Go.")
        frozen.freeze()
        readings = log.turn(recorder.turn or ""), log.turns(), log.events(recorder.turn or "")
        for error in await asyncio.gather(*readings, return_exceptions=True):
            assert isinstance(error, LogFailed)
            assert "has not answered" in str(error)
        frozen.thaw()
        assert await log.turns() == [recorder.turn]


@pytest.mark.service("turns/log")
async def test_a_log_can_be_closed_while_its_database_is_frozen(frozen: Frozen) -> None:
    with Log(frozen.url, patience=PATIENCE) as log:
        async with log.record() as recorder:
            await recorder.event(BEGAN)
            frozen.freeze()
            with pytest.raises(LogFailed):
                await recorder.event(TurnBlockDelta(1, 1, 0, "words"))


@pytest.mark.parametrize("first", [False, True])
async def test_a_committed_transaction_is_not_repeated_if_its_confirmation_is_lost(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """The connection breaks when the database has committed, after every second transaction."""
    committed: list[str] = ["skipped"] * first
    transaction = database.Database._transaction

    @contextmanager
    def lose_every_second_confirmation(self: Any, mode: str) -> Iterator[Connection]:
        with transaction(self, mode) as connection:
            yield connection
        committed.append(mode)
        if mode != "read" and len(committed) % 2:
            broken = sa.exc.OperationalError("COMMIT", {}, Exception("gone"), connection_invalidated=True)
            raise LogFailed("the connection broke") from broken

    monkeypatch.setattr(database.Database, "_transaction", lose_every_second_confirmation)
    options: Any = {"tools": {"post": {"approval": True}}, "counting": (counting := Counting())}
    with Log(frozen.url) as log:
        async with log.record() as recorder:
            await turn(recorder, PLAYED, **options).run("Go.")
        async with log.take(recorder.turn or "") as later:
            running = turn(later, PLAYED, **options)
            running.decide(running.outcome.waiting[0].id, True)
            await running.run()
        await stored_whole(log, recorder.turn)
    assert counting.names == ["look", "post"]
    assert len(committed) > 10


@pytest.mark.thorough(keep=2)
async def test_a_turn_id_used_by_two_clients_makes_one_turn_and_one_error(frozen: Frozen) -> None:
    """The other client has inserted the turn, and commits while this one waits for it."""
    engine = make_engine(frozen.url)
    with Log(frozen.url) as log, engine.connect() as other, other.begin():
        row = {"id": "same", "status": "open", "wire": "", "policy": "", "seq": 1, "created": 0, "updated": 0}
        other.execute(sa.insert(turns).values(row))
        async with log.record() as recorder:
            beginning = asyncio.create_task(recorder.event(replace(BEGAN, turn="same")))
            done, _ = await asyncio.wait([beginning], timeout=0.2)
            assert not done
            other.commit()
            with pytest.raises(TurnHeld, match="the log already has turn 'same'"):
                await beginning
    engine.dispose()
