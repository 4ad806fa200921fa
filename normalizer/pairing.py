"""Calls and their answers: every call of an assistant turn has exactly one, directly after it and in call order.

Pairing is by id, within what stands between one turn with calls and the next (failures ID-10, ID-21: ids repeat over
rounds). What does not fit is mended and reported, never silently (failures HIST-02, HIST-04, HIST-06, HIST-07,
HIST-08, ORD-01, ORD-02).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    done: list[Turn] = []
    end = len(turns)
    open_to = 0  # Results before this place were given to the calls before them
    calls: list[ToolCall] = []  # those that were answered last
    for index, turn in enumerate(turns):
        kind = type(turn)
        if kind is Results:
            if index >= open_to:
                for result in turn.results:  # type: ignore[union-attr]
                    report(*_surplus(result.call_id, _names(calls)), index)
            continue
        done.append(turn)
        if kind is not Assistant:
            continue
        choices = turn.response.choices  # type: ignore[union-attr]
        made = [block for block in choices[0].blocks if type(block) is ToolCall] if choices else None
        if not made:
            continue
        calls = made
        following = index + 1
        if following < end and type(near := turns[following]) is Results and _fit(calls, near.results):
            open_to = following + 1
            if open_to == end or type(turns[open_to]) is not Results:
                done.append(near)  # the usual case; whatever stands further on answers nothing
                continue
        open_to = _next_calls(turns, following)
        given = _given(turns, index, open_to, calls, report)
        if given.results or following < end:
            done.append(Results(_answers(calls, given.results, report, index), given.extra))
    return done


def _fit(calls: list[ToolCall], results: list[Result]) -> bool:
    """Whether these answer those, one by one and in order."""
    if len(calls) != len(results):
        return False
    for call, result in zip(calls, results, strict=True):  # noqa: SIM110 - the loop that every request runs
        if call.id != result.call_id:
            return False
    return True


def _next_calls(turns: Sequence[Turn], start: int) -> int:
    """The place of the next turn that calls something: what stands before it may hold answers."""
    for place in range(start, len(turns)):
        turn = turns[place]
        if type(turn) is Assistant and turn.response.calls:
            return place
    return len(turns)


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
