"""The table of flows: every heading and point of the documents has tests, or a reason why it has none."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from docs.generate import flows
from toolparity import turns
from toolparity.turns.options import TurnOptions

ROOT = Path(__file__).resolve().parents[2]
ENTRIES: list[dict[str, Any]] = flows.entries()
DOCUMENTS = list(flows.TITLES)
FOLDER = ROOT / "docs" / "programs" / "documents"
SEEDS = ROOT.parent / "shared" / "seeds"


@cache
def functions(file: str) -> dict[str, str]:
    """The tests of a file with their docstrings."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    nodes = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {function.name: ast.get_docstring(function) or "" for function in nodes if function.name.startswith("test_")}


def test_every_flow_has_a_reason_or_tests_of_which_one_names_its_document_and_heading() -> None:
    for entry in ENTRIES:
        assert len({"tests", "reason", "open"} & entry.keys()) == 1, entry
        assert entry.keys() <= {"document", "heading", "items", "tests", "note", "api", "reason", "open"}, entry
        assert entry.get("tests") != []
        assert bool(entry.get("api")) == ("tests" in entry), entry
        assert entry["document"] in DOCUMENTS
        tests = [test.partition("::") for test in entry.get("tests", [])]
        docstrings = [functions(file)[name] for file, _, name in tests]  # each of them exists
        heading = _plain_heading(entry["heading"])
        named = [heading in _headings_of(docstring, entry["document"]) for docstring in docstrings]
        assert not docstrings or any(named), (entry, docstrings)


@pytest.mark.parametrize("name", sorted({name for entry in ENTRIES for name in entry.get("api", [])}))
def test_every_public_name_can_be_imported_and_has_the_parameters(name: str) -> None:
    path, _, listed = name.rstrip(")").partition("(")
    module, _, attribute = path.rpartition(".")
    home = importlib.import_module(module)
    assert attribute in home.__all__, name
    value = getattr(home, attribute)
    parameters = set(inspect.signature(value).parameters) if listed else set()
    options = set(TurnOptions.__annotations__) if "options" in parameters else set()
    assert set(listed.split(", ") if listed else ()) <= parameters | options, name


def test_every_document_test_names_its_heading_and_is_listed() -> None:
    named = {test for entry in ENTRIES for test in entry.get("tests", [])}
    headings = {(entry["document"], _plain_heading(entry["heading"])) for entry in ENTRIES}
    for name, docstring in functions("turns/test_documents.py").items():
        assert f"turns/test_documents.py::{name}" in named, name
        document, _, rest = docstring.partition(", ")
        assert any(document == known and rest.startswith(heading) for known, heading in headings), docstring


def seed(document: str) -> str:
    """The text of a document."""
    if not SEEDS.is_dir():
        pytest.skip(f"needs the requirement documents in {SEEDS.parent.name}/{SEEDS.name}")
    [path] = SEEDS.glob(f"{document}_*")
    return path.read_text("utf-8")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_heading_and_point_of_the_documents_is_listed(document: str) -> None:
    listed: dict[str, set[Any]] = {}
    for entry in ENTRIES:
        if entry["document"] == document:
            listed.setdefault(entry["heading"], set()).update(entry["items"])
    assert listed == points(seed(document))


def points(text: str) -> dict[str, set[Any]]:
    """The headings of a document, each with the numbers of its steps and its points in bold type."""
    result: dict[str, set[Any]] = {}
    heading, fenced = "", False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif (title := re.match(r"#{2,3} (.+)", line)) and not fenced:
            heading = title[1].strip()
            result[heading] = set()
        elif step := re.match(r"\s*(\d+)\. ", line):
            result[heading].add(int(step[1]))
        elif (point := re.match(r"- \*\*(.+?):?\*\*", line)) and not fenced:
            result[heading].add(point[1])
    return result


def _plain_heading(heading: str) -> str:
    """Without the parts in brackets or after a colon."""
    return re.sub(r"\s*[(:].*", "", heading)


def _headings_of(docstring: str, document: str) -> str:
    """The headings of a document that a docstring names: "002, Problem, Solution; 003, Testing Approach: …"."""
    parts = docstring.partition(": ")[0].split("; ")
    return "; ".join(part for part in parts if part.startswith(f"{document}, "))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(FOLDER), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


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
def test_every_heading_of_the_table_of_flows_has_what_it_requires_and_what_happened() -> None:
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    output = done.stdout
    for document, printed_headings in printed(output).items():
        assert set(printed_headings) == {entry["heading"] for entry in ENTRIES if entry["document"] == document}
    headings = sum(map(len, printed(output).values()))
    introduced, required = output.count("\n    introduces: "), output.count("\n    requires: ")
    assert required == output.count("\n    happened: ") > 60
    assert introduced + required == headings
    assert f"{required} headings hold, 0 fail, {introduced} only introduce others." in output


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_script_repeats_no_seven_words_of_a_document_besides_headings(document: str) -> None:
    def sequences(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[at : at + 7]) for at in range(len(words) - 6)}

    text = re.sub(r"^#.*$", " § ", seed(document), flags=re.MULTILINE)
    for path in FOLDER.glob("*.py"):
        assert sequences(path.read_text("utf-8")) & sequences(text) == set(), path.name


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
    assert others <= {"toolparity", "toolparity.textmode", "toolparity.turns", *submodules}
    assert "toolparity.turns" in others


@pytest.mark.page("docs/programs/documents", "tests/turns/flows.toml")
def test_the_exit_code_is_1_if_a_heading_fails_and_2_for_an_unknown_document(tmp_path: Path) -> None:
    for path in FOLDER.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    broken = (tmp_path / "d002.py").read_text("utf-8").replace("    holds(len(toolbox.ran) == 4", "    holds(False")
    (tmp_path / "d002.py").write_text(broken, "utf-8")
    done = subprocess.run([sys.executable, tmp_path, "002"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.count("DOES NOT HOLD")) == (1, 1)
    assert (run("002").returncode, run("999").returncode) == (0, 2)
