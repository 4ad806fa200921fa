"""The law `any-cut`: every stream, broken at a place that its wire allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..answer import AnsweredCall
from ..cases.broken import CUTS, ended
from ..cases.case import CaseRound, Evidence
from ..cases.expected import ExpectedCall
from ..oracle.responses import reading_of
from .law import SIGNS_OF_A_BREAK, Failure, is_due, law, shows_break
from .matching import call_list, is_same_call, match_calls, read_calls

#: The cuts after which the last piece is a part of an event.
_WITHIN = ("cut:inside", "cut:character")


def _breakable(round: CaseRound) -> bool:
    """Return whether the round is a stream that ends without an error."""
    expected, exchange = round.expected, round.exchange
    good = expected.complete and not expected.failed and expected.stop != "error"
    return exchange.stream and exchange.status < 400 and good and ended(exchange)


@law(
    "any-cut",
    "A stream that breaks at any place runs nothing, invents nothing, and is reported as broken.",
    claims=("stream",),
    applies=lambda evidence: evidence.case.stream and any(map(_breakable, evidence.rounds)) and is_due(evidence),
)
def any_cut(evidence: Evidence) -> Iterator[Failure]:
    """Read each stream up to a cut. What is read must be the beginning of what the whole stream says.

    Under `first` and `batch` it is one cut, which leaves the most calls.
    """
    for cut, place in CUTS.items():
        if evidence.case.policy == "all" or evidence.exhaustive or cut == "cut:last":
            yield from broken_failures(evidence, cut, place)


def broken_failures(evidence: Evidence, cut: str, place: str) -> Iterator[Failure]:
    """Yield the failures of one cut. ``place``: where the stream breaks, in words."""
    breakable = {round.number for round in evidence.rounds if _breakable(round)}
    for round in evidence.sibling(evidence.case, cut) or []:
        if round.answer.error is None and round.number in breakable:
            yield from _broken(evidence, round, f"the stream breaks {place}")
            yield from _not_shown(evidence, round, f"the stream breaks {place}", whole=cut not in _WITHIN)


def _broken(evidence: Evidence, round: CaseRound, cut: str) -> Iterator[Failure]:
    answer, expected, claims = round.answer, round.expected, evidence.subject.claims
    acts = "select" in claims
    if acts and answer.acted:
        acted = call_list(answer.acted)
        reason = f"{acted} would run, but the response is incomplete or failed: {cut}"
        yield Failure(round.number, reason, "nothing is executed", acted, effect="executed")
    if not shows_break(answer, claims):
        reason = f"the stream broke, but nothing in the answer shows it: {cut}"
        yield Failure(round.number, reason, SIGNS_OF_A_BREAK, answer.stop, effect="misreported")
    comparable = (acts or "status" in claims) and not expected.revised
    if comparable and (wrong := _not_begun(expected.calls, answer.calls)):
        reason = f"{cut}, and a call is not the beginning of one on the wire"
        yield Failure(round.number, reason, call_list(expected.calls), call_list(wrong), effect="altered")
    if "text" in claims and not expected.refusal and not expected.text.startswith(answer.text or ""):
        reason = f"{cut}, and the text is not the beginning of the text on the wire"
        yield Failure(round.number, reason, expected.text, answer.text, effect="altered")


def _not_shown(evidence: Evidence, round: CaseRound, cut: str, *, whole: bool) -> Iterator[Failure]:
    """Yield the text and the finished calls of the whole events before a cut that an answer without an error lacks."""
    answer, expected, exchange = round.answer, round.expected, round.exchange
    if answer.failed or answer.stop == "error" or expected.revised:
        return
    reading = reading_of(exchange if whole else replace(exchange, pieces=exchange.pieces[:-1]))
    if reading is None or not reading.choices:
        return
    blocks = [block.members for block in reading.choices[0].blocks]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    shown = expected.refusal or not expected.text.startswith(text) or (answer.text or "").startswith(text)
    if "text" in evidence.subject.claims and not shown:
        yield Failure(round.number, f"{cut}, and the text before it is missing", text, answer.text, effect="lost")
    calls = [(call.name, call.arguments) for call in expected.calls]
    ended = [one for one in read_calls(reading) if one.status == "complete" and (one.name, one.arguments) in calls]
    found = match_calls(ended, answer.calls)[0]
    if lost := [call for index, call in enumerate(ended) if index not in found]:
        reason = f"{cut}, and a call that ended before it is missing"
        yield Failure(round.number, reason, call_list(lost), call_list(answer.calls), effect="lost")


def _not_begun(wanted: Sequence[ExpectedCall], got: Sequence[AnsweredCall]) -> list[AnsweredCall]:
    """Return the calls that are not the beginning of a call on the wire. Each call on the wire counts once."""
    free = list(wanted)
    wrong = []
    for call in got:
        begun = next((one for one in free if _begins(one, call)), None)
        if begun is None:
            wrong.append(call)
        else:
            free.remove(begun)
    return wrong


def _begins(expected: ExpectedCall, got: AnsweredCall) -> bool:
    """Return whether a call, or its argument text and its name so far, is the beginning of the expected one.

    ``{}`` is a beginning, because `anthropic.messages` announces every call with this input.
    """
    if is_same_call(expected, got):
        return True
    text = "" if got.text in (None, "{}") else str(got.text)
    return expected.name.startswith(got.name) and (expected.text is None or expected.text.startswith(text))
