"""The page for authors of subjects names every member, word and count that the code knows, and no other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from toolparity.conformance import answer
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.subjects import SUBJECTS
from toolparity.conformance.subjects.claims import CLAIMS, INPUTS
from toolparity.conformance.subjects.peers import PEERS
from toolparity.normalizer.model import Block, CallStatus, Policy, StopReason, Usage

from .pages import DOCS

PAGE = (DOCS / "subjects.md").read_text("utf-8")
PART = PAGE.partition("### Members and words\n")[2].partition("\n## ")[0]
ROWS = {row[1]: row[2] for row in re.finditer(r"^\| (?P<name>[^|]+?) \| (?P<text>.*) \|$", PART, re.MULTILINE)}
#: Counts the instances of this process, and how often each was closed.
COUNTING = """\
import json
import os


class Subject:
    wires = ["openai.chat"]

    def __init__(self):
        self.note("opened")

    def note(self, what):
        with open("notes.txt", "a") as notes:
            print(what, os.getpid(), file=notes)

    def read(self, exchange):
        self.note("read")
        message = json.loads(exchange.body)["choices"][0]["message"]
        return {"calls": [{"id": call["id"], **call["function"]} for call in message.get("tool_calls") or []]}

    def close(self):
        self.note("closed")
"""


def words(row: str) -> list[str]:
    """The words in backquotes of a row, in order, without what is in parentheses."""
    return re.findall(r"`([^`]+)`", re.sub(r"\([^()]*\)", "", ROWS[row]).partition(";")[0])


def test_the_page_names_every_member_word_and_count_and_no_other() -> None:
    for claim, promise in CLAIMS.items():
        assert claim == "runs" or ROWS[f"`{claim}`"]  # agents.md: agents return another form
        assert f"| `{claim}` | {promise.rstrip('.')}" in PAGE
    for name in (*SUBJECTS, *PEERS, *INPUTS):
        assert f"`{name}`" in PAGE or f'`"{name}"`' in PAGE
        assert name not in PEERS or f"| `{name}` |" in PAGE
    for member in {"calls", "dropped", "rejected", "policy", *answer._MEMBERS}:
        assert f"`{member}`" in PAGE, member
    assert words("`stop`") == list(get_args(StopReason))
    assert words("`status` of a call") == list(get_args(CallStatus))
    assert words("`policy`") == list(get_args(Policy))
    assert words("`type` of a block") == [str(block.__struct_config__.tag) for block in get_args(Block)]
    counts = [name for name in Usage.__struct_fields__ if name != "raw"]
    assert [row.strip("`") for row in ROWS if row.endswith("_tokens`")] == counts
    kinds = {
        call.kind
        for scenario in scenarios().values()
        for surface in scenario.surfaces
        for call in scenario.expected(surface, 0, stream=False).calls
    }
    assert kinds <= set(words("`kind` of a call"))


def check(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = "import sys; from toolparity.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, "check", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_subject_lives_once_in_each_process_and_is_closed_there(jobs: str, tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    options = ["--surface", "openai.chat", "--mode", "plain", "--scenario", "p*", "--once", "--jobs", jobs]
    ended = check(tmp_path, "counting:Subject", *options, "--fail-on", "error")
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    notes = [line.split() for line in (tmp_path / "notes.txt").read_text().splitlines()]
    readers = {process for what, process in notes if what == "read"}
    assert 1 <= len(readers) <= int(jobs)
    for process in readers:
        own = [what for what, of in notes if of == process]
        assert own.count("opened") == own.count("closed")
        assert own[-1] == "closed"


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("names", "code"),
    [(["counting:Subject", "missing_module:Subject"], 4), (["interrupted:Subject", "counting:Subject"], 130)],
)
def test_a_subject_is_closed_if_the_run_ends_with_an_exception(names: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    read = "    def read(self, exchange):\n        raise KeyboardInterrupt\n"  # as by Ctrl-C
    (tmp_path / "interrupted.py").write_text(f"class Subject:\n{read}")
    ended = check(tmp_path, *names, "--surface", "openai.chat", "--scenario", "single-call")
    assert ended.returncode == code, ended.stderr
    events = [line.split()[0] for line in (tmp_path / "notes.txt").read_text().splitlines()]
    assert events == ["opened", "closed"]
