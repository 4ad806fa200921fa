"""The page of a run as a file: the same bytes, closed to everything, small, only its own markup, and histories."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.reports import golden
from tests.reports.golden import HOSTILE, made_run, result, run, verdict
from toolparity.reports import formats, results, versions
from toolparity.reports.files import UnreadableResults, load_history
from toolparity.reports.html import columns, embed, history, overview, sources
from toolparity.reports.html.versions import LibraryTable, libraries
from toolparity.reports.results import EvidenceSource, Kill, LawInfo, Report, Run, SubjectReport, Traffic, WireExcerpt
from toolparity.reports.statistics import count_verdicts
from toolparity.reports.version_text import sections, version_line
from toolparity.reports.versions import LawChange, LibraryHistory, Version


def page(made: Run, **members: Any) -> str:
    return formats.render("html", Report(made, **members)).decode()


class Read(HTMLParser):
    """What a page consists of: elements with their attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.raw:
            self.raw[tag].append("")
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside][-1] += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def data_of(text: str) -> Any:
    """The value that the page embeds for its scripts."""
    found = re.search(r'<script type="application/octet-stream" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return unpacked(found[1])


def unpacked(data: str) -> Any:
    """The value of `embed.packed`."""
    return json.loads(gzip.decompress(base64.b64decode(data)))


def test_only_the_scripts_and_styles_of_the_page_run_and_it_loads_nothing() -> None:
    read = Read(page(golden.golden(), before=golden.golden(), earlier=[golden.golden()]))
    policy = next(attrs["content"] for tag, attrs in read.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    data, script = read.raw["script"]
    (style,) = read.raw["style"]
    assert policy is not None
    assert unpacked(data)["subjects"]
    for text, kind in ((script, "script-src"), (style, "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}';" in policy
    assert (policy.startswith("default-src 'none';"), "unsafe" in policy) == (True, False)
    for tag, attrs in read.tags:
        assert not {"src", "action", "srcset", "data", "formaction"} & attrs.keys(), tag
        assert (attrs.get("href") or "#").startswith("#")
        assert not [name for name in attrs if name.startswith("on") or name == "style"]
    assert not re.search(r"@import|url\(", style)


def test_markup_of_others_is_text() -> None:
    same = run(result(verdict("fail")))
    plain = Read(page(same, before=same))
    read = Read(page(golden.golden(), before=run(result(verdict(), subject=HOSTILE["markup"]))))
    assert {tag for tag, _ in read.tags} - {tag for tag, _ in plain.tags} <= {"details", "summary", "bdi"}
    assert len(read.raw["script"]) == 2
    assert "<script>alert('x')</script>" in read.text


def filled_with(text: str) -> Run:
    """A run with this text in every place."""
    report = SubjectReport([text], [text], [text], [text], [text], text, text)
    bad = verdict("fail", text, reason=text, expected=text, got=text)
    place = dict.fromkeys(("subject", "scenario", "surface", "mode", "policy"), text)
    made = run(
        replace(result(bad, **place), rounds=[report]),
        subjects=[results.SubjectInfo(text, text, [text], [text])],
        traffic=[Traffic(text, text, text, [WireExcerpt(text, len(text), text)], text)],
        sources=[EvidenceSource(text, text, text, text, text, text)],
        environment={text: text},
        kills=[Kill(text, text, text, {text: 1})],
        toolparity=text,
        date=text,
    )
    return replace(made, scenarios=[replace(made.scenarios[0], title=text, guards=[text])])


def test_long_texts_are_cut_and_the_page_says_so() -> None:
    made = filled_with("long " * 200_000)
    text = page(made, before=made, earlier=[made])
    assert len(text.encode()) < 400_000
    assert "Number of texts that are cut" in Read(text).text
    assert "… [of 1,000,000 characters]" in data_of(text)["texts"][1]


def test_the_headline_names_the_most_severe_problem() -> None:
    def other(outcome: str) -> results.Result:
        return result(verdict(outcome), subject="other")

    killed, living = Kill("swaps", "order", "It swaps.", {"order": 1}), Kill("lies", "stop", "It lies.", {})
    both, mine = [killed, living], "mine keeps every law that it claims"
    table: list[tuple[list[results.Result], list[Kill], str, str]] = [
        ([], [], "warning", "Nothing ran"),
        ([result(verdict())], [], "good", mine),
        ([result(verdict()), other("pass")], [], "good", "All 2 implementations keep every law that they claim"),
        ([result(verdict("fail"), verdict("fail", "stop"))], [], "bad", "mine breaks 2 laws"),
        ([result(verdict("fail")), other("pass")], [], "bad", "1 of 2 implementations breaks a law"),
        ([result(verdict("error"))], [], "bad", "1 verdict could not be decided"),
        ([result(verdict("stale"))], [], "warning", "A baseline is out of date"),
        ([result(verdict("new"))], [], "bad", "mine breaks 1 law"),
        ([result(verdict("expected"))], [], "bad", "mine breaks 1 law"),
        ([result(verdict("expected")), other("new")], [], "bad", "2 of 2 implementations break a law"),
        ([result(verdict("unsupported"))], [], "warning", "No law applied"),
        ([result()], [], "warning", "No law applied"),
        ([], [killed], "good", "1 of 1 known-bad subject fail the law written for them"),
        ([], both, "bad", "1 of 2 known-bad subjects fail the law written for them"),
        ([result(verdict())], both, "bad", "1 known-bad subject survived the law written for it"),
        ([result(verdict())], [killed], "good", mine),
        ([result(verdict("fail"))], [living], "bad", "mine breaks 1 law"),
    ]
    for cases, kills, tone, text in table:
        made = run(*cases, kills=kills)
        made = replace(made, laws=[LawInfo(one.law, "", "must") for one in kills] or made.laws)
        found = overview.headline(made, count_verdicts(made))
        assert (found.tone, found.text) == (tone, text)


def test_evidence_is_grouped_by_its_origin_the_best_first() -> None:
    listed = [
        EvidenceSource("a", "emulated", "2025-12-30T00:00:00Z", "openai", "gpt", "openai 3"),
        EvidenceSource("b", "live", "2026-01-01T00:00:00Z", "xai", "grok", "xai-sdk 1"),
        EvidenceSource("c", "emulated", "2026-01-01T00:00:00Z", "openai", "gpt-2", "openai 3"),
        EvidenceSource("d", "written"),
        EvidenceSource("e", "unknown", "2027-01-01T00:00:00Z"),
    ]
    found = sources.sources(run(result(verdict()), sources=listed))
    numbers = [(one.name, one.number) for one in found]
    assert numbers == [("live", 1), ("emulated", 2), ("written", 1), ("unknown", 1)]
    group = found[1].groups[0]
    assert (group.models, group.dates, group.age) == ("gpt, gpt-2", "2025-12-30 to 2026-01-01", "3 days")
    assert found[3].groups[0].age == "recorded after the run"
    assert "No provider answered." in found[1].means


def test_changes_are_after_the_overview_and_regressions_come_first() -> None:
    date = "2025-12-31T00:00:00+00:00"
    before = run(
        *(result(verdict(kind), scenario=name) for kind, name in (("pass", "a"), ("fail", "b"), ("pass", "gone"))),
        date=date,
    )
    raw = page(run(result(verdict("fail"), scenario="a"), result(verdict(), scenario="b")), before=before)
    text = Read(raw).text
    assert f"1 regression, 1 fix, 1 vanished case since the run of {date}" in text
    order = ["mine breaks 1 law", "What happens to the calls", "Regressions", "Fixes", "Vanished cases"]
    assert sorted(order, key=text.index) == order
    assert ("#case=mine/a/openai.chat/plain/all" in raw, "#case=mine/gone" in raw) == (True, False)


def test_the_history_lists_all_runs_the_latest_first() -> None:
    runs = [
        run(
            *(result(verdict("pass" if kept else "fail"), scenario=f"s{n}") for n, kept in enumerate(row)),
            date=f"2026-01-0{day}T00:00:00+00:00",
        )
        for day, row in enumerate([(0, 0), (1, 0), (1, 1)], 1)
    ]
    found = history.history(Report(runs[2], runs[1], [runs[0]]))
    assert found is not None
    assert [(point.kept, point.judged) for point in found.points] == found.rows[0].points == [(0, 2), (1, 2), (2, 2)]
    text = Read(page(runs[2], before=runs[1], earlier=[runs[0]])).text
    assert text.index("2026-01-03 00:00 UTC (this run)") < text.index("2026-01-02 00:00 UTC 1.2.3")
    assert history.history(Report(runs[2])) is None


def test_the_columns_hold_every_verdict_once() -> None:
    found = columns.Columns(golden.golden())
    assert sum(bool(case) for cases in found.cases for case in cases) == len(golden.golden().results)
    assert len(found.bundles) < len(golden.golden().results)


@pytest.mark.thorough
def test_the_large_run_is_a_page_below_2_mb() -> None:
    text = formats.render("html", Report(made_run()))
    assert len(text) < 2_000_000
    assert b"To keep this page small" not in text


def test_a_page_that_is_too_large_loses_the_traffic_of_passed_cases_first_and_never_a_verdict() -> None:
    made = made_run(2, 12)
    tables = columns.Columns(made)
    whole = embed.embedded(made, tables)
    assert whole.shortened == []
    cut = embed.embedded(made, tables, room=len(whole.data) - 1)
    passed = "the traffic of passed cases is cut to 300 characters per answer."
    assert cut.shortened == [f"To keep this page small, {passed}"]
    data = unpacked(cut.data)
    lengths = {tuple(row[:3]): len(data["texts"][row[4]]) for row in data["traffic"]}
    broken = embed.broken(tables)
    assert broken
    assert {place: 600 if place in broken else 301 for place in lengths} == lengths
    least = embed.embedded(made, tables, room=0)
    assert least.shortened == ["To keep this page small, the traffic and every other text are left out."]
    data = unpacked(least.data)
    assert (data["cases"], data["verdicts"]) == (tables.cases, [list(row) for row in tables.verdicts])


def test_an_implementation_with_few_cases_comes_last_and_is_marked() -> None:
    many = [result(verdict("fail"), scenario=f"s{number}") for number in range(20)]
    few = result(verdict("fail"), subject="yours", scenario="s0")
    made = run(*many, few, subjects=[results.SubjectInfo(name, "1") for name in ("yours", "mine")])
    text = page(made)
    assert text.count("few cases") == 1
    assert text.index("few cases") > text.index("mine, all laws")
    assert "| **0/20** | **0/1** (few cases) |" in formats.render("markdown", Report(made)).decode()
    assert "few cases" not in page(run(few)), "all subjects have few"


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


def versions_page(*histories: LibraryHistory) -> str:
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
    text = Read(versions_page(HISTORY)).text
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
    text = versions_page(HISTORY)
    assert (f'href="{address}"' in text, 'href="#versions"' in text) == (True, True)
    assert address not in versions_page(replace(HISTORY, subject="another"))
    noted = replace(HISTORY, notes={"1.4": "The list of models <changed>."})
    assert [release.note for release in table(noted).releases] == ["", "The list of models <changed>.", ""]
    assert ["The list of models" in one for one in (versions_page(noted), text)] == [True, False]
    for without in (versions_page(), versions_page(replace(HISTORY, versions=[VERSIONS[2]], changes=[]))):
        assert not re.search('id="versions"|#versions', without)


def test_libraries_with_changes_come_first() -> None:
    steady = replace(HISTORY, subject="a-steady-one", changes=[])
    made = libraries(Report(RUN, histories=[steady, HISTORY]))
    assert [library.name for library in made] == ["mine", "a-steady-one"]
    same = "The same cases fail in every tested version."
    assert [same in versions_page(one) for one in (steady, HISTORY)] == [True, False]


def test_no_text_of_a_history_is_markup() -> None:
    for text in HOSTILE.values():
        changes = [LawChange(text, text, text, text, broken=[text], packages={text: (text, text)})]
        versions = [Version(text, "", (0, 1), {text: (0, 1)}), Version("2", text)]
        hostile = LibraryHistory(text, text, text, text, text, 1, versions, changes)
        assert not re.search(r"<script>alert|onerror=alert\(1\)>", versions_page(hostile))
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
