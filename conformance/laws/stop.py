"""The law `stop`: the stop reason says why the response ended."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import Evidence
from .common import Failure, missing_findings

SENTENCE = "The stop reason is what happened; disagreement with the wire is a finding."
LEVEL = "must"
CLAIMS = ("stop",)


def applies(evidence: Evidence) -> bool:
    """Applies to every case."""
    return True


def check(evidence: Evidence) -> Iterator[Failure]:
    """Compare the stop reasons, and whether the request may be retried."""
    for round in evidence.rounds:
        if round.answer.error is not None and round.expected.failed:
            continue
        yield from missing_findings(evidence, round, "stop")
        again = round.answer.retryable
        if round.expected.retryable is not None and again is not None and again != round.expected.retryable:
            yield Failure(
                round.number, "whether to ask again is told wrong", f"retryable: {round.expected.retryable}", again
            )
        if round.answer.stop != round.expected.stop:
            yield Failure(
                round.number,
                f"the answer ended with {round.expected.stop}, and {round.answer.stop} is told",
                round.expected.stop,
                round.answer.stop,
            )
