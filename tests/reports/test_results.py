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


def test_of_two_results_for_one_case_the_last_is_read() -> None:
    made = run(result(verdict("fail")), result(verdict("fail"), subject="other"), result(verdict("pass")))
    assert results.read(results.write(made)).results == [
        result(verdict("pass")),
        result(verdict("fail"), subject="other"),
    ]


def test_two_verdicts_of_one_law_in_a_case_are_an_error() -> None:
    made = run(result(verdict("fail"), verdict("pass")))
    with pytest.raises(msgspec.DecodeError, match=r"two verdicts of one law in mine one-call\[openai.chat-plain-all\]"):
        results.read(results.write(made))


@pytest.mark.parametrize("make", [golden, measured], ids=["made", "measured"])
def test_results_keep_to_the_published_schema(make: object) -> None:
    assert callable(make)
    plain = json.loads(results.write(make()))
    jsonschema.validate(plain, SCHEMA, cls=jsonschema.Draft202012Validator)
    plain["results"][0]["verdicts"][0]["outcome"] = "fine"
    with pytest.raises(jsonschema.ValidationError, match="'fine'"):
        jsonschema.validate(plain, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_results_of_format_1_are_read() -> None:
    """It has ``told`` in place of ``rounds``."""
    made = golden()
    assert any(one.rounds for one in made.results)
    plain = json.loads(results.write(made))
    plain["format"] = "toolparity-results/1"
    for one in plain["results"]:
        if "rounds" in one:
            one["told"] = one.pop("rounds")
    assert results.read(json.dumps(plain).encode()) == made
    with pytest.raises(msgspec.DecodeError, match=r"Expected `array`, got `int` - at `\$.results`"):
        results.read(
            b'{"format": "toolparity-results/1", "toolparity": "1", "date": "", "environment": {}, "results": 1}'
        )


def test_results_of_format_2_are_read() -> None:
    """Its subjects have no role: all are read as implementations."""
    made = run(result(verdict("fail")), subjects=[SubjectInfo("mine", "1.0", role="reference")])
    plain = json.loads(results.write(made))
    assert plain["subjects"][0].pop("role") == "reference"
    plain["format"] = "toolparity-results/2"
    read = results.read(json.dumps(plain).encode())
    assert read == replace(made, subjects=[SubjectInfo("mine", "1.0")])
    assert read.format == results.FORMAT == "toolparity-results/3"


def test_failures_of_older_files_have_no_effect() -> None:
    plain = json.loads(results.write(golden()))
    effects = [verdict.pop("effect", "") for one in plain["results"] for verdict in one["verdicts"]]
    assert "altered" in effects
    read = results.read(json.dumps(plain).encode())
    assert {verdict.effect for _, verdict in read.verdicts()} == {""}


def test_what_only_results_name_is_listed_too() -> None:
    whole = run(result(verdict("fail")), result(verdict("fail", "stop"), subject="yours", scenario="later"))
    reduced = replace(whole, subjects=whole.subjects[:1], laws=[], scenarios=whole.scenarios[:1])
    found = results.read(results.write(reduced))
    assert [(one.name, one.version) for one in found.subjects] == [("mine", "1.0"), ("yours", "")]
    assert [(one.id, one.sentence) for one in found.laws] == [("order", ""), ("stop", "")]
    assert [one.id for one in found.scenarios] == ["one-call", "later"]
    assert found.results == whole.results


@pytest.mark.parametrize("name", HOSTILE)
def test_the_command_of_a_case_gives_a_shell_each_name_as_it_is(name: str) -> None:
    text = HOSTILE[name]
    message = shlex.split(result(verdict(), scenario=text, subject="a; b").repeat)
    assert message[:5] == ["toolparity", "check", "a; b", "--scenario", text]
    assert shlex.split(result(verdict(), subject="short", called="my.module:Subject").repeat)[2] == "my.module:Subject"


def test_of_merged_runs_the_later_verdict_holds_and_environments_are_side_by_side() -> None:
    first = run(result(verdict("fail")), result(verdict(), subject="yours"), environment={"python": "3.11"})
    second = replace(run(result(verdict())), date="2027-01-01T00:00:00+00:00", environment={"python": "3.13"})
    both = merge([first, second])
    assert [(one.subject, one.verdicts[0].outcome) for one in both.results] == [("mine", "pass"), ("yours", "pass")]
    assert both.environment == {"python": "3.11, 3.13"}
    assert both.date == second.date
    assert [one.name for one in both.subjects] == ["mine", "yours"]
