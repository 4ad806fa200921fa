"""Laws that compare related cases: streamed and plain, other pieces of the same bytes, other providers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec
from toolparity.reports.results import Effect

from ..answer import same_answer
from ..cases.case import CaseRound, Evidence
from .law import Failure, Unjudged, accepts_stop, is_due, law
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
    applies=lambda evidence: evidence.case.stream and _arrives_as_bytes(evidence) and is_due(evidence),
)
def any_split(evidence: Evidence) -> Iterator[Failure]:
    """Compare the answers to each split with the answers to the recorded pieces.

    Under `first` and `batch` it is one split: all calls arrive together.
    """
    longest = max(len(round.exchange.body) for round in evidence.rounds)
    for chunking in CHUNKINGS:
        if evidence.case.policy != "all" and not evidence.exhaustive and chunking != "whole":
            continue
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
    # What other policies change, `conservation` and `same-first` compare with the scenario.
    applies=lambda evidence: evidence.case.policy == "all" and _other_surface(evidence) is not None,
)
def alike(evidence: Evidence) -> Iterator[Failure]:
    """Compare the rounds of both surfaces.

    Other laws compare calls, text and stop reason with the scenario. Only this law fails a subject that returns numbers
    as integers on one wire and as floats on another: `arguments` accepts both, because JSON has one type of numbers.
    """
    other = _other_surface(evidence) or ""
    for round, sibling in _pairs(evidence.rounds, evidence.sibling(evidence.case._replace(surface=other), None)):
        if round.expected.failed:
            continue
        parts, others = _compare(round, sibling)
        if parts == others:
            numbers, other_numbers = (_numbers(call.value for call in each.answer.acted) for each in (round, sibling))
            if numbers != other_numbers and not (_spells_fractions(round) or _spells_fractions(sibling)):
                reason = f"{evidence.case.surface} and {other} differ in the types of numbers"
                yield Failure(round.number, reason, other_numbers, numbers, effect="altered")
        elif not _is_as_expected(evidence, round):  # otherwise the failure is of the other case
            reason = f"{evidence.case.surface} and {other} differ in {_differences(parts, others)}"
            yield Failure(round.number, reason, others, parts, effect="altered")


def _numbers(values: Iterable[Any]) -> list[str]:
    """Return the numbers in JSON values as text, with their type: 3 or 3.0."""
    found = []
    for value in values:
        if isinstance(value, dict):
            found += _numbers(value[key] for key in sorted(value))
        elif isinstance(value, list):
            found += _numbers(value)
        elif isinstance(value, (int, float)):
            found.append(repr(value))
    return found


def _spells_fractions(round: CaseRound) -> bool:
    """Return whether a call may have a number that readers return as an integer or as a float, such as 1.0 or 1e3."""
    texts = (json_codec.text(call.arguments) if call.text is None else call.text for call in round.expected.calls)
    return any(re.search(r"\d[.eE]|\d{16}", text) for text in texts)


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
