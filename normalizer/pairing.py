"""Calls and their answers: every call of an assistant turn has exactly one, directly after it and in call order.

Pairing is by id, within what stands between one turn with calls and the next (failures ID-10, ID-21: ids repeat over
rounds). What does not fit is mended and reported, never silently (failures HIST-02, HIST-04, HIST-06, HIST-07,
HIST-08, ORD-01, ORD-02).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from msgspec.structs import replace

from .conversation import Assistant, Result, Results, TextPart, Turn
from .model import ToolCall

Report = Callable[[str, str, int], None]
UNANSWERED = "This call was not executed: the conversation went on without an answer to it."


def paired(turns: Sequence[Turn], report: Report) -> list[Turn]:
    """The turns with every call answered. ``report(code, message, turn)`` is told of each mend.

    Answers that stand apart from their calls, with other turns between, are moved to them. The last assistant turn
    stays open: its calls may still be answered.
    """
    return [turn for _, turn in placed(turns, report, 0, len(turns))]


def placed(turns: Sequence[Turn], report: Report, start: int, stop: int) -> list[tuple[int, Turn]]:
    """The same for the turns from ``start`` to ``stop``, which are seams (`is_seam`), each turn behind its place.

    Answers that had to be put together have the place behind their calls.
    """
    done: list[tuple[int, Turn]] = []
    open_to = start  # Results before this place were given to the calls before them
    calls: list[ToolCall] | None = None  # those that were made last, as far as anybody asked
    for place in range(start, stop):
        turn = turns[place]
        kind = type(turn)
        if kind is Results:
            if place >= open_to:
                if calls is None:
                    calls = _calls_before(turns, place)
                for result in turn.results:  # type: ignore[union-attr]
                    report(*_surplus(result.call_id, _names(calls)), place)
            continue
        done.append((place, turn))
        made = _calls(turn)
        if not made:
            continue
        calls = made
        following = place + 1
        near = answers_at(following, turns, stop, [call.id for call in calls])
        if near is not None:
            open_to = following + 1
            done.append((following, near))
            continue
        open_to = _next_calls(turns, following, stop)
        given = _given(turns, place, open_to, calls, report)
        if given.results or following < stop:
            done.append((following, Results(_answers(calls, given.results, report, place), given.extra)))
    return done


def answers_at(place: int, turns: Sequence[Turn], stop: int, asked: list[str]) -> Results | None:
    """The usual case, null in any other: all that answers the calls of these ids stands at a place, in call order.

    No other answers may follow directly; those that stand further on answer nothing.
    """
    if place >= stop or type(near := turns[place]) is not Results:
        return None
    results = near.results
    if len(results) != len(asked) or (place + 1 < stop and type(turns[place + 1]) is Results):
        return None
    number = 0
    for result in results:  # not by zip, which costs more than the rest: every request runs this loop
        if result.call_id != asked[number]:
            return None
        number += 1  # noqa: SIM113 - enumerate costs more, too
    return near


def is_seam(turns: Sequence[Turn], place: int) -> bool:
    """Whether the turns before a place are paired the same without those from it on, and the other way round.

    They are unless calls stand directly before it, or answers behind it that may belong to calls before it.
    """
    if place and _calls(turns[place - 1]):
        return False
    for turn in islice(turns, place, None):
        if type(turn) is Results:
            return False
        if _calls(turn):
            return True
    return True


def last_seam(turns: Sequence[Turn]) -> int:
    """The last place of which `is_seam` is true and before which no answer of the model stands open; 0 for none."""
    for place in range(len(turns), 0, -1):
        before = turns[place - 1]
        if type(before) is Assistant or (type(before) is Results and not (place > 1 and _calls(turns[place - 2]))):
            continue
        return place if is_seam(turns, place) else 0
    return 0


def stretch(turns: Sequence[Turn], place: int, stop: int) -> int:
    """The end of what is paired together with the turn at a place that is a seam."""
    if _calls(turns[place]):
        return _next_calls(turns, place + 1, stop)
    place += 1
    while place < stop and type(turns[place]) is Results:
        place += 1
    return place


def _calls(turn: Turn) -> list[ToolCall]:
    return turn.response.calls if type(turn) is Assistant else []


def _calls_before(turns: Sequence[Turn], place: int) -> list[ToolCall]:
    """Those that were made last."""
    for before in range(place - 1, -1, -1):
        if calls := _calls(turns[before]):
            return calls
    return []


def _next_calls(turns: Sequence[Turn], start: int, end: int) -> int:
    """The place of the next turn that calls something: what stands before it may hold answers."""
    for place in range(start, end):
        if _calls(turns[place]):
            return place
    return end


def _given(turns: Sequence[Turn], index: int, stop: int, calls: list[ToolCall], report: Report) -> Results:
    """All answers before the next calls, in one turn; of those that stand apart only the ones that were asked for."""
    known = _names(calls)
    given = Results([], {})
    adjacent = True
    for place in range(index + 1, stop):
        turn = turns[place]
        if type(turn) is not Results:
            adjacent = False
            continue
        if not adjacent and any(result.call_id in known for result in turn.results):
            report("order", "answers stood apart from their calls and were moved to them", place)
        given.results.extend(turn.results)
        given = Results(given.results, {**given.extra, **turn.extra})
    return given


def _answers(calls: list[ToolCall], given: list[Result], report: Report, turn: int) -> list[Result]:
    """One answer a call, in call order. Two calls under one id take the answers under it in turn."""
    waiting: dict[str, list[Result]] = {}
    for result in given:
        waiting.setdefault(result.call_id, []).append(result)
    answers = []
    for call in calls:
        under = waiting.get(call.id) or (waiting.get(call.wire_id) if call.wire_id else None)
        if under:
            result = under.pop(0)
            answers.append(result if result.call_id == call.id else replace(result, call_id=call.id))
        else:
            report("answered", f"{call.name} ({call.id}) had no answer", turn)
            answers.append(unanswered(call))
    asked = _names(calls)
    for id, left in waiting.items():
        for _ in left:
            report(*_surplus(id, asked), turn)
    return answers


def _names(calls: list[ToolCall]) -> set[str]:
    """The ids under which an answer may name these calls."""
    return {call.id for call in calls} | {call.wire_id for call in calls if call.wire_id}


def _surplus(id: str, asked: set[str]) -> tuple[str, str]:
    """The code and the words for an answer that no call takes."""
    if id in asked:
        return "duplicate-answer", f"one answer to {id} too many"
    return "orphan", f"an answer to {id}, which nothing asks for"


def unanswered(call: ToolCall, reason: str = UNANSWERED) -> Result:
    """The answer to a call that nobody executed."""
    return Result(call.id, [TextPart(reason)], is_error=True, name=call.name, kind=call.kind)
