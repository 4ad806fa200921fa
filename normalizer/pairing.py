"""Calls and their answers: every call of an assistant turn has exactly one, directly after it and in call order.

Pairing is by id within the adjacent turn only (failures ID-10, ID-21: ids repeat over rounds). What does not fit is
mended and reported, never silently (failures HIST-02, HIST-04, HIST-06, HIST-07, ORD-01).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from .conversation import Assistant, Result, Results, TextPart, Turn
from .model import ToolCall

Report = Callable[[str, str, int], None]
UNANSWERED = "This call was not executed: the conversation went on without an answer to it."


def paired(turns: list[Turn], report: Report) -> list[Turn]:
    """The turns with every call answered. ``report(code, message, turn)`` is told of each mend.

    The last assistant turn stays open: its calls may still be answered.
    """
    done: list[Turn] = []
    index = 0
    while index < len(turns):
        turn = turns[index]
        if isinstance(turn, Results):  # no assistant turn directly before: nothing asked for these
            for result in turn.results:
                report("orphan", f"an answer to {result.call_id}, which nothing asks for", index)
            index += 1
            continue
        done.append(turn)
        index += 1
        if not isinstance(turn, Assistant):
            continue
        calls = turn.response.calls
        given: list[Result] = []
        extra: dict[str, Any] = {}
        while index < len(turns):
            following = turns[index]
            if not isinstance(following, Results):
                break
            given.extend(following.results)
            extra = {**extra, **following.extra}
            index += 1
        if not given and (index == len(turns) or not calls):
            continue
        answers = _answers(calls, given, report, index - 1)
        if answers:
            done.append(Results(answers, extra))
    return done


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
    answered = {answer.call_id for answer in answers}
    for id, left in waiting.items():
        for _ in left:
            code = "duplicate-answer" if id in answered else "orphan"
            report(code, f"one answer to {id} too many", turn)
    return answers


def unanswered(call: ToolCall, reason: str = UNANSWERED) -> Result:
    """The answer to a call that nobody executed."""
    return Result(call.id, [TextPart(reason)], is_error=True, name=call.name, kind=call.kind)
