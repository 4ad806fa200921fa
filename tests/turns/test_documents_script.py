"""The script that plays the requirement documents: all of their headings, in order, with the public interface alone."""

from __future__ import annotations

import ast
import importlib
import logging
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from toolparity import turns

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "programs" / "documents"
SEEDS = ROOT.parent / "shared" / "seeds"
#: Modules whose names are public. The script may import nothing else of this project.
PUBLIC = ("toolparity", "toolparity.textmode", "toolparity.turns")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(FOLDER), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def output() -> str:
    """What the script prints."""
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(FOLDER))
    play = importlib.import_module("play")
    log = logging.getLogger("toolparity")
    level = log.level
    yield play
    log.setLevel(level)  # the script silences the log


def printed(output: str) -> dict[str, list[str]]:
    """The printed headings by the number of their document."""
    headings: dict[str, list[str]] = {}
    for line in output.splitlines():
        if document := re.match(r"(\d{3}), ", line):
            headings[document[1]] = []
        elif heading := re.match(r"  (\S.*)", line):
            headings[[*headings][-1]].append(heading[1])
    return headings


@pytest.mark.page("docs/programs/documents", "tests/turns/flows.toml")
def test_every_heading_has_what_it_requires_and_what_happened(output: str) -> None:
    headings = sum(map(len, printed(output).values()))
    introduced, required = output.count("\n    introduces: "), output.count("\n    requires: ")
    assert required == output.count("\n    happened: ") > 60
    assert introduced + required == headings
    assert f"{required} headings hold, 0 fail, {introduced} only introduce others." in output


@pytest.mark.page("docs/programs/documents", "tests/turns/flows.toml")
def test_the_headings_are_those_of_the_table_of_flows(output: str) -> None:
    flows = tomllib.loads((ROOT / "tests" / "turns" / "flows.toml").read_text("utf-8"))["flow"]
    for document, headings in printed(output).items():
        listed = {
            heading
            for flow in flows
            if flow["document"] == document
            for heading in flow.get("headings", [flow.get("heading")])
        }
        assert set(headings) == listed, document


@pytest.mark.parametrize("document", ["000", "001", "002", "003", "004"])
def test_the_script_repeats_no_seven_words_of_a_document_besides_headings(document: str) -> None:
    def sequences(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[at : at + 7]) for at in range(len(words) - 6)}

    text = re.sub(r"^#.*$", " § ", _seed(document), flags=re.MULTILINE)
    for path in FOLDER.glob("*.py"):
        assert sequences(path.read_text("utf-8")) & sequences(text) == set(), path.name


def _seed(document: str) -> str:
    if not SEEDS.is_dir():
        pytest.skip(f"needs the requirement documents in {SEEDS.parent.name}/{SEEDS.name}")
    [path] = SEEDS.glob(f"{document}_*")
    return path.read_text("utf-8")


def test_the_script_imports_public_modules_alone() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")}
    imported: set[str] = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                imported.add(node.module or "")
            elif isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
    others = {name for name in imported if name.partition(".")[0] not in {*sys.stdlib_module_names, *files}}
    submodules = {f"toolparity.turns.{path.stem}" for path in Path(turns.__file__).parent.iterdir()}
    assert others <= {*PUBLIC, *submodules}
    assert "toolparity.turns" in others


def test_a_heading_that_does_not_hold_is_reported(play: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    async def wrong() -> str:
        play.holds(False, "two calls ran")
        return "never"

    async def broken() -> str:
        raise ValueError("broken")

    assert play.played(play.Heading("A", "one call", wrong)) is False
    assert play.played(play.Heading("B", "one call", broken)) is False
    assert play.played(play.Heading("C", "others")) is None
    printed = capsys.readouterr().out
    assert "DOES NOT HOLD: two calls ran" in printed
    assert "ValueError: broken" in printed


@pytest.mark.page("docs/programs/documents", "tests/turns/flows.toml")
def test_the_exit_code_is_1_if_a_heading_fails_and_2_for_an_unknown_document(tmp_path: Path) -> None:
    for path in FOLDER.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    broken = (tmp_path / "d002.py").read_text("utf-8").replace("    holds(len(toolbox.ran) == 4", "    holds(False")
    (tmp_path / "d002.py").write_text(broken, "utf-8")
    done = subprocess.run([sys.executable, tmp_path, "002"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.count("DOES NOT HOLD")) == (1, 1)
    assert (run("002").returncode, run("999").returncode) == (0, 2)
