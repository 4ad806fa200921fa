"""A turn that code without an event loop runs: its connections end with it, and other threads control it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator

import pytest

from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.turns import Agent, Tool
from toolparity.turns.errors import TurnMisused
from toolparity.turns.testing import EmulatedProvider, FaultyProvider, Say, Status, call, scripted
from toolparity.turns.turn import Turn

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


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running() as up:
        yield up


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
    (line,) = [record.getMessage() for record in caplog.records if "the turn ended as" in record.getMessage()]
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
