"""A process that is frozen, killed or cut off while it locks a turn in PostgreSQL delays no other turn."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import URL

from benchmarks.frozen_runners import Result, run
from tests.turns.log.shared import BEGAN, killed, recorded, rows, stored_whole, turn
from tests.turns.log.test_frozen_database import HANGS, PATIENCE, Frozen, frozen, server
from toolparity.turns.errors import TurnHeld
from toolparity.turns.events import TurnBlockDelta
from toolparity.turns.log import Log
from toolparity.turns.log.engine import make_engine

__all__ = ["frozen", "server"]

needs_postgresql = pytest.mark.service("turns/log", "turns/manager", "benchmarks/frozen_runners.py")
LOCK = "UPDATE turns SET seq = seq WHERE id = :id"


async def left(url: URL) -> str:
    """A turn that was killed, and whose lease has expired."""
    with Log(url, lease=0.5) as log:
        id = await killed(log, 4)
        while not await log.left():
            await asyncio.sleep(0.05)
    return id or ""


@needs_postgresql
async def test_a_locked_turn_delays_no_other_and_continues_when_it_is_free(postgres_database: URL) -> None:
    engine = make_engine(postgres_database)
    id = await left(postgres_database)
    with Log(postgres_database, patience=HANGS) as log, engine.connect() as locking:
        async with log.record() as recorder:
            running = turn(recorder).stream("Go.")
            await anext(running)
            for locked in (id, recorder.turn):
                locking.execute(sa.text(LOCK), {"id": locked})

            async def rest() -> None:
                async for _ in running:
                    pass

            stalled = asyncio.create_task(rest())
            await asyncio.gather(*(recorded(log) for _ in range(5)))
            with pytest.raises(TurnHeld, match="another transaction locks"):
                await log.close(id)
            with pytest.raises(TurnHeld):
                await log.forget(id)
            assert not stalled.done()
            locking.rollback()
            await stalled
        await stored_whole(log, recorder.turn, "natural_completion")
        await log.close(id)
    engine.dispose()


@needs_postgresql
async def test_the_server_ends_a_transaction_whose_client_stopped(postgres_database: URL) -> None:
    id = await left(postgres_database)
    with Log(postgres_database, lease=1.0) as log:
        engine = log._database.engine
        with suppress(sa.exc.DBAPIError), engine.connect().execution_options(turn_log="write") as stopped:
            stopped.execute(sa.text(LOCK), {"id": id})
            rows(postgres_database, LOCK, id=id)  # waits for the lock
        conninfo = postgres_database.set(drivername="postgresql").render_as_string(False)
        with suppress(psycopg.Error), psycopg.connect(conninfo) as frozen, frozen.pipeline():
            frozen.execute("UPDATE turns SET seq = seq")  # the server waits for the end of the pipeline, without limit
            while (await log.turn(id)).status != "over":
                with suppress(TurnHeld):
                    await log.close(id)


async def test_a_process_that_was_stopped_does_not_count_that_time_as_patience(frozen: Frozen) -> None:
    """Here only the event loop is stopped."""
    with Log(frozen.url, patience=PATIENCE) as log:
        async with log.record() as recorder:
            await recorder.event(BEGAN)
            frozen.freeze()
            writing = asyncio.create_task(recorder.event(TurnBlockDelta(1, 1, 0, "words")))
            await asyncio.sleep(PATIENCE / 5)
            threading.Timer(PATIENCE + 0.5, frozen.thaw).start()
            time.sleep(PATIENCE)
            await asyncio.gather(writing, recorder.event(TurnBlockDelta(2, 1, 0, "more")))


@needs_postgresql
@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("fault", ["stop", "kill", "cut"])
def test_turns_survive_a_process_that_is_disturbed(postgres_database: URL, fault: str) -> None:
    with Log(postgres_database):
        result = Result()
    asyncio.run(run(postgres_database, fault, 8, result))
    assert (result.twice, result.unanswered, result.failed) == (0, 0, 0)
    assert result.is_good
