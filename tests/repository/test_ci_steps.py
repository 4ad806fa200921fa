"""The steps of .ci/run: each runs, is measured with all its processes, and is held to its budget."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEPS: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "steps.py"))
BURN = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.3: pass'"


def run(command: str, budget: float = 10) -> Any:
    return STEPS["run"](STEPS["Step"]("step", command, budget))


def test_a_step_succeeds_or_fails_with_its_command() -> None:
    assert run("true").problem == ""
    assert run("false; true").problem == "exit code 1"
    assert run("true | false | true").problem == "exit code 1"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count no orphans")
def test_processes_that_a_command_leaves_behind_count() -> None:
    done = run(f"({BURN}) & disown; true")
    assert done.code == 0
    assert done.processor >= 0.3
    assert done.memory > 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count no orphans")
def test_processes_that_a_command_leaves_behind_are_ended_with_those_that_they_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BEAT", str(tmp_path / "beat"))
    script = tmp_path / "steps.py"
    script.write_text((ROOT / ".ci" / "steps.py").read_text("utf-8").replace("_PATIENCE = 10", "_PATIENCE = 0.1"))
    steps = runpy.run_path(str(script))
    monkeypatch.setitem(steps["run"].__globals__, "__file__", str(script))
    done = steps["run"](steps["Step"]("step", "(sleep 60 & echo $! >$BEAT; wait) & until [ -s $BEAT ]; do :; done", 10))
    assert done.output.count(b"the step leaves a process") == 2
    assert not Path(f"/proc/{(tmp_path / 'beat').read_text().strip()}").exists()


def test_a_step_over_its_budget_by_half_fails() -> None:
    assert run(BURN, budget=0.1).problem.startswith("over its budget by ")
    assert run(BURN, budget=30).problem == ""


def test_the_table_is_valid_and_the_plain_tests_run_alone_and_first() -> None:
    steps = STEPS["table"]()
    assert (steps[0].name, steps[0].alone) == ("plain tests", True)
    assert len({step.name for step in steps}) == len(steps)
    assert all(step.budget > 0 for step in steps)


def test_a_failed_step_or_one_that_was_not_run_fails_the_run_and_its_end_is_printed_again(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    step, names = STEPS["Step"], STEPS["main"].__globals__
    steps = [step("one", "seq 100; echo why; false", 10), step("two", "echo fine", 10)]
    steps.append(step("aside", "true", 1, beside=True))
    monkeypatch.setitem(names, "table", lambda: steps)
    monkeypatch.setattr(sys, "argv", ["steps.py"])
    assert STEPS["main"]() == 1
    _, end = capfdbinary.readouterr().out.split(b"\n== How one ended: exit code 1\n")
    assert end.startswith(b"42\n43\n")
    assert b"\n100\nwhy\n\n== Steps" in end
    assert b"fine" not in end
    monkeypatch.setitem(names, "all_steps", lambda steps, started: [])
    assert STEPS["main"]() == 1
    assert b"failed: aside, one, two" in capfdbinary.readouterr().out


def test_an_unknown_step_is_refused_with_the_names() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "steps.py"), "none"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "no such step: none; steps: plain tests, install" in ended.stderr
