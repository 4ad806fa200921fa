"""One runner per turn: no process writes or runs a turn that another one runs."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from sqlalchemy import URL

from tests.turns.log.shared import BEGAN, Clock, killed, rows, stored_whole, turn
from tests.turns.playing import Counting, Say, call, script
from toolparity.turns import sse
from toolparity.turns.errors import TurnHeld, UnknownTurn
from toolparity.turns.events import TurnBlockDelta
from toolparity.turns.log import Log, LogObserver

ONE_CALL = script([call("post")], [Say("Done.")])


@pytest.mark.thorough(keep=1)
async def test_a_running_turn_cannot_be_taken_closed_or_deleted(log: Log) -> None:
    async with log.record() as recorder:
        async for _ in turn(recorder, ONE_CALL).stream("Go."):
            id = recorder.turn or ""
            assert (await log.turn(id)).held
            for attempt in (log.take(id).__aenter__(), log.close(id), log.forget(id)):
                with pytest.raises(TurnHeld, match="runner holds turn"):
                    await attempt
            assert await log.left() == []
    assert not (await log.turn(id)).held


async def test_a_crashed_turn_can_be_taken_after_its_lease_expires_or_by_force(log: Log, clock: Clock) -> None:
    forced, id = await killed(log, 5) or "", await killed(log, 5) or ""
    async with log.take(forced, force=True) as recorder:
        assert (await turn(recorder).run()).termination == "natural_completion"
    clock.now += 59
    assert await log.left() == []
    with pytest.raises(TurnHeld, match="its lease ends in 1 s"):
        await log.take(id).__aenter__()
    clock.now += 2
    assert await log.left() == [id]
    async with log.take(id) as recorder:
        assert await log.left() == []
        kept = await log.turn(id)
        assert recorder.state == replace(kept.state, seq=kept.seq)  # type: ignore[type-var]
    async with log.take(id):
        pass


async def test_every_write_renews_the_lease(log: Log, clock: Clock) -> None:
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        for seq in range(1, 5):
            clock.now += 59
            with pytest.raises(TurnHeld):
                await log.take("turn").__aenter__()
            await recorder.event(TurnBlockDelta(seq, 1, 0, "words"))


async def test_the_lease_is_renewed_while_nothing_is_written(url: URL, clock: Clock) -> None:
    with Log(url, clock=clock, lease=0.03) as log:
        async with log.record() as recorder:
            await recorder.event(BEGAN)
            clock.now += 1000  # the turn writes nothing more, so an unrenewed lease would have expired
            while not (await log.turn("turn")).held:
                await asyncio.sleep(0.001)


async def test_only_one_of_many_concurrent_takers_gets_a_turn(url: URL, clock: Clock) -> None:
    with Log(url, clock=clock) as first, Log(url, clock=clock) as second:  # like two processes
        id = await killed(first, 5) or ""
        clock.now += 61
        entered = asyncio.Event()
        ran: list[str] = []

        async def take(log: Log) -> None:
            async with log.take(id) as recorder:
                ran.append(recorder.turn or "")
                await entered.wait()

        tasks = [asyncio.create_task(take(log)) for log in (first, second) * 5]
        while sum(task.done() for task in tasks) < 9:
            await asyncio.sleep(0.001)
        assert {type(task.exception()) for task in tasks if task.done()} == {TurnHeld}
        entered.set()
        await asyncio.wait(tasks)
        assert ran == [id]


async def test_a_runner_that_lost_its_lease_writes_nothing_and_starts_no_call(log: Log, clock: Clock) -> None:
    """The process was suspended until its lease expired and another one took the turn."""
    counting = Counting()

    async def run_and_lose_the_lease(slow: LogObserver) -> None:
        async for event in turn(slow, ONE_CALL, counting=counting).stream("Go."):
            if event.seq == 1:
                clock.now += 61
                async with log.take(slow.turn or "") as quick:
                    await turn(quick, ONE_CALL, counting=counting).run()

    async with log.record() as slow:
        with pytest.raises(TurnHeld, match="took over"):
            await run_and_lose_the_lease(slow)
    await stored_whole(log, slow.turn, "natural_completion")
    assert counting.names == ["post"]


async def test_a_runner_that_lost_its_lease_does_not_release_the_new_one(log: Log, url: URL) -> None:
    async with log.record() as slow:
        await slow.event(BEGAN)
        rows(url, "UPDATE turns SET owner = 'another' WHERE id = 'turn'")
    assert rows(url, "SELECT owner FROM turns WHERE id = 'turn'") == [("another",)]


async def test_the_id_of_an_unknown_or_deleted_turn_raises_unknown_turn(log: Log) -> None:
    async with log.record() as recorder:
        await recorder.event(BEGAN)
    await log.forget("turn")
    for id in ("none", "turn"):
        streams = (anext(sse.events(log, id)), sse.over(log, id), log.take(id).__aenter__())
        for attempt in (*streams, log.close(id), log.forget(id), log.turn(id), log.events(id), log.recording(id)):
            with pytest.raises(UnknownTurn, match=f"'{id}'"):
                await attempt


async def test_leases_use_the_clock_of_the_database(url: URL) -> None:
    with Log(url) as log:
        async with log.record() as recorder:
            await recorder.event(BEGAN)
            kept = await log.turn("turn")
            assert kept.held
            assert kept.created <= kept.updated
    now = "extract(epoch FROM clock_timestamp())" if url.get_backend_name() == "postgresql" else "unixepoch()"
    [(age,)] = rows(url, f"SELECT {now} - created FROM turns")
    assert -1 <= age < 3600
