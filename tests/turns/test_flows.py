"""The table of flows: every heading and point of the documents has its tests, or the reason why it has none."""

from __future__ import annotations

import ast
import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
_PAGE = runpy.run_path(str(ROOT / "docs" / "flows.py"))
ENTRIES: list[dict[str, Any]] = _PAGE["entries"]()
DOCUMENTS = list(_PAGE["TITLES"])


@cache
def functions(file: str) -> dict[str, str]:
    """The tests of a file, and what they say of themselves."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    found = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {one.name: ast.get_docstring(one) or "" for one in found if one.name.startswith("test_")}


def test_every_flow_has_tests_or_says_why_not() -> None:
    for entry in ENTRIES:
        assert len({"tests", "reason", "open"} & entry.keys()) == 1, entry
        assert entry.keys() <= {"document", "heading", "items", "tests", "reason", "open"}, entry
        assert entry.get("tests") != []
        assert entry["document"] in DOCUMENTS


def test_every_test_that_is_named_is_there() -> None:
    for entry in ENTRIES:
        for test in entry.get("tests", []):
            file, _, name = test.partition("::")
            assert name in functions(file), test


def test_every_flow_is_played_by_a_test_that_names_document_and_heading() -> None:
    for entry in ENTRIES:
        said = [functions(file).get(name, "") for file, _, name in (t.partition("::") for t in entry.get("tests", []))]
        heading = _bare(entry["heading"])
        assert not said or any(heading in _named(one, entry["document"]) for one in said), (entry, said)


def test_every_test_of_the_documents_names_its_heading_and_is_in_the_table() -> None:
    named = {test for entry in ENTRIES for test in entry.get("tests", [])}
    headings = {(entry["document"], _bare(entry["heading"])) for entry in ENTRIES}
    for name, said in functions("turns/test_documents.py").items():
        assert f"turns/test_documents.py::{name}" in named, name
        document, _, rest = said.partition(", ")
        assert any(document == known and rest.startswith(heading) for known, heading in headings), said


def test_the_page_is_the_table() -> None:
    assert (ROOT / "docs" / "flows.md").read_text("utf-8") == _PAGE["page"]()


@pytest.fixture(scope="module")
def seeds() -> Path:
    folder = ROOT.parent / "shared" / "seeds"
    if not folder.is_dir():
        pytest.skip(f"the documents are not there: no {folder.parent.name}/{folder.name}")
    return folder


@pytest.mark.parametrize("document", DOCUMENTS)
def test_nothing_of_the_documents_is_left_out(seeds: Path, document: str) -> None:
    [path] = seeds.glob(f"{document}_*")
    told = points(path.read_text("utf-8"))
    listed: dict[str, set[Any]] = {}
    for entry in ENTRIES:
        if entry["document"] == document:
            listed.setdefault(entry["heading"], set()).update(entry["items"])
    assert list(listed) and set(listed) == set(told)  # noqa: PT018
    for heading, wanted in told.items():
        assert listed[heading] == wanted, heading


def points(text: str) -> dict[str, set[Any]]:
    """The headings of a document, each with the numbers of its steps and its points in bold letters."""
    found: dict[str, set[Any]] = {}
    heading, fenced = "", False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif (title := re.match(r"#{2,3} (.+)", line)) and not fenced:
            heading = title[1].strip()
            found[heading] = set()
        elif step := re.match(r"\s*(\d+)\. ", line):
            found[heading].add(int(step[1]))
        elif (point := re.match(r"- \*\*(.+?):?\*\*", line)) and not fenced:
            found[heading].add(point[1])
    return found


def _bare(heading: str) -> str:
    """Without the parts in brackets or after a colon."""
    return re.sub(r"\s*[(:].*", "", heading)


def _named(said: str, document: str) -> str:
    """The headings of a document that a test says it plays: "002, Problem, Solution; 003, Testing Approach: …"."""
    parts = said.partition(": ")[0].split("; ")
    return "; ".join(part for part in parts if part.startswith(f"{document}, "))
