"""A turn that is decided twice runs its call once; copies of a state run it once each, with the same key."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from toolparity.turns import Tool, Turn, current_call
from toolparity.turns.errors import TurnHeld, TurnMisused
from toolparity.turns.log import Log
from toolparity.turns.machine import state as states

from .playing import Emulated, Say, at_once, call, names_of_page, script

CLOSE = script([call("close_account", customer="c-2")], [Say("Done.")], tools=["close_account"])
SCHEMA = {"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}


class Closing:
    """Counts the accounts that it closed, and the keys under which it was called."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.wait = asyncio.Event()
        self.wait.set()

    async def close(self, customer: str) -> str:
        self.keys.append(current_call.get().key)
        await self.wait.wait()
        return f"{customer} closed"

    @property
    def tools(self) -> list[Tool]:
        return [Tool(name="close_account", function=self.close, parameters=SCHEMA, approval=True)]


def test_deciding_two_copies_of_a_state_runs_the_call_twice_with_the_same_key() -> None:
    """As docs/pages/turns.md decides, which says so."""
    page = names_of_page("turns.md")
    closing = Closing()
    page["tools"] = closing.tools
    provider = Emulated("openai.chat", CLOSE)
    [waiting], kept = at_once(page["ask"](provider, "Go."))
    for _ in range(2):
        assert at_once(page["decide"](provider, kept, waiting.id, True)).text == "Done."
    assert (len(closing.keys), len(set(closing.keys))) == (2, 1)


def test_deciding_a_turn_twice_runs_its_call_once_also_from_the_state_after_the_decision() -> None:
    closing = Closing()
    turn = Turn(Emulated("openai.chat", CLOSE), closing.tools)
    [waiting] = at_once(turn.run("Go.")).waiting
    turn.decide(waiting.id, True)
    turn.decide(waiting.id, False)  # before it resumes: the first decision counts
    assert at_once(turn.run()).text == "Done."
    resumed = Turn(Emulated("openai.chat", CLOSE), closing.tools, state=states.load(states.dump(turn.state)))
    for over in (turn, resumed):
        with pytest.raises(TurnMisused):
            over.decide(waiting.id, True)
    assert at_once(resumed.run()).text == "Done."
    assert len(closing.keys) == 1


async def decide(log: Log, closing: Closing, turn: str, call_id: str) -> Any:
    """As docs/pages/turn-log.md has it."""
    async with log.take(turn) as recorder:
        running = Turn(Emulated("openai.chat", CLOSE), closing.tools, observers=[recorder], state=recorder.state)
        running.decide(call_id, True)
        return await running.run()


def test_deciding_a_logged_turn_concurrently_and_again_runs_its_call_once(tmp_path: Path) -> None:
    closing = Closing()

    async def run(log: Log) -> None:
        async with log.record() as recorder:
            outcome = await Turn(Emulated("openai.chat", CLOSE), closing.tools, observers=[recorder]).run("Go.")
        turn, id = outcome.state.id, outcome.waiting[0].id
        closing.wait.clear()
        first = asyncio.create_task(decide(log, closing, turn, id))
        while not closing.keys:
            await asyncio.sleep(0.01)
        with pytest.raises(TurnHeld):
            await decide(log, closing, turn, id)
        closing.wait.set()
        assert (await first).text == "Done."
        with pytest.raises(TurnMisused):
            await decide(log, closing, turn, id)
        assert len(closing.keys) == 1

    with Log(f"sqlite:///{tmp_path / 'turns.db'}") as log:
        asyncio.run(run(log))
