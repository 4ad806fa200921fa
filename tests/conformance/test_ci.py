"""The suite in the CI of another project: the action for GitHub, the page of snippets, and the wheel."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
import yaml

from tests.audit.conversations.test_audit import conversation
from tests.support.traffic import write_rows
from toolparity.cassettes.cli import exits
from toolparity.reports import results

from .gateway import conftest, gateways
from .pages import PLUGIN, Block, Reader, blocks

port = conftest.port
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
    (job.folder / "known.yaml").write_text("- {check: order, scenario: parallel-three}\n")
    assert job.checked() == 3
    lines = "documented-goclaw\nnormalizer", "documented-goclaw=failing.yaml\n"
    job = Job(
        tmp_path / "each", subject=lines[0], baseline=lines[1], args="--scenario parallel-three", compare="old.json"
    )
    (job.folder / "failing.yaml").write_text('- {check: "*"}\n')
    assert job.checked() == 0
    (job.folder / "old.json").write_bytes((Path(job.outputs["folder"]) / "report.json").read_bytes())
    (job.folder / "failing.yaml").unlink()
    job.inputs |= {"subject": "documented-goclaw", "baseline": ""}
    assert (job.checked(), "❌ regression" in job.summary.read_text()) == (1, True)


@ACTIONS
def test_a_gateway_and_recorded_traffic_are_judged_and_the_first_failure_counts(tmp_path: Path, port: int) -> None:
    write_rows(tmp_path / "a log.jsonl", *conversation("a", kept=1))
    with gateways.running(f"http://127.0.0.1:{port}") as url:
        for number, (fail_on, code) in enumerate((("answered-twice\n", 0), ("answered-twice\ndropped-in-fact", 1))):
            args = f"--listen {port} --scenario single-call --no-baseline"
            audited = {"audit": f"{tmp_path}/a log.jsonl\n", "fail-on": fail_on}
            job = Job(tmp_path / str(number), gateway=url, args=args, **audited)
            assert job.checked() == code
            assert url.removeprefix("http://") in job.summary.read_text()
            assert b"dropped-in-fact" in Path(job.outputs["sarif"]).read_bytes()


@ACTIONS
def test_a_run_without_a_verdict_is_never_green(tmp_path: Path) -> None:
    for number, (code, inputs) in enumerate(
        (
            (4, {"subject": "nowhere:Subject"}),
            (4, {"subject": "exec:/nowhere/node subject.mjs"}),
            (2, {"subject": "normalizer", "args": "--scenario no-such-scenario"}),
            (2, {"subject": "normalizer", "args": "--no-such-option"}),
            (2, {}),
            (2, {"subject": "normalizer", "audit": ".", "args": "--scenario 'parallel"}),
            (4, {"audit": "nowhere", "gateway": "--help"}),
        )
    ):
        job = Job(tmp_path / str(number), **inputs)
        assert (job.checked(), job.outputs["exit-code"]) == (code, str(code)), inputs
    job.inputs["args"] = "--scenario 'parallel"
    assert job.step("Check").stderr == "::error::args: No closing quotation\n"


@ACTIONS
def test_args_are_words_as_in_a_shell(tmp_path: Path) -> None:
    job = Job(tmp_path, subject="normalizer", args="--scenario '' --tag 'two\nlines' é")
    (job.bin / "toolparity").write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    (job.bin / "toolparity").chmod(0o755)
    assert job.step("Check").stdout.startswith("<check><--scenario><><--tag><two\nlines><é><--html>")


@ACTIONS
def test_inputs_are_data_and_never_run(tmp_path: Path) -> None:
    evil = "$(touch pwned)`touch pwned`"
    job = Job(
        tmp_path, subject=f"{evil};touch pwned", baseline=evil, args=f"--scenario '{evil}' $(touch pwned)", audit=evil
    )
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


def test_the_workflows_pass_the_inputs_that_the_action_has() -> None:
    for name in ("parity", "gateway"):
        steps = _yaml(f".github/workflows/{name}.yml")["jobs"]["parity"]["steps"]
        (ours,) = (step for step in steps if "toolparity@" in step.get("uses", ""))
        assert ours["with"].keys() <= ACTION["inputs"].keys()


@pytest.mark.page("docs/pages/ci.md")
def test_the_script_for_gitlab_runs(here: Path) -> None:
    job = _yaml(".gitlab-ci.yml")["parity"]
    install, *script = job["script"]
    assert shlex.split(install)[:2] == ["pip", "install"]
    for line in script:
        Reader(here, _environment()).do(Block("", "ends with 1", "sh", line))  # the subject knows little yet
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
        Reader(here, _environment()).do(Block("", "ends with 1" if fewer else "", "sh", f"{line} {fewer}"))
        assert files
        assert all((here / file).stat().st_size for file in files)


PACKAGES = ("normalizer", "turns", "cassettes", "audit", "conformance", "reports")

#: A test in which another project installs the wheel.
INSTALLED = pytest.mark.page(
    "pyproject.toml", "docs/pages/subjects.md", "toolparity/pytest_plugin.py", "toolparity/cli.py"
)


class Project(NamedTuple):
    """``folder``: the repository; ``home``: the environment."""

    folder: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """Of a shell in which the environment is active."""
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "PYTEST", "PIP", "COLUMNS"))
        }
        return {**kept, "PATH": path, "VIRTUAL_ENV": str(self.home), "XDG_CACHE_HOME": str(self.home / "cache")}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel."""
    pytest.importorskip("pip", reason="the wheel is installed with pip, which is not there")
    shelf = tmp_path_factory.mktemp("shelf")
    _done(ROOT, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(shelf))
    (wheel,) = shelf.glob("toolparity-*.whl")
    home = tmp_path_factory.mktemp("home") / "venv"
    venv.create(home, symlinks=True)
    python = str(home / "bin" / "python")
    _done(
        shelf, sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", str(wheel)
    )
    (site,) = home.glob("lib/python*/site-packages")
    # Only the folders are lent: what is in .pth files there, such as where this tree is, is not read.
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "lent.pth").write_text("\n".join(sorted(lent)) + "\n")
    script = home / "bin" / "pytest"
    script.write_text(f"#!{python}\nimport sys\n\nimport pytest\n\nsys.exit(pytest.console_main())\n")
    script.chmod(0o755)
    return home


