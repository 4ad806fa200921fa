"""No call is lost, merged, invented or told twice."""

from __future__ import annotations

from collections.abc import Iterator

from ..evidence import Evidence, Round
from .common import Failure, listed, matched, silent

SENTENCE = "Every call on the wire is kept, dropped, rejected or server-side: once, and only once, under its own id."
LEVEL = "must"
CLAIMS: tuple[str, ...] = ()
SINCE = "0.1.0"


def applies(evidence: Evidence) -> bool:
    """Everywhere: an answer without calls must not give any."""
    return True


def check(evidence: Evidence) -> Iterator[Failure]:
    """Compare the calls that the subject accounts for with those on the wire, as two bags."""
    for round in evidence.rounds:
        wanted, answer = round.expected.calls, round.answer
        if answer.error is not None and not round.expected.failed and wanted:
            yield Failure(round.number, f"the body was not read: {answer.error}", listed(wanted), "nothing")
            continue
        if not round.expected.complete and "select" not in evidence.subject.claims:
            continue  # what an accumulator holds of a broken stream is not told to be a call
        yield from silent(evidence, round, "conservation")
        places, strangers = matched(wanted, answer.calls)
        yield from _ids(round, places)
        found = {place for place in places if place is not None}
        lost = [call for place, call in enumerate(wanted) if place not in found]
        if not round.expected.complete:
            lost = []  # what stood in a stream that broke may be told or not; it must not run (law `incomplete`)
        if lost:
            count = f"{len(wanted)} call{'s' * (len(wanted) != 1)} on the wire, {len(answer.calls)} accounted for"
            yield Failure(
                round.number,
                f"{count}: {listed(lost)} vanished without a word",
                listed(wanted),
                listed(answer.calls),
            )
        if strangers:
            yield Failure(
                round.number,
                f"{listed(strangers)} stands nowhere on the wire, or was told twice",
                listed(wanted),
                listed(answer.calls),
            )


def _ids(round: Round, places: list[int | None]) -> Iterator[Failure]:
    """An id that the case is about is told as it stands there, and no two calls can be answered under one."""
    for place, call in zip(places, round.answer.calls, strict=True):
        wanted = None if place is None else round.expected.calls[place].id
        if wanted is not None and call.id is not None and call.id != wanted:
            reason = f"the call {call.name} has another id than the provider gave it"
            yield Failure(round.number, reason, wanted, call.id)
    told = [call.id for call in round.answer.calls if call.id is not None]
    twice = sorted({id for id in told if told.count(id) > 1})
    if twice:
        yield Failure(round.number, f"two calls are told under one id: {', '.join(map(repr, twice))}", None, told)
