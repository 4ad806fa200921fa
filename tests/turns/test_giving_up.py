"""Abandoned work: cancelled calls, and threads and tasks that do not end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from toolparity.normalizer.turns.execution.executor import Executor, FinishedCall
from toolparity.normalizer.turns.execution.threads import Threads
from toolparity.normalizer.turns.execution.tools import Tools

from .executing import asked, texts, tool
from .playing import at_once

# what is given up


def test_a_call_that_is_cancelled_takes_no_sibling_with_it() -> None:
    ended: list[str] = []

    async def run() -> list[FinishedCall]:
        begun = asyncio.Event()

        async def hang() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cleaned up")

        unwanted = asyncio.get_running_loop().create_future()

        async def fine() -> str:
            await begun.wait()
            unwanted.set_result(None)
            return "fine"

        executor = Executor(Tools([tool(hang), tool(fine)]))
        return await executor.run([asked("hang"), asked("fine")], cancellations={"call_hang": unwanted})

    found = at_once(run())
    assert [one.outcome for one in found] == ["cancelled", "returned"]
    assert ended == ["cleaned up"]


def test_cancelling_the_run_cancels_every_call() -> None:
    ended: list[str] = []

    async def run() -> None:
        begun = asyncio.Barrier(3)

        async def hang(who: str) -> None:
            await begun.wait()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(who)

        executor = Executor(Tools([tool(hang)]))
        task = asyncio.create_task(executor.run([asked("hang", f"c{n}", who=f"{n}") for n in range(2)]))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert executor.abandoned == 0

    at_once(run())
    assert sorted(ended) == ["0", "1"]


def test_a_thread_that_hangs_is_left_behind_and_counted_until_it_ends() -> None:
    release = threading.Event()
    over = threading.Event()

    def stuck() -> None:
        release.wait(20)
        over.set()

    async def run() -> None:
        threads = Threads(most=1)
        executor = Executor(Tools([tool(stuck, timeout=0.02), tool(lambda: "ran", "next")]), threads=threads)
        found = await executor.run([asked("stuck"), asked("next")])
        assert [one.outcome for one in found] == ["timeout", "returned"]  # the slot is free again
        assert executor.abandoned == 1
        release.set()
        await asyncio.to_thread(over.wait, 20)
        while executor.abandoned:
            await asyncio.sleep(0.001)

    at_once(run())


def test_threads_serve_one_event_loop_after_the_other() -> None:
    threads = Threads(most=1)
    for _ in range(2):

        async def run() -> list[FinishedCall]:
            executor = Executor(Tools([tool(lambda: "ran", "work")]), threads=threads)
            return await executor.run([asked("work", f"c{n}") for n in range(4)])  # they wait for each other's slot

        assert [one.outcome for one in at_once(run())] == ["returned"] * 4


def test_where_too_many_threads_hang_no_more_are_started() -> None:
    release = threading.Event()

    async def run() -> None:
        threads = Threads(most=4, most_abandoned=1)
        executor = Executor(
            Tools([tool(lambda: release.wait(20), "stuck", timeout=0.02), tool(lambda: "ran", "next")]),
            threads=threads,
        )
        await executor.run([asked("stuck")])
        (one,) = await executor.run([asked("next")])
        assert one.outcome == "raised"
        assert "too many abandoned threads: 1" in texts([one])[0][1]

    try:
        at_once(run())
    finally:
        release.set()


def test_a_task_that_does_not_end_when_it_is_cancelled_is_left_behind() -> None:
    async def run() -> None:
        release = asyncio.Event()

        async def stubborn() -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        executor = Executor(Tools([tool(stubborn, timeout=0.02)]), grace=0.02)
        (one,) = await executor.run([asked("stubborn")])
        assert one.outcome == "timeout"
        assert executor.abandoned == 1
        release.set()
        while executor.abandoned:
            await asyncio.sleep(0)

    at_once(run())
