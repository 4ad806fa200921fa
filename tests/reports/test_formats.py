"""Every format is the same bytes in any process and valid; JUnit XML and the badge have the outcomes of the run."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from msgspec.structs import replace

from toolparity.reports import badge, junit
from toolparity.reports.escape import visible
from toolparity.reports.formats import FORMATS, render
from toolparity.reports.results import GeneratedKills, Kill, LawInfo, Report, Run

from .golden import HOSTILE, golden, result, run, verdict

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))


def read(made: Run) -> ElementTree.Element:
    """The root of the XML of a run, which keeps to the schema."""
    data = junit.render(Report(made))
    SCHEMA.validate(data)
    return ElementTree.fromstring(data)


def test_the_most_severe_verdict_is_the_outcome_of_a_test() -> None:
    for outcomes, tag in {
        ("error",): "error",
        ("fail",): "failure",
        ("stale",): "failure",
        ("new",): "skipped",
        ("expected",): "skipped",
        ("unsupported",): "skipped",
        ("pass",): None,
        ("pass", "fail"): "failure",
        ("error", "fail"): "failure",
        ("error", "expected"): "error",
        ("expected", "pass"): "skipped",
        ("unsupported", "pass"): None,
    }.items():
        (test,) = read(run(result(*map(verdict, outcomes, ("order", "stop"))))).iter("testcase")
        assert [element.tag for element in test] == [tag] * (tag is not None), outcomes


def test_a_failure_names_its_laws_reasons_evidence_and_the_command_that_repeats_it() -> None:
    bad = verdict("fail", reason="lost", expected="two", got="one", round=1)
    (test,) = read(run(result(bad, verdict("fail", "stop"), verdict("pass", "usage")))).iter("testcase")
    assert (test.get("name"), test.get("classname")) == ("one-call[openai.chat-plain-all]", "toolparity.mine")
    (failure,) = test
    assert (failure.get("type"), failure.get("message")) == ("order stop", "order: lost; stop: because of fail")
    assert (failure.text or "").splitlines() == [
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


def test_suites_count_their_cases_and_each_case_is_a_test_with_a_separate_name() -> None:
    made = golden()
    root = read(made)
    suites = root.findall("testsuite")
    subjects = [visible(subject.name) for subject in made.subjects]
    assert [suite.get("name") for suite in suites] == [*subjects, "known-bad subjects"]
    for suite in suites:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(count) == str(len(suite.findall(f"testcase/{tag}"))), tag
    for count in ("tests", "failures", "errors"):
        assert root.get(count) == str(sum(int(suite.get(count, "")) for suite in suites))
    names = [(test.get("classname"), test.get("name")) for test in root.iter("testcase")]
    assert len(set(names)) == len(names) == len(made.results) + len(made.kills)
    assert {name for _, name in names} >= {one.case for one in made.results}
    assert read(run()).get("tests") == "0"


def test_hostile_text_is_shown_and_is_only_text() -> None:
    for text in HOSTILE.values():
        (test,) = read(run(result(verdict("fail", reason=text, got=text), scenario=text))).iter("testcase")
        assert test.get("name") == visible(f"{text}[openai.chat-plain-all]")
        (failure,) = test
        assert failure.get("message") == f"order: {visible(text)}"
        assert (failure.text or "").startswith(f"FAIL order: {visible(text, keep=chr(10)).splitlines()[0]}\n")
        assert visible(text, keep="\n") in (failure.text or "")


def test_long_texts_are_cut() -> None:
    long = "x" * 1_000_000
    named = run(result(verdict("fail", reason=long)), result(verdict("fail", long), subject=long, scenario=long))
    data = junit.render(Report(replace(named, environment={long: long})))
    failure = next(ElementTree.fromstring(data).iter("failure"))
    assert failure.get("message") == f"order: {'x' * 293}… [of 1,000,007 characters]"
    assert len(failure.text or "") < 3_000
    assert len(data) < 50_000


def test_a_known_bad_subject_that_survives_is_a_failure() -> None:
    kills = [Kill("killed", "order", "It swaps.", {"order": 3}), Kill("alive", "stop", "It lies.", {"order": 2})]
    laws = [LawInfo("order", "Order.", "must")]
    root = read(Run("1", "2026-01-02T03:04:05+00:00", {}, [], laws, [], [], kills=kills))
    assert {test.get("name"): len(test) for test in root.iter("testcase")} == {"killed": 0, "alive": 1}
    (failure,) = root.iter("failure")
    assert failure.get("message") == "stop does not fail it: It lies."


SVG = "{http://www.w3.org/2000/svg}"
COLOURS = ["brightgreen", "green", "yellowgreen", "yellow", "orange", "red", "blue", "lightgrey"]
#: The members of shields.io's endpoint badge that may be given, with their types.
ENDPOINT = {
    "type": "object",
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"enum": COLOURS},
        "isError": {"type": "boolean"},
    },
    "required": ["schemaVersion", "label", "message"],
    "additionalProperties": False,
}


def cases(**counts: int) -> Run:
    """A run with so many cases of each outcome. ``passed``: those that pass."""
    outcomes = [outcome.replace("passed", "pass") for outcome, count in counts.items() for _ in range(count)]
    return run(*(result(verdict(outcome), scenario=f"s{number}") for number, outcome in enumerate(outcomes)))


def kills(by: dict[str, int]) -> Run:
    return Run("1", "", {}, [], [LawInfo("order", "Order.", "must")], [], [], kills=[Kill("a", "order", "A.", by)])


#: Run, message, colour.
RUNS: list[tuple[Run, str, str]] = [
    (cases(passed=3), "3 of 3 cases pass", "brightgreen"),
    (cases(passed=2, unsupported=9), "2 of 2 cases pass", "brightgreen"),
    (cases(passed=2, expected=1), "2 of 3 cases pass", "yellow"),
    (cases(passed=2, new=1), "2 of 3 cases pass", "yellow"),
    (cases(passed=1_200, fail=1), "1,200 of 1,201 cases pass", "red"),
    (cases(error=1), "0 of 1 cases pass", "red"),
    (cases(passed=1, stale=1), "2 of 2 cases pass, stale baseline", "red"),
    (run(), "nothing ran", "lightgrey"),
    (cases(unsupported=3), "nothing ran", "lightgrey"),
    (kills({"order": 1}), "1 of 1 known-bad subjects caught", "brightgreen"),
    (kills({}), "0 of 1 known-bad subjects caught", "red"),
]


def test_the_badge_and_the_endpoint_of_badge_services_have_one_message_and_colour() -> None:
    for made, message, colour in RUNS:
        label = "tool calls: mine" if made.subjects else "tool calls"
        endpoint = json.loads(badge.render_endpoint(Report(made)))
        jsonschema.validate(endpoint, ENDPOINT)
        assert (endpoint["label"], endpoint["message"], endpoint["color"]) == (label, message, colour)
        assert endpoint.get("isError", False) is (colour == "red")
        root = ElementTree.fromstring(badge.render(Report(made)))
        assert [one.text for one in root.iter(f"{SVG}text")] == [label, message]
        assert root.findtext(f"{SVG}title") == root.get("aria-label") == f"{label}: {message}"
        assert root.get("role") == "img"
        assert badge.COLOURS[colour] in {one.get("fill") for one in root.iter(f"{SVG}rect")}


def test_the_texts_lie_inside_their_halves() -> None:
    root = ElementTree.fromstring(badge.render(Report(cases(passed=1_234, fail=1))))
    halves = [one for one in root.iter(f"{SVG}rect") if one.get("fill")]
    for half, text in zip(halves, root.iter(f"{SVG}text"), strict=True):
        left, width = int(half.get("x", "0")), int(half.get("width", ""))
        middle, length = float(text.get("x", "")), int(text.get("textLength", ""))
        assert left + 5 <= middle - length / 2
        assert middle + length / 2 <= left + width - 5


def test_white_is_legible_on_each_colour() -> None:
    """By the contrast of WCAG 2.1: 4.5 to 1 for small text."""
    for name, colour in badge.COLOURS.items():
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5, name


ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import hashlib, json, sys
from msgspec.structs import replace
from toolparity.reports.formats import FORMATS, render
from toolparity.reports.results import Report
from tests.reports.golden import golden

made = golden()
report = Report(made, replace(made, results=made.results[3:]), [replace(made, date="2025-01-01")])
json.dump({name: hashlib.sha256(render(name, report)).hexdigest() for name in FORMATS}, sys.stdout)
"""


