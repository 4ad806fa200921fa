"""One runner per turn: no process writes or runs a turn that another one runs."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from sqlalchemy import URL

from tests.turns.log.shared import Clock, killed, rows, turn
from tests.turns.playing import Counting, Say, call, script
from toolparity.turns.errors import TurnHeld, UnknownTurn
from toolparity.turns.events import TurnBlockDelta, TurnStarted
from toolparity.turns.log import Log, LogObserver

ONE_CALL = script([call("post")], [Say("Done.")])
BEGAN = TurnStarted(0, "turn", "openai.chat", "all")


@pytest.mark.thorough(keep=1)
def test_a_running_turn_cannot_be_taken_closed_or_deleted(log: Log) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            async for _ in turn(recorder, ONE_CALL).stream("Go."):
                assert (await log.turn(recorder.turn or "")).held
                for attempt in (log.take(recorder.turn or ""), log.take(recorder.turn or "")):
                    with pytest.raises(TurnHeld, match="another runner holds turn"):
                        await attempt.__aenter__()
                with pytest.raises(TurnHeld):
                    await log.close(recorder.turn or "")
                with pytest.raises(TurnHeld):
                    await log.forget(recorder.turn or "")
                assert await log.left() == []
        assert not (await log.turn(recorder.turn or "")).held

    asyncio.run(run())


def test_a_crashed_turn_can_be_taken_after_its_lease_expires(log: Log, clock: Clock) -> None:
    async def run() -> None:
        id = await killed(log, 5) or ""
        clock.now += 59
        assert await log.left() == []
        with pytest.raises(TurnHeld, match="its lease ends in 1 s"):
            async with log.take(id):
                pass
        clock.now += 2
        assert await log.left() == [id]
        async with log.take(id) as recorder:
            assert await log.left() == []
            kept = await log.turn(id)
            assert recorder.state == replace(kept.state, seq=kept.seq)  # type: ignore[type-var]
        async with log.take(id):
            pass

    asyncio.run(run())


def test_every_write_renews_the_lease(log: Log, clock: Clock) -> None:
    async def run() -> None:
        async with log.record() as recorder:
            await recorder.event(BEGAN)
            for seq in range(1, 5):
                clock.now += 59
                with pytest.raises(TurnHeld):
                    async with log.take("turn"):
                        pass
                await recorder.event(TurnBlockDelta(seq, 1, 0, "words"))

    asyncio.run(run())


def test_the_lease_is_renewed_while_nothing_is_written(url: URL, clock: Clock) -> None:
    async def run() -> None:
        with Log(url, clock=clock, lease=0.03) as log:
            async with log.record() as recorder:
                await recorder.event(BEGAN)
                clock.now += 1000  # the turn writes nothing more, so an unrenewed lease would have expired
                while not (await log.turn("turn")).held:
                    await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_only_one_of_many_concurrent_takers_gets_a_turn(url: URL, clock: Clock) -> None:
    async def run() -> None:
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
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            while len(done) < 9:
                done, _ = await asyncio.wait(tasks, timeout=0.01)
            assert {type(task.exception()) for task in done} == {TurnHeld}
            entered.set()
            await asyncio.wait(tasks)
            assert ran == [id]

    asyncio.run(run())


def test_a_runner_that_lost_its_lease_writes_nothing_and_starts_no_call(log: Log, clock: Clock) -> None:
    """The process was suspended until its lease expired and another one took the turn."""
    counting = Counting()

    async def run_and_lose_the_lease(slow: LogObserver) -> None:
        async for event in turn(slow, ONE_CALL, counting=counting).stream("Go."):
            if event.seq == 1:
                clock.now += 61
                async with log.take(slow.turn or "") as quick:
                    await turn(quick, ONE_CALL, counting=counting).run()

    async def run() -> None:
        async with log.record() as slow:
            with pytest.raises(TurnHeld, match="took over"):
                await run_and_lose_the_lease(slow)
        kept = await log.turn(slow.turn or "")
        assert kept.termination == "natural_completion"
        page = await log.events(kept.id)
        assert [row.seq for row in page.events] == list(range(kept.seq))

    asyncio.run(run())
    assert counting.names == ["post"]


def test_a_turn_can_be_taken_by_force_before_its_lease_expires(log: Log) -> None:
    async def run() -> None:
        id = await killed(log, 5) or ""
        async with log.take(id, force=True) as recorder:
            outcome = await turn(recorder).run()
        assert outcome.termination == "natural_completion"

    asyncio.run(run())


def test_a_runner_that_lost_its_lease_does_not_release_the_new_one(log: Log, url: URL) -> None:
    async def run() -> None:
        async with log.record() as slow:
            await slow.event(BEGAN)
            rows(url, "UPDATE turns SET owner = 'somebody' WHERE id = 'turn'")
        assert rows(url, "SELECT owner FROM turns WHERE id = 'turn'") == [("somebody",)]

    asyncio.run(run())


def test_an_unknown_turn_id_raises_unknown_turn(log: Log) -> None:
    async def run() -> None:
        for attempt in (log.close("none"), log.turn("none"), log.events("none"), log.take("none").__aenter__()):
            with pytest.raises(UnknownTurn, match="'none'"):
                await attempt

    asyncio.run(run())


def test_leases_use_the_clock_of_the_database(url: URL) -> None:
    async def run() -> None:
        with Log(url) as log:
            async with log.record() as recorder:
                await recorder.event(BEGAN)
                kept = await log.turn("turn")
                assert kept.held
                assert kept.created <= kept.updated
        now = "extract(epoch FROM clock_timestamp())" if url.get_backend_name() == "postgresql" else "unixepoch()"
        [(age,)] = rows(url, f"SELECT {now} - created FROM turns")
        assert -1 <= age < 3600

    asyncio.run(run())
