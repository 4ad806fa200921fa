"""What the law `handoff` expects of the losses that a subject reports for its next request."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.conformance.answer import parse_request
from toolparity.conformance.cases.case import Case
from toolparity.conformance.laws.requests import follow_up
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import FollowUp
from toolparity.conformance.subjects.executable import Executable
from toolparity.conformance.subjects.reference import Reference

REASONED = Case("thinking-beside-two-calls", "anthropic.messages", "plain", "all")
NOTHING_LOST = Case("parallel-three", "openai.chat", "plain", "all")


class Reporter(Reference):
    """Writes the reference's request, with other losses; without any if they are None."""

    def __init__(self, losses: Any) -> None:
        self.losses = losses

    def next_request(self, follow_up: FollowUp) -> Any:
        body = parse_request(super().next_request(follow_up)).body
        return body if self.losses is None else {"body": body, "losses": self.losses}


def handoff(subject: Any, case: Case) -> tuple[str, str]:
    verdicts = {verdict.check: verdict for verdict in Judge(subject, twice=False).result(case).verdicts}
    return verdicts["handoff"].outcome, verdicts["handoff"].effect


@pytest.mark.parametrize("losses", [["reasoning"], ["Thoughts stay with their provider."], None], ids=str)
def test_a_loss_that_is_reported_in_any_words_keeps_the_law(losses: Any) -> None:
    assert handoff(Reporter(losses), REASONED) == ("pass", "")


def test_a_loss_that_nothing_reports_fails_the_law() -> None:
    assert handoff(Reporter([]), REASONED) == ("fail", "lost")


@pytest.mark.parametrize(
    ("losses", "effect"), [(["model"], "lost"), (["reasoning", "refusal"], "misreported")], ids=str
)
def test_codes_are_judged_one_by_one(losses: Any, effect: str) -> None:
    """A loss without a code, and a code without a loss, are failures."""
    assert handoff(Reporter(losses), REASONED) == ("fail", effect)


def test_the_reference_reports_its_losses() -> None:
    assert handoff(Reference(), REASONED) == ("pass", "")
    rounds = Judge(Reference(), twice=False).rounds(REASONED)
    request = Reference().next_request(follow_up(rounds[0], "openai.chat", "openai"))
    assert parse_request(request).losses is not None
    assert "reasoning" in request["losses"]


def test_no_report_is_needed_if_nothing_is_lost() -> None:
    assert handoff(Reporter([]), NOTHING_LOST) == ("pass", "")


@pytest.mark.parametrize("losses", [["model"], ["something"]], ids=str)
def test_a_request_to_the_same_wire_has_no_losses(losses: Any) -> None:
    verdicts = {
        verdict.check: verdict for verdict in Judge(Reporter(losses), twice=False).result(NOTHING_LOST).verdicts
    }
    assert (verdicts["replay"].outcome, verdicts["replay"].effect) == ("fail", "misreported")


@pytest.mark.parametrize("losses", ["reasoning", [5], [{"code": "reasoning"}]], ids=str)
def test_losses_of_another_form_are_a_failure(losses: Any) -> None:
    assert handoff(Reporter(losses), NOTHING_LOST) == ("fail", "malformed")


def test_a_program_reports_losses_beside_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    program = object.__new__(Executable)
    monkeypatch.setattr(program, "_request", lambda line: {"request": {"messages": []}, "losses": ["reasoning"]})
    exchange = Judge(Reference(), twice=False).rounds(NOTHING_LOST)[0].exchange
    follow_up = FollowUp(exchange=exchange, results=[], to="openai.chat", provider="openai")
    assert program.next_request(follow_up) == {"body": {"messages": []}, "losses": ["reasoning"]}
