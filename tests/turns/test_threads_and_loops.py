"""Turns beside threads: code without an event loop runs and controls them, and hung tools leave few threads."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
import threading
import time

import pytest

from toolparity.cassettes.emulated.servers import Servers
from toolparity.turns import Agent, Tool
from toolparity.turns.errors import TurnMisused
from toolparity.turns.execution.executor import Executor, FinishedCall
from toolparity.turns.execution.thread_limit import PROCESS, ThreadLimit
from toolparity.turns.execution.threads import Threads
from toolparity.turns.execution.tools import Tools
from toolparity.turns.testing import EmulatedProvider, FaultyProvider, Say, Status, call, scripted
from toolparity.turns.turn import Turn

from .executing import asked, texts, tool
from .playing import at_once
from .test_clients import reach


@pytest.mark.parametrize("cancels", [True, False])
def test_another_thread_cancels_a_turn_or_decides_about_a_call_of_it(cancels: bool) -> None:
    began = threading.Event()
    ran: list[str] = []

    async def slow() -> None:
        began.set()
        while not ran:
            await asyncio.sleep(0.01)

    act = Tool(name="act", function=lambda: ran.append("act"), approval=True)
    provider = EmulatedProvider("openai.chat", scripted([call("slow"), call("act")], [Say("done")]))
    turn = Turn(provider, [slow, act])
    thread = threading.Thread(target=turn.run_sync, args=("x",))
    thread.start()
    assert began.wait(30)
    (waiting,) = turn.outcome.waiting
    if cancels:
        turn.cancel("the user left")
    else:
        turn.decide(waiting.id, True)
    thread.join(30)
    assert not thread.is_alive()
    termination = "cancelled" if cancels else "natural_completion"
    assert (ran, turn.outcome.termination) == ([] if cancels else ["act"], termination)


def test_run_sync_in_a_running_event_loop_says_what_to_do(recwarn: pytest.WarningsRecorder) -> None:
    async def main() -> None:
        Turn(EmulatedProvider("openai.chat", scripted([Say("x")]))).run_sync("x")

    with pytest.raises(TurnMisused, match=r"await run\(\) instead"):
        asyncio.run(main())
    assert not [each for each in recwarn if "never awaited" in str(each.message)]


@pytest.mark.parametrize("wire", ["openai.chat", "anthropic.messages"])
def test_a_client_ends_with_the_loop_of_run_sync(servers: Servers, wire: str) -> None:
    provider = reach(servers, wire)
    for _ in range(3):
        Agent(provider).run_sync("hi")
    assert len(provider._created) == 0


def test_a_failed_provider_is_logged_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    provider = EmulatedProvider("openai.chat", scripted([Say("x")]))
    turn = Turn(FaultyProvider(provider, {1: Status(401)}), backoff=None)
    with caplog.at_level(logging.WARNING, "toolparity"):
        outcome = turn.run_sync("hi")
    assert outcome.error is not None
    (line,) = [record.getMessage() for record in caplog.records if " ended as " in record.getMessage()]
    assert "provider_failed" in line
    assert "401" in line
    assert outcome.error.message not in line


def test_what_a_request_cannot_say_is_logged_once_for_each_turn(caplog: pytest.LogCaptureFixture) -> None:
    def look() -> str:
        """Looks."""
        return "seen"

    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    turn = Turn(EmulatedProvider("anthropic.messages", scripted([call("look")], [Say("done")])), [look])
    with caplog.at_level(logging.WARNING, "toolparity"):
        turn.run_sync([{"role": "user", "content": [audio]}])
    lost = [record.getMessage() for record in caplog.records if "cannot say everything" in record.getMessage()]
    assert len(lost) == 1
    assert "audio" in lost[0]


hangs = pytest.mark.service("turns/execution")

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


@hangs
def test_run_sync_returns_although_a_tool_does_not_end() -> None:
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    *parts, rest = re.split("-- end of (.+)\n", done.stderr)
    logged = dict(zip(parts[1::2], parts[::2], strict=True))
    functions = "ended", "in_a_thread", "blocking", "stubborn"
    cases = [f"{function} {kind}" for function in functions for kind in ("Agent", "Turn")]
    assert (list(logged), rest) == (cases, "")
    assert [case for case in cases if "left behind" in logged[case]] == ["stubborn Agent", "stubborn Turn"]


def _hanging(release: threading.Event, limit: ThreadLimit) -> Executor:
    """A new executor, as every turn has one."""
    hangs = tool(lambda: release.wait(30), "hang", timeout=0.02)
    return Executor(Tools([hangs, tool(lambda: "ran", "work")]), threads=Threads(limit=limit), grace=0.0)


@hangs
def test_threads_that_hang_in_turns_stay_within_the_limit_of_the_process() -> None:
    assert Executor(Tools([])).threads._limit is Executor(Tools([])).threads._limit is PROCESS
    release, limit = threading.Event(), ThreadLimit(most=8, most_abandoned=3)
    before, peak = threading.active_count(), 0

    async def one_turn(name: str) -> FinishedCall:
        [finished] = await _hanging(release, limit).run([asked(name)])
        return finished

    async def one_after_another() -> None:
        ended = [await one_turn("hang") for _ in range(10)]
        assert [finished.outcome for finished in ended] == ["timeout"] * 3 + ["raised"] * 7
        assert "too many abandoned threads: 3 hang in tools" in texts([await one_turn("work")])[0][1]
        assert threading.active_count() - before == 3
        release.set()
        while limit.abandoned:
            await asyncio.sleep(0.001)
        assert (await one_turn("work")).outcome == "returned"

    async def at_the_same_time() -> None:
        nonlocal peak
        release.clear()
        runs = [asyncio.create_task(one_turn("hang")) for _ in range(40)]
        while not all(run.done() for run in runs):
            peak = max(peak, threading.active_count() - before)
            await asyncio.sleep(0.001)
        outcomes = [run.result().outcome for run in runs]
        assert outcomes.count("timeout") <= 8
        assert set(outcomes) == {"timeout", "raised"}
        assert 3 <= peak <= 8

    try:
        at_once(one_after_another())
        at_once(at_the_same_time())
    finally:
        release.set()


@hangs
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


@hangs
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
