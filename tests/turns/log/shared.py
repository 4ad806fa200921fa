"""Helpers for the tests of the log: a clock that the test sets, and logged turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa
from sqlalchemy import URL

from tests.turns.playing import Counting, Emulated, Say, Think, call, script
from toolparity.normalizer.requests import check_request, write_request
from toolparity.turns.events import TurnEvent, TurnStarted
from toolparity.turns.log import Log, LogObserver, StoredTurn
from toolparity.turns.log.engine import make_engine
from toolparity.turns.machine.inputs import Input
from toolparity.turns.machine.state import TurnState, dump
from toolparity.turns.observer import Observer
from toolparity.turns.orchestration import replay
from toolparity.turns.orchestration.recording import Replayed
from toolparity.turns.turn import Turn, outcome_of

#: Two rounds of calls, three calls, and an answer.
TWO_ROUNDS = script(
    [Think("Two things to find out."), Say("Let me look."), call("look", city="Ulm"), call("count", of="cats")],
    [call("post", text="hello")],
    [Say("All done.")],
)
#: The first event of a turn that a test writes event by event.
BEGAN = TurnStarted(0, "turn", "openai.chat", "all")


class Clock:
    """Seconds since 1970."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> Callable[..., str]:
        """A tool that advances the clock."""

        def function(**_: Any) -> str:
            self.now += seconds
            return "it took long"

        return function


@cache
def _empty_log() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "turns.db"
        with Log(path):
            pass
        return path.read_bytes()


def empty_log(path: Path) -> Path:
    """Write the SQLite database of an empty log, so that no migration has to run. Return its path."""
    path.write_bytes(_empty_log())
    return path


def rows(url: URL, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement, read through a connection separate from the log."""
    engine = make_engine(url)
    try:
        with engine.begin() as connection:
            result = connection.execute(sa.text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []
    finally:
        engine.dispose()


def turn(recorder: LogObserver, played: Any = TWO_ROUNDS, wire: str = "anthropic.messages", **options: Any) -> Turn:
    """A turn that plays the script and is recorded in the log."""
    counting = options.pop("counting", None) or Counting()
    tools = counting.tools(**options.pop("tools", {}))
    options.setdefault("observers", [recorder])
    return Turn(Emulated(wire, played), tools, state=recorder.state, **options)


async def recorded(log: Log, played: Any = TWO_ROUNDS, wire: str = "anthropic.messages", **options: Any) -> Turn:
    """A logged turn that has run from its beginning to its end."""
    async with log.record() as recorder:
        result = turn(recorder, played, wire, **options)
        await result.run("Go.")
    return result


class Killed(Exception):
    """Raised in place of killing the process of a turn."""


class Dies(Observer):
    """Ends a turn after a number of recorded steps like a killed process: nothing more is written, and the lease is not
    released.
    """

    def __init__(self, log: Log, steps: int) -> None:
        self.recorder = LogObserver(log._database, log._notifier.notify, log._lease)
        self.steps = steps

    async def input(self, input: Input) -> None:
        await self.recorder.input(input)

    async def record(self, events: Sequence[TurnEvent], state: TurnState | None) -> None:
        if self.steps == 0:
            raise Killed
        self.steps -= 1
        await self.recorder.record(events, state)


async def killed(log: Log, steps: int, played: Any = TWO_ROUNDS, **options: Any) -> str | None:
    """The id of a turn that was killed after a number of steps, or None if the turn ended before."""
    killer = Dies(log, steps)
    try:
        await turn(killer.recorder, played, observers=[killer], **options).run("Go.")
    except Killed:
        return killer.recorder.turn
    return None


async def stored_whole(log: Log, id: str | None, termination: str | None = None) -> StoredTurn:
    """A stored turn that is over, of which nothing is missing."""
    kept = await log.turn(id or "")
    assert_whole(kept)
    page = await log.events(kept.id, limit=100_000)
    assert [row.seq for row in page.events] == list(range(kept.seq))
    assert termination is None or kept.termination == termination
    return kept


async def assert_replays(log: Log, id: str) -> Replayed:
    """A replay yields the events in the log and the last stored state."""
    replayed = replay(await log.recording(id))
    assert replayed.difference is None
    assert replayed.events == [row.event for row in (await log.events(id, limit=100_000)).events]
    kept = await log.turn(id)
    if kept.status != "open":
        assert kept.state is not None
        assert dump(replayed.state) == dump(kept.state)
    return replayed


def assert_whole(kept: StoredTurn) -> None:
    """Each call has one result, in the rows and in the history, and the next request is legal."""
    assert kept.status == "over"
    assert kept.state is not None
    uses = [b.content["tool_use_id"] for b in kept.blocks if b.block_type == "tool_use"]
    results = [b.content["tool_use_id"] for b in kept.blocks if b.block_type == "tool_result"]
    assert sorted(uses) == sorted(results)
    assert len(set(results)) == len(results)
    assert [b.sequence for b in kept.blocks] == list(range(len(kept.blocks)))
    request = outcome_of(kept.state).next("And now?")
    body = write_request(request, kept.wire, provider=request.provider).body
    assert check_request(body, kept.wire, provider=request.provider) == []
