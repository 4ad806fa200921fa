"""What nobody knows yet is kept."""

from __future__ import annotations

from collections.abc import Iterator

from ..evidence import Evidence
from .common import Failure, flags, silent

SENTENCE = "Unknown blocks, events, enums and fields are kept and reported, never fatal."
LEVEL = "must"
CLAIMS: tuple[str, ...] = ()


def applies(evidence: Evidence) -> bool:
    """Where something unknown stands."""
    return any(round.expected.opaque or flags(round, "unknown") for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """The answer was read all the same; where blocks are told, the unknown ones are among them."""
    for round in evidence.rounds:
        if not (round.expected.opaque or flags(round, "unknown")):
            continue
        yield from silent(evidence, round, "unknown")
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
