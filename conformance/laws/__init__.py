"""The laws, each a check: a small module with a sentence, what a subject has to claim for it, where it applies, and
``check(evidence)``, which yields a `Failure` for each place where the law is broken. Adding one is a module beside
these and a line in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple

from ..evidence import Evidence
from .common import Failure


class Law(NamedTuple):
    """``sentence``: the law in one sentence; ``claims``: what a subject has to claim to be held to it."""

    id: str
    level: str
    sentence: str
    claims: frozenset[str]
    applies: Callable[[Evidence], bool]
    check: Callable[[Evidence], Iterator[Failure]]


#: In the order in which the design tells them.
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
