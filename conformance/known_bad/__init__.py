"""Known-bad subjects: the reference with one defect each, of a kind that real implementations have.

Each names the law that must fail it. The kill matrix (`toolparity check --kill`) shows whether it does. To add one, add
a function with the decorator `bad` to a module here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ..subjects import CLAIMS, FollowUp, SubjectExchange
from ..subjects.reference import Reference
from .mutate import DEFECTS, Defect

_MODULES = ("calls", "selecting", "reading", "metadata", "requests")


class KnownBad(NamedTuple):
    """``law``: the law that must fail the subject. ``sentence``: its defect in one sentence."""

    name: str
    law: str
    sentence: str
    make: Callable[[], Any]


class DefectiveReference(Reference):
    """The reference with one defect."""

    def __init__(self, spoil: Defect) -> None:
        self._spoil = spoil
        self.name = spoil.name
        self.version = "known bad"
        self.claims = frozenset(CLAIMS)

    def read(self, ask: SubjectExchange) -> dict[str, Any]:
        """Read the response, changed if the defect is in the input, with the reference; then change the answer."""
        if self._spoil.ask is not None:
            ask = self._spoil.ask(ask)
        given = super().read(ask)
        if self._spoil.told is not None and given.get("response") is not None:
            self._spoil.told(given, ask)
        return given

    def next_request(self, ask: FollowUp) -> Any:
        """Write the next request with the reference, then change it."""
        body = super().next_request(ask)
        if self._spoil.body is not None:
            body = self._spoil.body(copy.deepcopy(body), ask)
        return body


@cache
def known_bad() -> dict[str, KnownBad]:
    """Return all known-bad subjects by name."""
    for module in _MODULES:
        import_module(f".{module}", __name__)
    return {
        name: KnownBad(name, spoil.law, spoil.sentence, lambda spoil=spoil: DefectiveReference(spoil))  # type: ignore[misc]
        for name, spoil in DEFECTS.items()
    }
