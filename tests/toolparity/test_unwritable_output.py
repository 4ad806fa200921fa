"""Output that cannot be written is reported before the run, or ends with exit code 4; never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner, Result

from tests.support.traffic import chat_stream, row, write_rows
from toolparity.cli import main
from toolparity.conformance.runner import suite
from toolparity.reports import formats
from toolparity.reports.files import unwritable

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full on this system")
ONE = ("--scenario", "single-call", "--wire", "openai.chat", "--once", "--jobs", "1")


def run(*args: Any) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    stderr: str


#: Runs commands, each in a process, which is forked after the imports: these take longer than the commands.
_FORKING = """
import gc, json, os, sys
import click
from toolparity.cli import COMMANDS, main

for name in main.list_commands(click.Context(main)):
    main.get_command(click.Context(main), name)


def redirect(number, where):
    if where == "closed":
        os.close(number)
        name = ("stdin", "stdout", "stderr")[number]
        setattr(sys, name, None), setattr(sys, f"__{name}__", None)
        return
    if where == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(where, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.dup2(writer, number)


for line in sys.stdin:
    arguments, folder, out, err = json.loads(line)
    if arguments[0] in COMMANDS:
        main.get_command(click.Context(main), arguments[0])
    gc.freeze()  # the process then ends without visiting all that was imported
    child = os.fork()
    if not child:
        os.chdir(folder)
        sys.argv = ["toolparity", *arguments]
        redirect(0, os.devnull), redirect(1, out), redirect(2, err)
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
#: Runs one command, with its output where the shell sends it.
_ALONE = "from toolparity.cli import main; main()"


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]))
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, "PYTHONPATH": path}


@pytest.fixture(scope="module")
def forking() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _FORKING]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment()
    ) as process:
        yield process


@pytest.fixture
def program(forking: subprocess.Popen[str], tmp_path: Path) -> Callable[..., Ended]:
    """The command in a process, with its output and its errors in a file, in a ``pipe`` without a reader, or
    ``closed``.
    """

    def run(*args: str, out: str, err: str = "") -> Ended:
        assert forking.stdin
        assert forking.stdout
        errors = tmp_path / "stderr"
        errors.write_text("")
        print(json.dumps([args, str(tmp_path), out, err or str(errors)]), file=forking.stdin, flush=True)
        return Ended(int(forking.stdout.readline()), errors.read_text())

    return run


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


