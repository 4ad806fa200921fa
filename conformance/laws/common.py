"""What the checks share: their verdicts, and how calls are compared and named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from toolparity.normalizer import json_codec

from ..answer import AnsweredCall
from ..evidence import Evidence, Round
from ..expected import ExpectedCall


class Failure(NamedTuple):
    """Where a law was broken: the round (from 0), why, in words that say what to do, and both sides."""

    round: int
    reason: str
    expected: Any = None
    got: Any = None


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: 1 and 1.0 are, 1 and true are not, and no text is a number."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def same(wanted: ExpectedCall, got: AnsweredCall) -> bool:
    """Whether the subject's call is this one: by name and by what its arguments say."""
    if wanted.name != got.name:
        return False
    if wanted.arguments is not None:
        value = got.value
        if not isinstance(value, dict):
            return wanted.arguments == {} and value in (None, "")
        return equal(value, wanted.arguments)
    if wanted.text is None:
        return True  # the wire holds parsed JSON: what was cut there cannot be told
    if got.text is not None:
        return got.text == wanted.text
    if wanted.kind == "custom":
        return isinstance(got.arguments, dict) and wanted.text in got.arguments.values()
    return got.arguments in (None, {}) or got.arguments == wanted.text or as_written(wanted, got)


def as_written(wanted: ExpectedCall, got: AnsweredCall) -> bool:
    """Whether parsed arguments are what the text says, though the call cannot run: it was cut, or is no object."""
    try:
        return equal(got.arguments, json_codec.decode(wanted.text or ""))
    except ValueError:
        return False


def matched(wanted: Sequence[ExpectedCall], got: Iterable[AnsweredCall]) -> tuple[list[int | None], list[AnsweredCall]]:
    """For each of the subject's calls in order, the place of the call on the wire that it is, or null; and the nulls.

    Calls that are alike are taken in order, so that two equal calls are two.
    """
    free = list(range(len(wanted)))
    places: list[int | None] = []
    strangers = []
    for call in got:
        place = next((place for place in free if same(wanted[place], call)), None)
        if place is None:
            strangers.append(call)
        else:
            free.remove(place)
        places.append(place)
    return places, strangers


def named(calls: Iterable[ExpectedCall | AnsweredCall]) -> list[str]:
    """The calls as a person reads them."""
    return [str(call) if isinstance(call, AnsweredCall) else _wanted(call) for call in calls]


#: An answer that stops so is not whole, and a caller that runs nothing may refuse it.
_CUT = frozenset(("max_tokens", "context_window", "content_filter"))


def declined(evidence: Evidence, round: Round) -> bool:
    """Whether the subject, which runs nothing, refused an answer that was cut or filtered.

    It reports an error, so that its caller knows: no call is lost by that, and no other law has an answer to judge.
    """
    acts = "select" in evidence.subject.claims
    return round.answer.error is not None and not acts and round.expected.stop in _CUT


def listed(calls: Iterable[ExpectedCall | AnsweredCall]) -> str:
    """The same in one line."""
    return ", ".join(named(calls)) or "nothing"


def _wanted(call: ExpectedCall) -> str:
    shown = call.text if call.text is not None else json_codec.text(call.arguments)
    return f"{call.name}({shown if len(shown) <= 60 else shown[:57] + '...'})"


def skeleton(calls: Sequence[AnsweredCall], text: str | None, stop: str | None) -> dict[str, Any]:
    """What two tellings of one answer have to share.

    The words of a refusal are text on some wires and a block of their own on others: they are left out.
    """
    told = [(call.name, "?" if call.value is msgspec.UNSET else call.value or {}) for call in calls]
    return {"calls": told, "text": None if stop == "refusal" else text, "stop": stop}


#: How the codes begin whose silence breaks a law; every other code is about which call is which (`conservation`).
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


def flags(round: Round, law: str) -> list[str]:
    """The codes that have to be reported of an answer, as far as their silence breaks this law."""
    return [code for code in round.expected.findings if _law_of(code) == law]


def _law_of(code: str) -> str:
    return next((law for head, law in _FLAGS.items() if code.startswith(head)), "conservation")


def silent(evidence: Evidence, round: Round, law: str) -> Iterator[Failure]:
    """A failure for each of them that a subject which reports anything does not report."""
    if "findings" not in evidence.subject.claims or round.answer.error is not None:
        return
    for code in flags(round, law):
        if code not in round.answer.findings:
            yield Failure(round.number, f"nothing tells of {code}", code, ", ".join(round.answer.findings) or "nothing")
