"""The report at a terminal: what failed first, tables that fit, nothing that steers the terminal."""

from __future__ import annotations

from msgspec.structs import replace

from toolparity.reports import markdown
from toolparity.reports.escape import cut, visible
from toolparity.reports.results import Kill, LawInfo, Report, Run, Traffic, WireExcerpt
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
    assert text_of(made).splitlines()[:8] == [
        "mine breaks order in 1 case",
        "The law: The law order is kept.",
        "FAIL one-call[openai.chat-plain-all], round 2  a call is lost",
        "    expected:  two",
        "    got:  one",
        '    wire:  {"second" :1}',
        "    again:  toolparity check mine --scenario one-call --surface openai.chat --mode plain --policy all"
        " --no-baseline --unreleased",
        "",
    ]
    assert f"    again:  {made.results[0].repeat}" in text_of(made, width=40).splitlines(), "a command is one line"


def test_of_many_failures_each_reason_is_shown_before_one_is_repeated() -> None:
    results = [result(verdict("fail", reason=f"reason {n // 5}"), scenario=f"s{n}") for n in range(20)]
    lines = text_of(run(*results)).splitlines()
    assert [line.split("  ")[1] for line in lines if line.startswith("FAIL")] == [f"reason {n}" for n in range(3)]
    assert "    and 17 more of this kind" in lines


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
    for words in ("order in 2 cases (1 lost, 1 refused)", "lost: a call is missing", "refused: KeyError"):
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
        "mine breaks order in 2 cases (2 lost)": "FAIL s0[",
        "mine keeps order in 1 case in which the baseline expects a failure": "STALE kept[",
    }.items():
        assert lines[lines.index(title) + 2].startswith(case)
    assert "breaks" not in text_of(run(result(verdict("stale")))).split("laws kept")[0]
    text = markdown.render(Report(made)).decode()
    assert "<code>mine</code> breaks <code>order</code> in 2 cases (2 lost)" in text
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
