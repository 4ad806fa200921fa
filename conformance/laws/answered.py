"""The law `answered`: every call gets exactly one tool result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from toolparity.normalizer.requests import check_request

from ..cases.case import CaseRound, Evidence
from ..oracle.requests import call_ids, failed_result_ids, follow_up, lost_results, result_ids
from .common import Failure, match_calls

SENTENCE = (
    "In the next request every call that stands there has exactly one answer, where and how the provider wants it."
)
LEVEL = "must"
CLAIMS = ("answers",)


def applies(evidence: Evidence) -> bool:
    """Applies if calls were made and the conversation continues; checked once for all policies."""
    return evidence.case.policy == "all" and any(round.expected.calls and round.following for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check that the subject's next request follows the provider's rules and has one result for each call."""
    for round in evidence.rounds:
        if not (round.expected.calls and round.following):
            continue
        wire = round.ask.wire
        body = evidence.make(follow_up(round, wire, round.ask.provider))
        for violation in check_request(body, wire, provider=round.ask.provider):
            yield Failure(round.number, f"the provider refuses it by {violation.rule}: {violation.message}", None, body)
        order, answered = list(call_ids(body, wire)), list(result_ids(body, wire))
        calls, answers = Counter(order), Counter(answered)
        made = sum(call.choice == 0 for call in round.expected.calls)
        if made > calls.total():
            yield Failure(round.number, "calls are missing in the next request", made, dict(calls))
        if calls == answers and order != answered:
            yield Failure(round.number, "the answers stand in another order than the calls", order, answered)
        for result in lost_results(round, body, wire):
            yield Failure(round.number, "a result does not stand at the call that it answers", result, None)
        if wire == "anthropic.messages":
            yield from _unmarked(round, body)
        if calls != answers:
            lacking, surplus = calls - answers, answers - calls
            what = (
                f"without an answer: {', '.join(lacking) or 'none'}; too many answers: {', '.join(surplus) or 'none'}"
            )
            yield Failure(round.number, what, dict(calls), dict(answers))


def _unmarked(round: CaseRound, body: Any) -> Iterator[Failure]:
    """Yield calls that failed or could not run and are not answered with an error (failures RES-01, INV-01)."""
    marked = set(failed_result_ids(body))
    places, _ = match_calls(round.expected.calls, round.answer.calls)
    runnable = round.expected.runnable
    for place, call in zip(places, round.answer.calls, strict=True):
        if place is None or call.id is None or round.expected.calls[place].choice:
            continue
        if (round.expected.calls[place].failed or place not in runnable) and call.id not in marked:
            yield Failure(round.number, f"the failure of {call.name} is told as a success", "is_error", call.id)
