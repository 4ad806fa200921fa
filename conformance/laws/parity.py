"""Laws that compare related cases: streamed and plain, other pieces of the same bytes, other providers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.cassettes.surfaces import SURFACES
from toolparity.reports.results import Effect

from ..answer import same_answer
from ..cases.case import CaseRound, Evidence
from .law import Failure, Unjudged, accepts_stop, law
from .matching import call_list, comparable_parts, match_calls

#: The ways in which the bytes are split again (`toolparity.cassettes.chunking`).
CHUNKINGS = ("ends", "odd", "utf8", "merged", "whole")
#: The finest of them makes nine of ten pieces. Only streams of up to this many bytes are split so, unless the run is
#: exhaustive: the other splits cut longer ones at every kind of place, too.
_FINEST, _SHORT = "ends", 1024


def _compare(
    round: CaseRound, other: CaseRound, subject_has_status: bool = True
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the comparable parts of both answers."""
    parts, others = (comparable_parts(r.answer.acted, r.answer.text, r.answer.stop) for r in (round, other))
    if not subject_has_status and any(call.status != "complete" for call in other.expected.calls):
        # Broken arguments are text in a stream and may be parsed JSON in the plain form.
        parts["calls"], others["calls"] = ([name for name, _ in p["calls"]] for p in (parts, others))
    return parts, others


def _differences(parts: dict[str, Any], others: dict[str, Any]) -> str:
    return ", ".join(key for key in parts if parts[key] != others[key])


def _pairs(rounds: list[CaseRound], siblings: list[CaseRound] | None) -> list[tuple[CaseRound, CaseRound]]:
    """Return each round with the same round of the sibling.

    Raises Unjudged if the subject refused the sibling: `conservation` fails that case, and a refusal counts once.
    """
    by_number = {sibling.number: sibling for sibling in siblings or []}
    pairs = [(round, by_number[round.number]) for round in rounds if round.number in by_number]
    if any(sibling.answer.error is not None for _, sibling in pairs):
        raise Unjudged("the subject refused the response to compare with")
    return pairs


def _plain_sibling(evidence: Evidence) -> list[CaseRound] | None:
    return evidence.sibling(evidence.case._replace(mode="plain"), None)


@law(
    "stream-parity",
    "The streamed and the plain form of one answer give one canonical response.",
    claims=("stream",),
    applies=lambda evidence: (
        evidence.case.stream
        and all(round.expected.complete for round in evidence.rounds)
        and _plain_sibling(evidence) is not None
    ),
)
def stream_parity(evidence: Evidence) -> Iterator[Failure]:
    """Compare calls, text and stop reason of both modes, round by round.

    Ids and the spelling of arguments are ignored.
    """
    has_status = "status" in evidence.subject.claims
    for streamed, plain in _pairs(evidence.rounds, _plain_sibling(evidence)):
        parts, others = _compare(streamed, plain, has_status)
        if parts != others:
            reason = f"streamed and plain differ in {_differences(parts, others)}"
            yield Failure(streamed.number, reason, others, parts, effect="altered")
        kinds = [_block_kinds(answer.blocks) for answer in (plain.answer, streamed.answer)]
        if kinds[0] != kinds[1]:
            reason = "streamed and plain differ in their blocks"
            yield Failure(streamed.number, reason, kinds[0], kinds[1], effect="altered")


def _block_kinds(blocks: list[dict[str, Any]] | None) -> list[str] | None:
    """Return the types of the blocks. For reasoning, only whether it has text is compared, because the text varies."""
    if blocks is None:
        return None
    return [
        "reasoning without text" if block["type"] == "reasoning" and not block["text"] else str(block["type"])
        for block in blocks
    ]


def _arrives_as_bytes(evidence: Evidence) -> bool:
    return not SURFACES[evidence.case.surface].by_messages


@law(
    "any-split",
    "The same bytes, cut at any place, give the same response.",
    claims=("stream",),
    # Messages always arrive complete, so they are not split.
    applies=lambda evidence: evidence.case.stream and evidence.case.policy == "all" and _arrives_as_bytes(evidence),
)
def any_split(evidence: Evidence) -> Iterator[Failure]:
    """Compare the answers to each split with the answers to the recorded pieces."""
    longest = max(len(round.exchange.body) for round in evidence.rounds)
    for chunking in CHUNKINGS:
        if chunking == _FINEST and longest > _SHORT and not evidence.exhaustive:
            continue
        siblings = {other.number: other for other in evidence.sibling(evidence.case, chunking) or []}
        for round in evidence.rounds:
            other = siblings[round.number]
            if not same_answer(round.answer, other.answer):
                reason = f"the same bytes, split differently ({chunking}), give another answer"
                expected, got = (
                    call_list(answer.calls) if answer.error is None else answer.error
                    for answer in (round.answer, other.answer)
                )
                effect: Effect = "altered" if other.answer.error is None else "refused"
                yield Failure(round.number, reason, expected, got, effect=effect)


@law(
    "alike",
    "One scenario, played by all providers, gives one skeleton: client calls in order, the text, the stop.",
    claims=("stop", "text"),
    applies=lambda evidence: len(evidence.surfaces) > 1 and _other_surface(evidence) is not None,
)
def alike(evidence: Evidence) -> Iterator[Failure]:
    """Compare the rounds of both surfaces."""
    other = _other_surface(evidence) or ""
    for round, sibling in _pairs(evidence.rounds, evidence.sibling(evidence.case._replace(surface=other), None)):
        if round.expected.failed or _is_as_expected(evidence, round):
            continue  # if the other round differs, the failure is of that case
        parts, others = _compare(round, sibling)
        if parts != others:
            reason = f"{evidence.case.surface} and {other} differ in {_differences(parts, others)}"
            yield Failure(round.number, reason, others, parts, effect="altered")


def _is_as_expected(evidence: Evidence, round: CaseRound) -> bool:
    """Return whether the calls, the text and the stop reason of an answer are those of the scenario."""
    expected, answer = round.expected, round.answer
    kept = round.selection.kept if "select" in evidence.subject.claims else list(range(len(expected.calls)))
    indexes, _ = match_calls(expected.calls, answer.acted)
    texts = {expected.text, answer.text} if expected.refusal else {expected.text}
    return indexes == kept and answer.text in texts and accepts_stop(evidence.subject, round)


def _other_surface(evidence: Evidence) -> str | None:
    """Return the surface to compare with: the first other one that the subject reads."""
    case = evidence.case
    for name in evidence.surfaces:
        if name != case.surface and evidence.sibling(case._replace(surface=name), None) is not None:
            return name
    return None
