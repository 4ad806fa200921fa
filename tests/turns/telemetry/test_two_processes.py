"""A turn that one process begins and another one continues is one trace.

    python -m tests.turns.telemetry.test_two_processes begin|die|approve|take LOG SPANS

runs or resumes the turn of a log, and appends its spans to a file as lines of JSON.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased

from tests.support.thoroughness import is_thorough
from tests.turns.playing import Counting, Emulated, Say, at_once, call, script
from toolparity.turns import Turn, dump, load
from toolparity.turns.log import Log
from toolparity.turns.orchestration import record, replay
from toolparity.turns.telemetry import Telemetry

from .convention import Measured

pytestmark = pytest.mark.service("turns")

PLAYED = script([call("look", city="Ulm"), call("post", text="hello")], [Say("Done.")])


def line(span: ReadableSpan) -> str:
    return f"{span.to_json(indent=None)}\n"


async def killed(**_: Any) -> None:
    await asyncio.sleep(0.5)  # the other call ends meanwhile
    os.kill(os.getpid(), signal.SIGKILL)


async def main(act: str, url: str, spans: IO[str]) -> None:
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=spans, formatter=line)))
    counting = Counting(post=killed) if act == "die" else Counting()
    options: dict[str, Any] = {
        "provider": Emulated("anthropic.messages", PLAYED),
        "tools": counting.tools(post={"approval": act in ("begin", "approve")}),
        "telemetry": Telemetry(agent="Boats", tracer_provider=tracers),
    }
    with Log(url) as log:
        if act in ("begin", "die"):
            async with log.record() as recorder:
                await Turn(observers=[recorder], id="t-1", **options).run("Go.")
            return
        with tracers.get_tracer("app").start_as_current_span("POST /approve"):
            async with log.take("t-1", force=True) as recorder:
                turn = Turn(observers=[recorder], state=recorder.state, **options)
                for waiting in turn.outcome.waiting:
                    turn.decide(waiting.id, True)
                await turn.run()


def spans_of(tmp_path: Path, *acts: str) -> list[dict[str, Any]]:
    """Do the acts one after the other, each in its process, and return the spans that they exported.

    The plain run does them in this process, except for one that dies.
    """
    spans, url = tmp_path / "spans.jsonl", f"sqlite:///{tmp_path}/turns.db"
    for act in acts:
        if act != "die" and not is_thorough():
            with spans.open("a", encoding="utf-8") as file:
                asyncio.run(main(act, url, file))
            continue
        command = [sys.executable, "-m", "tests.turns.telemetry.test_two_processes", act, url, str(spans)]
        code = subprocess.run(command, check=False).returncode
        assert code == (-signal.SIGKILL if act == "die" else 0)
    return [json.loads(line) for line in spans.read_text("utf-8").splitlines()]


def test_a_turn_that_waits_and_resumes_in_another_process_is_one_trace(tmp_path: Path) -> None:
    spans = spans_of(tmp_path, "begin", "approve")
    first, second = [span for span in spans if span["name"] == "invoke_agent Boats"]
    trace = first["context"]["trace_id"]
    own = ["chat claude-haiku-4-5", "execute_tool look", "execute_tool post", "invoke_agent Boats"]
    named = [span["name"] for span in spans if span["context"]["trace_id"] == trace]
    assert sorted(named) == sorted([*own, own[0], own[-1]])
    assert second["parent_id"] == first["context"]["span_id"]
    [link] = second["links"]
    [app] = [span for span in spans if span["name"] == "POST /approve"]
    assert link["context"]["trace_id"] == app["context"]["trace_id"] != trace
    assert {span["attributes"]["toolparity.turn.id"] for span in (first, second)} == {"t-1"}


def test_a_turn_whose_process_is_killed_while_a_tool_runs_is_one_trace(tmp_path: Path) -> None:
    spans = spans_of(tmp_path, "die", "take")
    before, [after] = spans[:2], [span for span in spans if span["name"] == "invoke_agent Boats"]
    assert {span["name"] for span in before} == {"chat claude-haiku-4-5", "execute_tool look"}
    assert {span["context"]["trace_id"] for span in before} == {after["context"]["trace_id"]}
    assert {span["parent_id"] for span in before} == {after["parent_id"]}  # the span that the kill lost


def test_an_unsampled_or_missing_trace_stays_so_in_another_process() -> None:
    """A state without telemetry has no trace, and begins one when it is measured."""
    kept = Measured()
    kept.tracer_provider.sampler = ParentBased(kept.tracer_provider.sampler)
    unsampled = Measured(tracer_provider=TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False))
    for telemetry in (unsampled.telemetry, None):
        turn = Turn(Emulated("openai.chat", script([Say("Done.")])), telemetry=telemetry)
        at_once(turn.run("Go."))
        assert (b'"trace"' in dump(turn.state)) == (telemetry is not None)
        at_once(Turn(turn.provider, state=load(dump(turn.state)), telemetry=kept.telemetry).run())
        assert [span.parent for span in kept.spans] == [None] * (telemetry is None)


def test_a_recording_of_a_measured_turn_replays_to_the_same_state() -> None:
    kept, recorder = Measured(), record(file := io.BytesIO())
    options: Any = {"telemetry": kept.telemetry, "observers": [recorder]}
    turn = Turn(Emulated("openai.chat", PLAYED), Counting().tools(), **options)
    at_once(turn.run("Go."))
    recorder.close()
    replayed = replay(file.getvalue())
    assert replayed.difference is None
    assert dump(replayed.state) == dump(turn.state)
    assert f"{kept.span('invoke_agent').context.trace_id:032x}".encode() in dump(replayed.state)


if __name__ == "__main__":
    with open(sys.argv[3], "a", encoding="utf-8") as file:
        asyncio.run(main(sys.argv[1], sys.argv[2], file))
