"""The laws. A law is a function with the decorator `law`, which yields a `Failure` for each violation.

To add one, write it in the module of its topic (or in a new one, listed in `_MODULES`), and add its id to `IDS`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from importlib import import_module

from .law import OF_AGENTS, REGISTERED, Failure, Law
from .servers import SERVER_LAWS

_MODULES = ("conservation", "selection", "content", "canonical_form", "parity", "broken", "requests", "runs")
#: The ids, in the order of reports.
IDS = (
    "conservation",
    "order",
    "same-first",
    "dropped-warned",
    "server-side",
    "stream-parity",
    "any-split",
    "any-cut",
    "arguments",
    "stop",
    "incomplete",
    "unknown",
    "answered",
    "replay",
    "handoff",
    "alike",
    "usage",
    "content",
)

for _module in _MODULES:
    import_module(f".{_module}", __name__)
LAWS: dict[str, Law] = {id: REGISTERED[id] for id in IDS}


def law_for(law: Law, claims: AbstractSet[str]) -> Law | None:
    """Return the form of a law for a subject with these claims; None if the law does not judge agents."""
    return OF_AGENTS.get(law.id) if "runs" in claims else law


__all__ = ["IDS", "LAWS", "SERVER_LAWS", "Failure", "Law", "law_for"]
