"""The published results, which are 40 MB of JSON: each process of the tests decodes them once."""

from __future__ import annotations

from functools import cache

from toolparity.conformance.cli.publish import FOLDER, RESULTS
from toolparity.conformance.reproductions import Accusation, accusations
from toolparity.conformance.reproductions import shortest as shortest_of
from toolparity.reports.files import load
from toolparity.reports.results import Run


@cache
def published() -> Run:
    """The run."""
    return load(FOLDER / RESULTS)


@cache
def failures() -> list[Accusation]:
    """The failures of the run that a script can reproduce."""
    return list(accusations(published()))


@cache
def shortest() -> list[Accusation]:
    """The shortest case of each subject and law."""
    return shortest_of(failures())
