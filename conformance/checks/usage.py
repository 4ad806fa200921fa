"""What it cost is told, and means the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from ..evidence import Evidence
from ..wire_usage import usage_on
from .common import Failure

SENTENCE = "Token figures survive, also where they come late, alone or twice."
LEVEL = "must"
CLAIMS = ("usage",)
SINCE = "0.1.0"


def applies(evidence: Evidence) -> bool:
    """Where the wire tells figures; once for all policies."""
    return evidence.case.policy == "all" and any(usage_on(round.ask) is not None for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Input with what was cached, output with what was thought."""
    for round in evidence.rounds:
        figures = usage_on(round.ask)
        if figures is None:
            continue
        told = round.answer.usage or {}
        for key, value in figures.items():
            if told.get(key) != value:
                yield Failure(round.number, f"{key} is {value}, and {told.get(key)} is told", figures, told)
