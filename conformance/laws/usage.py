"""The law `usage`: token counts are reported, with the same meaning on every wire."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import CaseRound, Evidence
from ..oracle.usage import wire_usage
from .common import Failure, declined_cut_response

SENTENCE = "Token figures survive, also where they come late, alone or twice."
LEVEL = "must"
CLAIMS = ("usage",)


def applies(evidence: Evidence) -> bool:
    """Applies if there are token counts in a response that was not declined; checked once for all policies."""
    return evidence.case.policy == "all" and any(_figures(evidence, round) for round in evidence.rounds)


def _figures(evidence: Evidence, round: CaseRound) -> dict[str, int] | None:
    """Return the token counts that the scenario specifies, or those on the wire.

    For a broken stream only the input counts: its output count is not final.
    """
    if declined_cut_response(evidence, round):
        return None
    figures = round.expected.usage or wire_usage(round.ask)
    if figures is None or (round.expected.complete and not round.expected.failed):
        return figures
    return {key: value for key, value in figures.items() if key != "output_tokens"} or None


def check(evidence: Evidence) -> Iterator[Failure]:
    """Compare the token counts. Input includes cached tokens, output includes reasoning tokens."""
    for round in evidence.rounds:
        figures, expected = _figures(evidence, round), round.expected
        if figures is None or (round.answer.error is not None and (expected.failed or not expected.complete)):
            continue
        told = round.answer.usage or {}
        for key, value in figures.items():
            if told.get(key) != value:
                yield Failure(round.number, f"{key} is {value}, and {told.get(key)} is told", figures, told)
