"""Markdown: what a reader of it makes of the report, with hostile texts in every place."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from tests.reports.test_html import Read
from toolparity.reports import markdown, markdown_budget
from toolparity.reports.escape import cut, visible
from toolparity.reports.markdown_budget import code, prose, tagged
from toolparity.reports.results import EvidenceSource, Kill, LawInfo, Report, Run

from .golden import HOSTILE, golden, made_run, result, run, verdict

#: All that the report says in HTML itself.
OWN = {"details", "summary", "code"}


class Page(Read):
    """What a browser shows of the rendered report: its texts, its elements, the rows of its tables."""

    def __init__(self, source: str) -> None:
        self.codes: list[str] = []
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        super().__init__(parser.render(source))
        self.close()
        self.names = {tag for tag, _ in self.tags}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        self._open.append(tag)
        if tag == "code":
            self.codes.append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        if self._open and self._open[-1] == "code":
            self.codes[-1] += data
        if {"td", "th"} & {*self._open}:
            self.rows[-1][-1] += data


def read(report: Report) -> Page:
    data = markdown.render(report)
    assert len(data) <= markdown.MAX_BYTES
    return Page(data.decode())


def test_a_text_of_others_is_one_code_span_in_a_table_and_in_html() -> None:
    plain = ["a\\", "\\|", "`", "``a|", " padded ", "|", "\\`|\\", "$x$", "@user #1 http://a.example"]
    for text in (*HOSTILE.values(), *plain):
        for written in (code(text, 1_000), tagged(text, 1_000)):
            page = Page(f"| a | b |\n| --- | --- |\n| {written} | whole |")
            assert (page.rows[1:], page.codes) == ([[visible(text), "whole"]], [visible(text)])
        page = Page(f"<details><summary>{tagged(text, 1_000)}</summary>\n\n</details>")
        assert (page.names, page.codes) == (OWN, [visible(text)])
        assert visible(text) in read(Report(run(result(verdict("fail", reason=text))))).codes


def test_nothing_of_the_golden_run_is_markup() -> None:
    made = golden()
    page = read(Report(made, replace(made, results=made.results[:9])))
    assert page.names <= OWN | {"h2", "h3", "p", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert not any(attributes for _, attributes in page.tags)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page.text)


def test_the_first_line_is_the_verdict_and_changes_follow() -> None:
    before, after = run(result(verdict())), run(result(verdict("fail", reason="lost")))
    lines = markdown.render(Report(after, before)).decode().splitlines()
    assert [lines[0], lines[2]] == ["## ❌ Tool calls of mine: 0 of 1 cases pass", "### What changed"]
    assert lines[4].startswith("**1 regression** since the run of `2026-01-02T03:04:05+00:00`, in 1 verdict")
    assert lines[8] == "| ❌ regression | `mine` | `order` | `one-call[openai.chat-plain-all]` | pass | fail | `lost` |"
    for outcome, head in {
        "pass": "✅ Tool calls of mine: 1 of 1 cases pass",
        "expected": "⚠️ Tool calls of mine: 0 of 1 cases pass",
        "unsupported": "⬜ Tool calls of mine: nothing ran",
    }.items():
        assert markdown.render(Report(run(result(verdict(outcome))))).decode().startswith(f"## {head}\n")
    assert "Nothing changed since the run of" in read(Report(golden(), golden())).text


def test_new_and_missing_scenarios_other_versions_and_other_evidence_are_reported() -> None:
    cassette = EvidenceSource("a.yaml", "emulated", "2026-01-01", sdk="openai 1")
    before = run(result(verdict()), result(verdict(), scenario="gone"), sources=[cassette])
    after = run(result(verdict()), result(verdict(), scenario="later"), sources=[replace(cassette, origin="live")])
    page = read(Report(replace(after, subjects=[replace(after.subjects[0], version="2.0")]), before))
    evidence = "a.yaml: emulated 2026-01-01 openai 1 -> live 2026-01-01 openai 1"
    for row in (["new", "mine", "later", "1"], ["vanished", "mine", "gone", "1"], ["changed evidence", evidence]):
        assert row in page.rows
    assert "mine 1.0 -> 2.0" in page.codes


def test_evidence_is_reported_with_the_meaning_of_its_origin_the_best_first() -> None:
    sources = [
        EvidenceSource("a.yaml", "emulated", "2026-01-02T03:04:05Z", sdk="openai 1"),
        EvidenceSource("b.yaml", "live", "2026-01-02T04:00:00Z", sdk="openai 1"),
        EvidenceSource("c.yaml", "emulated", "2026-01-02T05:00:00Z", sdk="openai 1"),
        EvidenceSource("d.json", "unknown"),
    ]
    text = markdown.render(Report(run(result(verdict()), sources=sources))).decode()
    start = text.index("Evidence, ")
    assert text[start:].splitlines()[:5] == [
        "Evidence, recorded `2026-01-02`, through `openai 1`:",
        "",
        "- 1 `live`. Recorded from the provider itself.",
        "- 2 `emulated`. Recorded from our own servers, which emulate the provider's format. No provider answered.",
        "- 1 `unknown`.",
    ]
    later = [*sources, EvidenceSource("e.yaml", "live", "2026-02-03")]
    text = markdown.render(Report(run(result(verdict()), sources=later))).decode()
    assert "Evidence, recorded `2026-01-02` to `2026-02-03`, through" in text


def test_a_law_is_written_as_words_unless_they_could_be_markup() -> None:
    sentences = "Calls keep the order: first, second (and so on); {} is empty, and it's kept."
    for sentence, as_code in ((sentences, False), ("Ask @everyone, see #12.", True), (HOSTILE["markup"], True)):
        text = markdown.render(Report(run(result(verdict("fail")), laws=[LawInfo("order", sentence, "must")]))).decode()
        assert (f"breaks <code>order</code> in 1 case: {sentence}</summary>" in text) is not as_code
        assert (visible(sentence) in Page(text).codes) is as_code
    forge = ["a@b", "see #12", "see GH-12", "www.example.com", "https://example.com", "a_b_c", "*a*", ":smile:"]
    for text in (*forge, "a\u202eb"):
        assert prose(text, 99) == tagged(text, 99)


def test_tables_show_laws_by_subject_and_scenarios_by_surface() -> None:
    made = run(
        result(verdict("pass", "stop"), verdict("fail", "order")),
        result(verdict("stale", "stop"), verdict("expected", "order"), surface="xai.grpc"),
        result(verdict("pass", "stop"), verdict("unsupported", "usage"), subject="yours"),
        result(verdict("pass", "stop"), scenario="well"),
    )
    page = read(Report(made))
    shown = [
        ["law", "mine", "yours"],
        ["order", "❌ 0/2 (1 expected)", "·"],
        ["stop", "♻️ 3/3 (1 stale)", "✅ 1/1"],
        ["all laws", "1/3", "1/1"],
        ["scenario", "openai.chat", "xai.grpc"],
        ["one-call", "❌ 1/2", "♻️ 1/2"],
    ]
    assert [row for row in shown if row not in page.rows] == []
    assert page.rows.index(shown[1]) < page.rows.index(shown[2])
    assert "Laws without an applicable case: usage ." in page.text
    assert not any(row[0] == "well" for row in page.rows)


def test_gaps_in_the_kill_matrix_are_reported() -> None:
    laws = [LawInfo("order", "Order.", "must"), LawInfo("stop", "Stop.", "must")]
    kills = [Kill("swaps", "order", "It swaps.", {"order": 1}), Kill("lies", "stop", "It lies.", {})]
    page = read(Report(Run("1", "2026-01-02", {}, [], laws, [], [], kills=kills)))
    assert "1 of 2 known-bad subjects fail the law written for them; 1 of 2 laws are needed." in page.text
    assert ["❌ alive", "lies", "It lies."] in page.rows
    assert ["❌ idle", "stop", "Stop."] in page.rows


def test_a_table_and_a_paragraph_that_do_not_fit_are_cut_and_the_rest_is_counted() -> None:
    page = markdown_budget.MarkdownPage(5_000)
    taken = page.table(["a"], (["x" * 90] for _ in range(100)), total=100, what="rows", share=1_000, summary="few")
    text = page.written("Look elsewhere.").decode()
    assert 900 < taken <= 1_000
    assert text.endswith(f"**Left out for size:** {100 - text.count('| x')} rows. Look elsewhere.\n")
    assert len(text.split("**Left")[0].encode()) == taken
    page = markdown_budget.MarkdownPage(2_000)
    page.add("y" * 400)
    page.add("z" * 400)
    assert page.written("").decode() == f"{'y' * 400}\n\n**Left out for size:** 1 paragraphs. \n"


@pytest.mark.thorough
def test_what_does_not_fit_is_counted() -> None:
    made = made_run(3)
    page = read(Report(made, run()))
    shown = sum(row[0] in "❗❌♻️" for row in page.rows if len(row) == 4 and row[1].startswith("scenario"))
    left = re.search(r"Left out for size:.*?([\d,]+) failures", page.text)
    assert left is not None
    assert shown > 0
    assert int(left[1].replace(",", "")) + shown == made.count("fail", "error", "stale")


def test_a_page_of_nothing_but_long_names_still_fits() -> None:
    long = "x" * 5_000
    places = [f"{number}{long}" for number in range(300)]
    made = run(*(result(verdict("fail", place, reason=long), scenario=place, surface=place) for place in places))
    before = run(*(result(verdict("pass", place), scenario=place, surface=place) for place in places))
    page = read(Report(replace(made, environment=dict.fromkeys(places, long)), before))
    assert cut(long, 240) in page.codes
    assert "Left out for size:" in page.text