@pytest.mark.parametrize("where", ["no/such/x", ".", "file/x", "x" * 300], ids=["missing", "folder", "file", "long"])
def test_a_file_that_cannot_be_written_is_a_usage_error_before_the_run(
    tmp_path: Path, finished: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def never(*args: Any, **more: Any) -> Any:
        raise AssertionError("it ran")

    (tmp_path / "file").write_text("")
    place = tmp_path / where
    monkeypatch.setattr(suite, "run", never)
    monkeypatch.setattr("toolparity.audit.cli.audit.audit_paths", never)
    monkeypatch.setattr("toolparity.conformance.cli.report.load", never)
    for command in (["check", *ONE], ["check", "--kill"], ["report", finished]):
        for name in formats.FORMATS:
            result = run(*command, f"--{name}", place)
            assert result.exit_code == 2, result.output
            assert f"--{name}" in result.stderr
    assert run("audit", recorded, "--html", place).exit_code == 2
    if where != "no/such/x":  # folders on the way to a baseline are made
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


RUN = " ".join(ONE)
CASSETTE = "openai/openai.chat/single-call.yaml"
_PLAIN = ("audit --help", "audit r.jsonl", "normalize r.jsonl", "report run.json --markdown -", "subjects list")
_THOROUGH = ("--help", "audit r.jsonl --json", f"check {RUN}", "audit r.jsonl --html -", f"check {RUN} --json -")
_OTHERS = ["smoke normalizer", "report run.json", "cassettes list"]
_OTHERS += [f"cassettes show {CASSETTE}", f"cassettes verify {CASSETTE}"]
COMMANDS = [*_PLAIN, *(pytest.param(command, marks=pytest.mark.thorough) for command in (*_THOROUGH, *_OTHERS))]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_or_closed_output_exits_with_code_4_and_one_line(
    program: Callable[..., Ended], recorded: Path, finished: Path, command: str
) -> None:
    for out, why in (("/dev/full", "No space left on device"), ("closed", "standard output is closed")):
        ended = program(*command.split(), out=out)
        assert ended.code == 4, ended.stderr
        assert why in ended.stderr
        assert "Traceback" not in ended.stderr
        assert "Exception" not in ended.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_pipe_ends_the_output_without_an_error(
    program: Callable[..., Ended], recorded: Path, finished: Path, command: str
) -> None:
    assert program(*command.split(), out="pipe") == (0, "")


def test_a_closed_pipe_does_not_change_the_exit_code(program: Callable[..., Ended], recorded: Path) -> None:
    command = ["audit", "r.jsonl", "--policy", "first", "--fail-on", "dropped-call"]
    assert program(*command, out="pipe").code == 1
    chosen = ["--wire", "openai.chat", "--scenario", "parallel-*"]
    command = ["check", "documented-goclaw", *chosen, "--no-baseline", "--once"]
    assert program(*command, out="pipe").code == 1  # as without a pipe: several scenarios fail


@pytest.mark.parametrize(
    ("out", "code", "why"),
    [
        ("> /dev/full", 4, "No space left on device"),
        (">&-", 4, "standard output is closed"),
        ("| true; exit ${PIPESTATUS[0]}", 0, ""),
        ("> /dev/full 2>&-", 4, ""),
    ],
)
def test_output_that_a_shell_redirects_ends_in_the_same_way(out: str, code: int, why: str) -> None:
    words = " ".join(f"'{word}'" for word in (sys.executable, "-c", _ALONE, "--version"))
    done = subprocess.run(
        ["bash", "-c", f"{words} {out}"], capture_output=True, text=True, env=_environment(), check=False
    )
    assert done.returncode == code
    assert why in done.stderr
    assert len(done.stderr.splitlines()) <= 1


def test_an_output_file_on_a_full_disk_exits_with_code_4(tmp_path: Path, recorded: Path, finished: Path) -> None:
    for command in (["audit", recorded, "--html"], ["report", finished, "--junit"], ["check", *ONE, "--json"]):
        result = run(*command, "/dev/full")
        assert result.exit_code == 4, result.output
        assert "/dev/full: No space left on device" in result.stderr


@pytest.mark.parametrize("err", ["closed", "/dev/full"])
def test_an_unwritable_standard_error_never_causes_a_traceback(
    program: Callable[..., Ended], recorded: Path, err: str
) -> None:
    for command, code in ((["audit", "r.jsonl"], 0), (["audit", "none.jsonl"], 4), (["audit", "--no-such"], 2)):
        ended = program(*command, out=os.devnull, err=err)
        assert ended.code in (code, 4)
        assert ended.code != 1


def test_every_option_that_names_a_file_to_write_is_checked() -> None:
    """A new option cannot forget it: all click.Path options of the commands are inputs that are known here.

    ``--record`` of the proxy, a file or a folder, and ``--baseline`` of `check` are checked by their commands.
    """
    known = {"--compare", "--earlier", "--library", "--prices", "--record"}
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


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("report", "code", "why"), [("no/such/run.json", 4, "cannot be written"), ("/dev/full", 3, "No space left")]
)
def test_pytest_rejects_a_report_path_that_cannot_be_written(tmp_path: Path, report: str, code: int, why: str) -> None:
    (tmp_path / "test_x.py").write_text("def test_x(): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", *["-p", "no:cacheprovider", "-p", "toolparity.pytest_plugin"]]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, "--parity-report", report], capture_output=True, text=True, cwd=tmp_path, env=env, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert why in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
