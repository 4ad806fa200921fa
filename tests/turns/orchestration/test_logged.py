"""An orchestrated turn in the turn log has no void blocks, and its readers see the same as listeners; the page."""

from __future__ import annotations

import io
import itertools
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.turns.log.shared import Dies, Killed, assert_replays, empty_log
from tests.turns.playing import WIRES, Say, call, names_of_page, only, rows, script
from toolparity.turns import sse
from toolparity.turns.events import RoundStarted
from toolparity.turns.log import Log
from toolparity.turns.machine.state import dump
from toolparity.turns.orchestration import Coordinator, Limits
from toolparity.turns.orchestration.notes import FinalPhase, Recovery

from .staging import LONG, Counting, Sequenced, assert_answered, names_of_notes, notes


def fails(**_: Any) -> None:
    raise ValueError("the index is gone")


@pytest.mark.thorough(keep=2, per="{requests}")
@pytest.mark.parametrize("requests", [(1,), (1, 2), (1, 2, 3)])
@pytest.mark.parametrize("wire", WIRES)
async def test_the_log_of_a_recovered_turn_has_only_valid_blocks_and_shows_its_recoveries_and_uncertainty(
    tmp_path: Path, wire: str, requests: tuple[int, ...]
) -> None:
    with Log(empty_log(tmp_path / "turns.db")) as log:
        async with log.record() as recorder:
            provider = Sequenced(wire, LONG, fails=requests, after=2)
            coordinator = Coordinator(provider, Counting().tools(), observers=[recorder])
            events = [event async for event in coordinator.stream("Go.")]
        await assert_replays(log, recorder.turn or "")
        kept = await log.turn(recorder.turn or "")
        logged = [row.event for row in (await log.events(kept.id)).events]
        frames = [frame.decode() async for frame in sse.events(log, kept.id)]
    assert [event.seq for event in events] == list(range(len(events)))
    assert [(b.sequence, b.block_type, b.text_content, b.content) for b in kept.blocks] == rows(events)
    assert kept.state is not None
    assert dump(kept.state) == dump(coordinator.turn.state)
    assert max(event.attempt for event in only(events, RoundStarted)) == len(requests[:2]) + 1
    assert_answered(coordinator)
    done = coordinator.orchestrated
    levels = [note.level for note in done.recoveries]
    assert levels == (["round"] if len(requests) == 1 else ["round", "session", "assembled"])
    assert notes(logged, Recovery) == done.recoveries
    final = notes(logged, FinalPhase)[-1]
    assert (final.text, final.uncertainty) == (done.text, done.uncertainty)
    assert sum("\nevent: noted\n" in frame for frame in frames) == len(names_of_notes(logged))


async def test_an_answer_completed_in_another_process_keeps_its_recoveries_and_uncertainty(tmp_path: Path) -> None:
    played = script([call("look", at=1), call("post", text="x")], [Say("Done.")])
    provider = Sequenced("openai.responses", played)
    tools = Counting(look=fails).tools(look={"fallback": "count"}, post={"approval": True})
    with Log(empty_log(tmp_path / "turns.db")) as log:
        async with log.record() as recorder:
            waiting = await Coordinator(provider, tools, observers=[recorder]).run("Go.")
        async with log.take(recorder.turn or "") as taken:
            other = Coordinator(provider, tools, observers=[taken], state=taken.state)
            other.turn.decide(waiting.outcome.waiting[0].id, True)
            done = await other.run()
        await assert_replays(log, recorder.turn or "")
    assert done.recoveries == waiting.recoveries
    assert (done.level, done.answer) == ("tool", "Done.")
    assert "count was used in place of a tool that failed" in done.text


@pytest.mark.thorough
@pytest.mark.parametrize("wire", ["anthropic.messages", "xai.grpc"])
async def test_an_orchestrated_turn_killed_at_any_write_resumes_and_runs_no_call_twice(
    tmp_path: Path, wire: str
) -> None:
    with Log(empty_log(tmp_path / "turns.db")) as log:
        for writes in itertools.count(1, 5):
            counting, killer = Counting(look=fails), Dies(log, writes)
            tools = counting.tools(look={"fallback": "count"})
            provider = Sequenced(wire, LONG, fails=[1], after=2)
            with suppress(Killed):
                await Coordinator(provider, tools, observers=[killer]).run("Go.")
            provider.faults = {at: fault for at, fault in provider.faults.items() if at <= len(provider.bodies)}
            async with log.take(killer.recorder.turn or "", force=True) as taken:
                coordinator = Coordinator(provider, tools, observers=[taken], state=taken.state)
                await coordinator.run()
            kept = await log.turn(killer.recorder.turn or "")
            assert [called.attempts for called in kept.calls if called.attempts > 1] == []
            assert counting.names.count("post") <= 1
            assert_answered(coordinator)
            await assert_replays(log, kept.id)
            if killer.steps > 0:
                break  # the turn was over first
    assert writes > 50


SEARCHED = script([call("search", course="MCP")], [Say("It is about servers.")])


async def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    names = names_of_page("orchestration.md")
    provider = Sequenced("openai.chat", SEARCHED)
    done = await names["ask"](provider, "What is MCP about?")
    assert (done.answer, done.level) == ("It is about servers.", "tool")
    assert "outline was used in place of" in done.text
    assert provider.asked().tools[0].parameters["required"] == ["course"]  # type: ignore[index]
    provider = Sequenced("openai.chat", LONG, fails=[1])
    with Log(tmp_path / "turns.db") as log:
        async with log.record() as recorder:
            result = await Coordinator(provider, Counting().tools(), observers=[recorder]).run("Go.")
        assert await names["recovered"](log, recorder.turn) == result.recoveries != []
    file, whole = io.BytesIO(), io.BytesIO()
    make: Any = lambda **more: Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), **more)  # noqa: E731
    await names["recorded"](make, file)
    assert names["check"](file.getvalue()) is None
    await names["record_all"](Sequenced("openai.chat", SEARCHED), whole)
    assert await names["changed"](whole.getvalue()) is None
    names["Limits"] = lambda rounds: Limits(rounds=0)
    assert (await names["changed"](whole.getvalue())).path == "round_started.last"
