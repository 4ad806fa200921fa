"""The form of a law, and checks that several laws share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..cases.case import CaseRound, Evidence


class Failure(NamedTuple):
    """One violation of a law: the round (from 0), the reason, and both sides of the comparison."""

    round: int
    reason: str
    expected: Any = None
    got: Any = None


Applies = Callable[[Evidence], bool]
Check = Callable[[Evidence], Iterator[Failure]]


class Law(NamedTuple):
    """``sentence``: the law in one sentence. ``claims``: what a subject must claim for the law to be checked."""

    id: str
    level: str
    sentence: str
    claims: frozenset[str]
    applies: Applies
    check: Check


REGISTERED: dict[str, Law] = {}


def law(
    id: str, sentence: str, *, applies: Applies, claims: Iterable[str] = (), level: str = "must"
) -> Callable[[Check], Check]:
    """Register the decorated function as the check of a law."""

    def register(check: Check) -> Check:
        REGISTERED[id] = Law(id, level, sentence, frozenset(claims), applies, check)
        return check

    return register


#: The stop reasons of a cut response, which a subject that runs nothing may refuse.
_CUT = frozenset(("max_tokens", "context_window", "content_filter"))


def declined_cut_response(evidence: Evidence, round: CaseRound) -> bool:
    """Return whether a subject that runs nothing refused a response that was cut or filtered.

    It reports an error, so that its caller knows. No call is lost silently, and the other laws have no answer to check.
    """
    acts = "select" in evidence.subject.claims
    return round.answer.error is not None and not acts and round.expected.stop in _CUT


#: Prefixes of finding codes, with the law that a missing finding breaks. Other codes belong to `conservation`.
_LAW_OF_CODES = {
    "arguments-": "arguments",
    "stop-": "stop",
    "time-limit": "stop",
    "refused": "stop",
    "paused": "stop",
    "needs-approval": "stop",
    "stream-": "incomplete",
    "response-": "incomplete",
    "error-": "incomplete",
    "undecodable-event": "incomplete",
    "unterminated-event": "incomplete",
    "raw-text-in-stream": "incomplete",
    "provider-rejected-call": "incomplete",
    "unknown-block": "unknown",
    "unknown-event": "unknown",
    "unknown-member": "unknown",
    "wrong-type": "unknown",
    "corrupt-text": "unknown",
}


def expected_codes(round: CaseRound, law: str) -> list[str]:
    """Return the expected finding codes of a response that this law covers."""
    return [code for code in round.expected.findings if _law_of(code) == law]


def _law_of(code: str) -> str:
    return next((law for prefix, law in _LAW_OF_CODES.items() if code.startswith(prefix)), "conservation")


def missing_findings(evidence: Evidence, round: CaseRound, law: str) -> Iterator[Failure]:
    """Yield a failure for each of these codes that the subject does not report, if it claims findings."""
    if "findings" not in evidence.subject.claims or round.answer.error is not None:
        return
    reported = round.answer.findings
    for code in expected_codes(round, law):
        if code not in reported:
            yield Failure(round.number, f"missing finding: {code}", code, ", ".join(reported) or "no finding")
