"""Item 14: output that cannot be written is reported before the run, or ends with exit code 4; never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.traffic import chat_stream, row, write_rows
from toolparity.conformance.cli import main
from toolparity.conformance.runner import suite
from toolparity.reports import formats
from toolparity.reports.files import unwritable

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full on this system")
ONE = ("--scenario", "single-call", "--wire", "openai.chat", "--once", "--jobs", "1")


def run(*args: Any) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def program(*args: Any, out: str, err: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command in a shell, with its standard output where ``out`` says."""
    command = [sys.executable, "-c", "from toolparity.conformance.cli import main; main()", *map(str, args)]
    words = " ".join(f"'{word}'" for word in command)
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        ["bash", "-c", f"{words} {out} {err}"], capture_output=True, text=True, cwd=cwd, env=env, check=False
    )


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "r.jsonl", *[row(chat_stream("f", "g"), stream=True)] * 300)


@pytest.fixture(scope="module")
def results_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("run") / "run.json"
    assert run("check", *ONE, "--json", path).exit_code == 0
    return path.read_bytes()


@pytest.fixture
def finished(tmp_path: Path, results_file: bytes) -> Path:
    """The results of a run."""
    path = tmp_path / "run.json"
    path.write_bytes(results_file)
    return path


def places(folder: Path) -> dict[str, Path]:
    """Where nothing can be written."""
    (folder / "file").write_text("")
    return {
        "missing": folder / "no" / "such" / "x",
        "directory": folder,
        "below a file": folder / "file" / "x",
        "long": folder / ("x" * 300),
    }


@pytest.mark.parametrize("why", ["missing", "directory", "below a file", "long"])
def test_a_file_that_cannot_be_written_is_a_usage_error_before_the_run(
    tmp_path: Path, finished: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    def never(*args: Any, **more: Any) -> Any:
        raise AssertionError("it ran")

    place = places(tmp_path)[why]
    monkeypatch.setattr(suite, "run", never)
    monkeypatch.setattr("toolparity.conformance.cli.audit.audit_paths", never)
    monkeypatch.setattr("toolparity.conformance.cli.report.load", never)
    for command in (["check", *ONE], ["check", "--kill"], ["report", finished]):
        for name in formats.FORMATS:
            result = run(*command, f"--{name}", place)
            assert result.exit_code == 2, result.output
            assert f"--{name}" in result.stderr
    assert run("audit", recorded, "--html", place).exit_code == 2
    if why != "missing":  # folders on the way to a baseline are made
        assert run("check", "--baseline", place, "--update-baseline").exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "r.jsonl", "run.json"], "nothing is left"


@pytest.mark.parametrize("command", [["record", "single-call"], ["cassettes", "import", "r.jsonl"]])
def test_a_library_that_cannot_be_written_is_a_usage_error(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        result = run(*command, "--into", place)
        assert result.exit_code == 2, result.output
        assert "--into" in result.stderr


def test_the_check_for_writability_does_not_change_files(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("kept")
    assert [unwritable(path) for path in (old, tmp_path / "new", Path("/dev/null"), Path("/dev/full"))] == [""] * 4
    assert unwritable(tmp_path / "a" / "b", folder=True) == ""
    assert (old.read_text(), [path.name for path in tmp_path.iterdir()]) == ("kept", ["old"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_folder_without_write_permission_is_a_usage_error(tmp_path: Path, recorded: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert run("audit", recorded, "--html", locked / "x.html").exit_code == 2


COMMANDS = [
    ["--help"],
    ["audit", "--help"],
    ["audit", "r.jsonl"],
    ["audit", "r.jsonl", "--json"],
    ["audit", "r.jsonl", "--html", "-"],
    ["normalize", "r.jsonl"],
    ["check", *ONE],
    ["check", *ONE, "--json", "-"],
    ["report", "run.json"],
    ["report", "run.json", "--markdown", "-"],
    ["cassettes", "list"],
    ["cassettes", "show", "openai/openai.chat/single-call.yaml"],
    ["cassettes", "verify", "openai/openai.chat/single-call.yaml"],
    ["subjects", "list"],
    ["smoke", "normalizer"],
]


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_or_closed_output_exits_with_code_4_and_one_line(
    tmp_path: Path, recorded: Path, finished: Path, command: list[str]
) -> None:
    outs = {"> /dev/full": "No space left on device", ">&-": "standard output is closed"}
    if command[0] not in ("audit", "--help"):
        outs.popitem()  # the same mechanism: a process takes a second
    for out, why in outs.items():
        done = program(*command, out=out, cwd=tmp_path)
        assert done.returncode == 4, done.stderr
        assert why in done.stderr
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_closed_pipe_ends_the_output_without_an_error(
    tmp_path: Path, recorded: Path, finished: Path, command: list[str]
) -> None:
    done = program(*command, out="| true; exit ${PIPESTATUS[0]}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_does_not_change_the_exit_code(tmp_path: Path, recorded: Path) -> None:
    command = ["audit", "r.jsonl", "--policy", "first", "--fail-on", "dropped-call"]
    assert program(*command, out="| true; exit ${PIPESTATUS[0]}", cwd=tmp_path).returncode == 1
    chosen = ["--wire", "openai.chat", "--scenario", "parallel-*"]
    command = ["check", "documented-goclaw", *chosen, "--no-baseline", "--once"]
    verdict = program(*command, out="> /dev/null", cwd=tmp_path).returncode
    assert program(*command, out="| true; exit ${PIPESTATUS[0]}", cwd=tmp_path).returncode == verdict


def test_an_output_file_on_a_full_disk_exits_with_code_4(tmp_path: Path, recorded: Path, finished: Path) -> None:
    for command in (["audit", recorded, "--html"], ["report", finished, "--junit"], ["check", *ONE, "--json"]):
        result = run(*command, "/dev/full")
        assert result.exit_code == 4, result.output
        assert "/dev/full: No space left on device" in result.stderr


@pytest.mark.parametrize("err", ["2>&-", "2> /dev/full"])
def test_an_unwritable_standard_error_never_causes_a_traceback(tmp_path: Path, recorded: Path, err: str) -> None:
    for command, code in ((["audit", "r.jsonl"], 0), (["audit", "none.jsonl"], 4), (["audit", "--no-such"], 2)):
        done = program(*command, out="> /dev/null", err=err, cwd=tmp_path)
        assert done.returncode in (code, 4)
        assert done.returncode != 1


def test_every_option_that_names_a_file_to_write_is_checked() -> None:
    """A new option cannot forget it: all click.Path options of the commands are inputs that are known here.

    ``--record`` of the proxy, a file or a folder, is checked by its command.
    """
    known = {"--baseline", "--compare", "--earlier", "--library", "--prices", "--record"}
    found = set()

    def walk(command: click.Command, name: str) -> None:
        if isinstance(command, click.Group):
            for one in command.list_commands(click.Context(command)):
                child = command.get_command(click.Context(command), one)
                assert child is not None
                walk(child, f"{name} {one}")
            return
        for option in command.params:
            if isinstance(option, click.Option) and type(option.type) is click.Path:
                found.update(option.opts)

    walk(main, "")
    assert found == known


def test_pytest_rejects_a_report_path_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("def test_x(): pass\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "toolparity.pytest_plugin",
    ]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for report, code, why in (("no/such/run.json", 4, "cannot be written"), ("/dev/full", 3, "No space left")):
        done = subprocess.run(
            [*command, "--parity-report", report], capture_output=True, text=True, cwd=tmp_path, env=env, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert why in done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
