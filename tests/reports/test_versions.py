"""The histories of libraries on the page and in Markdown: their figures, their changes, and text of third parties."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.reports.golden import HOSTILE, result, run, verdict
from tests.reports.test_html import Read
from toolparity.reports import formats, versions
from toolparity.reports.files import UnreadableResults, load_history
from toolparity.reports.html.versions import LibraryTable, libraries
from toolparity.reports.results import Report
from toolparity.reports.version_text import sections, version_line
from toolparity.reports.versions import LawChange, LibraryHistory, Version

CASES = [f"parallel-{number}[openai.chat-stream-all]" for number in range(9)]
VERSIONS = [
    Version("1.0", "", (7, 10), {"order": (4, 4), "stop": (9, 10)}),
    Version("1.1", "", (7, 10), {"order": (4, 4), "stop": (9, 10)}),
    Version("1.2", "No matching distribution"),
    Version("1.3", "", (1, 10), {"order": (4, 4), "stop": (1, 10)}),
    Version("1.4", "", (1, 10), {"order": (4, 4), "stop": (1, 10)}),
    Version("1.5", "", (10, 10), {"order": (4, 4), "stop": (10, 10)}),
]
PACKAGES = {"sdk": ("1", "2"), "gone": ("3", "")}
CHANGES = [
    LawChange("stop", "1.1", "1.3", "1.3", broken=CASES, between=1, packages=PACKAGES),
    LawChange("stop", "1.3", "1.4", "1.4", broken=["one-call[openai.chat-plain-all]"], fixed=[CASES[0]]),
    LawChange("stop", "1.4", "1.5", "1.5", fixed=CASES),
]
CHOICE = "the last release of each minor series"
HISTORY = LibraryHistory("mine", "mine-dist", "0.1.0", "2026-01-02T03:04:05+00:00", CHOICE, 7, VERSIONS, CHANGES)
RUN = run(result(verdict()))


def table(history: LibraryHistory = HISTORY) -> LibraryTable:
    (made,) = libraries(Report(RUN, histories=[history]))
    return made


def page(*histories: LibraryHistory) -> str:
    return formats.render("html", Report(RUN, histories=histories)).decode()


#: Texts of the page: a cell spans the versions with one outcome, and a law that all versions keep has no row.
SHOWN = [
    "law 1.0 1.1 1.3 1.4 1.5 all laws 1.0 to 1.1 7 /10 1.3 to 1.4 1 /10 1.5 10 /10",
    "stop 1.0 to 1.1 9 /10 1.3 1 /10 ▼ worse 1.4 1 /10 ◆ mixed 1.5 10 /10 ▲ better Kept",
    "Kept in every applicable case by every version: order .",
    "1.5 compared with 1.4 , the release before it stop 9 cases fixed parallel-0[",
    "1.4 compared with 1.3 , the release before it stop 1 case broken, 1 case fixed one-call[",
    "1.3 compared with 1.1 ; 1 release between them not tested stop 9 cases broken parallel-0[",
    "parallel-5[openai.chat-stream-all] and 3 more other packages that differ sdk 1 → 2, gone 3 → none",
    "1 version not tested 1.2 : No matching distribution",
]


def test_the_page_shows_each_figure_of_a_library_and_the_releases_that_changed_a_law() -> None:
    text = Read(page(HISTORY)).text
    assert [words for words in SHOWN if words not in text] == []


def test_two_changes_before_the_next_selected_version_are_one_sign_with_both_in_its_text() -> None:
    broken, fixed = (
        LawChange("stop", "1.5", "1.6", "1.7", broken=CASES),
        LawChange("stop", "1.6", "1.7", "1.7", fixed=CASES[1:]),
    )
    after = Version("1.7", "", (9, 10), {"stop": (9, 10)})
    stop = table(replace(HISTORY, versions=[VERSIONS[-1], after], changes=[broken, fixed])).rows[1]
    assert [(cell.versions, cell.change) for cell in stop.cells] == [("1.5", ""), ("1.7", "mixed")]
    assert stop.cells[1].tip.endswith("since 1.6: 9 cases broken, since 1.7: 8 cases fixed")


def test_the_description_names_a_newer_release_and_counts_those_that_only_the_search_ran() -> None:
    searched = [Version("1.4.1", found=True), Version("1.4.2", "No matching distribution", found=True)]
    made = table(replace(HISTORY, versions=[*VERSIONS, *searched]))
    assert made.versions == table().versions
    assert made.about.endswith(". The search for changes also ran 1 other release, with the scenarios that differ.")
    assert made.refused == [("1.2", "No matching distribution"), ("1.4.2", "No matching distribution")]
    newer = table(replace(HISTORY, newest="2.0"))
    assert newer.about.endswith(". The newest release on 2026-01-02 is 2.0, which was not tested.")
    assert not re.search("search|newest", table(replace(HISTORY, newest="1.5")).about)


def test_the_section_links_cases_of_the_page_shows_notes_and_is_left_out_without_histories() -> None:
    address = "#case=mine/parallel-0/openai.chat/stream/all"
    text = page(HISTORY)
    assert (f'href="{address}"' in text, 'href="#versions"' in text) == (True, True)
    assert address not in page(replace(HISTORY, subject="another"))
    noted = replace(HISTORY, notes={"1.4": "The list of models <changed>."})
    assert [release.note for release in table(noted).releases] == ["", "The list of models <changed>.", ""]
    assert ["The list of models" in one for one in (page(noted), text)] == [True, False]
    for without in (page(), page(replace(HISTORY, versions=[VERSIONS[2]], changes=[]))):
        assert not re.search('id="versions"|#versions', without)


def test_libraries_with_changes_come_first() -> None:
    steady = replace(HISTORY, subject="a-steady-one", changes=[])
    made = libraries(Report(RUN, histories=[steady, HISTORY]))
    assert [library.name for library in made] == ["mine", "a-steady-one"]
    same = "The same cases fail in every tested version."
    assert [same in page(one) for one in (steady, HISTORY)] == [True, False]


def test_no_text_of_a_history_is_markup() -> None:
    for text in HOSTILE.values():
        changes = [LawChange(text, text, text, text, broken=[text], packages={text: (text, text)})]
        versions = [Version(text, "", (0, 1), {text: (0, 1)}), Version("2", text)]
        hostile = LibraryHistory(text, text, text, text, text, 1, versions, changes)
        assert not re.search(r"<script>alert|onerror=alert\(1\)>", page(hostile))
        markdown = formats.render("markdown", Report(RUN, histories=[hostile])).decode()
        assert not re.search("<script>|@everyone", re.sub(r"`[^`]*`", "", markdown))


def test_the_markdown_has_a_line_per_library() -> None:
    text = formats.render("markdown", Report(RUN, histories=[HISTORY])).decode()
    (line,) = (line for line in text.splitlines() if line.startswith("| `mine` | 5 of 7"))
    assert "| `1.0` 7/10 | `1.5` 10/10 |" in line
    assert "`1.3` or since `1.1`: `stop` 9 cases broken; `1.4`: `stop` 1 case broken, 1 case fixed;" in line
    assert "Versions over time" not in formats.render("markdown", Report(RUN)).decode()


def test_the_terminal_shows_a_column_per_tested_version() -> None:
    matrix, refused, changes = sections(HISTORY)
    assert matrix.columns == ["law", "1.0", "1.1", "1.3", "1.4", "1.5"]  # type: ignore[union-attr]
    assert [row[0] for row in matrix.rows][:2] == ["order", "stop"]  # type: ignore[union-attr]
    assert refused.entries[0][1] == "No matching distribution"  # type: ignore[union-attr]
    assert changes.entries[0][1] == "9 cases broken; 1 release since 1.1 not tested"  # type: ignore[union-attr]
    assert version_line(HISTORY.versions[0]) == "1.0: 7/10 cases pass"
    assert version_line(HISTORY.versions[2]) == "1.2: not tested: No matching distribution"


def test_a_history_is_read_as_it_was_written_and_another_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    with pytest.raises(UnreadableResults, match=r"mine\.json.*No such file|No such file.*mine\.json"):
        load_history(path)
    for content in (b"", b'{"format": "toolparity-results/3"}'):
        path.write_bytes(content)
        with pytest.raises(UnreadableResults, match=r"mine\.json.*not valid"):
            load_history(path)
    path.write_bytes(versions.write(HISTORY))
    assert load_history(path) == HISTORY
    assert versions.write(load_history(path)) == path.read_bytes()
