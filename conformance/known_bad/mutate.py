"""The registry of defects: a function, the law that must detect it, and helpers that change the reference's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..subjects import FollowUp, SubjectExchange

CanonicalForm = dict[str, Any]


class Defect(NamedTuple):
    """A defect in exactly one place.

    ``told(given, ask)`` changes the canonical form in place, ``ask(ask)`` returns a changed input, and ``body(body,
    next)`` returns a changed request.
    """

    name: str
    law: str
    sentence: str
    told: Callable[[CanonicalForm, SubjectExchange], None] | None = None
    ask: Callable[[SubjectExchange], SubjectExchange] | None = None
    body: Callable[[Any, FollowUp], Any] | None = None


#: Name -> defect, in the order of definition.
DEFECTS: dict[str, Defect] = {}


def defect(law: str, what: str = "told") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a defect. ``what``: the member of `Defect` that it becomes.

    The name of the defect is the function's name with hyphens, its sentence the first line of the docstring.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.strip("_").replace("_", "-")
        assert name not in DEFECTS, name
        sentence = (function.__doc__ or "").strip().splitlines()[0]
        DEFECTS[name] = Defect(name, law, sentence, **{what: function})
        return function

    return enter


def blocks(given: CanonicalForm) -> list[dict[str, Any]]:
    """Return the blocks of the first choice."""
    choices = given["response"]["choices"]
    return choices[0]["blocks"] if choices else []


def calls(given: CanonicalForm) -> list[dict[str, Any]]:
    """Return the client calls among the blocks of the first choice."""
    return [block for block in blocks(given) if block["type"] == "tool_call"]


def keep_only(given: CanonicalForm, places: list[int]) -> None:
    """Remove all calls but these (by their index among the calls)."""
    made = calls(given)
    wanted = [made[place] for place in places]
    rebuild(given, [b for b in blocks(given) if b["type"] != "tool_call" or any(b is w for w in wanted)])


def rebuild(given: CanonicalForm, new: list[dict[str, Any]]) -> None:
    """Replace the blocks of the first choice, and select every complete call among them.

    Under `first` only the first complete call is selected. If the reference rejected calls and kept none, none is
    selected.
    """
    given["response"]["choices"][0]["blocks"] = new
    selection = given["selection"]
    refs = [
        {"block": place, "choice": selection["choice"], "id": block["id"], "name": block["name"], "reason": None}
        for place, block in enumerate(new)
        if block["type"] == "tool_call"
    ]
    dead = bool(selection["rejected"]) and not selection["kept"]
    runnable = [ref for ref in refs if new[ref["block"]]["status"] == "complete" and not dead]
    kept = runnable[:1] if selection["policy"] == "first" else runnable
    selection["kept"] = kept
    selection["dropped"] = [ref for ref in runnable if ref not in kept]
    selection["rejected"] = [ref for ref in refs if ref not in runnable]
