"""Worker processes: the order of results, and the end of the parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

_PARENT = """
import sys, time
sys.path.insert(0, sys.argv[1])
from toolparity.cassettes.workers import in_order
import slow_work
if __name__ == "__main__":
    list(in_order(slow_work.work, range(100), 2, "slow_work"))
"""
_WORK = """
import os, sys, time
from toolparity.conformance.subjects.process import Process
def work(item):
    program = Process([sys.executable, "-c", "import time; time.sleep(300)"])
    print(os.getpid(), program._process.pid, flush=True)
    time.sleep(300)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the states of processes from /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_and_their_programs_end_with_a_killed_parent(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "slow_work.py").write_text(_WORK)
    (tmp_path / "parent.py").write_text(_PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        started = [int(pid) for _ in range(2) for pid in parent.stdout.readline().split()]
        assert all(map(_runs, started))
        parent.send_signal(how)
        parent.wait()
    assert len(started) == 4
    deadline = time.monotonic() + 60
    while left := [pid for pid in started if _runs(pid)]:
        assert time.monotonic() < deadline, f"processes {left} outlived the parent"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # a zombie has ended
