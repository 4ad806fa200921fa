"""Tools that never end: the program continues, and the threads of a process stay within a limit."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
import time

import pytest

from toolparity.turns.execution.executor import Executor, FinishedCall
from toolparity.turns.execution.thread_limit import PROCESS, ThreadLimit
from toolparity.turns.execution.threads import Threads
from toolparity.turns.execution.tools import Tools

from .executing import asked, texts, tool
from .playing import at_once

pytestmark = pytest.mark.service("turns/execution")

_PROGRAM = """
import asyncio, os, sys, threading, time
from toolparity import Response
from toolparity.normalizer.model import Choice, Stop, Text, ToolCall
from toolparity.turns import Agent, Tool, Turn

class Provider:
    wire, name, model = "openai.chat", "openai", "m"
    async def ask(self, body):
        call = ToolCall("c", "hang", {}, "{}")
        block, stop = (call, "tool_calls") if len(body["messages"]) == 1 else (Text("Done."), "end_turn")
        yield Response("openai.chat", "openai", None, "m", [Choice(0, [block], Stop(stop))])

async def stubborn():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

async def in_a_thread():
    await asyncio.to_thread(time.sleep, 60)

def blocking():
    time.sleep(60)

async def ended():
    await asyncio.sleep(0)

for function in (ended, in_a_thread, blocking, stubborn):
    for kind in (Agent, Turn):
        tool = Tool(name="hang", function=function, timeout=0.05)
        assert kind(Provider(), [tool]).run_sync("Go.").text == "Done."
        assert asyncio.run(asyncio.sleep(0, "another loop")) == "another loop"
        print("-- end of", function.__name__, kind.__name__, file=sys.stderr, flush=True)
os._exit(0)
"""


def test_run_sync_returns_although_a_tool_does_not_end() -> None:
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    *parts, rest = re.split("-- end of (.+)\n", done.stderr)
    logged = dict(zip(parts[1::2], parts[::2], strict=True))
    cases = [
        f"{function} {kind}"
        for function in ("ended", "in_a_thread", "blocking", "stubborn")
        for kind in ("Agent", "Turn")
    ]
    assert (list(logged), rest) == (cases, "")
    assert [case for case in cases if "left behind" in logged[case]] == ["stubborn Agent", "stubborn Turn"]


def _hanging(release: threading.Event, limit: ThreadLimit) -> Executor:
    """A new executor, as every turn has one."""
    hangs = tool(lambda: release.wait(30), "hang", timeout=0.02)
    return Executor(Tools([hangs, tool(lambda: "ran", "work")]), threads=Threads(limit=limit), grace=0.0)


def test_threads_that_hang_in_many_turns_stay_within_the_limit_of_the_process() -> None:
    release, limit = threading.Event(), ThreadLimit(most=8, most_abandoned=3)
    before = threading.active_count()

    async def one_turn(name: str) -> FinishedCall:
        [finished] = await _hanging(release, limit).run([asked(name)])
        return finished

    async def run() -> None:
        ended = [await one_turn("hang") for _ in range(10)]
        assert [finished.outcome for finished in ended] == ["timeout"] * 3 + ["raised"] * 7
        assert "too many abandoned threads: 3 hang in tools" in texts([await one_turn("work")])[0][1]
        assert threading.active_count() - before == 3
        release.set()
        while limit.abandoned:
            await asyncio.sleep(0.001)
        assert (await one_turn("work")).outcome == "returned"

    try:
        at_once(run())
    finally:
        release.set()


def test_threads_that_hang_at_the_same_time_stay_within_the_limit_of_the_process() -> None:
    release, limit = threading.Event(), ThreadLimit(most=8, most_abandoned=3)
    before, peak = threading.active_count(), 0

    async def run() -> None:
        nonlocal peak
        runs = [asyncio.create_task(_hanging(release, limit).run([asked("hang")])) for _ in range(40)]
        while not all(run.done() for run in runs):
            peak = max(peak, threading.active_count() - before)
            await asyncio.sleep(0.001)
        outcomes = [finished.outcome for run in runs for finished in run.result()]
        assert outcomes.count("timeout") <= 8
        assert set(outcomes) == {"timeout", "raised"}

    try:
        at_once(run())
        assert 3 <= peak <= 8
    finally:
        release.set()


def test_calls_beyond_the_limit_wait_for_a_place_also_in_another_event_loop() -> None:
    limit, running, peak, lock = ThreadLimit(most=2), 0, 0, threading.Lock()

    def work() -> str:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        time.sleep(0.002)
        with lock:
            running -= 1
        return "ran"

    async def run() -> list[FinishedCall]:
        executor = Executor(Tools([tool(work)]), threads=Threads(limit=limit))
        return await executor.run([asked("work", f"c{n}") for n in range(10)])

    outcomes: list[str] = []
    loops = [threading.Thread(target=lambda: outcomes.extend(f.outcome for f in asyncio.run(run()))) for _ in range(3)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join(30)
    assert outcomes == ["returned"] * 30
    assert peak <= 2


def test_a_call_that_is_cancelled_while_it_waits_for_a_place_takes_none() -> None:
    async def run() -> None:
        limit = ThreadLimit(most=1)
        await limit.enter()
        waiting = asyncio.create_task(Threads(limit=limit).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        limit.leave()
        async with asyncio.timeout(5), Threads(limit=limit):
            assert not limit.exceeded

    at_once(run())


def test_all_executors_share_the_limit_of_the_process() -> None:
    assert Executor(Tools([])).threads._limit is Executor(Tools([])).threads._limit is PROCESS
