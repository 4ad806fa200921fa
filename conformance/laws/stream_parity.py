"""The law `stream-parity`: streaming does not change the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases.case import Evidence
from .common import Failure, comparable_parts

SENTENCE = "The streamed and the plain form of one answer give one canonical response."
LEVEL = "must"
CLAIMS = ("stream",)


def applies(evidence: Evidence) -> bool:
    """Applies to complete streams that have a plain sibling."""
    whole = all(round.expected.complete for round in evidence.rounds)
    return evidence.case.stream and whole and evidence.sibling(evidence.case._replace(mode="plain"), None) is not None


def check(evidence: Evidence) -> Iterator[Failure]:
    """Compare calls, text and stop reason of both modes, round by round.

    Ids and the spelling of arguments are ignored.
    """
    plain = evidence.sibling(evidence.case._replace(mode="plain"), None) or []
    for streamed, other in zip(evidence.rounds, plain, strict=False):
        a, b = (comparable_parts(r.answer.acted, r.answer.text, r.answer.stop) for r in (streamed, other))
        if "status" not in evidence.subject.claims and any(call.status != "complete" for call in other.expected.calls):
            # Broken arguments are text in a stream and may be parsed JSON in the plain form.
            a["calls"], b["calls"] = ([name for name, _ in told["calls"]] for told in (a, b))
        if a != b:
            differs = ", ".join(key for key in a if a[key] != b[key])
            yield Failure(streamed.number, f"streamed and plain differ in {differs}", b, a)
        kinds = [_told(answer.blocks) for answer in (other.answer, streamed.answer)]
        if kinds[0] != kinds[1]:
            yield Failure(streamed.number, "streamed and plain differ in their blocks", kinds[0], kinds[1])


def _told(blocks: list[dict[str, Any]] | None) -> list[str] | None:
    """Return the types of the blocks. For reasoning, only whether it has text is compared, because the text varies."""
    if blocks is None:
        return None
    return [_kind(block) for block in blocks]


def _kind(block: dict[str, Any]) -> str:
    return "reasoning without words" if block["type"] == "reasoning" and not block["text"] else str(block["type"])
