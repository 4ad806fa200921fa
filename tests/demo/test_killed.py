"""A demo that was killed leaves its turns in the log, and the next one resumes them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.demo.conftest import Reached
from tests.demo.test_app import BOTH


@contextmanager
def started(log: Path, tool_seconds: float) -> Iterator[tuple[Reached, int]]:
    """The command, listening; and its process id."""
    command = [sys.executable, "-m", "toolparity", "demo", "--port", "0", "--log", str(log)]
    command += ["--tool-seconds", str(tool_seconds), "--piece-seconds", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Reached(process.stdout.readline().strip(), log), process.pid
        finally:
            process.kill()


@pytest.mark.thorough
def test_a_turn_that_was_killed_is_gone_on_with_and_no_call_is_run_twice(tmp_path: Path) -> None:
    log = tmp_path / "turns.db"
    with started(log, 60) as (demo, pid):
        turn = demo.starts(BOTH)
        demo.until(turn, "call_started")
        os.kill(pid, signal.SIGKILL)
    with started(log, 0) as (demo, _):
        while turn not in json.loads(demo.asks("GET", "/turns")[2])["left"]:
            time.sleep(0.2)  # the lease of the dead one has to run out
        assert demo.asks("POST", f"/turns/{turn}/resume", {})[0] == 202
        events = demo.events(turn)
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events].count("turn_started") == 2
    ran = [event["call_id"] for event in events if event["type"] == "call_started"]
    assert len(ran) == len(set(ran))
    how = [event["how"] for event in events if event["type"] == "call_finished"]
    assert len(how) == 2
    assert "unknown_outcome" in how
    assert events[-1]["type"] in ("turn_complete", "turn_failed")
