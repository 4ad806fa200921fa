"""The law `conservation`: no call is lost, merged, invented or duplicated."""

from __future__ import annotations

from collections.abc import Iterator

from toolparity.reports.results import Effect

from ..answer import AnsweredCall
from ..cases.case import CaseRound, Evidence
from ..cases.expected import ExpectedCall
from ..oracle.responses import reading_of
from .law import Failure, law, may_be_refused, missing_findings
from .matching import call_list, is_same_call, match_calls, read_calls


@law(
    "conservation",
    "Every call on the wire is kept, dropped, rejected or server-side: once, and only once, under its own id.",
    applies=lambda evidence: True,  # an answer to a response without calls must not have any
)
def conservation(evidence: Evidence) -> Iterator[Failure]:
    """Compare the calls that the subject accounts for with those on the wire."""
    acts = "select" in evidence.subject.claims
    for round in evidence.rounds:
        wanted, answer = round.expected.calls, round.answer
        if answer.error is not None:
            if not may_be_refused(round) and (wanted or "text" in evidence.subject.claims):
                reason = f"the body was not read: {answer.error}"
                yield Failure(round.number, reason, call_list(wanted), "nothing", effect="refused")
            continue
        if not round.expected.complete and not acts:
            continue  # a subject that runs nothing may return the calls of a broken stream
        yield from missing_findings(evidence, round, "conservation")
        indexes, unmatched = match_calls(wanted, answer.calls)
        stated = indexes
        if not acts:
            indexes, unmatched = _match_by_name(wanted, answer.calls, indexes, unmatched)
        yield from _lost_or_invented(round, indexes, unmatched)
        yield from _ids(evidence, round, stated)
        if acts:
            yield from _selected(round)
        yield from _unfulfilled_claims(evidence, round)


def _lost_or_invented(round: CaseRound, indexes: list[int | None], unmatched: list[AnsweredCall]) -> Iterator[Failure]:
    wanted, got = round.expected.calls, round.answer.calls
    both = call_list(wanted), call_list(got)
    lost = [call for index, call in enumerate(wanted) if index not in indexes]
    if lost and round.expected.complete:  # calls of a broken stream may be missing (law `incomplete`)
        count = f"{len(wanted)} call{'s' * (len(wanted) != 1)} on the wire, {len(got)} in the answer"
        verb = "is" if len(lost) == 1 else "are"
        how = "lost without a warning" if _loss(round) == "lost" else "missing beside an error"
        yield Failure(round.number, f"{count}: {call_list(lost)} {verb} {how}", *both, effect=_loss(round))
    if unmatched:
        yield Failure(round.number, f"unexpected or duplicate call: {call_list(unmatched)}", *both, effect="duplicated")


def _loss(round: CaseRound) -> Effect:
    """Return the effect of missing content: it is not lost silently if the caller gets an error beside the response."""
    return "refused" if round.answer.failed and not round.expected.failed else "lost"


def _selected(round: CaseRound) -> Iterator[Failure]:
    """Check that each call is kept, dropped or rejected exactly once, and that the kept calls would run.

    The law `same-first` checks which call `first` keeps, and the law `incomplete` which calls must never run.
    """
    wanted, answer, selection = round.expected.calls, round.answer, round.selection
    if not round.expected.complete or round.expected.failed:
        return
    indexes, repeated = match_calls(wanted, answer.acted)
    if repeated:
        reason = f"{call_list(repeated)} would run more often than it is on the wire"
        yield Failure(round.number, reason, call_list(wanted), call_list(answer.acted), effect="executed")
    if answer.kept is not None and answer.dropped is not None and answer.rejected is not None:
        listed = [*answer.kept, *answer.dropped, *answer.rejected]
        found, repeated = match_calls(wanted, listed)
        both = call_list(wanted), call_list(listed)
        if repeated:
            reason = f"{call_list(repeated)} is listed twice: each call is kept, dropped or rejected"
            yield Failure(round.number, reason, *both, effect="duplicated")
        if lost := [call for index, call in enumerate(wanted) if index not in found]:
            yield Failure(round.number, f"{call_list(lost)} is not kept, dropped or rejected", *both, effect="lost")
    yield from _wrong_groups(round)
    policy, limit = round.exchange.policy, round.exchange.limit
    if policy == "first":
        return
    kept = call_list(wanted[index] for index in selection.kept)
    if idle := [wanted[index] for index in selection.kept if index not in indexes]:
        reason = f"{call_list(idle)} would not run, but the policy {policy} keeps it"
        yield Failure(round.number, reason, kept, call_list(answer.acted), effect="lost")
    if surplus := [wanted[index] for index in indexes if index in selection.dropped]:
        why = "it belongs to another choice" if surplus[0].choice else f"at most {limit} calls may run"
        reason = f"{call_list(surplus)} would run, but {why}"
        yield Failure(round.number, reason, kept, call_list(answer.acted), effect="executed")


