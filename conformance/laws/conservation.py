"""The law `conservation`: no call is lost, merged, invented or duplicated."""

from __future__ import annotations

from collections.abc import Iterator

from ..answer import AnsweredCall
from ..cases.case import CaseRound, Evidence
from ..cases.expected import ExpectedCall
from .claimed import withheld
from .common import Failure, call_list, declined_cut_response, is_same_call, match_calls, missing_findings

SENTENCE = "Every call on the wire is kept, dropped, rejected or server-side: once, and only once, under its own id."
LEVEL = "must"
CLAIMS: tuple[str, ...] = ()


def applies(evidence: Evidence) -> bool:
    """Applies to every case: an answer to a response without calls must not have any."""
    return True


def check(evidence: Evidence) -> Iterator[Failure]:
    """Compare the calls that the subject accounts for with those on the wire."""
    for round in evidence.rounds:
        wanted, answer = round.expected.calls, round.answer
        acts = "select" in evidence.subject.claims
        if not round.expected.complete and not acts:
            continue  # a subject that runs nothing may return or refuse the calls of a broken stream
        if declined_cut_response(evidence, round):
            continue
        if answer.error is not None and not round.expected.failed and (wanted or "text" in evidence.subject.claims):
            yield Failure(round.number, f"the body was not read: {answer.error}", call_list(wanted), "nothing")
            continue
        yield from missing_findings(evidence, round, "conservation")
        places, strangers = match_calls(wanted, answer.calls)
        yield from _ids(round, places, acts=acts)
        if not acts:
            places, strangers = _spelled_otherwise(wanted, answer.calls, places, strangers)
        found = {place for place in places if place is not None}
        lost = [call for place, call in enumerate(wanted) if place not in found]
        if not round.expected.complete:
            lost = []  # calls of a broken stream may be missing; they must not run (law `incomplete`)
        if lost:
            count = f"{len(wanted)} call{'s' * (len(wanted) != 1)} on the wire, {len(answer.calls)} accounted for"
            yield Failure(
                round.number,
                f"{count}: {call_list(lost)} vanished without a word",
                call_list(wanted),
                call_list(answer.calls),
            )
        if strangers:
            yield Failure(
                round.number,
                f"{call_list(strangers)} is not a client call of this answer, or appears more than once",
                call_list(wanted),
                call_list(answer.calls),
            )
        if acts:
            yield from _dealt(round)
        yield from withheld(evidence, round)


def _dealt(round: CaseRound) -> Iterator[Failure]:
    """Check that each call is kept, dropped or rejected exactly once, and that the kept calls would run.

    The law `same-first` checks which call `first` keeps, and the law `incomplete` which calls must never run.
    """
    wanted, answer, split = round.expected.calls, round.answer, round.split
    if not round.expected.complete or round.expected.failed:
        return
    places, again = match_calls(wanted, answer.acted)
    if again:
        reason = f"{call_list(again)} would run once more than it stands on the wire"
        yield Failure(round.number, reason, call_list(wanted), call_list(answer.acted))
    if answer.kept is not None and answer.dropped is not None and answer.rejected is not None:
        told = [*answer.kept, *answer.dropped, *answer.rejected]
        found, again = match_calls(wanted, told)
        if again:
            reason = f"{call_list(again)} is told twice: each call is kept, dropped or rejected"
            yield Failure(round.number, reason, call_list(wanted), call_list(told))
        lost = [call for place, call in enumerate(wanted) if place not in found]
        if lost:
            reason = f"{call_list(lost)} is neither kept nor dropped nor rejected"
            yield Failure(round.number, reason, call_list(wanted), call_list(told))
    if round.ask.policy == "first":
        return
    kept = call_list(wanted[place] for place in split.kept)
    idle = [wanted[place] for place in split.kept if place not in places]
    if idle:
        reason = f"{call_list(idle)} would not run, and the policy {round.ask.policy} keeps it"
        yield Failure(round.number, reason, kept, call_list(answer.acted))
    surplus = [wanted[place] for place in places if place in split.dropped]
    if surplus:
        why = "it is of another choice" if surplus[0].choice else f"no more than {round.ask.limit} calls are to run"
        yield Failure(round.number, f"{call_list(surplus)} would run, and {why}", kept, call_list(answer.acted))


def _spelled_otherwise(
    wanted: list[ExpectedCall], got: list[AnsweredCall], places: list[int | None], strangers: list[AnsweredCall]
) -> tuple[list[int | None], list[AnsweredCall]]:
    """Match calls that have the same name and other arguments.

    Such a call is not a lost one and an invented one: the law `arguments` checks it. A duplicate remains unmatched.
    """
    places, left = list(places), []
    for call in strangers:
        free = (n for n, one in enumerate(wanted) if n not in places and one.name == call.name)
        place = None if any(is_same_call(one, call) for one in wanted) else next(free, None)
        if place is None:
            left.append(call)
        else:
            places[next(n for n, one in enumerate(got) if one is call)] = place
    return places, left


def _ids(round: CaseRound, places: list[int | None], *, acts: bool) -> Iterator[Failure]:
    """Check the ids that the scenario specifies, and that no two calls share one if the subject acts on calls.

    A subject that acts on calls needs a separate id for each result. A subject that only reads calls passes on the ids
    of the wire, including empty and repeated ones.
    """
    for place, call in zip(places, round.answer.calls, strict=True):
        wanted = None if place is None else round.expected.calls[place].id
        if wanted is not None and call.id is not None and call.id != wanted:
            reason = f"the call {call.name} has another id than the provider gave it"
            yield Failure(round.number, reason, wanted, call.id)
    told = [call.id for call in round.answer.calls if call.id is not None]
    twice = sorted({id for id in told if told.count(id) > 1})
    if twice and acts:
        yield Failure(round.number, f"two calls are told under one id: {', '.join(map(repr, twice))}", None, told)
