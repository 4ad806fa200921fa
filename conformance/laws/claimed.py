"""Checks that a subject delivers what it claims, for the claims that no law checks completely."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import CaseRound, Evidence
from .common import Failure


def withheld(evidence: Evidence, round: CaseRound) -> Iterator[Failure]:
    """Yield a failure for each claim of text or blocks that the subject does not fulfil in this round."""
    claims, answer, expected = evidence.subject.claims, round.answer, round.expected
    if not expected.complete or expected.failed:
        return
    if "text" in claims and answer.error is None and not answer.text and (expected.text or answer.text is None):
        yield Failure(round.number, "it claims text, and gives no words", expected.text, answer.text)
    elif "text" in claims and answer.error is None and not expected.refusal and answer.text != expected.text:
        yield Failure(round.number, "it claims text, and gives other words", expected.text, answer.text)
    if "blocks" in claims and answer.error is None and answer.blocks is None:
        yield Failure(round.number, "it claims blocks, and gives none")
