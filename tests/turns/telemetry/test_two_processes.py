"""A turn that one process begins and another one continues is one trace."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased

from tests.support.thoroughness import is_thorough
from tests.turns.playing import Counting, Emulated, Say, at_once, call, script
from toolparity.turns import Turn, dump, load
from toolparity.turns.orchestration import record, replay

from . import two_processes
from .measuring import Measured

pytestmark = pytest.mark.service("turns")


def spans_of(tmp_path: Path, *acts: str) -> list[dict[str, Any]]:
    """Do the acts one after the other, each in its process, and return the spans that they exported.

    The plain run does them in this process, except for one that dies.
    """
    spans, url = tmp_path / "spans.jsonl", f"sqlite:///{tmp_path}/turns.db"
    for act in acts:
        if act != "die" and not is_thorough():
            with spans.open("a", encoding="utf-8") as file:
                asyncio.run(two_processes.main(act, url, "t-1", file))
            continue
        command = [sys.executable, "-m", two_processes.__name__, act, url, "t-1", str(spans)]
        code = subprocess.run(command, check=False).returncode
        assert code == (-signal.SIGKILL if act == "die" else 0)
    return [json.loads(line) for line in spans.read_text("utf-8").splitlines()]


def of_trace(spans: list[dict[str, Any]], trace: str) -> list[str]:
    return sorted(span["name"] for span in spans if span["context"]["trace_id"] == trace)


def test_a_turn_that_waits_and_resumes_in_another_process_is_one_trace(tmp_path: Path) -> None:
    spans = spans_of(tmp_path, "begin", "approve")
    first, second = [span for span in spans if span["name"] == "invoke_agent Boats"]
    model = "chat claude-haiku-4-5"
    own = ["execute_tool look", "execute_tool post", "invoke_agent Boats", "invoke_agent Boats"]
    assert of_trace(spans, first["context"]["trace_id"]) == sorted([model, model, *own])
    assert second["parent_id"] == first["context"]["span_id"]
    [link] = second["links"]
    [app] = [span for span in spans if span["name"] == "POST /approve"]
    assert link["context"]["trace_id"] == app["context"]["trace_id"] != first["context"]["trace_id"]
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
    file, kept = io.BytesIO(), Measured()
    recorder = record(file)
    played = script([call("look")], [Say("Done.")])
    options = {"telemetry": kept.telemetry, "observers": [recorder]}
    turn = Turn(Emulated("openai.chat", played), Counting().tools(), **options)
    at_once(turn.run("Go."))
    recorder.close()
    replayed = replay(file.getvalue())
    assert replayed.difference is None
    assert dump(replayed.state) == dump(turn.state)
    assert f"{kept.span('invoke_agent').context.trace_id:032x}".encode() in dump(replayed.state)
