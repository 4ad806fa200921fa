"""The law `order`: calls keep the model's order."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import Evidence
from .common import Failure, call_list, match_calls

SENTENCE = "Calls keep the model's order."
LEVEL = "must"
CLAIMS: tuple[str, ...] = ()


def applies(evidence: Evidence) -> bool:
    """Applies if a response has at least two calls."""
    return any(len(round.expected.calls) > 1 for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check that the calls to execute are in wire order.

    If the subject returns blocks, the calls among the blocks must be in wire order, too.
    """
    for round in evidence.rounds:
        told = [round.answer.acted]
        if round.answer.blocks is not None:
            told.append(round.answer.calls)  # in block order, including dropped and rejected calls
        for calls in told:
            places = [p for p in match_calls(round.expected.calls, calls)[0] if p is not None]
            if places != sorted(places):
                yield Failure(
                    round.number,
                    "the calls stand in another order than the model gave them",
                    call_list(round.expected.calls),
                    call_list(calls),
                )
