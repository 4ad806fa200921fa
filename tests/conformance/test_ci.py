"""The suite in the CI of another project: the action for GitHub, whose steps run here, and the page of snippets."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from toolparity.cassettes.cli import exits
from toolparity.reports import results

from .pages import PLUGIN, Block, blocks, do

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
#: A test that does the steps of the action. `tests/toolparity` has the exit codes of the command.
ACTIONS = pytest.mark.page("action.yml")
SUBJECT = """\
import json


class Subject:
    wires = ["openai.chat"]

    def read(self, ask):
        message = json.loads(ask.body)["choices"][0]["message"]
        return {"calls": [{"id": call["id"], **call["function"]} for call in message.get("tool_calls") or []]}
"""


class Job:
    """A job of GitHub's in a folder: the files that steps write to, and what expressions mean."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder = folder / "work"
        self.folder.mkdir(parents=True)
        self.temp = folder / "temp"
        self.temp.mkdir()
        self.summary, self.output = folder / "summary.md", folder / "output"
        self.inputs = {name: inputs.get(name, one.get("default", "")) for name, one in ACTION["inputs"].items()}
        assert inputs.keys() <= ACTION["inputs"].keys()
        self.bin = folder / "bin"
        self.bin.mkdir()

    @property
    def outputs(self) -> dict[str, str]:
        lines = self.output.read_text().splitlines() if self.output.exists() else []
        return dict(line.split("=", 1) for line in lines)

    def means(self, expression: str) -> str:
        """A text with expressions, as GitHub fills it in."""

        def value(found: re.Match[str]) -> str:
            name = found[1]
            if name == "github.action_path":
                return "/action"
            kind, _, rest = name.partition(".")
            if kind == "inputs":
                return self.inputs[rest]
            step, _, output = rest.partition(".outputs.")
            assert kind == "steps"
            assert [one["name"] for one in STEPS.values() if one.get("id") == step] == ["Check"]
            return self.outputs[output]

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, expression)

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        step = STEPS[name]
        assert step["shell"] == "bash"
        path = os.pathsep.join((str(self.bin), str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {
            **os.environ,
            **{key: self.means(value) for key, value in step.get("env", {}).items()},
            "PATH": path,
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
        }
        script = self.temp / "step.sh"
        script.write_text(step["run"])
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def checked(self) -> int:
        """Run the steps from Check on. Return the code with which the action ends."""
        ended = self.step("Check")
        assert ended.returncode == 0, ended.stderr
        return self.step("Verdict").returncode


def test_every_input_and_output_is_described_and_none_is_part_of_a_script() -> None:
    text, page = (ROOT / "action.yml").read_text("utf-8"), (ROOT / "docs" / "pages" / "ci.md").read_text("utf-8")
    assert not [step for step in STEPS.values() if "${{" in step.get("run", "")]
    for name, one in ACTION["inputs"].items():
        assert one["description"]
        assert one.get("required") or "default" in one
        assert f"inputs.{name} " in text
        assert f"| `{name}` | " in page
    for name, one in ACTION["outputs"].items():
        assert one["description"]
        assert re.fullmatch(r"\$\{\{ steps\.check\.outputs\.[\w-]+ \}\}", one["value"])
        assert f"`{name}`" in page
    described = ACTION["outputs"]["exit-code"]["description"]
    codes = (exits.ALL_WELL, exits.FAILED, exits.STALE_BASELINE, exits.FAULT, exits.NOTHING_RAN, exits.FAILED_AND_STALE)
    assert [code for code in codes if f"{code} " not in described] == []


def test_it_installs_the_named_version_or_its_own(tmp_path: Path) -> None:
    pinned = "toolparity[conformance]==0.1.0"
    for number, (version, requirement) in enumerate((("", "/action[conformance]"), (pinned, pinned))):
        job = Job(tmp_path / str(number), version=version)
        (job.bin / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        (job.bin / "python").chmod(0o755)
        words = job.step("Install Toolparity").stdout.splitlines()
        assert (words[:3], words[-1]) == (["-m", "pip", "install"], requirement)


@ACTIONS
def test_a_green_and_a_red_run_are_published_and_end_with_their_code(tmp_path: Path) -> None:
    job = Job(tmp_path / "green", subject="my_subject:Subject", args="--scenario 'parallel-*' --wire openai.chat")
    (job.folder / "my_subject.py").write_text(SUBJECT)
    assert (job.checked(), job.outputs["exit-code"], "my_subject" in job.summary.read_text()) == (0, "0", True)
    job = Job(tmp_path / "red", subject="documented-goclaw\nopenai-sdk\n", args="--scenario parallel-three")
    assert job.checked() == 1
    folder = Path(job.outputs["folder"])
    assert job.summary.read_bytes() == (folder / "report.md").read_bytes()
    assert ElementTree.parse(folder / "report.xml").getroot().tag == "testsuites"
    assert "<html" in (folder / "report.html").read_text()
    ran = results.read((folder / "report.json").read_bytes())
    assert [one.name for one in ran.subjects] == ["documented-goclaw", "openai-sdk"]
    assert {one.scenario for one in ran.results} == {"parallel-three"}
    job = Job(tmp_path / "stale", subject="normalizer", baseline="known.yaml", args="--scenario parallel-three")
    (job.folder / "known.yaml").write_text("- {check: order}\n")
    assert job.checked() == 3


@ACTIONS
def test_a_run_without_a_verdict_is_never_green(tmp_path: Path) -> None:
    for number, (code, inputs) in enumerate(
        (
            (4, {"subject": "nowhere:Subject"}),
            (4, {"subject": "exec:/nowhere/node subject.mjs"}),
            (2, {"subject": "normalizer", "args": "--scenario no-such-scenario"}),
            (2, {"subject": "normalizer", "args": "--no-such-option"}),
        )
    ):
        job = Job(tmp_path / str(number), **inputs)
        assert (job.checked(), job.outputs["exit-code"]) == (code, str(code)), inputs
    assert Job(tmp_path / "quote", subject="normalizer", args="--scenario 'parallel").step("Check").returncode != 0


@ACTIONS
def test_inputs_are_data_and_never_run(tmp_path: Path) -> None:
    evil = "$(touch pwned)`touch pwned`"
    job = Job(tmp_path, subject=f"{evil};touch pwned", baseline=evil, args=f"--scenario '{evil}' $(touch pwned)")
    assert job.checked() != 0
    assert list(job.folder.iterdir()) == []


def test_the_report_is_kept_and_the_verdict_comes_last() -> None:
    names = list(STEPS)
    assert names.index("Check") < names.index("Keep the report") < names.index("Verdict") == len(names) - 1
    assert STEPS["Keep the report"]["with"]["path"] == "${{ steps.check.outputs.folder }}"


# The page


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "my_subject.py").write_text(SUBJECT)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def _environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTEST_ADDOPTS": shlex.join(PLUGIN)}


def _yaml(part: str) -> Any:
    (block,) = (block for block in blocks("ci.md") if block.file == part)
    return yaml.safe_load(block.text)


def test_the_workflow_passes_the_inputs_that_the_action_has() -> None:
    steps = _yaml(".github/workflows/parity.yml")["jobs"]["parity"]["steps"]
    (ours,) = (step for step in steps if "toolparity@" in step.get("uses", ""))
    assert ours["with"].keys() <= ACTION["inputs"].keys()
    assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= ours["with"].keys()


@pytest.mark.page("docs/pages/ci.md")
def test_the_script_for_gitlab_runs(here: Path) -> None:
    job = _yaml(".gitlab-ci.yml")["parity"]
    install, *script = job["script"]
    assert shlex.split(install)[:2] == ["pip", "install"]
    for line in script:
        do(Block("", "ends with 1", "sh", line), here, _environment(), "")  # the subject knows little yet
    assert ElementTree.parse(here / job["artifacts"]["reports"]["junit"]).getroot().tag == "testsuites"
    assert all((here / path).is_file() for path in job["artifacts"]["paths"])


@pytest.mark.page("docs/pages/ci.md")
def test_the_commands_of_the_page_run_and_write_what_they_name(here: Path) -> None:
    shown = [block for block in blocks("ci.md") if block.language == "sh" and not block.mark]
    lines = [line for block in shown for line in block.text.splitlines()]
    assert [line.split()[0] for line in lines] == ["toolparity", "pytest", "toolparity"]
    for line in lines:
        # fewer scenarios, of which the subject fails some
        options = {"toolparity check": "--scenario 'custom-*'", "pytest": "--parity-scenario 'custom-*'"}
        fewer = next((few for command, few in options.items() if line.startswith(command)), "")
        files = re.findall(r"--[\w-]+ (parity\.\w+)", line)
        for file in files:
            (here / file).unlink(missing_ok=True)
        do(Block("", "ends with 1" if fewer else "", "sh", f"{line} {fewer}"), here, _environment(), "")
        assert files
        assert all((here / file).stat().st_size for file in files)
