"""The published histories: enough of them, each change between neighbours, and the same figures on the page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from toolparity.conformance.cli.publish import FOLDER, HISTORY
from toolparity.conformance.laws import IDS
from toolparity.conformance.subjects.peers import PEERS

pytestmark = pytest.mark.page("reports/published")
FILES = sorted((FOLDER / HISTORY).glob("*.json"))


def history(path: Path) -> dict[str, Any]:
    """The file, read without the code that renders it."""
    data: dict[str, Any] = json.loads(path.read_bytes())
    return data


def measured(path: Path) -> list[dict[str, Any]]:
    return [version for version in history(path)["versions"] if "cases" in version]


class Tables(HTMLParser):
    """The tables of the section: library -> its versions, and its laws with (passed, applicable) for each version."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.libraries: dict[str, dict[str, list[tuple[int, int]]]] = {}
        self.columns: dict[str, list[str]] = {}
        self._library = self._law = ""
        self._span = 0
        self._words: list[str] = []
        self.feed(text.partition('<section id="versions"')[2].partition("</section>")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("h3", "th", "td"):
            self._words, self._span = [], int(dict(attrs).get("colspan") or 1)

    def handle_data(self, data: str) -> None:
        self._words.append(data)

    def handle_endtag(self, tag: str) -> None:
        text = " ".join("".join(self._words).split())
        if tag == "h3":
            self._library = text
            self.libraries[text], self.columns[text] = {}, []
        elif tag == "th" and self._law == "law" and re.match(r"\d", text):
            self.columns[self._library].append(text)
        elif tag == "th":
            self._law = text
        elif tag == "td":
            found = re.search(r"([\d,]+)/([\d,]+)", text)
            passed, applicable = (int(group.replace(",", "")) for group in found.groups()) if found else (0, 0)
            row = self.libraries[self._library].setdefault(self._law, [])
            row.extend([(passed, applicable)] * self._span)


@pytest.fixture(scope="module")
def tables() -> Tables:
    """The tables of the published page."""
    return Tables((FOLDER / "index.html").read_text("utf-8"))


def test_five_libraries_are_published_with_six_versions_each(tables: Tables) -> None:
    assert len(FILES) >= 5
    assert all(len(measured(path)) >= 6 for path in FILES)
    assert set(tables.libraries) == {path.stem for path in FILES}


def test_the_page_has_the_figures_of_each_file(tables: Tables) -> None:
    for path in FILES:
        versions, rows = measured(path), tables.libraries[path.stem]
        assert tables.columns[path.stem] == [version["version"] for version in versions]
        for law in dict.fromkeys(law for version in versions for law in version["laws"]):
            figures = [tuple(version["laws"].get(law, (0, 0))) for version in versions]
            all_kept = all(passed == applicable for passed, applicable in figures)
            assert rows.get(law) == (None if all_kept else figures), (path.stem, law)
        assert rows["all laws"] == [tuple(version["cases"]) for version in versions]


def test_a_history_is_of_known_laws_and_its_figures_follow_from_its_changes() -> None:
    for path in FILES:
        data, versions = history(path), measured(path)
        assert (data["subject"], data["distribution"]) == (path.stem, PEERS[path.stem].distribution)
        for before, after in pairwise(versions):
            for law in {*before["laws"], *after["laws"]}:
                assert law in IDS
                (old_passed, old), (new_passed, new) = (one["laws"].get(law, (0, 0)) for one in (before, after))
                steps = [one for one in data["changes"] if (one["law"], one["seen"]) == (law, after["version"])]
                more = sum(len(one.get(kind, [])) for one in steps for kind in ("broken", "judged"))
                fewer = sum(len(one.get(kind, [])) for one in steps for kind in ("fixed", "unjudged"))
                assert (new - new_passed) - (old - old_passed) == more - fewer, (path.stem, law)
        order = [version["version"] for version in data["versions"]]
        ran = {version["version"] for version in data["versions"] if "not_tested" not in version}
        for change in data["changes"]:
            assert {change["before"], change["after"]} <= ran
            assert order.index(change["before"]) < order.index(change["after"]) <= order.index(change["seen"])
            if not change.get("between", 0):
                assert order.index(change["after"]) == order.index(change["before"]) + 1


def test_no_folder_of_a_person_is_in_a_history() -> None:
    for path in FILES:
        assert not re.search(r"(/root|/home/[a-z]+|/Users/[A-Za-z]+|/tmp|/work)/", path.read_text("utf-8"))
