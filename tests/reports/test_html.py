"""The page of a run as a file: the same bytes, closed to everything, small, and nobody's markup."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec.structs import replace

from tests.reports import golden
from tests.reports.golden import HOSTILE, made_run, result, run, verdict
from toolparity.reports import formats, results
from toolparity.reports.html import columns, embed, history, overview, sources
from toolparity.reports.results import EvidenceSource, Kill, LawInfo, Report, Run, SubjectReport, Traffic, WireExcerpt
from toolparity.reports.statistics import count_verdicts


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
