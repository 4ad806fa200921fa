"""Known-bad subjects: the reference with one defect each, of a kind that real implementations have.

Each names the law that must fail it. The kill matrix (`toolparity check --kill`) shows whether it does. To add one, add
a function with the decorator `defect` to a module here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ..subjects import FollowUp, SubjectExchange
from ..subjects.claims import READER_CLAIMS
from ..subjects.reference import Reference
from .mutate import DEFECTS, Defect

_MODULES = ("calls", "selection", "streams", "metadata", "requests", "stated")


class KnownBad(NamedTuple):
    """``law``: the law that must fail the subject. ``sentence``: its defect. ``shown_by``: as in `Defect`."""

    name: str
    law: str
    sentence: str
    make: Callable[[], Any]
    shown_by: str = ""


class DefectiveReference(Reference):
    """The reference with one defect."""

    def __init__(self, defect: Defect) -> None:
        self._defect = defect
        self.name = defect.name
        self.version = "known bad"
        self.claims = READER_CLAIMS

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Read the response, changed if the defect is in the input, with the reference; then change the answer."""
        if self._defect.exchange is not None:
            exchange = self._defect.exchange(exchange)
        form = super().read(exchange)
        if self._defect.answer is not None and form.get("response") is not None:
            self._defect.answer(form, exchange)
        return form

    def next_request(self, follow_up: FollowUp) -> Any:
        """Write the next request with the reference, then change it."""
        request = super().next_request(follow_up)
        if self._defect.request is not None:
            request["body"] = self._defect.request(copy.deepcopy(request["body"]), follow_up)
        return request


@cache
def known_bad() -> dict[str, KnownBad]:
    """Return all known-bad subjects by name."""
    for module in _MODULES:
        import_module(f".{module}", __name__)
    return {
        name: KnownBad(
            name,
            defect.law,
            defect.sentence,
            lambda defect=defect: DefectiveReference(defect),  # type: ignore[misc]
            defect.shown_by,
        )
        for name, defect in DEFECTS.items()
    }
