"""The failures of a run that are reproduced: the shortest case of each law that an implementation breaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from toolparity.reports.results import Run

from .failure import Failure
from .libraries import LIBRARIES
from .script import Script
from .topics import has_topic

#: The outcomes of a broken law.
_BROKEN = ("fail", "new", "expected")


class Accusation(Failure):
    """A failure that a script can reproduce."""

    @cached_property
    def script(self) -> Script:
        """The script that reproduces the failure."""
        return Script(self)


def failures(run: Run) -> Iterator[Accusation]:
    """Iterate over the failures of a run on subjects that scripts can ask."""
    versions = {subject.name: subject.version for subject in run.subjects}
    for result, verdict in run.verdicts():
        if verdict.outcome in _BROKEN and result.subject in LIBRARIES and result.rounds:
            yield Accusation(result, verdict, versions[result.subject])


def accusations(run: Run) -> Iterator[Accusation]:
    """Iterate over the failures of a run that a script can reproduce."""
    return filter(has_topic, failures(run))


def shortest(found: Iterable[Accusation]) -> list[Accusation]:
    """Return the shortest case of each subject and law, in the order of both names."""
    best: dict[tuple[str, str], Accusation] = {}
    for accusation in found:
        key = accusation.result.subject, accusation.verdict.check
        if key not in best or accusation.size < best[key].size:
            best[key] = accusation
    return [best[key] for key in sorted(best)]
