"""What the laws share: the failure type, and how calls are compared and named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from toolparity.normalizer import json_codec

from ..answer import AnsweredCall
from ..cases.case import CaseRound, Evidence
from ..cases.expected import ExpectedCall


class Failure(NamedTuple):
    """One violation of a law: the round (from 0), the reason, and both sides of the comparison."""

    round: int
    reason: str
    expected: Any = None
    got: Any = None


def json_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal. 1 equals 1.0; 1 does not equal true; a string never equals a number."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(json_equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(json_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def is_same_call(wanted: ExpectedCall, got: AnsweredCall) -> bool:
    """Return whether a subject's call is this expected call, by its name and the value of its arguments."""
    if wanted.name != got.name:
        return False
    if wanted.arguments is not None:
        value = got.value
        if not isinstance(value, dict):
            return wanted.arguments == {} and value in (None, "")
        return json_equal(value, wanted.arguments)
    if wanted.text is None:
        return True  # the wire holds parsed JSON, so truncation is not visible
    if got.text is not None:
        return got.text == wanted.text
    if wanted.kind == "custom":
        return isinstance(got.arguments, dict) and wanted.text in got.arguments.values()
    return got.arguments in (None, {}) or got.arguments == wanted.text or equals_written_text(wanted, got)


def equals_written_text(wanted: ExpectedCall, got: AnsweredCall) -> bool:
    """Return whether parsed arguments equal the expected text, for a call that cannot run.

    Such a call was cut, or its arguments are not an object.
    """
    try:
        return json_equal(got.arguments, json_codec.decode(wanted.text or ""))
    except ValueError:
        return False


def match_calls(
    wanted: Sequence[ExpectedCall], got: Iterable[AnsweredCall]
) -> tuple[list[int | None], list[AnsweredCall]]:
    """Match the subject's calls with the expected ones.

    Return, for each of the subject's calls in order, the index of the expected call or None; and the calls without a
    match. Equal calls are matched in order, so that two equal calls count as two.
    """
    free = list(range(len(wanted)))
    places: list[int | None] = []
    strangers = []
    for call in got:
        place = next((place for place in free if is_same_call(wanted[place], call)), None)
        if place is None:
            strangers.append(call)
        else:
            free.remove(place)
        places.append(place)
    return places, strangers


def call_texts(calls: Iterable[ExpectedCall | AnsweredCall]) -> list[str]:
    """Return the calls as short text."""
    return [str(call) if isinstance(call, AnsweredCall) else _wanted(call) for call in calls]


#: The stop reasons of an incomplete response, which a subject that runs nothing may refuse.
_CUT = frozenset(("max_tokens", "context_window", "content_filter"))


def declined_cut_response(evidence: Evidence, round: CaseRound) -> bool:
    """Return whether a subject that runs nothing refused a response that was cut or filtered.

    It reports an error, so that its caller knows. No call is lost silently, and the other laws have no answer to check.
    """
    acts = "select" in evidence.subject.claims
    return round.answer.error is not None and not acts and round.expected.stop in _CUT


def call_list(calls: Iterable[ExpectedCall | AnsweredCall]) -> str:
    """Return the calls in one line."""
    return ", ".join(call_texts(calls)) or "nothing"


def _wanted(call: ExpectedCall) -> str:
    shown = call.text if call.text is not None else json_codec.text(call.arguments)
    return f"{call.name}({shown if len(shown) <= 60 else shown[:57] + '...'})"


def comparable_parts(calls: Sequence[AnsweredCall], text: str | None, stop: str | None) -> dict[str, Any]:
    """Return the members that two answers to equivalent responses must share.

    The text of a refusal is left out, because it is text on some wires and a separate block on others.
    """
    told = [(call.name, "?" if call.value is msgspec.UNSET else call.value or {}) for call in calls]
    return {"calls": told, "text": None if stop == "refusal" else text, "stop": stop}


#: Prefixes of finding codes, with the law that a missing finding breaks. Other codes belong to `conservation`.
_FLAGS = {
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
    return next((law for head, law in _FLAGS.items() if code.startswith(head)), "conservation")


def missing_findings(evidence: Evidence, round: CaseRound, law: str) -> Iterator[Failure]:
    """Yield a failure for each of these codes that is missing, if the subject claims findings."""
    if "findings" not in evidence.subject.claims or round.answer.error is not None:
        return
    for code in expected_codes(round, law):
        if code not in round.answer.findings:
            yield Failure(round.number, f"nothing tells of {code}", code, ", ".join(round.answer.findings) or "nothing")
