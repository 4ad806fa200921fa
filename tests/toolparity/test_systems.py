"""What other systems do differently, simulated: missing modules and signals, spawned workers, consoles, line ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from toolparity.conformance.gateway.known import guard

ROOT = Path(__file__).resolve().parents[2]
#: A process that lacks what Windows lacks, and has "spawn" alone as macOS had for years.
WINDOWS = """
import multiprocessing, os, select, signal, sys
sys.modules.update(dict.fromkeys(["fcntl", "grp", "pwd", "resource", "termios", "uvloop"]))
for module, names in [(os, "fork killpg sched_getaffinity getuid mkfifo O_NOFOLLOW O_NONBLOCK O_DIRECTORY"),
                      (signal, "SIGKILL SIGHUP SIGUSR1 pthread_sigmask"), (select, "poll epoll")]:
    for name in names.split():
        delattr(module, name)
multiprocessing.get_all_start_methods = lambda: ["spawn"]
"""
MAIN = "from toolparity.cli import main\nmain({!r}.split())"
KILLED = "from toolparity.conformance.demo import supervisor as s\nprint(s._KILLED, flush=True)\ns.kill_this_process()"
GUARDED = "import runpy\nsys.argv[1:] = [sys.executable, '-c', 'input()']\n"
GUARDED += f"runpy.run_path({guard.__file__!r}, run_name='__main__')"


@pytest.mark.page("toolparity", "cassettes/workers.py", "conformance/demo/supervisor.py", "conformance/gateway/known")
@pytest.mark.parametrize(
    ("program", "code", "printed"),
    [
        (MAIN.format("check --scenario single-call --wire openai.chat --jobs 2"), 0, " pass"),
        (MAIN.format("cassettes show example.yaml"), 0, r"\u6771\u4eac"),
        (KILLED, 137, "137"),
        (GUARDED, 256 - signal.SIGTERM, ""),  # its input ended, and so did the command
    ],
    ids=["workers", "console", "killed", "guarded"],
)
def test_nothing_needs_what_windows_lacks(tmp_path: Path, program: str, code: int, printed: str) -> None:
    example = (ROOT / "cassettes/recorded/openai/openai.chat/single-call.yaml").read_text("utf-8")
    (tmp_path / "example.yaml").write_text(example.replace("Lisbon", "東京"), "utf-8")
    env = {"PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    command = [sys.executable, "-c", WINDOWS + program]
    ended = subprocess.run(command, cwd=tmp_path, env=env, input=b"", capture_output=True, check=False)
    assert (ended.returncode, printed in ended.stdout.decode("cp1252")) == (code, True), ended


def test_git_converts_no_line_ends() -> None:
    listed = subprocess.run(["git", "ls-files", "--eol"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    assert [line for line in listed.stdout.splitlines() if "-text" not in line and "eol=lf" not in line] == []
