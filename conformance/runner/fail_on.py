"""The outcomes on which a run fails: those of ``results.BAD``, unless the user names others."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from toolparity.reports.results import BAD, BROKEN, OUTCOMES, Outcome

#: Every outcome that can fail a run.
CHOICES: tuple[Outcome, ...] = tuple(outcome for outcome in OUTCOMES if outcome != "pass")
DEFAULT: tuple[Outcome, ...] = BAD


def outcomes(names: Iterable[str]) -> tuple[Outcome, ...]:
    """Return the named outcomes in the order of reports. Names may be joined by commas; without a name, the default.

    Raises ValueError with the first name that is not in `CHOICES`.
    """
    named = [name.strip() for text in names for name in text.split(",")]
    for name in named:
        if name not in CHOICES:
            raise ValueError(name)
    return tuple(outcome for outcome in CHOICES if outcome in named) or DEFAULT


def excused(outcome: Outcome, fail_on: Collection[Outcome]) -> bool:
    """Return whether a law is broken or undecided although the run does not fail on it."""
    return outcome in BROKEN and outcome not in fail_on
