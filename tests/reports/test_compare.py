"""Two runs held against each other: each change is given as what it is, once."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from toolparity.reports import results
from toolparity.reports.compare import Comparison, compare, is_regression
from toolparity.reports.results import OUTCOMES, EvidenceSource, Result, Run, Traffic

from .golden import golden, large, result, run, verdict

LISTS = (
    "regressions",
    "fixes",
    "others",
    "reasons",
    "judged",
    "unjudged",
    "new",
    "vanished",
    "sources",
    "subjects",
)
CASSETTE = EvidenceSource("recorded/a.yaml", "emulated", "2026-01-01", "openai", "gpt", "openai 3.51")


def filled(comparison: Comparison) -> dict[str, int]:
    """List -> how many are in it, without the empty ones."""
    return {name: len(found) for name in LISTS if (found := getattr(comparison, name))}


def one(outcome: str, **details: str) -> Result:
    return result(verdict(outcome, **details))


def evidence(source: EvidenceSource) -> Run:
    """A run whose only traffic comes from there."""
    traffic = [Traffic("one-call", "openai.chat", "plain", [], source.path)]
    return run(one("pass"), sources=[source], traffic=traffic)


TABLE: dict[str, tuple[Run, Run, dict[str, int], str]] = {
    "a new failure": (run(one("pass")), run(one("fail")), {"regressions": 1}, "1 regression since"),
    "a failure that the baseline knows already": (
        run(one("pass")),
        run(one("expected")),
        {"regressions": 1},
        "1 regression since",
    ),
    "a known failure that is expected no more": (
        run(one("expected")),
        run(one("fail")),
        {"regressions": 1},
        "1 regression since",
    ),
    "a fault of the harness": (run(one("pass")), run(one("error")), {"regressions": 1}, "1 regression since"),
    "fixed": (run(one("fail")), run(one("pass")), {"fixes": 1}, "1 fix since"),
    "fixed, and the baseline does not know": (run(one("expected")), run(one("stale")), {"fixes": 1}, "1 fix since"),
    "a failure that is expected from now on": (
        run(one("fail")),
        run(one("expected")),
        {"others": 1},
        "1 other change of outcome since",
    ),
    "no longer claimed": (run(one("pass")), run(one("unsupported")), {"others": 1}, "1 other change of outcome since"),
    "claimed by now, and broken": (run(one("unsupported")), run(one("fail")), {"regressions": 1}, "1 regression since"),
    "the baseline was cleaned": (run(one("stale")), run(one("pass")), {"others": 1}, "1 other change of outcome since"),
    "another reason": (run(one("fail")), run(one("fail", reason="else")), {"reasons": 1}, "1 other reason since"),
    "the same reason, seen in changed evidence": (
        run(one("fail", got="a")),
        run(one("fail", got="b")),
        {"reasons": 1},
        "1 other reason since",
    ),
    "a new scenario": (
        run(one("pass")),
        run(one("pass"), result(verdict("fail"), scenario="later")),
        {"new": 1},
        "1 new case since",
    ),
    "a vanished scenario": (
        run(one("fail"), result(verdict(), scenario="gone")),
        run(one("fail")),
        {"vanished": 1},
        "1 vanished case since",
    ),
    "a law that is new": (
        run(one("pass")),
        run(result(verdict(), verdict("fail", "stop"))),
        {"judged": 1},
        "1 new verdict in a known case since",
    ),
    "a law that is judged no more": (
        run(result(verdict(), verdict("fail", "stop"))),
        run(one("pass")),
        {"unjudged": 1},
        "1 vanished verdict in a known case since",
    ),
    "recorded anew": (
        evidence(CASSETTE),
        evidence(replace(CASSETTE, date="2026-02-01", sdk="openai 3.52")),
        {"sources": 1},
        "1 source with changed provenance since",
    ),
    "recorded live, in another file": (
        evidence(CASSETTE),
        evidence(EvidenceSource("recorded/b.yaml", "live")),
        {"sources": 1},
        "1 source with changed provenance since",
    ),
    "another version of the subject": (
        run(one("pass"), subjects=[results.SubjectInfo("mine", "1.0")]),
        run(one("pass"), subjects=[results.SubjectInfo("mine", "1.1")]),
        {"subjects": 1},
        "mine 1.0 -> 1.1 since",
    ),
    "the subject claims more": (
        run(one("pass"), subjects=[results.SubjectInfo("mine", "1.0")]),
        run(one("pass"), subjects=[results.SubjectInfo("mine", "1.0", ["usage"])]),
        {"subjects": 1},
        "mine has other claims since",
    ),
    "a subject more": (
        run(one("pass")),
        run(one("pass"), result(verdict(), subject="yours")),
        {"subjects": 1},
        "yours 1.0 is new since",
    ),
    "a subject less": (
        run(one("pass"), result(verdict(), subject="yours")),
        run(one("pass")),
        {"subjects": 1},
        "yours 1.0 is gone since",
    ),
    "nothing": (run(one("fail")), run(one("fail")), {}, "nothing changed since"),
}


@pytest.mark.parametrize("name", TABLE)
def test_each_change_is_in_its_list_and_in_the_sentence(name: str) -> None:
    before, after, expected, details = TABLE[name]
    found = compare(before, after)
    assert filled(found) == expected
    assert found.sentence.startswith(details)
    assert found.same == (not expected)


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
    found = compare(run(one("pass")), run(one("fail", reason="lost")))
    (change,) = found.regressions
    assert change.result.case == "one-call[openai.chat-plain-all]"
    assert change.check == "order"
    assert change.before == verdict("pass")
    assert change.after == verdict("fail", reason="lost")


@pytest.mark.parametrize(("before", "after"), [*product(OUTCOMES, OUTCOMES)])
def test_each_pair_of_outcomes_is_in_one_list_at_most(before: str, after: str) -> None:
    found = compare(run(one(before, reason="")), run(one(after, reason="")))
    assert len(filled(found)) == (before != after)
    if after == "pass" and before != "pass":
        assert not found.regressions
    if is_regression(before, after):  # type: ignore[arg-type]
        assert not is_regression(after, before)  # type: ignore[arg-type]


def test_cases_differ_by_subject_scenario_surface_mode_and_policy() -> None:
    places = {"scenario": "else", "surface": "xai.grpc", "mode": "stream", "policy": "first"}
    for member, value in places.items():
        before = run(one("pass"), result(verdict("fail"), **{member: value}))
        after = run(one("fail"), result(verdict("pass"), **{member: value}))
        assert filled(compare(before, after)) == {"regressions": 1, "fixes": 1}, member


def test_a_run_is_as_it_is() -> None:
    assert compare(golden(), golden()).same


def test_nothing_is_lost_in_a_large_run() -> None:
    before = large(subjects=4)
    after = replace(before, results=list(reversed(before.results))[100:])
    found = compare(before, after)
    assert filled(found) == {"vanished": 100}
    assert found.compared == 4 * 200 * 5 * 6 * 6 - 600
