"""The form of a law, and checks that several laws share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

from msgspec.structs import replace

from toolparity.reports.results import Effect

from ..answer import SubjectAnswer
from ..cases.case import CaseRound, Evidence
from ..subjects import Subject
from ..subjects.claims import STOP_WORDS


@dataclass(frozen=True, slots=True)
class Failure:
    """One violation of a law: the round (from 0), the reason, both sides of the comparison, and the effect.

    ``effect``: a key of `toolparity.reports.results.EFFECTS`.
    """

    round: int
    reason: str
    expected: Any = None
    got: Any = None
    effect: Effect = field(kw_only=True)


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


#: The laws in the form for agents, which are judged by what they ran.
OF_AGENTS: dict[str, Law] = {}


def agent_law(id: str, *, applies: Applies) -> Callable[[Check], Check]:
    """Register the decorated function as the check of a registered law for subjects that claim `runs`."""

    def register(check: Check) -> Check:
        OF_AGENTS[id] = REGISTERED[id]._replace(claims=frozenset(), applies=applies, check=check)
        return check

    return register


def is_due(evidence: Evidence) -> bool:
    """Return whether a law that reads again or writes a request judges a case under its policy.

    Under `first` and `batch` it does if they can act otherwise than `all`, on several calls that can run. Of a response
    with two modes, one is judged under `first` and the other under `batch`, unless the run is exhaustive.
    """
    case = evidence.case
    if case.policy == "all":
        return True
    if not any(len(round.expected.runnable) > 1 for round in evidence.rounds):
        return False
    turn = crc32(f"{case.scenario}/{case.surface}".encode()) + case.stream + (case.policy == "batch")
    other = case._replace(mode="plain" if case.stream else "stream")
    return turn % 2 == 0 or evidence.exhaustive or evidence.sibling(other, None) is None


#: Why a law is not checked if a subject refused a response. The refusal itself is judged by `conservation`.
REFUSED = "the subject refused the response"
#: The stop reasons of responses that were cut, filtered or failed. A subject may refuse them loudly.
_UNFINISHED = frozenset(("max_tokens", "context_window", "content_filter", "malformed_call", "error"))


class Unjudged(Exception):
    """A law cannot judge the case. The text is the reason, which the verdict `unsupported` shows."""


def may_be_refused(round: CaseRound) -> bool:
    """Return whether the response was cut, broken, filtered or failed: a subject keeps the laws if it refuses it."""
    expected = round.expected
    return not expected.complete or expected.failed or expected.stop in _UNFINISHED


#: What an answer to a broken stream must have, as verdicts state it (see `shows_break`).
SIGNS_OF_A_BREAK = "an error, complete: false, or the stop reason unknown without complete"


def shows_break(answer: SubjectAnswer, claims: Set[str]) -> bool:
    """Return whether the caller of a subject with these claims can see in an answer that the stream broke.

    A missing stop reason shows it if the subject claims `stop`. Without the claim, every answer lacks it.
    """
    if answer.error is not None or answer.failed or answer.complete is False or answer.stop == "error":
        return True
    missing = answer.stop is None and "stop" in claims
    return answer.complete is None and (missing or answer.stop == "unknown")


def accepts_stop(subject: Subject, round: CaseRound) -> bool:
    """Return whether the stop reason of an answer is the expected one, or one that a reader may report instead."""
    expected, answer = round.expected, round.answer
    words = STOP_WORDS.get(getattr(subject, "stop_words", None) or "", {})
    return answer.stop in (expected.stop, words.get(expected.stop, expected.stop)) or _follows(subject, round)


def expected_stop(subject: Subject, round: CaseRound) -> tuple[str, str]:
    """Return how the response ended, and the stop reasons that `accepts_stop` accepts, in words."""
    expected = round.expected
    if "blocks" in subject.claims or (expected.complete and "stop-missing" not in expected.findings):
        return f"the response ended with {expected.stop}", expected.stop
    ended = "the response has no stop reason" if expected.complete else "the stream broke"
    return ended, " or ".join(dict.fromkeys((expected.stop, "unknown", "error")))


def _follows(subject: Subject, round: CaseRound) -> bool:
    """Return whether another stop reason of a subject follows from something that other laws judge.

    Only the canonical form derives the reason from the calls if the wire has none, or if the stream broke. Otherwise
    the end of such a response is unknown, or an error. The wire's word for calls may remain where it has none. A plain
    end instead of calls, or the reverse, follows from calls that were lost or invented.
    """
    expected, answer = round.expected, round.answer
    if "blocks" in subject.claims:
        return False
    if not expected.complete or "stop-missing" in expected.findings:
        return answer.stop in ("unknown", "error")
    if "stop-disagrees" in expected.findings and not expected.calls:
        return answer.stop == "tool_calls"
    ends = {expected.stop, answer.stop} == {"tool_calls", "end_turn"}
    return ends and bool(answer.calls) == (answer.stop == "tool_calls") != bool(expected.calls)


def readable(law: Law, evidence: Evidence) -> Evidence:
    """Return the evidence with the rounds that a law can check: those that the subject did not refuse.

    `conservation` checks all rounds. `incomplete` also checks refusals that keep it. An agent that ran tools and then
    failed did not refuse the response.
    """
    if law.id == "conservation":
        return evidence
    keeps = law.id == "incomplete"
    rounds = [
        round
        for round in evidence.rounds
        if round.answer.error is None or round.answer.runs or (keeps and may_be_refused(round))
    ]
    return evidence if len(rounds) == len(evidence.rounds) else replace(evidence, rounds=rounds)


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
            reason, got = f"missing finding: {code}", ", ".join(reported) or "no finding"
            yield Failure(round.number, reason, code, got, effect="misreported")
