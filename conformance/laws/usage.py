"""What it cost is told, and means the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from ..evidence import Evidence, Round
from ..wire_usage import usage_on
from .common import Failure, declined

SENTENCE = "Token figures survive, also where they come late, alone or twice."
LEVEL = "must"
CLAIMS = ("usage",)


def applies(evidence: Evidence) -> bool:
    """Where figures are told, in an answer that was not declined; once for all policies."""
    return evidence.case.policy == "all" and any(_figures(evidence, round) for round in evidence.rounds)


def _figures(evidence: Evidence, round: Round) -> dict[str, int] | None:
    """What the scenario tells, or what stands on the wire. Of a stream that broke only the input: what stood there of
    the output was a beginning, and how much it was is nobody's to know.
    """
    if declined(evidence, round):
        return None
    figures = round.expected.usage or usage_on(round.ask)
    if figures is None or (round.expected.complete and not round.expected.failed):
        return figures
    return {key: value for key, value in figures.items() if key != "output_tokens"} or None


def check(evidence: Evidence) -> Iterator[Failure]:
    """Input with what was cached, output with what was thought."""
    for round in evidence.rounds:
        figures, expected = _figures(evidence, round), round.expected
        if figures is None or (round.answer.error is not None and (expected.failed or not expected.complete)):
            continue
        told = round.answer.usage or {}
        for key, value in figures.items():
            if told.get(key) != value:
                yield Failure(round.number, f"{key} is {value}, and {told.get(key)} is told", figures, told)
