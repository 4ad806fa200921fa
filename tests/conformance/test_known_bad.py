"""The kill matrix: the law of each known-bad subject fails it, and a run that is interrupted resumes where it ended."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolparity.cli import main
from toolparity.conformance.errors import InvalidRunState
from toolparity.conformance.known_bad import known_bad
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner import kill, survival
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.runner.kill_state import Counts, KillState

TABLE = Path(__file__).with_name("known_bad.toml")


def test_each_known_bad_subject_fails_its_law(proves: Callable[[str], None]) -> None:
    table = tomllib.loads(TABLE.read_text("utf-8"))
    assert table.keys() == known_bad().keys()
    cases = {case.id: case for case in CaseFilter().cases()}
    survivors = []
    for name, subject in known_bad().items():
        (verdict,) = Judge(subject.make(), twice=False).result(cases[table[name]], [LAWS[subject.law]]).verdicts
        if verdict.outcome != "fail":
            survivors.append(f"{name}: {subject.law} is {verdict.outcome} in {table[name]}")
            continue
        proves(f"known-bad {name}")
        proves(f"law {subject.law}")
    assert survivors == []


FEW = CaseFilter(scenarios=("single-call",), surfaces=("openai.chat",), modes=("plain",))


def test_an_interrupted_run_resumes_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, ran = tmp_path / "state.jsonl", []
    two = dict(list(known_bad().items())[:2])

    def count(case_filter: CaseFilter, name: str) -> Counter[str]:
        ran.append(name)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return Counter({"order": len(ran)})

    monkeypatch.setattr(kill, "known_bad", lambda: two)
    monkeypatch.setattr(kill, "_count_failures", count)
    monkeypatch.setattr(survival, "tasks", lambda names=None: [])
    with pytest.raises(KeyboardInterrupt):
        kill.run(FEW, jobs=1, state=state)
    finished: list[int] = []
    run = kill.run(FEW, jobs=1, state=state, on_progress=finished.append)
    first, second = two
    assert ran == [first, second, second]
    assert ([each.by for each in run.kills], finished) == ([{"order": 1}, {"order": 3}], [1, 1])


def test_the_generated_subjects_of_a_finished_task_do_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["drop:tool_call.name", "drop:tool_call.id"]
    state = tmp_path / "state.jsonl"
    first = survival.run(FEW, names, jobs=1, kept=KillState(state, FEW))

    def refuse(case_filter: CaseFilter, task: survival.Task) -> None:
        raise AssertionError("ran again")

    monkeypatch.setattr(survival, "_run_task", refuse)
    assert survival.run(FEW, names, jobs=1, kept=KillState(state, FEW)) == first


def test_a_line_that_was_cut_is_not_a_result(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    KillState(path, FEW).add(Counts("one", {"order": 1}))
    KillState(path, FEW).add(Counts("two", {}))
    path.write_bytes(path.read_bytes()[:-4])
    state = KillState(path, FEW)
    assert (state.get(Counts, "one"), state.get(Counts, "two")) == (Counts("one", {"order": 1}), None)
    state.add(Counts("two", {}))
    assert KillState(path, FEW).get(Counts, "two") == Counts("two", {})


def test_the_state_of_another_run_is_refused(tmp_path: Path) -> None:
    KillState(tmp_path / "other", CaseFilter())
    (tmp_path / "object").write_bytes(b"{}\n")
    (tmp_path / "text").write_bytes(b"mine")
    for name, message in (
        ("other", "other code or other cases"),
        ("object", "not the state"),
        ("text", "not the state"),
    ):
        with pytest.raises(InvalidRunState, match=message):
            KillState(tmp_path / name, FEW)
    result = CliRunner().invoke(main, ["check", "--resume", str(tmp_path / "state.jsonl")])
    assert (result.exit_code, "--resume needs --kill" in result.output) == (2, True)
