"""Calls keep the model's order."""

from __future__ import annotations

from collections.abc import Iterator

from ..evidence import Evidence
from .common import Failure, listed, matched

SENTENCE = "Calls keep the model's order."
LEVEL = "must"
CLAIMS: tuple[str, ...] = ()


def applies(evidence: Evidence) -> bool:
    """Where an answer holds two calls or more."""
    return any(len(round.expected.calls) > 1 for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """The calls that are to be executed stand in wire order, and those among the blocks, where blocks are told."""
    for round in evidence.rounds:
        told = [round.answer.acted]
        if round.answer.blocks is not None:
            told.append(round.answer.calls)  # in the order of their blocks, whatever becomes of them
        for calls in told:
            places = [p for p in matched(round.expected.calls, calls)[0] if p is not None]
            if places != sorted(places):
                yield Failure(
                    round.number,
                    "the calls stand in another order than the model gave them",
                    listed(round.expected.calls),
                    listed(calls),
                )
