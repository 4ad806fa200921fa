"""Results: what is written is read again, and of two runs each change is in one list, once."""

from __future__ import annotations

import json
import shlex
from itertools import product
from pathlib import Path

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from toolparity import reports
from toolparity.conformance.runner import judge, suite
from toolparity.reports import results
from toolparity.reports.compare import Comparison, compare, is_regression
from toolparity.reports.results import OUTCOMES, EvidenceSource, Result, Run, SubjectInfo, Traffic, Verdict, merge

from .golden import HOSTILE, golden, made_run, result, run, verdict

SCHEMA = json.loads((Path(reports.__file__).parent / "results.schema.json").read_text("utf-8"))


def measured() -> Run:
    """A real run of a part of the suite, of a subject that fails some of it."""
    choice = judge.CaseFilter(scenarios=("parallel-*",), modes=("plain",))
    return suite.run(["normalizer", "documented-goclaw"], choice, expected=suite.expected_failures({}), jobs=1)


def test_results_are_read_as_they_were_written() -> None:
    made = golden()
    assert {verdict.outcome for _, verdict in made.verdicts()} == set(OUTCOMES)
    assert results.read(results.write(made)) == made
    assert results.write(results.read(results.write(made))) == results.write(made)


def test_of_two_results_for_one_case_the_last_is_read_and_two_verdicts_of_one_law_are_an_error() -> None:
    other = result(verdict("fail"), subject="other")
    made = run(result(verdict("fail")), other, result(verdict("pass")))
    assert results.read(results.write(made)).results == [result(verdict("pass")), other]
    made = run(result(verdict("fail"), verdict("pass")))
    with pytest.raises(msgspec.DecodeError, match=r"two verdicts of one law in mine one-call\[openai.chat-plain-all\]"):
        results.read(results.write(made))


def test_results_conform_to_the_published_schema() -> None:
    for made in (golden(), measured()):
        plain = json.loads(results.write(made))
        jsonschema.validate(plain, SCHEMA, cls=jsonschema.Draft202012Validator)
        plain["results"][0]["verdicts"][0]["outcome"] = "fine"
        with pytest.raises(jsonschema.ValidationError, match="'fine'"):
            jsonschema.validate(plain, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_results_of_older_formats_are_read() -> None:
    """Format 1 has ``told`` in place of ``rounds``. Before format 3, subjects have no role, and verdicts no effect."""
    made = golden()
    plain = json.loads(results.write(made)) | {"format": "toolparity-results/1"}
    for one in plain["results"]:
        if "rounds" in one:
            one["told"] = one.pop("rounds")
    assert any("told" in one for one in plain["results"])
    assert results.read(json.dumps(plain).encode()) == made
    with pytest.raises(msgspec.DecodeError, match=r"Expected `array`, got `int` - at `\$.results`"):
        results.read(json.dumps(plain | {"results": 1}).encode())
    second = run(result(verdict("fail", effect="lost")), subjects=[SubjectInfo("mine", "1.0", role="reference")])
    plain = json.loads(results.write(second)) | {"format": "toolparity-results/2"}
    assert plain["subjects"][0].pop("role") == "reference"
    assert plain["results"][0]["verdicts"][0].pop("effect") == "lost"
    expected = replace(second, subjects=[SubjectInfo("mine", "1.0")], results=[result(verdict("fail"))])
    read = results.read(json.dumps(plain).encode())
    assert (read, read.format) == (expected, "toolparity-results/3")


def test_subjects_laws_and_scenarios_that_only_results_name_are_listed() -> None:
    whole = run(result(verdict("fail")), result(verdict("fail", "stop"), subject="yours", scenario="later"))
    reduced = replace(whole, subjects=whole.subjects[:1], laws=[], scenarios=whole.scenarios[:1])
    found = results.read(results.write(reduced))
    assert [(one.name, one.version) for one in found.subjects] == [("mine", "1.0"), ("yours", "")]
    assert [(one.id, one.sentence) for one in found.laws] == [("order", ""), ("stop", "")]
    assert [one.id for one in found.scenarios] == ["one-call", "later"]
    assert found.results == whole.results


def test_the_command_of_a_case_gives_a_shell_each_name_unchanged() -> None:
    for text in HOSTILE.values():
        words = shlex.split(result(verdict(), scenario=text, subject="a; b").repeat)
        assert words[:5] == ["toolparity", "check", "a; b", "--scenario", text]
    assert shlex.split(result(verdict(), subject="short", called="my.module:Subject").repeat)[2] == "my.module:Subject"


def test_of_merged_runs_the_later_verdict_holds_and_environments_are_side_by_side() -> None:
    first = run(result(verdict("fail")), result(verdict(), subject="yours"), environment={"python": "3.11"})
    second = replace(run(result(verdict())), date="2027-01-01T00:00:00+00:00", environment={"python": "3.13"})
    both = merge([first, second])
    assert [(one.subject, one.verdicts[0].outcome) for one in both.results] == [("mine", "pass"), ("yours", "pass")]
    assert both.environment == {"python": "3.11, 3.13"}
    assert both.date == second.date
    assert [one.name for one in both.subjects] == ["mine", "yours"]


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
