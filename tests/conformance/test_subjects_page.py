"""For authors of subjects: the page that names what the code knows, and skeletons that work as they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner, Result

from tests.support.programs import needed
from tests.support.thoroughness import is_thorough
from toolparity.cassettes.cli import exits
from toolparity.cli import main
from toolparity.conformance import answer, skeletons
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.subjects import SUBJECTS
from toolparity.conformance.subjects.claims import CLAIMS, INPUTS
from toolparity.conformance.subjects.peers import PEERS
from toolparity.normalizer.model import Block, CallStatus, Policy, StopReason, Usage

from .pages import DOCS, Reader, blocks

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
    counts = [name for name in Usage.__struct_fields__ if name.endswith("_tokens")]
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


#: Language -> the program that it needs. CI installs Node only: without the others their tests are skipped.
COMPILERS = {"go": "go", "rust": "cargo"}


def new(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["subject", "new", *arguments])


def environment(home: Path) -> dict[str, str]:
    """Our command first on the path, and compilers that write below ``home`` alone."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TOOLPARITY"))}
    return {**kept, "PATH": path, "GOCACHE": str(home / "go-cache"), "GOFLAGS": "-mod=mod", "CARGO_NET_OFFLINE": "true"}


@pytest.mark.page("conformance/skeletons")
@pytest.mark.thorough(keep=1, per="{language}")
@pytest.mark.parametrize("kind", skeletons.KINDS)
@pytest.mark.parametrize("language", skeletons.LANGUAGES)
def test_a_skeleton_works_by_the_commands_of_its_readme(
    language: str, kind: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if language == "node":
        needed("node", what="Node")
    elif language in COMPILERS and shutil.which(COMPILERS[language]) is None:
        pytest.skip(f"{COMPILERS[language]} is not installed")
    folder = tmp_path / "Acme Gateway"
    made = new("--language", language, "--kind", kind, str(folder))
    assert made.exit_code == 0, made.output
    steps = [block for block in blocks(str(folder / "README.md")) if block.language == "sh"]
    *quick, everything = steps
    smoke = next(block for block in quick if "toolparity smoke" in block.text)
    home = tmp_path_factory.mktemp("home")
    reader = Reader(folder, environment(home))
    for block in quick:
        reader.do(block)
        if block is smoke:
            printed = reader.printed
            claim, modes = ("runs", ["plain"]) if kind == "agent" else ("stream", ["plain", "stream"])
            assert f"ok\thello\tacme-gateway 0.1, claims {claim}" in printed
            for mode in modes:
                assert f'ok\topenai.chat {mode}\tget_weather({{"city":"Lisbon"}})' in printed
    assert "--update-baseline" in everything.text
    if is_thorough() and language == "python":
        reader.do(everything)
        assert (folder / "parity-baseline.yaml").stat().st_size > 0


@pytest.mark.parametrize("kind", skeletons.KINDS)
@pytest.mark.parametrize("language", skeletons.LANGUAGES)
def test_no_placeholder_is_left_and_every_named_file_exists(language: str, kind: str, tmp_path: Path) -> None:
    written = skeletons.write(tmp_path / "acme", language, kind)
    assert all("{{" + word not in path.read_text("utf-8") for path in written for word in ("name", "input", "build"))
    assert any("acme" in path.read_text("utf-8") for path in written if path.name != "README.md")
    readme = (tmp_path / "acme" / "README.md").read_text("utf-8")
    files = {str(path.relative_to(tmp_path / "acme")) for path in written}
    named = {name for name in re.findall(r"`([\w./]+)`", readme) if Path(name).suffix in (".py", ".mjs", ".go", ".rs")}
    assert skeletons.LANGUAGES[language].entry in named <= files


def test_only_an_empty_folder_is_used(tmp_path: Path) -> None:
    assert new("--language", "node", str(tmp_path)).exit_code == 0
    assert (tmp_path / "subject.mjs").is_file()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    refused = new("--language", "python", str(tmp_path))
    assert (refused.exit_code, "is not an empty folder" in refused.output) == (exits.USAGE, True)
    assert new("--language", "python", str(tmp_path / "subject.mjs")).exit_code == exits.USAGE
    failed = new("--language", "python", str(tmp_path / "subject.mjs" / "new"))
    assert (failed.exit_code, "Traceback" in failed.output) == (exits.FAULT, False)
    unknown = new("--language", "pyton", str(tmp_path / "new"))
    assert (unknown.exit_code, "did you mean python?" in unknown.output) == (exits.USAGE, True)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


def test_the_name_fits_the_packages_of_every_language(tmp_path: Path) -> None:
    names = {"Acme Gateway": "acme-gateway", "9lives": "subject-9lives", "...": "subject", "日本": "subject"}
    assert {folder: skeletons.project_name(tmp_path / folder) for folder in names} == names