def _done(folder: Path, *command: str) -> None:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture
def project(home: Path, tmp_path: Path) -> Project:
    (tmp_path / "pyproject.toml").write_text("")
    return Project(tmp_path, home)


@INSTALLED
def test_the_wheel_is_used_and_not_this_tree(project: Project) -> None:
    names = ", ".join(PACKAGES)
    asked = (
        f"import sys; from toolparity import {names}; print(*(one.__file__ for one in ({names})), *sys.path, sep='\\n')"
    )
    paths = [Path(line) for line in project.run("python", "-c", asked).stdout.splitlines() if line]
    assert len(paths) > len(PACKAGES)
    assert all(path.is_relative_to(project.home) for path in paths[: len(PACKAGES)])
    assert not any(path == ROOT or path.is_relative_to(ROOT / "tests") for path in paths)


@INSTALLED
def test_a_package_gives_its_subject_a_short_name(project: Project, home: Path) -> None:
    (site,) = home.glob("lib/python*/site-packages")
    info = site / "gateway-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gateway\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[toolparity.subjects]\ngateway = gateway_parity:Subject\n")
    (site / "gateway_parity.py").write_text(SUBJECT)
    smoked = project.run("toolparity", "smoke", "gateway")
    assert smoked.returncode == 0, smoked.stdout + smoked.stderr
    ended = project.run("pytest", "-q", "--parity-subject", "gateway", "--parity-scenario", "parallel-three")
    assert ended.returncode == 0, ended.stdout
    (site / "gateway_parity.py").write_text("import nothing_of_the_kind\n")
    broken = project.run("toolparity", "check", "gateway")
    assert broken.returncode == 4
    assert "gateway cannot be imported" in broken.stderr


@INSTALLED
def test_the_page_about_subjects_can_be_followed_from_its_beginning_to_its_end(home: Path, tmp_path: Path) -> None:
    project = Project(tmp_path, home)
    shown = list(blocks("subjects.md"))
    first = next(block for block in shown if block.language == "python")
    assert len([line for line in first.text.splitlines() if line.strip()]) <= 15
    with Reader(tmp_path, project.environment) as reader:
        assert sum(map(reader.do, shown)) > 15
