"""Every call that was made gets its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from normalizer.requests import check_request

from ..evidence import Evidence
from ..wire_requests import answers_in, calls_in, next_of
from .common import Failure

SENTENCE = (
    "In the next request every call that stands there has exactly one answer, where and how the provider wants it."
)
LEVEL = "must"
CLAIMS = ("answers",)
SINCE = "0.1.0"


def applies(evidence: Evidence) -> bool:
    """Where calls were made and the conversation goes on; once for all policies."""
    return evidence.case.policy == "all" and any(round.expected.calls and round.following for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """The request that the subject makes keeps the provider's rules, and answers each call once."""
    for round in evidence.rounds:
        if not (round.expected.calls and round.following):
            continue
        wire = round.ask.wire
        body = evidence.make(next_of(round, wire, round.ask.provider))
        for violation in check_request(body, wire, provider=round.ask.provider):
            yield Failure(round.number, f"the provider refuses it by {violation.rule}: {violation.message}", None, body)
        calls, answers = Counter(calls_in(body, wire)), Counter(answers_in(body, wire))
        if len(round.expected.calls) > calls.total():
            yield Failure(round.number, "calls are missing in the next request", len(round.expected.calls), dict(calls))
        if calls != answers:
            lacking, surplus = calls - answers, answers - calls
            what = (
                f"without an answer: {', '.join(lacking) or 'none'}; too many answers: {', '.join(surplus) or 'none'}"
            )
            yield Failure(round.number, what, dict(calls), dict(answers))
