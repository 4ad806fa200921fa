"""The table of flows: every heading and point of the documents has tests, or a reason why it has none."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from docs.generate import flows
from toolparity.turns.options import TurnOptions

ROOT = Path(__file__).resolve().parents[2]
ENTRIES: list[dict[str, Any]] = flows.entries()
DOCUMENTS = list(flows.TITLES)


@cache
def functions(file: str) -> dict[str, str]:
    """The tests of a file with their docstrings."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    nodes = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {function.name: ast.get_docstring(function) or "" for function in nodes if function.name.startswith("test_")}


def test_every_flow_has_tests_or_a_reason() -> None:
    for entry in ENTRIES:
        assert len({"tests", "reason", "open"} & entry.keys()) == 1, entry
        assert entry.keys() <= {"document", "heading", "items", "tests", "api", "reason", "open"}, entry
        assert entry.get("tests") != []
        assert bool(entry.get("api")) == ("tests" in entry), entry
        assert entry["document"] in DOCUMENTS


def test_every_listed_test_exists() -> None:
    for entry in ENTRIES:
        for test in entry.get("tests", []):
            file, _, name = test.partition("::")
            assert name in functions(file), test


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


def test_every_flow_has_a_test_that_names_its_document_and_heading() -> None:
    for entry in ENTRIES:
        docstrings = [
            functions(file).get(name, "") for file, _, name in (t.partition("::") for t in entry.get("tests", []))
        ]
        heading = _plain_heading(entry["heading"])
        assert not docstrings or any(
            heading in _headings_of(docstring, entry["document"]) for docstring in docstrings
        ), (entry, docstrings)


def test_every_document_test_names_its_heading_and_is_listed() -> None:
    named = {test for entry in ENTRIES for test in entry.get("tests", [])}
    headings = {(entry["document"], _plain_heading(entry["heading"])) for entry in ENTRIES}
    for name, docstring in functions("turns/test_documents.py").items():
        assert f"turns/test_documents.py::{name}" in named, name
        document, _, rest = docstring.partition(", ")
        assert any(document == known and rest.startswith(heading) for known, heading in headings), docstring


@pytest.fixture(scope="module")
def seeds() -> Path:
    folder = ROOT.parent / "shared" / "seeds"
    if not folder.is_dir():
        pytest.skip(f"needs the requirement documents in {folder.parent.name}/{folder.name}")
    return folder


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_heading_and_point_of_the_documents_is_listed(seeds: Path, document: str) -> None:
    [path] = seeds.glob(f"{document}_*")
    document_points = points(path.read_text("utf-8"))
    listed: dict[str, set[Any]] = {}
    for entry in ENTRIES:
        if entry["document"] == document:
            listed.setdefault(entry["heading"], set()).update(entry["items"])
    assert list(listed) and set(listed) == set(document_points)  # noqa: PT018
    for heading, expected in document_points.items():
        assert listed[heading] == expected, heading


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
