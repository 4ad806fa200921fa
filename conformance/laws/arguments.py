"""The law `arguments`: arguments arrive unchanged, and broken ones are reported."""

from __future__ import annotations

from collections.abc import Iterator

from ..answer import AnsweredCall
from ..cases.case import Evidence
from ..cases.expected import ExpectedCall
from .common import Failure, declined_cut_response, equals_written_text, json_equal, match_calls, missing_findings

SENTENCE = "Arguments are exact; empty ones are {}, and broken ones are flagged, never fatal, never repaired unasked."
LEVEL = "must"
CLAIMS: tuple[str, ...] = ()


def applies(evidence: Evidence) -> bool:
    """Applies if there are calls in a response that the subject did not decline."""
    return any(round.expected.calls and not declined_cut_response(evidence, round) for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Compare each call's arguments, argument text, kind and status."""
    tells = "status" in evidence.subject.claims
    for round in evidence.rounds:
        wanted = round.expected.calls
        if declined_cut_response(evidence, round):
            continue
        if round.answer.error is not None:
            if wanted and round.expected.complete and not round.expected.failed:
                yield Failure(round.number, f"the arguments were fatal: {round.answer.error}")
            continue
        yield from missing_findings(evidence, round, "arguments")
        if not round.expected.complete:
            continue
        places, strangers = match_calls(wanted, round.answer.calls)
        pairs = [(wanted[p], call) for p, call in zip(places, round.answer.calls, strict=True) if p is not None]
        for place, call in enumerate(wanted):
            if place in places:
                continue
            other = next((one for one in strangers if one.name == call.name), None)
            if other is not None:  # otherwise it is lost: law `conservation`
                strangers.remove(other)
                pairs.append((call, other))
        for call, told in pairs:
            yield from _compared(round.number, call, told, tells)


def _compared(number: int, call: ExpectedCall, told: AnsweredCall, tells: bool) -> Iterator[Failure]:
    if call.arguments is not None:
        if not json_equal({} if told.value in (None, "") else told.value, call.arguments):
            yield Failure(
                number, f"the arguments of {call.name} are others", call.arguments, told.text or told.arguments
            )
        elif call.text is not None and told.text is not None and told.text != call.text:
            yield Failure(number, f"the argument text of {call.name} is another", call.text, told.text)
    elif call.status != "complete" and isinstance(told.arguments, dict) and told.arguments:
        if not tells and (call.text is None or equals_written_text(call, told)):
            return  # passed on unchanged
        yield Failure(number, f"the {call.status} arguments of {call.name} were repaired", call.text, told.arguments)
    elif call.text is not None and told.text is not None and told.text != call.text:
        yield Failure(number, f"the argument text of {call.name} is another", call.text, told.text)
    if told.kind is not None and told.kind != call.kind:
        yield Failure(number, f"{call.name} is a call of the kind {call.kind}", call.kind, told.kind)
    if tells and told.status != call.status:
        reason = f"the call {call.name} is {call.status}, and told to be {told.status or 'nothing of the kind'}"
        yield Failure(number, reason, call.status, told.status)
