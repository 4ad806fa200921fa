"""The page of a run as a file: the same bytes, closed to everything, small, and nobody's markup."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec.structs import replace

from tests.reports import golden
from tests.reports.golden import HOSTILE, result, run, verdict
from tests.reports.made_run import made_run
from toolparity.reports import formats, results
from toolparity.reports.html import columns, embed, history, overview, sources
from toolparity.reports.results import (
    EvidenceSource,
    Kill,
    LawInfo,
    Report,
    Run,
    SubjectReport,
    Traffic,
    WireExcerpt,
)
from toolparity.reports.statistics import count_verdicts

#: What a page may weigh, in bytes.
LIMIT = 2_000_000


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
    """What the page embeds for its scripts."""
    found = re.search(r'<script type="application/octet-stream" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return unpacked(found[1])


def unpacked(data: str) -> Any:
    """The value of `embed.packed`."""
    return json.loads(gzip.decompress(base64.b64decode(data)))


# The same, and closed


def test_the_same_results_give_the_same_bytes() -> None:
    made = golden.golden()
    again = results.read(results.write(made))
    assert formats.render("html", Report(made, made, [made])) == formats.render("html", Report(again, again, [again]))


def test_only_the_scripts_and_styles_of_the_page_itself_may_run() -> None:
    read = Read(page(golden.golden()))
    policy = next(attrs["content"] for tag, attrs in read.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    data, script = read.raw["script"]
    assert policy is not None
    assert unpacked(data)["subjects"]
    for text, kind in ((script, "script-src"), (read.raw["style"][0], "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_nothing_in_the_page_points_outside() -> None:
    text = page(golden.golden(), before=golden.golden(), earlier=[golden.golden()])
    read = Read(text)
    for tag, attrs in read.tags:
        assert not {"src", "action", "srcset", "data", "formaction"} & attrs.keys(), tag
        assert (attrs.get("href") or "#").startswith("#")
        assert not [name for name in attrs if name.startswith("on") or name == "style"]
    assert "@import" not in read.raw["style"][0]
    assert "url(" not in read.raw["style"][0]


def test_markup_of_others_is_text() -> None:
    same = run(result(verdict("fail")))
    plain = Read(page(same, before=same))
    read = Read(page(golden.golden(), before=run(result(verdict(), subject=HOSTILE["markup"]))))
    assert {tag for tag, _ in read.tags} - {tag for tag, _ in plain.tags} <= {"details", "summary", "bdi"}
    assert len(read.raw["script"]) == 2
    assert "<script>alert('x')</script>" in read.text


@pytest.mark.parametrize("name", HOSTILE)
def test_invisible_characters_are_written_out(name: str) -> None:
    text = HOSTILE[name]
    made = run(
        result(verdict("fail", text, reason=text), subject=text),
        subjects=[results.SubjectInfo(text, text, [text], [text])],
        sources=[EvidenceSource(text, text, text, text, text, text)],
        environment={text: text},
        toolparity=text,
        date=text,
        kills=[Kill(text, text, text, {text: 1})],
    )
    made = replace(made, scenarios=[replace(made.scenarios[0], title=text, guards=[text])])
    raw = page(made, before=made, earlier=[made])
    assert not [c for c in raw if not c.isprintable() and c != "\n"]


def test_long_texts_are_cut_and_the_page_says_so() -> None:
    long = "long " * 200_000
    report = SubjectReport([long], [long], [long], [long], [long], long, long)
    case = replace(result(verdict("fail", long, reason=long, expected=long, got=long), scenario=long), rounds=[report])
    made = run(
        replace(case, subject=long, surface=long, mode=long, policy=long),
        subjects=[results.SubjectInfo(long, long, [long], [long])],
        traffic=[Traffic(long, long, long, [WireExcerpt(long, len(long), long)], long)],
        sources=[EvidenceSource(long, long, long, long, long, long)],
        environment={long: long},
        kills=[Kill(long, long, long, {long: 1})],
        toolparity=long,
        date=long,
    )
    text = page(made, before=made, earlier=[made])
    assert len(text.encode()) < 400_000
    assert "Number of texts that are cut" in Read(text).text
    assert "… [of 1,000,000 characters]" in data_of(text)["texts"][1]


# What it reports


def test_the_verdict_comes_first_and_says_who_breaks_what() -> None:
    def headline(*cases: results.Result) -> tuple[str, str]:
        made = run(*cases)
        found = overview.headline(made, count_verdicts(made))
        return found.tone, found.text

    other = {"subject": "other"}
    assert headline() == ("warning", "Nothing ran")
    assert headline(result(verdict())) == ("good", "mine keeps every law that it claims")
    assert headline(result(verdict()), result(verdict(), **other)) == (
        "good",
        "All 2 implementations keep every law that they claim",
    )
    assert headline(result(verdict("fail"), verdict("fail", "stop"))) == ("bad", "mine breaks 2 laws")
    assert headline(result(verdict("fail")), result(verdict(), **other)) == (
        "bad",
        "1 of 2 implementations breaks a law",
    )
    assert headline(result(verdict("error"))) == ("bad", "1 verdict could not be decided")
    assert headline(result(verdict("stale"))) == ("warning", "A baseline is out of date")
    assert headline(result(verdict("new"))) == ("bad", "mine breaks 1 law")
    assert headline(result(verdict("expected"))) == ("bad", "mine breaks 1 law")
    assert headline(result(verdict("expected")), result(verdict("new"), **other)) == (
        "bad",
        "2 of 2 implementations break a law",
    )
    assert headline(result(verdict("unsupported"))) == ("warning", "No law applied")
    assert headline(result()) == ("warning", "No law applied")


def test_surviving_known_bad_subjects_are_the_verdict_if_nothing_is_more_severe() -> None:
    killed, living = Kill("swaps", "order", "It swaps.", {"order": 1}), Kill("lies", "stop", "It lies.", {})

    def headline(*cases: results.Result, kills: list[Kill]) -> tuple[str, str]:
        made = replace(run(*cases), kills=kills, laws=[LawInfo(one.law, "", "must") for one in kills])
        found = overview.headline(made, count_verdicts(made))
        return found.tone, found.text

    assert headline(kills=[killed]) == ("good", "1 of 1 known-bad subject fail the law written for them")
    assert headline(kills=[killed, living]) == ("bad", "1 of 2 known-bad subjects fail the law written for them")
    both = headline(result(verdict()), kills=[killed, living])
    assert both == ("bad", "1 known-bad subject survived the law written for it")
    assert headline(result(verdict()), kills=[killed]) == ("good", "mine keeps every law that it claims")
    assert headline(result(verdict("fail")), kills=[living]) == ("bad", "mine breaks 1 law")


def test_reference_and_faulty_subjects_are_apart_from_the_implementations() -> None:
    roles = {"mine": "implementation", "ours": "reference", "bad": "known-bad"}
    made = run(
        *(result(verdict("fail", effect="lost"), subject=name) for name in roles),
        subjects=[results.SubjectInfo(name, "1", role=role) for name, role in roles.items()],  # type: ignore[arg-type]
    )
    maps = overview.heat_maps(made, count_verdicts(made))
    assert [(heat.title, [row.name for row in heat.rows]) for heat in maps] == [
        ("Implementations", ["mine"]),
        ("Reference and deliberately faulty subjects", ["ours", "bad"]),
    ]
    text = Read(page(made)).text
    assert text.index("mine breaks 1 law") < text.index("Faulty on purpose")


def test_evidence_is_grouped_by_where_it_comes_from_the_best_first() -> None:
    made = run(
        result(verdict()),
        sources=[
            EvidenceSource("a", "emulated", "2025-12-30T00:00:00Z", "openai", "gpt", "openai 3"),
            EvidenceSource("b", "live", "2026-01-01T00:00:00Z", "xai", "grok", "xai-sdk 1"),
            EvidenceSource("c", "emulated", "2026-01-01T00:00:00Z", "openai", "gpt-2", "openai 3"),
            EvidenceSource("d", "written"),
            EvidenceSource("e", "found on the street", "2027-01-01T00:00:00Z"),
        ],
    )
    found = sources.sources(made)
    assert [(one.name, one.number) for one in found] == [
        ("live", 1),
        ("emulated", 2),
        ("written", 1),
        ("found on the street", 1),
    ]
    group = found[1].groups[0]
    assert (group.models, group.dates, group.age) == ("gpt, gpt-2", "2025-12-30 to 2026-01-01", "3 days")
    assert found[3].groups[0].age == "recorded after the run"
    assert "No provider answered." in found[1].means


def test_changes_are_not_at_the_start_and_regressions_come_first() -> None:
    before = run(result(verdict()), result(verdict("fail"), scenario="mended"), date="2025-12-31T00:00:00+00:00")
    after = run(result(verdict("fail")), result(verdict(), scenario="mended"))
    text = Read(page(after, before=before)).text
    assert "1 regression, 1 fix since the run of 2025-12-31T00:00:00+00:00" in text
    order = ["mine breaks 1 law", "What happens to the calls", "Regressions", "Fixes", "Origin of the evidence"]
    assert sorted(order, key=text.index) == order
    assert "#case=mine/one-call/openai.chat/plain/all" in page(after, before=before)


def test_what_vanished_is_not_linked() -> None:
    before = run(result(verdict()), result(verdict(), scenario="gone"))
    text = page(run(result(verdict())), before=before)
    assert "Vanished cases" in text
    assert "#case=mine/gone" not in text


def test_history_lists_all_runs_the_latest_first() -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    runs = [
        run(
            *(result(verdict("pass" if kept else "fail"), scenario=f"s{n}") for n, kept in enumerate(row)),
            date=(began + timedelta(days=day)).isoformat(),
        )
        for day, row in enumerate([(0, 0), (1, 0), (1, 1)])
    ]
    found = history.history(Report(runs[2], runs[1], [runs[0]]))
    assert found is not None
    assert [(point.kept, point.judged) for point in found.points] == [(0, 2), (1, 2), (2, 2)]
    assert found.rows[0].points == [(0, 2), (1, 2), (2, 2)]
    text = Read(page(runs[2], before=runs[1], earlier=[runs[0]])).text
    assert text.index("2026-01-03 00:00 UTC (this run)") < text.index("2026-01-02 00:00 UTC 1.2.3")
    assert history.history(Report(runs[2])) is None


def test_the_kill_matrix_names_survivors_and_superfluous_laws() -> None:
    made = run(result(verdict(), verdict("pass", "stop")))
    dead = Kill("swaps", "order", "It swaps calls.", {"order": 3, "stop": 1})
    text = Read(page(replace(made, kills=[dead]))).text
    assert "1 of 1 fail the law written for them. Laws that no known-bad subject needs: stop ." in text
    text = Read(page(replace(made, kills=[dead, Kill("stays", "stop", "It stays.")]))).text
    assert "alive: stays" in text
    assert "Kill matrix" not in Read(page(made)).text


# By columns


def test_the_columns_hold_every_verdict_once() -> None:
    made = golden.golden()
    found = columns.Columns(made)
    assert sum(bool(case) for cases in found.cases for case in cases) == len(made.results)
    assert len(found.bundles) < len(made.results)


@pytest.mark.thorough
def test_the_large_run_is_a_page_below_2_mb() -> None:
    text = formats.render("html", Report(made_run()))
    assert len(text) < LIMIT
    assert b"To keep this page small" not in text


def test_what_passed_is_cut_before_what_failed() -> None:
    made = made_run(2, 12)
    tables = columns.Columns(made)
    whole = embed.embedded(made, tables)
    assert whole.shortened == []
    cut = embed.embedded(made, tables, room=len(whole.data) - 1)
    assert cut.shortened == [
        "To keep this page small, the traffic of passed cases is cut to 300 characters per answer."
    ]
    data = unpacked(cut.data)
    lengths = {tuple(row[:3]): len(data["texts"][row[4]]) for row in data["traffic"]}
    broken = embed.broken(tables)
    assert broken
    assert {place: 600 if place in broken else 301 for place in lengths} == lengths


def test_however_little_room_there_is_verdicts_stay() -> None:
    made = made_run(2, 12)
    tables = columns.Columns(made)
    found = embed.embedded(made, tables, room=0)
    data = unpacked(found.data)
    assert found.shortened == ["To keep this page small, the traffic and every other text are left out."]
    assert data["cases"] == tables.cases
    assert data["verdicts"] == [list(row) for row in tables.verdicts]


def test_an_implementation_with_few_cases_comes_last_and_says_so() -> None:
    many = [result(verdict("fail"), scenario=f"s{number}") for number in range(20)]
    few = [result(verdict("fail"), subject="yours", scenario="s0")]
    subjects = [results.SubjectInfo(name, "1") for name in ("yours", "mine")]
    page = formats.render("html", Report(run(*many, *few, subjects=subjects))).decode()
    assert page.count("few cases") == 1
    assert page.index("few cases") > page.index("mine, all laws")
    markdown = formats.render("markdown", Report(run(*many, *few, subjects=subjects))).decode()
    assert "| **0/20** | **0/1** (few cases) |" in markdown
    assert "few cases" not in formats.render("html", Report(run(*few))).decode(), "all subjects have few"
