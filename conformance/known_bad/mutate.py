"""The registry of defects, and helpers that change the reference's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from toolparity.normalizer.wires.registry import spec

from ..subjects import FollowUp, SubjectExchange

CanonicalForm = dict[str, Any]


class Defect(NamedTuple):
    """A defect in exactly one place.

    ``answer(form, exchange)`` changes the canonical form in place, ``exchange(exchange)`` returns a changed input, and
    ``request(body, follow_up)`` returns a changed request. ``shown_by``: a pattern of the scenarios that show it first.
    """

    name: str
    law: str
    sentence: str
    answer: Callable[[CanonicalForm, SubjectExchange], None] | None = None
    exchange: Callable[[SubjectExchange], SubjectExchange] | None = None
    request: Callable[[Any, FollowUp], Any] | None = None
    shown_by: str = ""


#: Name -> defect, in the order of definition.
DEFECTS: dict[str, Defect] = {}


def defect(
    law: str, changes: Literal["answer", "exchange", "request"] = "answer", *, shown_by: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a defect that ``law`` must detect.

    ``changes``: what the function changes. ``shown_by``: as in `Defect`. The name of the defect is the function's name
    with hyphens, its sentence the first line of the docstring.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.strip("_").replace("_", "-")
        assert name not in DEFECTS, name
        sentence = (function.__doc__ or "").strip().splitlines()[0]
        DEFECTS[name] = Defect(name, law, sentence, shown_by=shown_by, **{changes: function})
        return function

    return register


def by_messages(wire: str) -> bool:
    """Return whether requests and responses of a wire are messages instead of HTTP bodies."""
    return spec(wire).framing == "messages"


def blocks(form: CanonicalForm) -> list[dict[str, Any]]:
    """Return the blocks of the first choice."""
    choices = form["response"]["choices"]
    return choices[0]["blocks"] if choices else []


def calls(form: CanonicalForm) -> list[dict[str, Any]]:
    """Return the client calls among the blocks of the first choice."""
    return [block for block in blocks(form) if block["type"] == "tool_call"]


def other_blocks(form: CanonicalForm) -> list[dict[str, Any]]:
    """Return the blocks of the first choice that are not client calls."""
    return [block for block in blocks(form) if block["type"] != "tool_call"]


def keep_only(form: CanonicalForm, indexes: list[int]) -> None:
    """Remove all calls but these (by their index among the calls)."""
    all_calls = calls(form)
    removed = {id(call) for index, call in enumerate(all_calls) if index not in indexes}
    rebuild(form, [block for block in blocks(form) if id(block) not in removed])


def remove(form: CanonicalForm, *types: str) -> None:
    """Remove the blocks of these types from the first choice."""
    rebuild(form, [block for block in blocks(form) if block["type"] not in types])


def rebuild(form: CanonicalForm, new: list[dict[str, Any]]) -> None:
    """Replace the blocks of the first choice, and select every complete call among them.

    Under `first` only the first complete call is selected. If the reference rejected calls and kept none, none is
    selected.
    """
    form["response"]["choices"][0]["blocks"] = new
    selection = form["selection"]
    refs = [
        {"block": index, "choice": selection["choice"], "id": block["id"], "name": block["name"], "reason": None}
        for index, block in enumerate(new)
        if block["type"] == "tool_call"
    ]
    unusable = bool(selection["rejected"]) and not selection["kept"]
    runnable = [ref for ref in refs if new[ref["block"]]["status"] == "complete" and not unusable]
    kept = runnable[:1] if selection["policy"] == "first" else runnable
    selection["kept"] = kept
    selection["dropped"] = [ref for ref in runnable if ref not in kept]
    selection["rejected"] = [ref for ref in refs if ref not in runnable]