def digests(seed: str) -> dict[str, str]:
    """Format -> the digest of the golden report, as another process makes it."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "TZ": f"UTC+{seed}", "LC_ALL": "C"}
    command = [sys.executable, "-c", PROGRAM]
    made = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=True, text=True)
    found: dict[str, str] = json.loads(made.stdout)
    return found


def test_every_format_is_the_same_bytes_in_any_process() -> None:
    made = golden()
    report = Report(made, replace(made, results=made.results[3:]), [replace(made, date="2025-01-01")])
    here = {name: hashlib.sha256(render(name, report)).hexdigest() for name in FORMATS}
    assert digests("1") == here
    assert digests("2") == here


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_utf_8_without_controls_and_marks_of_direction(name: str) -> None:
    text = render(name, Report(golden())).decode("utf-8")
    hidden = {hex(ord(one)) for one in text if ord(one) < 32 or ord(one) in range(0x7F, 0xA0)} - {"0x9", "0xa"}
    assert hidden == set()
    if name != "json":  # there a reader has to see to it
        marks = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200F, 0x2028)
        assert not [hex(mark) for mark in marks if chr(mark) in text]


def test_every_format_can_show_unusual_runs() -> None:
    long = [result(verdict("fail", "x" * 300, effect="lost"), subject=f"{number}" * 300) for number in range(40)]
    for name, made in product(
        FORMATS,
        (
            replace(golden(), subjects=[], results=[], traffic=[], sources=[], kills=[], scenarios=[]),
            run(result(), result(subject="other")),
            run(result(verdict("unsupported")), result(verdict("unsupported"), subject="other")),
            run(result(verdict("error"))),
            run(*long),
        ),
    ):
        assert render(name, Report(made)), name


def test_the_pages_show_the_generated_known_bad_subjects() -> None:
    generated = GeneratedKills(2000, equivalents={"drop:a.b": "default"}, survivors=["alter:a.c"])
    for name in ("markdown", "html"):
        text = render(name, Report(replace(golden(), generated=generated))).decode("utf-8")
        assert "1,998 of 2,000 generated known-bad subjects fail a law; 1 is equivalent" in text, name
