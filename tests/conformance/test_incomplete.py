"""What the law `incomplete` expects of subjects that run nothing: they show that a stream broke."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.conformance.cases.case import Case
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SubjectExchange
from toolparity.conformance.subjects.reference import Reference
from toolparity.reports.results import Verdict

BROKEN = Case("breaks-off-after-a-call", "openai.chat", "stream", "all")
WHOLE = Case("parallel-three", "openai.chat", "stream", "all")
CUT = Case("cut-only-call", "openai.chat", "stream", "all")


class Accumulator(Reference):
    """Reads streams and returns calls and fixed further members; it runs nothing."""

    def __init__(self, *claims: str, **members: Any) -> None:
        self.claims = frozenset(("stream", *claims))
        self.members = members

    def read(self, exchange: SubjectExchange) -> Any:
        blocks = super().read(exchange)["response"]["choices"][0]["blocks"]
        calls = [block for block in blocks if block["type"] == "tool_call"]
        return {
            "calls": [{"name": call["name"], "arguments": call["arguments_text"]} for call in calls],
            **self.members,
        }


def verdict(subject: Any, case: Case) -> Verdict | None:
    verdicts = Judge(subject, twice=False).result(case).verdicts
    return next((one for one in verdicts if one.check == "incomplete"), None)


def outcome(subject: Any, case: Case) -> tuple[str, str] | None:
    found = verdict(subject, case)
    return None if found is None else (found.outcome, found.effect)


@pytest.mark.parametrize(
    "members", [{"complete": False}, {"stop": "unknown"}, {"stop": "error"}, {"failed": True}], ids=str
)
def test_a_break_that_is_shown_in_any_way_keeps_the_law(members: dict[str, Any]) -> None:
    assert outcome(Accumulator(**members), BROKEN) == ("pass", "")


@pytest.mark.parametrize("members", [{}, {"complete": True}, {"stop": "tool_calls"}, {"failed": False}], ids=str)
def test_a_break_that_nothing_shows_is_misreported(members: dict[str, Any]) -> None:
    assert outcome(Accumulator(**members), BROKEN) == ("fail", "misreported")


def test_no_stop_reason_shows_a_break_if_the_subject_claims_stop() -> None:
    assert outcome(Accumulator("stop"), BROKEN) == ("pass", "")


def test_complete_outweighs_a_stop_reason_that_is_unknown() -> None:
    assert outcome(Accumulator(complete=True, stop="unknown"), BROKEN) == ("fail", "misreported")


def test_a_complete_response_must_not_be_reported_as_incomplete() -> None:
    assert outcome(Accumulator(complete=False), WHOLE) == ("fail", "misreported")
    assert outcome(Accumulator(complete=True), WHOLE) is None


def test_a_response_that_its_limit_cut_may_be_reported_as_incomplete() -> None:
    found = verdict(Accumulator(complete=False), CUT)
    assert found is not None
    assert (found.outcome, found.reason) == ("unsupported", "the subject does not claim select")


def test_a_subject_that_reads_no_streams_is_not_judged() -> None:
    class Plain(Accumulator):
        def __init__(self) -> None:
            super().__init__()
            self.claims = frozenset()

    (found,) = Judge(Plain()).result(BROKEN).verdicts
    assert found.outcome == "unsupported"