def _wrong_groups(round: CaseRound) -> Iterator[Failure]:
    """Yield calls that cannot run and are listed as dropped, and calls that can run and are listed as rejected.

    Rejection has precedence: a policy drops only calls that can run.
    """
    wanted, answer, selection = round.expected.calls, round.answer, round.selection
    for group, listed, other, indexes in (
        ("dropped", answer.dropped, "rejected", selection.rejected),
        ("rejected", answer.rejected, "dropped or kept", [*selection.kept, *selection.dropped]),
    ):
        if wrong := [wanted[index] for index in match_calls(wanted, listed or [])[0] if index in indexes]:
            reason = f"{call_list(wrong)} is listed as {group}, but it is {other}"
            yield Failure(round.number, reason, call_list(wanted), call_list(listed or []), effect="misreported")


def _match_by_name(
    wanted: list[ExpectedCall], got: list[AnsweredCall], indexes: list[int | None], unmatched: list[AnsweredCall]
) -> tuple[list[int | None], list[AnsweredCall]]:
    """Match calls that have the same name and other arguments.

    Such a call is not a lost one and an invented one: the law `arguments` checks it. A duplicate remains unmatched.
    """
    indexes, left = list(indexes), []
    for call in unmatched:
        free = (n for n, expected in enumerate(wanted) if n not in indexes and expected.name == call.name)
        index = None if any(is_same_call(expected, call) for expected in wanted) else next(free, None)
        if index is None:
            left.append(call)
        else:
            indexes[next(n for n, answered in enumerate(got) if answered is call)] = index
    return indexes, left


def _ids(evidence: Evidence, round: CaseRound, indexes: list[int | None]) -> Iterator[Failure]:
    """Check the ids that the scenario specifies, those on the wire, and that no two calls share one.

    A subject that acts on calls needs a separate id for each result. A subject that only reads calls may pass on empty
    and repeated ids as the wire has them. It may also generate other ids for these calls.
    """
    calls = round.answer.calls
    reading = None if evidence.is_canonical else reading_of(round.exchange)  # the law `content` judges canonical forms
    on_wire = [] if reading is None else read_calls(reading)
    has_ids = any(call.id for call in calls)
    for index, call in zip(indexes, calls, strict=True):
        stated = None if index is None else round.expected.calls[index].id
        ids = [one.id for one in on_wire if is_same_call(one, call)] if stated is None else [stated]
        if has_ids and ids and None not in ids and call.id not in ids and (call.id is not None or stated is None):
            reason = f"the call {call.name} does not have the provider's id"
            yield Failure(round.number, reason, ids[0], call.id, effect="altered" if call.id else "lost")
    given = [call.id for call in calls if call.id is not None]
    repeated = sorted({id for id in given if given.count(id) > 1})
    if "select" not in evidence.subject.claims:
        free = given if reading is None else ["", *reading.repeated]
        repeated = [id for id in repeated if id not in free]
    if repeated:
        reason = f"two calls have the same id: {', '.join(map(repr, repeated))}"
        yield Failure(round.number, reason, None, given, effect="altered")


def _unfulfilled_claims(evidence: Evidence, round: CaseRound) -> Iterator[Failure]:
    """Yield a failure for each claim of text or blocks that the answer does not fulfil. No law covers these claims."""
    claims, answer, expected = evidence.subject.claims, round.answer, round.expected
    if not expected.complete or expected.failed:
        return
    if "text" in claims and not answer.text and (expected.text or answer.text is None):
        reason = "the subject claims text, but returns none"
        yield Failure(round.number, reason, expected.text, answer.text, effect=_loss(round))
    elif "text" in claims and not expected.refusal and answer.text != expected.text:
        reason = "the subject claims text, but returns another text"
        yield Failure(round.number, reason, expected.text, answer.text, effect="altered")
    if "blocks" in claims and answer.blocks is None:
        yield Failure(round.number, "the subject claims blocks, but returns none", effect="lost")
