"""Differences between the outcomes of two versions, and the search for the releases that made them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from toolparity.reports.versions import LawChange

from .measurement import Measurement

Measure = Callable[[str], Measurement | None]


def differing(first: Measurement, second: Measurement, laws: Collection[str]) -> set[str]:
    """Return the cases that fail in one of two measurements only. ``laws``: those to compare; empty: all laws."""
    compared = laws or {*first.verdicts, *second.verdicts}
    return {case for law in compared for case in first.failing(law) ^ second.failing(law)}


def search(
    releases: Sequence[str], measure: Measure, first: Measurement, last: Measurement, laws: Collection[str]
) -> Iterator[Measurement]:
    """Measure releases between two until every difference is between neighbours, and yield each that was tested.

    ``releases``: all of the range, oldest first. ``measure`` returns None for a release that cannot be tested. Between
    two measurements that differ, the middle release is measured, or the nearest one that can be tested; then both
    halves are searched. The measurements come in the order of the releases.
    """
    if not differing(first, last, laws):
        return
    inner = releases[releases.index(first.version) + 1 : releases.index(last.version)]
    middle = len(inner) // 2
    nearest = sorted(inner, key=lambda version: abs(inner.index(version) - middle))
    found = next((tested for version in nearest if (tested := measure(version)) is not None), None)
    if found is not None:
        yield from search(releases, measure, first, found, laws)
        yield found
        yield from search(releases, measure, found, last, laws)


def changes_between(before: Measurement, after: Measurement, *, untested: int, seen: str) -> Iterator[LawChange]:
    """Yield the changes from one version to the next, law by law.

    ``untested``: the number of releases between the two. ``seen``: the selected version that shows the change.
    """
    names = sorted({*before.packages, *after.packages})
    pairs = ((name, (before.packages.get(name, ""), after.packages.get(name, ""))) for name in names)
    own = before.version, after.version
    packages = {name: versions for name, versions in pairs if versions[0] != versions[1] and versions != own}
    for law in sorted({*before.verdicts, *after.verdicts}):
        old, new = before.failing(law), after.failing(law)
        if old == new:
            continue
        yield LawChange(
            law,
            before.version,
            after.version,
            seen,
            broken=sorted((new - old) & before.passing(law)),
            fixed=sorted((old - new) & after.passing(law)),
            judged=sorted(new - old - before.passing(law)),
            unjudged=sorted(old - new - after.passing(law)),
            between=untested,
            packages=packages,
        )
