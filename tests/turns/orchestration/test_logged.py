"""An orchestrated turn in the turn log: it contains no void blocks, and its readers see the same as listeners."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.turns.log.shared import empty_log
from tests.turns.playing import WIRES, Say, call, rows, script
from toolparity.turns import sse
from toolparity.turns.events import Noted, RoundStarted, TurnEvent
from toolparity.turns.log import Log
from toolparity.turns.machine.state import TurnState, dump
from toolparity.turns.observer import Observer
from toolparity.turns.orchestration import Coordinator, replay
from toolparity.turns.orchestration.notes import FinalPhase, Recovery, note_of

from .staging import LONG, Counting, Sequenced, assert_answered


@pytest.mark.thorough(keep=2, per="{fails}")
@pytest.mark.parametrize("fails", [(1,), (1, 2), (1, 2, 3)])
@pytest.mark.parametrize("wire", WIRES)
def test_the_log_of_a_recovered_turn_contains_only_the_valid_blocks(
    tmp_path: Path, wire: str, fails: tuple[int, ...]
) -> None:
    async def run() -> None:
        provider = Sequenced(wire, LONG, fails={at: RuntimeError("gone") for at in fails}, after=4)
        with Log(empty_log(tmp_path / "turns.db")) as log:
            async with log.record() as recorder:
                coordinator = Coordinator(provider, Counting().tools(), observers=[recorder])
                events = [event async for event in coordinator.stream("Go.")]
            id = recorder.turn or ""
            assert [event.seq for event in events] == list(range(len(events)))
            kept = await log.turn(id)
            assert [(b.sequence, b.block_type, b.text_content, b.content) for b in kept.blocks] == rows(events)
            assert kept.state is not None
            assert dump(kept.state) == dump(coordinator.turn.state)
            assert max(event.attempt for event in events if isinstance(event, RoundStarted)) == len(fails[:2]) + 1
        assert_answered(coordinator)

    asyncio.run(run())


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
def test_a_reader_of_the_log_sees_the_recoveries_and_the_answer_with_its_uncertainty(tmp_path: Path, wire: str) -> None:
    async def run() -> tuple[Coordinator, list[TurnEvent], str]:
        provider = Sequenced(wire, LONG, fails={at: RuntimeError("gone") for at in (1, 2, 3)})
        with Log(empty_log(tmp_path / "turns.db")) as log:
            async with log.record() as recorder:
                coordinator = Coordinator(provider, Counting().tools(), observers=[recorder])
                await coordinator.run("Go.")
            id = recorder.turn or ""
            kept = [row.event for row in (await log.events(id)).events]
            return coordinator, kept, b"".join([piece async for piece in sse.events(log, id)]).decode()

    coordinator, kept, streamed = asyncio.run(run())
    done = coordinator.orchestrated
    notes = [note_of(note) for note in kept if isinstance(note, Noted)]
    assert [note.level for note in done.recoveries] == ["round", "session", "assembled"]
    assert [note for note in notes if isinstance(note, Recovery)] == done.recoveries
    assert isinstance(notes[-1], FinalPhase)
    assert (notes[-1].text, notes[-1].uncertainty) == (done.text, done.uncertainty)
    frames = streamed.split("\n\n")
    assert sum("\nevent: noted\n" in frame for frame in frames) == len(notes)
    assert [frame for frame in frames if '"note":"recovery"' in frame and '"level":"session"' in frame]


def test_an_answer_completed_in_another_process_keeps_its_recoveries_and_uncertainty(tmp_path: Path) -> None:
    def fails(**_: Any) -> None:
        raise ValueError("the index is gone")

    async def run() -> None:
        played = script([call("look", at=1), call("post", text="x")], [Say("Done.")])
        provider = Sequenced("openai.responses", played)
        tools = Counting(look=fails).tools(look={"fallback": "count"}, post={"approval": True})
        with Log(empty_log(tmp_path / "turns.db")) as log:
            async with log.record() as recorder:
                waiting = await Coordinator(provider, tools, observers=[recorder]).run("Go.")
            [waiting_call] = waiting.outcome.waiting
            async with log.take(recorder.turn or "") as taken:
                other = Coordinator(provider, tools, observers=[taken], state=taken.state)
                other.turn.decide(waiting_call.id, True)
                done = await other.run()
            replayed = replay(await log.recording(recorder.turn or ""))
        assert replayed.difference is None
        assert dump(replayed.state) == dump(done.outcome.state)
        assert done.recoveries == waiting.recoveries
        assert (done.level, done.answer) == ("tool", "Done.")
        assert "count was used in place of a tool that failed" in done.text

    asyncio.run(run())


class Killed(Observer):
    """Raises after a number of writes, so that nothing is recorded after it."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    async def record(self, events: Sequence[TurnEvent], state: TurnState | None) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError("killed")


@pytest.mark.thorough
@pytest.mark.parametrize("wire", ["anthropic.messages", "xai.grpc"])
def test_an_orchestrated_turn_killed_at_any_write_resumes_and_runs_no_call_twice(tmp_path: Path, wire: str) -> None:
    def fails(**_: Any) -> None:
        raise ValueError("the index is gone")

    async def run(log: Log, writes: int) -> bool:
        counting = Counting(look=fails)
        tools = counting.tools(look={"fallback": "count"})
        provider = Sequenced(wire, LONG, fails={1: RuntimeError("gone")}, after=2)
        async with log.record() as recorder:
            coordinator = Coordinator(provider, tools, observers=[recorder, Killed(writes)])
            try:
                await coordinator.run("Go.")
                return False
            except OSError:
                pass
        id = recorder.turn or ""
        provider.faults = {at: fault for at, fault in provider.faults.items() if at <= len(provider.bodies)}
        async with log.take(id) as taken:
            coordinator = Coordinator(provider, tools, observers=[taken], state=taken.state)
            await coordinator.run()
        kept = await log.turn(id)
        assert [call.attempts for call in kept.calls if call.attempts > 1] == []
        assert counting.names.count("post") <= 1
        assert_answered(coordinator)
        replayed = replay(await log.recording(id))
        assert replayed.difference is None
        assert replayed.events == [row.event for row in (await log.events(id)).events]
        return True

    async def main() -> int:
        with Log(empty_log(tmp_path / "turns.db")) as log:
            writes = 0
            while await run(log, writes):
                writes += 5
            return writes

    assert asyncio.run(main()) > 50
