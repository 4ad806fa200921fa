"""The law `alike`: one scenario gives the same result with every provider."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import Evidence
from .common import Failure, comparable_parts

SENTENCE = (
    "One scenario, played by all providers, gives one skeleton: client calls in order, the joined text, the stop."
)
LEVEL = "must"
CLAIMS = ("stop", "text")


def applies(evidence: Evidence) -> bool:
    """Applies if the scenario has another surface that the subject reads."""
    return len(evidence.surfaces) > 1 and _other(evidence) is not None


def _other(evidence: Evidence) -> str | None:
    """Return the surface to compare with: the first other one that the subject reads."""
    case = evidence.case
    for name in evidence.surfaces:
        if name != case.surface and evidence.sibling(case._replace(surface=name), None) is not None:
            return name
    return None


def check(evidence: Evidence) -> Iterator[Failure]:
    """Compare the rounds of both surfaces."""
    other = _other(evidence) or ""
    theirs = evidence.sibling(evidence.case._replace(surface=other), None) or []
    for mine, its in zip(evidence.rounds, theirs, strict=False):
        if mine.expected.failed:
            continue
        a, b = (comparable_parts(r.answer.acted, r.answer.text, r.answer.stop) for r in (mine, its))
        if a != b:
            differs = ", ".join(key for key in a if a[key] != b[key])
            yield Failure(mine.number, f"{evidence.case.surface} and {other} give other {differs}", b, a)
