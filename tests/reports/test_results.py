"""The results model: what is written is read again, by us and by anyone who has the schema."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from toolparity import reports
from toolparity.conformance.runner import judge, suite
from toolparity.reports import results
from toolparity.reports.results import OUTCOMES, Run, SubjectInfo, merge

from .golden import HOSTILE, golden, result, run, verdict

SCHEMA = json.loads((Path(reports.__file__).parent / "results.schema.json").read_text("utf-8"))


def measured() -> Run:
    """A real run of a part of the suite, of a subject that fails some of it."""
    choice = judge.CaseFilter(scenarios=("parallel-*",), modes=("plain",))
    return suite.run(["normalizer", "documented-goclaw"], choice, expected=suite.expected_failures(None), jobs=1)


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
