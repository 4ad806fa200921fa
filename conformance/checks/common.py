"""What the checks share: their verdicts, and how calls are compared and named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from normalizer import jsontext

from ..answer import AnsweredCall
from ..expected import ExpectedCall


class Failure(NamedTuple):
    """Where a law was broken: the round (from 0), why, in words that say what to do, and both sides."""

    round: int
    reason: str
    expected: Any = None
    got: Any = None


def same(wanted: ExpectedCall, got: AnsweredCall) -> bool:
    """Whether the subject's call is this one: by name and by what its arguments say."""
    if wanted.name != got.name:
        return False
    if wanted.arguments is not None:
        value = got.value
        return value == wanted.arguments if isinstance(value, dict) else wanted.arguments == {} and value in (None, "")
    if wanted.text is None:
        return True  # the wire holds parsed JSON: what was cut there cannot be told
    if got.text is not None:
        return got.text == wanted.text
    if wanted.kind == "custom":
        return isinstance(got.arguments, dict) and wanted.text in got.arguments.values()
    return got.arguments in (None, {}) or got.arguments == wanted.text


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


def listed(calls: Iterable[ExpectedCall | AnsweredCall]) -> str:
    """The same in one line."""
    return ", ".join(named(calls)) or "nothing"


def _wanted(call: ExpectedCall) -> str:
    shown = call.text if call.text is not None else jsontext.text(call.arguments)
    return f"{call.name}({shown if len(shown) <= 60 else shown[:57] + '...'})"


def skeleton(calls: Sequence[AnsweredCall], text: str | None, stop: str | None) -> dict[str, Any]:
    """What two tellings of one answer have to share.

    The words of a refusal are text on some wires and a block of their own on others: they are left out.
    """
    told = [(call.name, "?" if call.value is msgspec.UNSET else call.value or {}) for call in calls]
    return {"calls": told, "text": None if stop == "refusal" else text, "stop": stop}
