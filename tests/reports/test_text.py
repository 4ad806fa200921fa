"""The report at a terminal and in Markdown: what failed first, tables that fit, and hostile texts in every place."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from tests.reports.test_html import Read
from toolparity.reports import markdown, markdown_budget
from toolparity.reports.escape import cut, visible
from toolparity.reports.kill_matrix import unneeded
from toolparity.reports.markdown_budget import code, prose, tagged
from toolparity.reports.results import (
    EvidenceSource,
    GeneratedKills,
    Kill,
    LawInfo,
    Need,
    Report,
    Run,
    Traffic,
    WireExcerpt,
)
from toolparity.reports.terminal import render
from toolparity.reports.text import sections

from .golden import HOSTILE, golden, made_run, result, run, verdict


def text_of(made: Run, before: Run | None = None, *, width: int = 10_000, colour: bool = False) -> str:
    return render(sections(Report(made, before)), width=width, colour=colour)


def rows(text: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in text.splitlines()]


def test_a_failure_shows_the_law_the_place_the_evidence_and_the_command() -> None:
    excerpts = [WireExcerpt("first", 5), WireExcerpt('{"second"\n:1}', 9)]
    made = run(
        result(verdict("fail", reason="a call is lost", expected="two", got="one", round=1)),
        traffic=[Traffic("one-call", "openai.chat", "plain", excerpts, "a.yaml")],
    )
    assert text_of(made).splitlines()[:9] == [
        "mine breaks order in 1 case",
        "The law: The law order is kept.",
        "FAIL one-call[openai.chat-plain-all], round 2  a call is lost",
        "    scenario:  What one-call is about",
        "    expected:  two",
        "    got:  one",
        '    wire:  {"second" :1}',
        "    again:  toolparity check mine --scenario one-call --surface openai.chat --mode plain --policy all"
        " --no-baseline --unreleased",
        "",
    ]
    assert f"    again:  {made.results[0].repeat}" in text_of(made, width=40).splitlines(), "a command is one line"


def test_a_mistake_that_breaks_several_laws_in_many_cases_is_shown_once_the_most_severe_first() -> None:
    lost = [
        result(
            verdict("fail", "conservation", reason=f'{n} calls, 1 left: f({{"n":{n}}}) is lost', effect="lost"),
            verdict("fail", "dropped-warned", reason=f"{n - 1} of {n} were dropped", got="f()" * n, effect="lost"),
            scenario=f"s{n}",
        )
        for n in range(9, 1, -1)
    ]
    broken = [
        result(verdict("fail", "stop", reason=f"it was not read: {error}: at {n}", effect="refused"), scenario=f"e{n}")
        for n, error in enumerate(("KeyError", "ValueError", "KeyError"))
    ]
    ran = result(verdict("fail", "incomplete", reason="f(12) would run, but it is invalid", effect="executed"))
    wrong = [verdict("fail", "stop", reason=f"it ended with {word}", effect="misreported") for word in "ab"]
    stops = [result(one, scenario=one.reason[-1]) for one in wrong]
    lines = text_of(run(*broken, *lost, *stops, ran)).splitlines()
    assert [line for line in lines if " breaks " in line][:-1] == [
        "1 of 5: mine breaks incomplete in 1 case (executed)",
        "2 of 5: mine breaks dropped-warned in 8 cases, conservation in 8 (lost)",
        "3 of 5: mine breaks stop in 2 cases (misreported)",
        "4 of 5: mine breaks stop in 2 cases (refused)",
        "5 of 5: mine breaks stop in 1 case (refused)",
    ]
    assert [line.split("[")[0] for line in lines if line.startswith("FAIL")] == [
        *("FAIL one-call", "FAIL s2", "FAIL a", "FAIL e0", "FAIL e1"),
    ]
    assert "    and 7 more cases of s3, s4, s5 and 4 more scenarios" in lines


def test_scenarios_with_problems_are_shown_by_surface_the_worst_first() -> None:
    made = run(
        result(verdict("expected"), scenario="known"),
        result(verdict("pass"), verdict("pass", "stop"), scenario="known", surface="xai.grpc"),
        result(verdict("fail"), verdict("pass", "stop"), scenario="broken", surface="xai.grpc"),
        result(verdict("pass"), scenario="well"),
    )
    text = text_of(made)
    found = rows(text)
    start = found.index(["scenario", "openai.chat", "xai.grpc"])
    assert text.splitlines()[start - 1] == "mine 1.0: 2 scenarios of 3 with problems"
    broken, known = ["broken", "·", "fail", "1/2"], ["known", "expected", "1/1", "pass"]
    assert found[start + 2 : start + 5] == [broken, known, []]
    many = run(*(result(verdict("fail"), scenario=f"s{n}") for n in range(40)))
    assert "and 15 more scenarios; the HTML page lists all of them: --html FILE" in text_of(many)


def test_the_legend_explains_the_outcomes_that_occur() -> None:
    assert "expected  The subject breaks the law, as the baseline expects." in text_of(run(result(verdict("expected"))))
    assert "The subject keeps the law." not in text_of(run(result(verdict("pass"))))


def test_refusals_are_counted_apart_from_losses_and_the_last_line_counts_everything() -> None:
    made = run(
        result(verdict("fail", reason="a call is missing", effect="lost")),
        result(verdict("fail", reason="KeyError", effect="refused"), scenario="b"),
        result(verdict("expected", reason="KeyError", effect="refused"), scenario="c"),
    )
    text = text_of(made)
    for words in (
        "order in 1 case (lost)",
        "order in 1 case (refused)",
        "lost: a call is missing",
        "refused: KeyError",
    ):
        assert words in text
    total = "3 cases, 3 verdicts in 12.3 s: 2 fail, 1 expected; failures by effect: 1 lost, 2 refused"
    assert text.splitlines()[-1] == total
    assert "malformed" not in text  # the legend has the effects that occur
    assert text_of(run()).splitlines()[-1] == "0 cases, 0 verdicts in 12.3 s: nothing ran"


def test_a_stale_entry_is_not_called_a_failure() -> None:
    made = run(
        *(result(verdict("fail", effect="lost"), scenario=f"s{number}") for number in range(2)),
        result(verdict("stale"), scenario="kept"),
        result(verdict("error"), scenario="unjudged"),
    )
    lines = text_of(made).splitlines()
    for title, case in {
        "order could not be judged for mine in 1 case": "ERROR unjudged[",
        "mine breaks order in 2 cases (lost)": "FAIL s0[",
        "mine keeps order in 1 case in which the baseline expects a failure": "STALE kept[",
    }.items():
        assert lines[lines.index(title) + 2].startswith(case)
    assert "breaks" not in text_of(run(result(verdict("stale")))).split("laws kept")[0]
    text = markdown.render(Report(made)).decode()
    assert "<code>mine</code> breaks <code>order</code> in 2 cases (lost)" in text
    assert "<code>mine</code> keeps <code>order</code> in 1 case in which the baseline expects a failure" in text


def test_changes_are_at_the_top() -> None:
    before, after = (
        run(*(result(verdict(outcome, reason="lost"), scenario=f"s{n}") for n in range(12)))
        for outcome in ("pass", "fail")
    )
    lines = text_of(after, before).splitlines()
    assert lines[0] == "What changed"
    assert lines[1].startswith("12 regressions since the run of ")
    assert lines[2] == "REGRESSION mine order s0[openai.chat-plain-all]: pass -> fail  lost"
    assert lines[11] == "    and 3 more of this kind"


def test_new_and_vanished_cases_are_named_by_scenario_and_the_rest_is_counted() -> None:
    before = run(*(result(verdict(), scenario=f"old{n}") for n in range(5)), result(verdict(), verdict("pass", "stop")))
    after = run(
        *(result(verdict(), scenario="later", policy=policy) for policy in ("all", "first")),
        result(verdict(), verdict("fail", "usage")),
    )
    assert text_of(after, before).splitlines()[2:10] == [
        "new verdict mine usage one-call[openai.chat-plain-all]: not judged -> fail  because of fail",
        "vanished verdict mine stop one-call[openai.chat-plain-all]: pass -> not judged",
        "mine later: 2 new cases",
        *(f"mine old{n}: 1 vanished case" for n in range(3)),
        "    and 2 more of this kind",
        "",
    ]


def test_hostile_text_is_shown_and_does_not_control_the_terminal() -> None:
    for text in HOSTILE.values():
        shown = text_of(run(result(verdict("fail", reason=text), subject=text, scenario=text)), golden())
        assert all(character.isprintable() or character == "\n" for character in shown)
        assert f"FAIL {visible(text)}[openai.chat-plain-all]  {visible(text)}" in shown
    assert "\x1b[31mFAIL" in text_of(golden(), colour=True)
    assert "\x1b" not in text_of(golden())


def test_a_text_of_a_megabyte_is_cut_and_its_length_stated() -> None:
    long = "x" * 1_000_000
    shown = text_of(run(result(verdict("fail", reason=long, expected=long, got=long), subject=long, scenario=long)))
    assert len(shown) < 50_000
    assert "x… [of 1,000,000 characters]" in shown
    assert (cut("abc", 3), cut("abcd" * 300, 3)) == ("abc", "abc… [of 1,200 characters]")


def test_tables_fit_the_width() -> None:
    made = made_run(20, 1)
    table = [line for line in text_of(made, width=60).splitlines() if line.startswith(("law", "----"))]
    assert len([line for line in table if line.startswith("law ")]) > 3
    assert all(len(line) <= 60 for line in table)


def test_the_kill_matrix_marks_the_law_named_for_a_subject_and_lists_the_holes() -> None:
    laws = [LawInfo("order", "Order.", "must"), LawInfo("stop", "Stop.", "must")]
    caught = Kill("swaps", "order", "It swaps.", {"order": 4, "stop": 2})
    kills = [caught, Kill("lies", "stop", "It lies.", {"order": 1})]
    only = Run("1", "2026-01-02", {}, [], laws, [], [], kills=kills)
    assert [" ".join(line) for line in rows(text_of(only))] == [
        "Kill matrix: cases in which a law failed a known-bad subject, until its own did",
        "subject order stop",
        "--------- ------- ------",
        "swaps [4] 2",
        "lies 1 [0]",
        "",
        "ALIVE lies stop does not fail it: It lies.",
        "IDLE stop no known-bad subject needs this law",
        "1 of 2 known-bad subjects fail the law written for them; 1 of 2 laws are needed",
    ]
    both = text_of(replace(run(result(verdict())), kills=kills, laws=laws))
    assert "[4]" in both
    assert "1 case, 1 verdict in 12.3 s: 1 pass" in both


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


def test_the_kill_run_shows_what_generated_subjects_need_and_what_they_do_not() -> None:
    laws = [
        Need("law", "order", "canonical", 7, ["x"]),
        Need("law", "stop", "canonical", 6),
        Need("law", "stop", "brief"),
    ]
    scenarios = [Need("scenario", "s", "brief", 1, ["x"]), Need("scenario", "t", "brief", 2, guards=["IDX-01"])]
    members = [Need("member", "usage.raw", "canonical"), Need("member", "text.text", "brief", 1)]
    members.append(Need("request member", "a.b", "canonical"))
    kills = [Kill("swaps", "order", "It swaps.", {"order": 1})]
    generated = GeneratedKills(9, [*laws, *scenarios, *members])
    made = Run("1", "2026-01-02", {}, [], [], [], [], kills=kills, generated=generated)
    assert [names for _, names in unneeded(made)] == [[], ["stop"], ["usage.raw"], ["a.b"], ["t"], []]
    shown = rows(text_of(made))
    for row in (["order", "7", "1"], ["stop", "6", "·", "·", "·"], ["s", "1", "1"], ["usage.raw", "·"]):
        assert row in shown, row


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
