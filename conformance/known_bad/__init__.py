"""Known-bad subjects: the reference, spoiled in one way each, as real implementations are. Each names the law that has
to fail it; the kill matrix (`toolparity check --kill`) shows that it does.

A module beside these holds functions with the decorator `bad`; adding one is a function there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ..subjects import CLAIMS, Ask, Next
from ..subjects.reference import Reference
from .spoiling import BAD, Spoil

_MODULES = ("calls", "selecting", "reading", "telling", "requests")


class KnownBad(NamedTuple):
    """``law``: the one that must fail it. ``sentence``: what is wrong with it."""

    name: str
    law: str
    sentence: str
    make: Callable[[], Any]


class Spoiled(Reference):
    """The reference with one thing wrong."""

    def __init__(self, spoil: Spoil) -> None:
        self._spoil = spoil
        self.name = spoil.name
        self.version = "known bad"
        self.claims = frozenset(CLAIMS)

    def read(self, ask: Ask) -> dict[str, Any]:
        """What the reference reads of what is spoiled, spoiled."""
        if self._spoil.ask is not None:
            ask = self._spoil.ask(ask)
        given = super().read(ask)
        if self._spoil.told is not None and given.get("response") is not None:
            self._spoil.told(given, ask)
        return given

    def next_request(self, ask: Next) -> Any:
        """The same for requests."""
        body = super().next_request(ask)
        if self._spoil.body is not None:
            body = self._spoil.body(copy.deepcopy(body), ask)
        return body


@cache
def known_bad() -> dict[str, KnownBad]:
    """All of them by name."""
    for module in _MODULES:
        import_module(f".{module}", __name__)
    return {
        name: KnownBad(name, spoil.law, spoil.sentence, lambda spoil=spoil: Spoiled(spoil))  # type: ignore[misc]
        for name, spoil in BAD.items()
    }
