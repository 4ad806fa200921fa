"""The programs of CI: its steps, the fragments of the changelog, and the check of prose."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolparity.cli import COMMANDS

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


CHANGES: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "changes.py"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for folder in ("changes", "turns"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.towncrier.fragment]\nfixed = {}\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "turns/turn.py", "Begin")
    return tmp_path


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True)


def commit(root: Path, file: str, message: str) -> list[str]:
    with (root / file).open("a") as opened:
        opened.write("changed\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message)
    found: list[str] = CHANGES["problems"](root)
    return found


def test_a_change_of_the_product_needs_a_fragment_or_a_line_in_its_message(repository: Path) -> None:
    assert CHANGES["problems"](repository) == []  # the first commit has no parent
    (problem,) = commit(repository, "turns/turn.py", "Change a turn")
    assert "without a fragment" in problem
    assert commit(repository, "turns/turn.py", "Change a turn\n\nChangelog: none") == []
    assert commit(repository, "README.md", "Change no product") == []
    (repository / "turns" / "turn.py").write_text("")
    assert commit(repository, "changes/+turn.fixed.md", "Fix a turn") == []
    assert commit(repository, "changes/+turn.mended.md", "Fix a turn") == ["changes/+turn.mended.md: not NAME.TYPE.md"]


def test_a_branch_is_compared_with_that_from_which_it_was_made(repository: Path) -> None:
    git(repository, "update-ref", "refs/remotes/origin/HEAD", "HEAD")
    assert len(commit(repository, "turns/turn.py", "Change a turn")) == 1
    assert commit(repository, "changes/1.fixed.md", "Add the fragment") == []


CHECK: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "prose.py"), run_name="prose")
SOURCE = '''"""A docstring that is told."""
told = 1  # a comment that stands
MESSAGE = f"it was told {told} by nobody"
KEY = "told"
BYTES = b"told and stood"


def stood():
    """Another one."""
'''


def test_docstrings_comments_and_messages_are_prose_and_code_is_not() -> None:
    lines = list(CHECK["of_python"](SOURCE, False))
    assert [line.number for line in lines] == [1, 2, 3, 9]
    assert "{told}" not in "".join(line.text for line in lines)


def test_names_in_tests_are_prose_and_strings_are_not() -> None:
    lines = [(line.number, line.text) for line in CHECK["of_python"](SOURCE, True)]
    assert {number for number, text in lines if "told" in text or "stood" in text} == {1, 2, 8}
    (name,) = CHECK["of_python"]("def test_aCall_is_told(): ...", True)
    assert name.text == "test a Call is told |"


def test_code_blocks_links_and_names_in_backquotes_are_left_out() -> None:
    text = "Some [words](told.md)\n```\ntold\n```\nand `told` at https://told.example/told"
    lines = [CHECK["without_code"](line.text) for line in CHECK["of_markdown"](text)]
    assert "told" not in "".join(lines)
    assert len(lines) == 2


def test_words_phrases_and_typing_errors_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text("It is told in silence.\nThis is no name, teh end.\nThere is no name.\n")
    monkeypatch.setitem(CHECK["main"].__globals__, "ROOT", tmp_path)
    monkeypatch.setitem(CHECK["main"].__globals__, "files", lambda paths: iter(["page.md"]))
    monkeypatch.setattr("sys.argv", ["prose"])
    assert CHECK["main"]() == 1
    found = [line.split(": use ")[0] for line in capsys.readouterr().out.splitlines()]
    assert found == ["page.md:1: 'in silence'", "page.md:1: 'told'", "page.md:2: 'is no name'", "page.md:2: 'teh'"]


def test_workflows_name_what_exists_and_are_limited_in_time_and_rights() -> None:
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        flow = yaml.safe_load(path.read_text("utf-8"))
        jobs = [job for job in flow["jobs"].values() if "uses" not in job]
        assert {"concurrency", "permissions"} <= flow.keys(), path
        assert all("timeout-minutes" in job for job in jobs), path
        commands = "\n".join(step.get("run", "") for job in jobs for step in job["steps"])
        assert "${{" not in commands.replace("${{ matrix.command }}", ""), path
        commands += "\n".join(
            command for job in jobs for command in job.get("strategy", {}).get("matrix", {}).get("command", [])
        )
        for name in re.findall(r"\.ci/\w+\.py|dists/[\w-]+$|cassettes/\w+", commands, re.MULTILINE):
            assert (ROOT / name).exists(), (path, name)
        for names in re.findall(r"steps\.py (.+)", commands):
            assert set(names.split()) <= {step.name for step in STEPS["table"]()}, (path, names)
        assert set(re.findall(r"^ *toolparity (\w+)", commands, re.MULTILINE)) <= COMMANDS.keys(), path


def test_a_release_needs_its_version_its_repository_and_its_section() -> None:
    release = runpy.run_path(str(ROOT / ".ci" / "release.py"))
    found = release["problems"](ROOT, "v99.0", "fork/repository")
    assert ["v99.0" in found[0], "fork/repository" in found[1]] == [True, True]
    version = release["_VERSION"].findall((ROOT / "toolparity" / "__init__.py").read_text("utf-8"))[0]
    assert f"tag v{version}, or" in release["problems"](ROOT, version, "fork/repository")[0]
    alone = subprocess.run([sys.executable, ROOT / ".ci" / "release.py"], capture_output=True, check=False)
    assert (alone.returncode, alone.stderr[:6]) == (2, b"usage:")
    changelog = "## 0.2.0\n\n- new\n\n## 0.1.0\n\n- old\n"
    assert [release["section"](changelog, one) for one in ("0.2.0", "0.1.0", "0.3.0")] == ["- new", "- old", ""]
