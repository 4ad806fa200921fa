"""JUnit XML: valid, complete, and the same outcomes as the run's."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema

from toolparity.reports import junit
from toolparity.reports.escape import visible
from toolparity.reports.results import OUTCOMES, Kill, LawInfo, Report, Run

from .golden import HOSTILE, golden, result, run, verdict

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))
#: What a case with one such verdict is.
ELEMENT = {
    "error": "error",
    "fail": "failure",
    "stale": "failure",
    "new": "skipped",
    "expected": "skipped",
    "unsupported": "skipped",
    "pass": None,
}


def read(made: Run) -> ElementTree.Element:
    """The root of the XML of a run, which keeps to the schema."""
    data = junit.render(Report(made))
    SCHEMA.validate(data)
    return ElementTree.fromstring(data)


def element(*outcomes: str) -> ElementTree.Element | None:
    """What is in the test of a case with these verdicts."""
    checks = ("order", "stop", "usage")
    (test,) = read(run(result(*map(verdict, outcomes, checks)))).iter("testcase")
    return next(iter(test), None)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_test_has_the_outcome_of_its_case(outcome: str) -> None:
    found = element(outcome)
    assert (None if found is None else found.tag) == ELEMENT[outcome]


@pytest.mark.parametrize(
    ("outcomes", "tag"),
    [
        (("pass", "fail"), "failure"),
        (("error", "fail"), "failure"),
        (("error", "expected"), "error"),
        (("expected", "pass"), "skipped"),
        (("unsupported", "pass"), None),
    ],
)
def test_the_most_severe_verdict_is_the_outcome_of_a_test(outcomes: tuple[str, ...], tag: str | None) -> None:
    found = element(*outcomes)
    assert (None if found is None else found.tag) == tag


def test_a_failure_names_its_laws_reasons_evidence_and_the_command_that_repeats_it() -> None:
    bad = verdict("fail", reason="lost", expected="two", got="one", round=1)
    (test,) = read(run(result(bad, verdict("fail", "stop"), verdict("pass", "usage")))).iter("testcase")
    assert test.get("name") == "one-call[openai.chat-plain-all]"
    assert test.get("classname") == "toolparity.mine"
    (failure,) = test
    assert failure.get("type") == "order stop"
    assert failure.get("message") == "order: lost; stop: because of fail"
    assert failure.text is not None
    assert failure.text.splitlines() == [
        "FAIL order, round 2: lost",
        "the law: The law order is kept.",
        "expected: two",
        "got: one",
        "",
        "FAIL stop: because of fail",
        "the law: The law stop is kept.",
        "",
        "repeat: toolparity check mine --scenario one-call --surface openai.chat --mode plain --policy all"
        " --no-baseline --unreleased",
    ]


def test_suites_count_their_cases() -> None:
    made = golden()
    root = read(made)
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [
        *(visible(subject.name) for subject in made.subjects),
        "known-bad subjects",
    ]
    for suite in suites:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(count) == str(len(suite.findall(f"testcase/{tag}"))), tag
    for count in ("tests", "failures", "errors"):
        assert root.get(count) == str(sum(int(suite.get(count, "")) for suite in suites))
    assert int(root.get("tests", "")) == len(made.results) + len(made.kills)


def test_each_case_is_a_test_with_a_name_of_its_own() -> None:
    made = golden()
    names = [(test.get("classname"), test.get("name")) for test in read(made).iter("testcase")]
    assert len(set(names)) == len(names)
    assert {name for _, name in names} >= {one.case for one in made.results}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_shown_and_nothing_else(name: str) -> None:
    text = HOSTILE[name]
    (test,) = read(run(result(verdict("fail", reason=text, got=text), scenario=text))).iter("testcase")
    assert test.get("name") == visible(f"{text}[openai.chat-plain-all]")
    (failure,) = test
    assert failure.get("message") == f"order: {visible(text)}"
    lines = (failure.text or "").splitlines()
    assert lines[0] == f"FAIL order: {visible(text, keep=chr(10)).splitlines()[0]}"
    assert visible(text, keep="\n") in (failure.text or "")


def test_long_texts_are_cut() -> None:
    (test,) = read(run(result(verdict("fail", reason="x" * 1_000_000)))).iter("testcase")
    (failure,) = test
    assert failure.get("message") == f"order: {'x' * 293}… [of 1,000,007 characters]"
    assert len(failure.text or "") < 3_000
    long = "x" * 1_000_000
    named = run(result(verdict("fail", long, reason=long), subject=long, scenario=long), environment={long: long})
    assert len(junit.render(Report(named))) < 50_000


def test_a_known_bad_subject_that_lives_is_a_failure() -> None:
    kills = [Kill("killed", "order", "It swaps.", {"order": 3}), Kill("alive", "stop", "It lies.", {"order": 2})]
    root = read(
        Run("1", "2026-01-02T03:04:05+00:00", {}, [], [LawInfo("order", "Order.", "must")], [], [], kills=kills)
    )
    (suite,) = root
    assert {test.get("name"): len(test) for test in suite.findall("testcase")} == {"killed": 0, "alive": 1}
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "stop does not fail it: It lies."


def test_a_run_without_results_is_valid() -> None:
    assert read(run()).get("tests") == "0"


def test_the_schema_refuses_what_is_not_agreed_on() -> None:
    good = junit.render(Report(run(result(verdict("fail")))))
    assert SCHEMA.is_valid(good)
    for old, new in (
        (b'tests="1"', b'tests="one"'),
        (b"</failure>", b"</failure><error message='' type=''/>"),
        (b"<testcase name=", b"<testcase id="),
    ):
        assert old in good
        assert not SCHEMA.is_valid(good.replace(old, new, 1))
