"""Releases of a library: which ones there are in its index, and which of them to test.

A version is compared by its numbers, so a part of a version is a bound that includes all releases that begin with it:
"1.100" as an upper bound includes 1.100.5. Pre-releases are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..errors import UnknownSubject
from .environments import Library
from .runtimes import RUNTIMES


def released(library: Library) -> list[str]:
    """Return the released versions of a library, oldest first. Raises MissingExtra if the index cannot be read."""
    return RUNTIMES[library.peer.runtime].releases(library.peer)


class Selection(NamedTuple):
    """The releases to test. ``range``: all releases of the range, oldest first. ``rule``: how they were selected.

    ``newest``: the newest release in the index.
    """

    range: list[str]
    selected: list[str]
    rule: str
    newest: str


def select(
    releases: Sequence[str], count: int, *, since: str = "", until: str = "", at: Collection[str] = ()
) -> Selection:
    """Select ``count`` releases, or exactly those of ``at``.

    With ``since``, they are spread evenly over the range. Without it, they are the last releases of the newest minor
    series. Raises UnknownSubject if no release matches.
    """
    if at:
        if missing := [version for version in at if version not in releases]:
            raise UnknownSubject(f"no release {', '.join(missing)}", hint=_known(releases))
        selected = [version for version in releases if version in at]
        return Selection(between(releases, selected[0], selected[-1]), selected, "named releases", releases[-1])
    bounded = between(releases, since, until)
    if since:
        rule = "all of the range" if count >= len(bounded) else "spread evenly over the releases"
        return Selection(bounded, spread(bounded, count), rule, releases[-1])
    selected = newest_series(bounded, count)
    return Selection(between(bounded, selected[0], ""), selected, "the last release of each minor series", releases[-1])


def between(releases: Sequence[str], since: str, until: str) -> list[str]:
    """Return the releases from ``since`` to ``until``, both included; "" means without a bound.

    Raises UnknownSubject if there is none.
    """
    first, last = numbers(since), numbers(until)
    found = [
        version
        for version in releases
        if first <= numbers(version)[: len(first)] and (not last or numbers(version)[: len(last)] <= last)
    ]
    if not found:
        bounds = f"from {since or releases[0]} to {until or releases[-1]}"
        raise UnknownSubject(f"no release {bounds}", hint=_known(releases))
    return found


def newest_series(releases: Sequence[str], count: int) -> list[str]:
    """Return the last release of each of the ``count`` newest minor series (1.100.x), oldest first."""
    series = {tuple(numbers(version)[:2]): version for version in releases}
    return list(series.values())[-count:]


def spread(releases: Sequence[str], count: int) -> list[str]:
    """Return ``count`` of the releases at equal distances, the first and the last included; all if there are fewer."""
    if count >= len(releases):
        return list(releases)
    if count == 1:
        return [releases[-1]]
    return [releases[round(number * (len(releases) - 1) / (count - 1))] for number in range(count)]


def numbers(version: str) -> list[int]:
    """Return the numbers of a version, for comparison."""
    return [int(number) for number in re.findall(r"\d+", version)]


def _known(releases: Sequence[str]) -> str:
    return f"there are {len(releases)} from {releases[0]} to {releases[-1]}"
