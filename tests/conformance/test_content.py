"""The law `content`: an oracle of the wire reads every member of the canonical form again."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.thoroughness import sampled
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.laws import LAWS
from toolparity.conformance.oracle import responses
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import SubjectExchange
from toolparity.conformance.subjects.reference import Reference
from toolparity.reports.results import Verdict

CONTENT = LAWS["content"]


class Changed(Reference):
    """The reference, whose answer a function changes."""

    def __init__(self, change: Callable[[Any], object]) -> None:
        self._change = change

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        form = copy.deepcopy(super().read(exchange))
        self._change(form)
        return form


def verdict(change: Callable[[Any], object], scenario: str, surface: str = "openai.chat") -> Verdict:
    case = Case(scenario, surface, "plain", "all")
    return Judge(Changed(change), twice=False).result(case, [CONTENT]).verdicts[0]


def exchange_ids(form: Any) -> None:
    first, second, *_ = form["selection"]["kept"]
    first["id"], second["id"] = second["id"], first["id"]


def test_a_changed_member_is_a_failure() -> None:
    """What the generated known-bad subjects do not change: a member that two others have, or that a wire lacks."""
    for change, scenario, effect in [
        (exchange_ids, "parallel-three", "misreported"),
        (lambda form: form["response"]["usage"].update(cache_write_tokens=0), "text-only", "misreported"),
        (lambda form: form["response"].update(extra={"mood": "x"}), "refusal", "duplicated"),
    ]:
        found = verdict(change, scenario)
        assert (found.outcome, found.effect) == ("fail", effect), (scenario, found)


def test_a_form_without_members_is_a_failure_and_not_an_error() -> None:
    found = verdict(lambda form: form["response"].pop("extra"), "text-only")
    assert (found.outcome, found.effect) == ("fail", "misreported")
    assert "canonical form" in found.reason


def test_a_lost_error_is_shown_without_the_members_that_the_wire_does_not_decide() -> None:
    """An error of `ollama.chat` is a text alone, so that its type is free."""
    found = verdict(lambda form: form["response"].update(error=None), "error-rate-limit", "ollama.chat")
    assert (found.outcome, found.reason) == ("fail", "error is missing")
    assert '"message":' in found.expected
    assert '"type":' not in found.expected


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("scenario", sampled(list(scenarios()), 24))
def test_the_reference_keeps_the_law(scenario: str) -> None:
    judge = Judge(Reference(), twice=False)
    cases = CaseFilter(scenarios=(scenario,)).cases()
    failed = [(case, found) for case in cases for found in judge.result(case, [CONTENT]).verdicts]
    assert [entry for entry in failed if entry[1].outcome in ("fail", "error")] == []


def test_most_responses_have_a_reading() -> None:
    """The law is about regular traffic; an oracle that refuses everything would judge nothing."""
    judge = Judge(Reference(), twice=False)
    cases = list(CaseFilter(scenarios=("single-call", "*-thinking", "server-*"), policies=("all",)).cases())
    readings = sum(all(responses.read(round.exchange) for round in judge.rounds(case)) for case in cases)
    assert readings == len(cases) > 40


def test_the_oracle_calls_no_reader_of_the_normalizer() -> None:
    allowed = {"toolparity.normalizer", "toolparity.normalizer.wires.registry"}
    for path in Path(responses.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("toolparity.normalizer"):
                assert node.module in allowed, path
                assert {alias.name for alias in node.names} <= {"json_codec", "spec"}, path
