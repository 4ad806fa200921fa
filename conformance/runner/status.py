"""The status of a verdict: its outcome, given what is known about its failure.

A failure that is withdrawn is not judged (`withdrawn`). One that the baseline lists is expected (`baseline`), and one
that the last release does not require is new (`release`). New failures do not fail a run, so that a new version of the
suite does not break a build overnight. A subject without a baseline has no such
build: its severe failures are never new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from toolparity.reports.results import KNOWN, Effect, Result, Verdict

from ..cases.case import Case
from . import release, withdrawn
from .baseline import FAILURES, BaselineEntry

#: Calls are run, lost or changed: effects that a first run has to show.
SEVERE: frozenset[Effect] = frozenset({"executed", "lost", "duplicated", "altered"})


class Known(Struct, frozen=True):
    """What is known about a subject before it runs. ``required``: None if all laws are required in all cases."""

    withdrawn: Sequence[BaselineEntry] = ()
    expected: Sequence[BaselineEntry] = ()
    required: release.ReleaseRequirements | None = None


def known(subject: str, expected: Sequence[BaselineEntry], *, unreleased: bool = False) -> Known:
    """Return what is known about a subject. ``unreleased``: everything is required."""
    return Known(withdrawn.accusations(subject), expected, release.requirements(unreleased=unreleased))


def status(result: Result, verdict: Verdict, known: Known) -> Verdict:
    """Return a verdict of this result with the outcome that is due to what is known."""
    if verdict.outcome != "fail":
        return verdict
    if (entry := _first(known.withdrawn, result, verdict)) is not None:
        return Verdict(verdict.check, "unsupported", f"not judged: {entry.reason}")
    if (entry := _first(known.expected, result, verdict)) is not None:
        why = f"{KNOWN}{entry.reason})" if entry.reason else ""
        return replace(verdict, outcome="expected", reason=verdict.reason + why)
    if known.required is None or (not known.expected and verdict.effect in SEVERE):
        return verdict
    if not known.required.include(result, verdict.check):
        return replace(verdict, outcome="new")
    return verdict


def apply(results: Iterable[Result], known: Known, left_out: Collection[Case] = ()) -> list[Result]:
    """Return the results with the status of each verdict, and report stale entries of the baseline.

    An entry is stale if it is the first that matches at least one verdict that passes, and none that fails. One that
    matches nothing, or names a case that the run has left out, is not stale: it may fail there. The first pass that a
    stale entry matches gets the outcome "stale".
    """
    found: list[Result] = []
    failing: set[BaselineEntry] = set()
    passing: dict[BaselineEntry, tuple[list[Verdict], int]] = {}
    for result in results:
        verdicts = [status(result, verdict, known) for verdict in result.verdicts]
        found.append(replace(result, verdicts=verdicts))
        for index, verdict in enumerate(verdicts):
            if verdict.outcome not in ("pass", "expected"):
                continue
            entry = _first(known.expected, result, verdict)
            if entry is not None and verdict.outcome == "expected":
                failing.add(entry)
            elif entry is not None and not entry.varies:
                passing.setdefault(entry, (verdicts, index))
    for entry, (verdicts, index) in passing.items():
        if entry not in failing and not any(map(entry.names, left_out)):
            reason = "the check passes now: remove the entry from the baseline"
            verdicts[index] = replace(verdicts[index], outcome="stale", reason=reason)
    return found


def is_stale(entry: BaselineEntry, results: Iterable[Result], known: Known) -> bool:
    """Return whether none of the verdicts that an entry matches fails."""
    verdicts = ((result, status(result, verdict, known)) for result in results for verdict in result.verdicts)
    failing = any(verdict.outcome in FAILURES and entry.matches(result, verdict) for result, verdict in verdicts)
    return not failing and not entry.varies


def _first(entries: Sequence[BaselineEntry], result: Result, verdict: Verdict) -> BaselineEntry | None:
    return next((entry for entry in entries if entry.matches(result, verdict)), None)
