"""Signs of the outcomes, readable without colour. The scripts use the same table."""

from __future__ import annotations

from typing import NamedTuple

from .. import statistics
from ..results import BROKEN, OUTCOMES


class OutcomeIcon(NamedTuple):
    """``name`` is also the class in the style sheet. ``sign`` is one character, ``label`` the displayed name."""

    name: str
    sign: str
    label: str
    means: str


_SIGNS = {
    "error": ("!", "error"),
    "fail": ("✕", "fail"),
    "stale": ("↺", "stale"),
    "new": ("+", "new failure"),
    "expected": ("≈", "known failure"),
    "unsupported": ("-", "unsupported"),
    "pass": ("✓", "pass"),
}

#: Order of the outcomes in a cell with several, and after them the marks of cells without an outcome.
WORST = (*statistics.WORST_FIRST, "idle", "unrun", "none")

MARKS: dict[str, OutcomeIcon] = {
    **{name: OutcomeIcon(name, *_SIGNS[name], means) for name, means in OUTCOMES.items()},
    "idle": OutcomeIcon("idle", "∘", "no law here", "The selected law does not apply to these cases."),
    "unrun": OutcomeIcon("unrun", "○", "not run", "Other subjects ran this case; this subject did not."),
    "none": OutcomeIcon(
        "none", "·", "not applicable", "There is no such case: the wire or the mode cannot express it."
    ),
}

#: Outcomes that need attention.
NOTABLE = (*BROKEN, "stale")


def worst_icon(counts: statistics.Counts) -> OutcomeIcon:
    """Return the mark of the worst outcome in a cell."""
    return MARKS[statistics.worst_outcome(counts) or "none"]
