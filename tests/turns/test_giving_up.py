"""Abandoned work: cancelled calls, and threads and tasks that do not end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from toolparity.turns.execution.executor import Executor
from toolparity.turns.execution.thread_limit import ThreadLimit
from toolparity.turns.execution.threads import Threads
from toolparity.turns.execution.tools import Tools

from .executing import asked, texts, tool
from .playing import at_once

# abandoned work


def test_a_timeout_is_logged_in_one_line_and_a_failed_cleanup_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    async def breaks() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("the cleanup failed")

    tools = Tools([tool(hang, timeout=0.01), tool(breaks, timeout=0.01)])
    finished = at_once(Executor(tools).run([asked("hang"), asked("breaks")]))
    assert [one.outcome for one in finished] == ["timeout", "timeout"]
    of_hang = [record for record in caplog.records if "hang" in record.getMessage()]
    assert [(one.getMessage(), one.exc_info) for one in of_hang] == [
        ("tool hang timed out after 0.01s: call call_hang", None)
    ]
    assert "RuntimeError: the cleanup failed" in caplog.text


def test_no_threads_are_started_when_too_many_hang() -> None:
    release = threading.Event()

    async def run() -> None:
        threads = Threads(most=4, most_abandoned=1, limit=ThreadLimit())
        executor = Executor(
            Tools([tool(lambda: release.wait(20), "stuck", timeout=0.02), tool(lambda: "ran", "next")]), threads=threads
        )
        await executor.run([asked("stuck")])
        (finished,) = await executor.run([asked("next")])
        assert finished.outcome == "raised"
        assert "too many abandoned threads: 1" in texts([finished])[0][1]

    try:
        at_once(run())
    finally:
        release.set()


def test_a_task_that_ignores_its_cancellation_is_abandoned() -> None:
    async def run() -> None:
        release = asyncio.Event()

        async def stubborn() -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        executor = Executor(Tools([tool(stubborn, timeout=0.02)]), grace=0.02)
        (finished,) = await executor.run([asked("stubborn")])
        assert finished.outcome == "timeout"
        assert executor.abandoned == 1
        release.set()
        while executor.abandoned:
            await asyncio.sleep(0)

    at_once(run())
