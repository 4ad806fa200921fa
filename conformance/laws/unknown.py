"""The law `unknown`: unknown content is kept and reported."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import Evidence
from .common import Failure, expected_codes, missing_findings

SENTENCE = "Unknown blocks, events, enums and fields are kept and reported, never fatal."
LEVEL = "must"
CLAIMS: tuple[str, ...] = ()


def applies(evidence: Evidence) -> bool:
    """Applies if the response has unknown content."""
    return any(round.expected.opaque or expected_codes(round, "unknown") for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check that the response was read, and that blocks, if claimed, include the unknown ones with their content."""
    for round in evidence.rounds:
        if not (round.expected.opaque or expected_codes(round, "unknown")):
            continue
        yield from missing_findings(evidence, round, "unknown")
        if round.answer.error is not None:
            yield Failure(round.number, f"something unknown was fatal: {round.answer.error}")
        elif "blocks" in evidence.subject.claims:
            told = [block["wire_type"] for block in round.answer.blocks or [] if block["type"] == "opaque"]
            if told != round.expected.opaque:
                yield Failure(round.number, "unknown blocks are not told", round.expected.opaque, told)
            for block in round.answer.blocks or []:
                if block["type"] == "opaque" and not block["raw"]:
                    reason = f"of the unknown block {block['wire_type']} nothing is kept but its name"
                    yield Failure(round.number, reason, "what stood in it", block["raw"])
