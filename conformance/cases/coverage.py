"""The trace: which scenarios guard against each known failure, or why none does.

    python -m toolparity.conformance.cases.coverage > docs/trace.md

Failures are identified by ids. The ids that must be traced are listed in `conformance/cases/failures.txt`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache
from importlib import resources

from msgspec import Struct

from toolparity.cassettes.errors import InvalidScenario

from .scenarios import guarded, scenarios

FOLDER = resources.files(__package__)

HEAD = """\
# Trace

Each known failure has scenarios that guard against it, or a reason why no scenario does. `python -m
toolparity.conformance.cases.coverage > docs/trace.md` writes this page from the `guards` of the scenarios
(`cassettes/scenarios/*.toml`) and from `conformance/cases/left_out.toml`.

"""


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


def page() -> str:
    """Return the Markdown page: the counts, the table, the reasons."""
    coverage = trace()
    guarding = {scenario for names in coverage.guards.values() for scenario in names}
    counts = (
        f"{len(coverage.ids)} failures: {len(coverage.guards)} guarded by {len(guarding)} of {len(scenarios())} "
        f"scenarios, {len(coverage.left_out)} left out. "
        "The other scenarios guard against failures that were not observed yet.\n\n"
    )
    rows = "".join(
        f"| {id} | {', '.join(f'`{name}`' for name in coverage.guards[id])} |\n"
        for id in coverage.ids
        if id in coverage.guards
    )
    reasons = "".join(f"| {id} | {coverage.left_out[id]} |\n" for id in coverage.ids if id in coverage.left_out)
    return (
        f"{HEAD}{counts}| failure | scenarios |\n|---|---|\n{rows}"
        f"\n## Left out\n\n| failure | reason |\n|---|---|\n{reasons}"
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
