"""A whole history: the selected versions, the search for changes between them, and the record of both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from toolparity import __version__
from toolparity.reports.versions import LawChange, LibraryHistory, Version

from ...subjects import environments
from ...subjects.releases import Selection
from .. import suite
from .changes import changes_between, differing, search
from .measurement import Measurement, scenario_of
from .measurer import Measurer
from .notes import NOTES


def run(
    measurer: Measurer,
    selection: Selection,
    *,
    bisect: Collection[str] | None = None,
    on_version: Callable[[Version], None] = lambda version: None,
) -> LibraryHistory:
    """Measure the selected versions, and search for the releases that changed a law.

    ``bisect``: the laws to search for; an empty collection means all laws, None means no search. ``on_version`` gets
    each selected version when it was measured.
    """
    versions, tested = [], []
    for name in selection.selected:
        measurement = measurer.measure(name)
        if measurement is None:
            version = Version(name, measurer.refused[name])
        else:
            version = Version(name, "", measurement.cases, measurement.laws)
            tested.append(measurement)
        versions.append(version)
        on_version(version)
    changes: list[LawChange] = []
    searched: list[str] = []
    for pair in pairwise(tested):
        found, steps = _changes(measurer, selection.range, *pair, bisect)
        changes += found
        searched += steps
    notes = NOTES.get(measurer.name, {})
    refused = [name for name in measurer.refused if name not in selection.selected]
    versions += [Version(name, measurer.refused.get(name, ""), found=True) for name in (*refused, *searched)]
    return LibraryHistory(
        measurer.name,
        environments.known(measurer.name).peer.distribution,
        __version__,
        suite.now(),
        selection.rule,
        len(selection.range),
        sorted(versions, key=lambda version: selection.range.index(version.version)),
        changes,
        {change.after: notes[change.after] for change in changes if change.after in notes},
        selection.newest,
    )


def _changes(
    measurer: Measurer,
    releases: Sequence[str],
    first: Measurement,
    last: Measurement,
    bisect: Collection[str] | None,
) -> tuple[list[LawChange], list[str]]:
    """Return the changes between two selected versions, and the releases that the search for them ran.

    A search runs the scenarios that differ only, so that it takes seconds for a release. It does not see a change that
    another release undid before the second version.
    """
    direct = changes_between(first, last, untested=_untested(releases, first, last), seen=last.version)
    if bisect is None:
        return [*direct], []
    changes = [change for change in direct if bisect and change.law not in bisect]
    scenarios = {scenario_of(case) for case in differing(first, last, bisect)}
    ends = first.restricted(scenarios), last.restricted(scenarios)
    steps = [*search(releases, measurer.narrowed(scenarios).measure, *ends, bisect)]
    for before, after in pairwise([ends[0], *steps, ends[1]]):
        found = changes_between(before, after, untested=_untested(releases, before, after), seen=last.version)
        changes += [change for change in found if not bisect or change.law in bisect]
    return changes, [step.version for step in steps]


def _untested(releases: Sequence[str], before: Measurement, after: Measurement) -> int:
    return releases.index(after.version) - releases.index(before.version) - 1
