"""Streaming changes when something is known, not what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..evidence import Evidence
from .common import Failure, skeleton

SENTENCE = "The streamed and the plain form of one answer give one canonical response."
LEVEL = "must"
CLAIMS = ("stream",)


def applies(evidence: Evidence) -> bool:
    """Streamed cases that have a plain sibling, and whose stream came to its end."""
    whole = all(round.expected.complete for round in evidence.rounds)
    return evidence.case.stream and whole and evidence.sibling(evidence.case._replace(mode="plain"), None) is not None


def check(evidence: Evidence) -> Iterator[Failure]:
    """Calls, words and stop of both, round by round; ids and spelling aside."""
    plain = evidence.sibling(evidence.case._replace(mode="plain"), None) or []
    for streamed, other in zip(evidence.rounds, plain, strict=False):
        a, b = (skeleton(r.answer.acted, r.answer.text, r.answer.stop) for r in (streamed, other))
        if "status" not in evidence.subject.claims and any(call.status != "complete" for call in other.expected.calls):
            # Broken arguments are pieces of text in a stream and may be parsed JSON in the plain form.
            a["calls"], b["calls"] = ([name for name, _ in told["calls"]] for told in (a, b))
        if a != b:
            differs = ", ".join(key for key in a if a[key] != b[key])
            yield Failure(streamed.number, f"streamed and plain differ in {differs}", b, a)
        kinds = [_told(answer.blocks) for answer in (other.answer, streamed.answer)]
        if kinds[0] != kinds[1]:
            yield Failure(streamed.number, "streamed and plain differ in their blocks", kinds[0], kinds[1])


def _told(blocks: list[dict[str, Any]] | None) -> list[str] | None:
    """The kinds of the blocks, and of reasoning whether its words are there: they are others each time."""
    if blocks is None:
        return None
    return [_kind(block) for block in blocks]


def _kind(block: dict[str, Any]) -> str:
    return "reasoning without words" if block["type"] == "reasoning" and not block["text"] else str(block["type"])
