"""The laws, one module each.

A module has a sentence, a level, the claims that a subject needs for it, ``applies(evidence)``, and
``check(evidence)``, which yields a `Failure` for each violation. To add a law, add a module here and its id to `IDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple

from ..cases.case import Evidence
from .common import Failure


class Law(NamedTuple):
    """``sentence``: the law in one sentence. ``claims``: what a subject must claim for the law to be checked."""

    id: str
    level: str
    sentence: str
    claims: frozenset[str]
    applies: Callable[[Evidence], bool]
    check: Callable[[Evidence], Iterator[Failure]]


#: The ids, in the order of the design.
IDS = (
    "conservation",
    "order",
    "same-first",
    "dropped-warned",
    "server-side",
    "stream-parity",
    "any-split",
    "arguments",
    "stop",
    "incomplete",
    "unknown",
    "answered",
    "replay",
    "handoff",
    "alike",
    "usage",
)


def _law(id: str) -> Law:
    module = import_module(f".{id.replace('-', '_')}", __name__)
    return Law(id, module.LEVEL, module.SENTENCE, frozenset(module.CLAIMS), module.applies, module.check)


LAWS: dict[str, Law] = {id: _law(id) for id in IDS}

__all__ = ["IDS", "LAWS", "Failure", "Law"]
