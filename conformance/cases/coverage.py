"""The trace: which scenarios guard against each known failure, or why none does.

Failures are identified by ids. The ids that must be traced are listed in `conformance/cases/failures.txt`.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

from msgspec import Struct

from toolparity.cassettes.errors import InvalidScenario

from .scenarios import guarded

FOLDER = resources.files(__package__)


class Trace(Struct, frozen=True):
    """``guards``: failure -> scenarios, in the order of the failure ids. ``left_out``: failure -> reason."""

    guards: dict[str, list[str]]
    left_out: dict[str, str]

    @property
    def ids(self) -> list[str]:
        """All traced failures, in order."""
        return sorted({*self.guards, *self.left_out}, key=sort_key)


def sort_key(id: str) -> tuple[str, int]:
    """Return the sort key of a failure id: ``IDX-2`` comes before ``IDX-10``."""
    kind, _, number = id.rpartition("-")
    return kind, int(number)


@cache
def failures() -> tuple[str, ...]:
    """Return the ids of all known failures, in order.

    Raises InvalidScenario for an id that is malformed, repeated or misplaced.
    """
    ids = (FOLDER / "failures.txt").read_text("utf-8").split()
    for id in ids:
        if not re.fullmatch(r"[A-Z][A-Z0-9]*-[0-9]+", id):
            raise InvalidScenario(f"not a failure id: {id!r}", where="failures.txt", hint="write ids like IDX-01")
    if ids != sorted(set(ids), key=sort_key):
        raise InvalidScenario("the ids are not sorted, or one is repeated", where="failures.txt")
    return tuple(ids)


@cache
def trace() -> Trace:
    """Return the trace.

    Raises InvalidScenario if a failure is unknown, or has neither or both of scenarios and a reason.
    """
    table = guarded()
    left_out: dict[str, str] = tomllib.loads((FOLDER / "left_out.toml").read_text("utf-8"))["left_out"]
    problems = [
        *(f"{id} is not a known failure" for id in sorted({*table, *left_out} - set(failures()))),
        *(f"{id} has neither a scenario nor a reason" for id in failures() if id not in table and id not in left_out),
        *(f"{id} has scenarios ({', '.join(table[id])}) and a reason" for id in left_out if id in table),
    ]
    if problems:
        raise InvalidScenario("; ".join(problems), where="trace", hint="see conformance/cases/left_out.toml")
    return Trace({id: table[id] for id in failures() if id in table}, left_out)
