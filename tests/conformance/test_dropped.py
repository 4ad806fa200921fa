"""What the laws expect of reports about dropped calls, and of the difference between dropped and rejected ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolparity.conformance.cases.case import Case
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SubjectExchange
from toolparity.conformance.subjects.reference import Reference
from toolparity.reports.results import Verdict

DROPS = Case("parallel-three", "openai.chat", "plain", "first")
KEEPS = Case("parallel-three", "openai.chat", "plain", "all")
REJECTS = Case("cut-only-call", "openai.chat", "plain", "all")


class Brief(Reference):
    """Returns the reference's selection in the brief form, changed."""

    claims = frozenset(("stream", "select", "findings"))

    def __init__(self, change: Callable[[dict[str, Any]], object] = lambda answer: None) -> None:
        self._change = change

    def read(self, exchange: SubjectExchange) -> Any:
        form = super().read(exchange)
        calls = {
            (choice["index"], number): {"name": block["name"], "arguments": block["arguments_text"]}
            for choice in form["response"]["choices"]
            for number, block in enumerate(choice["blocks"])
            if block["type"] == "tool_call"
        }
        groups = {
            name: [calls[ref["choice"], ref["block"]] for ref in form["selection"][name]]
            for name in ("kept", "dropped", "rejected")
        }
        answer = {"calls": groups.pop("kept"), **groups, "warnings": form["log"], "findings": form["findings"]}
        self._change(answer)
        return answer


def judged(change: Callable[[dict[str, Any]], object], case: Case, law: str) -> Verdict | None:
    verdicts = Judge(Brief(change), twice=False).result(case).verdicts
    return next((verdict for verdict in verdicts if verdict.check == law), None)


@pytest.mark.parametrize("case", [DROPS, KEEPS, REJECTS], ids=lambda case: case.id)
def test_a_correct_subject_keeps_every_law(case: Case) -> None:
    def log(answer: dict[str, Any]) -> None:
        running = [f"{call['name']} runs" for call in answer["calls"]]
        answer["warnings"] += ["connected to 127.0.0.1", *running, "dropped the connection"]

    assert [one for one in Judge(Brief(log), twice=False).result(case).verdicts if one.outcome == "fail"] == []


@pytest.mark.parametrize("line", ["1 call dropped: {name}", "Dropping {name}"])
def test_a_false_report_of_a_drop_fails(line: str) -> None:
    def warn(answer: dict[str, Any]) -> None:
        answer["warnings"].append(line.format(name=answer["calls"][0]["name"]))

    verdict = judged(warn, KEEPS, "dropped-warned")
    assert verdict is not None
    assert (verdict.outcome, verdict.effect) == ("fail", "misreported")


def test_a_false_finding_fails() -> None:
    verdict = judged(lambda answer: answer["findings"].append("dropped-call"), KEEPS, "dropped-warned")
    assert verdict is not None
    assert (verdict.outcome, verdict.effect) == ("fail", "misreported")


def test_the_finding_about_a_dropped_call_is_required() -> None:
    verdict = judged(lambda answer: answer["findings"].clear(), DROPS, "dropped-warned")
    assert verdict is not None
    assert (verdict.outcome, verdict.reason) == ("fail", "missing finding: dropped-call")


def _dropped_is_rejected(answer: dict[str, Any]) -> None:
    answer["dropped"], answer["rejected"] = answer["rejected"], answer["dropped"]


@pytest.mark.parametrize("case", [DROPS, REJECTS], ids=lambda case: case.id)
def test_dropped_and_rejected_calls_are_told_apart(case: Case) -> None:
    verdict = judged(_dropped_is_rejected, case, "conservation")
    assert verdict is not None
    assert (verdict.outcome, verdict.effect) == ("fail", "misreported")
