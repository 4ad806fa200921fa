"""How a subject is spoiled: a function, the law that has to notice, and helpers to change what the reference tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..subjects import Ask, Next

Told = dict[str, Any]


class Spoil(NamedTuple):
    """One of ``told(given, ask)`` (changes the canonical form in place), ``ask(ask)`` and ``body(body, next)``."""

    name: str
    law: str
    sentence: str
    told: Callable[[Told, Ask], None] | None = None
    ask: Callable[[Ask], Ask] | None = None
    body: Callable[[Any, Next], Any] | None = None


#: Name -> spoil, in the order of their definition.
BAD: dict[str, Spoil] = {}


def bad(law: str, what: str = "told") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function into the table. ``what``: which of `Spoil`'s functions it is."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.strip("_").replace("_", "-")
        assert name not in BAD, name
        sentence = (function.__doc__ or "").strip().splitlines()[0]
        BAD[name] = Spoil(name, law, sentence, **{what: function})
        return function

    return enter


def blocks(given: Told) -> list[dict[str, Any]]:
    """The blocks of the first choice."""
    choices = given["response"]["choices"]
    return choices[0]["blocks"] if choices else []


def calls(given: Told) -> list[dict[str, Any]]:
    """The client calls among them."""
    return [block for block in blocks(given) if block["type"] == "tool_call"]


def keep_only(given: Told, places: list[int]) -> None:
    """The answer as if only these calls (by their place among the calls) stood there."""
    made = calls(given)
    wanted = [made[place] for place in places]
    rebuild(given, [b for b in blocks(given) if b["type"] != "tool_call" or any(b is w for w in wanted)])


def rebuild(given: Told, new: list[dict[str, Any]]) -> None:
    """Other blocks, and a selection that keeps every complete call of them (under `first` the first one)."""
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
