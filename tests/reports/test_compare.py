"""The comparison of two runs: each change is in one list, once."""

from __future__ import annotations

from itertools import product

from msgspec.structs import replace

from toolparity.reports.compare import Comparison, compare, is_regression
from toolparity.reports.results import OUTCOMES, EvidenceSource, Result, Run, SubjectInfo, Traffic, Verdict

from .golden import golden, result, run, verdict
from .made_run import made_run

LISTS = ["regressions", "fixes", "others", "reasons", "judged", "unjudged", "new", "vanished", "sources", "subjects"]


def filled(comparison: Comparison) -> dict[str, int]:
    """List -> how many are in it, without the empty ones."""
    return {name: len(found) for name in LISTS if (found := getattr(comparison, name))}


def judged(outcome: str, *more: Result, **details: str) -> Run:
    return run(result(verdict(outcome, **details)), *more)


def recorded(path: str, origin: str, date: str, sdk: str) -> Run:
    """A run whose only traffic is of this cassette."""
    traffic = [Traffic("one-call", "openai.chat", "plain", [], path)]
    source = EvidenceSource(path, origin, date, "openai", "gpt", sdk)
    return run(result(verdict()), sources=[source], traffic=traffic)


def released(version: str, *claims: str) -> Run:
    return run(result(verdict()), subjects=[SubjectInfo("mine", version, [*claims])])


BOTH, LATER, YOURS = (
    result(verdict(), verdict("fail", "stop")),
    result(verdict(), scenario="later"),
    {"subject": "yours"},
)
CASSETTE = recorded("a.yaml", "emulated", "2026-01-01", "openai 3.51")
#: Run before, run after, the list with the change, the start of the sentence.
CHANGES: list[tuple[Run, Run, str, str]] = [
    (judged("pass"), judged("fail"), "regressions", "1 regression since"),
    (judged("pass"), judged("expected"), "regressions", "1 regression since"),
    (judged("expected"), judged("fail"), "regressions", "1 regression since"),
    (judged("pass"), judged("error"), "regressions", "1 regression since"),
    (judged("unsupported"), judged("fail"), "regressions", "1 regression since"),
    (judged("fail"), judged("pass"), "fixes", "1 fix since"),
    (judged("expected"), judged("stale"), "fixes", "1 fix since"),
    (judged("fail"), judged("expected"), "others", "1 other change of outcome since"),
    (judged("pass"), judged("unsupported"), "others", "1 other change of outcome since"),
    (judged("stale"), judged("pass"), "others", "1 other change of outcome since"),
    (judged("fail"), judged("fail", reason="another"), "reasons", "1 other reason since"),
    (judged("fail", got="a"), judged("fail", got="b"), "reasons", "1 other reason since"),
    (judged("pass"), judged("pass", LATER), "new", "1 new case since"),
    (judged("pass", LATER), judged("pass"), "vanished", "1 vanished case since"),
    (judged("pass"), run(BOTH), "judged", "1 new verdict in a known case since"),
    (run(BOTH), judged("pass"), "unjudged", "1 vanished verdict in a known case since"),
    (CASSETTE, recorded("a.yaml", "emulated", "2026-02-01", "openai 3.52"), "sources", "1 source with changed"),
    (CASSETTE, recorded("b.yaml", "live", "", ""), "sources", "1 source with changed provenance since"),
    (released("1.0"), released("1.1"), "subjects", "mine 1.0 -> 1.1 since"),
    (released("1.0"), released("1.0", "usage"), "subjects", "mine has other claims since"),
    (judged("pass"), judged("pass", result(verdict(), **YOURS)), "subjects", "yours 1.0 is new since"),
    (judged("pass", result(verdict(), **YOURS)), judged("pass"), "subjects", "yours 1.0 is gone since"),
]


def test_each_change_is_in_one_list_and_in_the_sentence() -> None:
    for before, after, name, sentence in CHANGES:
        found = compare(before, after)
        assert (filled(found), found.same) == ({name: 1}, False), sentence
        assert found.sentence.startswith(sentence)
    unchanged = compare(golden(), golden())
    assert (filled(unchanged), unchanged.same, unchanged.sentence[:21]) == ({}, True, "nothing changed since")


def test_the_sentence_counts_each_kind_and_what_was_compared() -> None:
    places = [f"s{number}" for number in range(6)]
    before = run(*(result(verdict("pass"), verdict("fail", "stop"), scenario=place) for place in places[:5]))
    after = run(*(result(verdict("fail"), verdict("pass", "stop"), scenario=place) for place in places[1:]))
    assert (
        compare(before, after).sentence
        == "4 regressions, 4 fixes, 1 new case, 1 vanished case since the run of 2026-01-02T03:04:05+00:00,"
        " in 8 verdicts that both have"
    )


def test_a_change_names_its_case_its_law_and_both_verdicts() -> None:
    (change,) = compare(judged("pass"), judged("fail", reason="lost")).regressions
    assert (change.result.case, change.check) == ("one-call[openai.chat-plain-all]", "order")
    assert (change.before, change.after) == (verdict("pass"), Verdict("order", "fail", "lost"))


def test_each_pair_of_outcomes_is_in_one_list_at_most() -> None:
    for before, after in product(OUTCOMES, OUTCOMES):
        found = compare(judged(before, reason=""), judged(after, reason=""))
        assert len(filled(found)) == (before != after)
        assert not (is_regression(before, after) and (after == "pass" or is_regression(after, before)))


def test_cases_differ_by_subject_scenario_surface_mode_and_policy() -> None:
    places = {"scenario": "else", "surface": "xai.grpc", "mode": "stream", "policy": "first", "subject": "yours"}
    for member, value in places.items():
        before = judged("pass", result(verdict("fail"), **{member: value}))
        after = judged("fail", result(verdict("pass"), **{member: value}))
        assert filled(compare(before, after)) == {"regressions": 1, "fixes": 1}, member


def test_no_case_of_a_large_run_is_lost() -> None:
    before = made_run(4, 20)
    after = replace(before, results=before.results[:99:-1])
    found = compare(before, after)
    assert filled(found) == {"vanished": 100}
    assert found.compared == sum(len(case.verdicts) for case in after.results)
