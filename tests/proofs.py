"""The proofs that the plain run keeps: a case that passed for each law, known failure, class of faults and known-bad
subject.

A test names what it proves by its name (``test_IDX_01_…``), by its file (tests/faults), or with the
fixture ``proves``. The summary of a whole plain run names what is missing, and fails the run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
#: The name of the property of a report with the ids that its case proves.
PROPERTY = "proves"
_FAILURES = re.compile(r"test_((?:[A-Z][A-Z0-9]*_[0-9]+_)+)")


class Missing(NamedTuple):
    """The ids of one kind that no case of a run has proved, and how many there are of this kind."""

    kind: str
    ids: list[str]
    count: int


def failures_in(name: str) -> set[str]:
    """Return the known failures that the name of a test function begins with, such as ``test_IDX_01_IDX_02_…``."""
    match = _FAILURES.match(name)
    return {"-".join(id) for id in re.findall(r"([A-Z][A-Z0-9]*)_([0-9]+)_", match[1])} if match else set()


def proved_by(nodeid: str) -> set[str]:
    """Return the ids that a case proves by its name or its file."""
    path, _, name = nodeid.partition("::")
    proved = failures_in(name.rpartition("::")[2])
    return proved | {Path(path).stem} if path.startswith("tests/faults/") else proved


def missing(proved: set[str]) -> list[Missing]:
    """Return what is missing of each kind, whether or not there is any."""
    return [Missing(kind, sorted(ids - proved), len(ids)) for kind, ids in expected().items()]


def expected() -> dict[str, set[str]]:
    """Return the ids of each kind of proof."""
    from tests.failures import test_trace
    from toolparity.conformance.cases import coverage
    from toolparity.conformance.known_bad import known_bad
    from toolparity.conformance.laws import LAWS

    return {
        "laws": {f"law {id}" for id in LAWS},
        "known-bad subjects": {f"known-bad {name}" for name in known_bad()},
        "known failures": set(coverage.failures()) - set(test_trace.reasons()),
        "classes of faults": {path.stem for path in (HERE / "faults").glob("test_*.py")},
    }
