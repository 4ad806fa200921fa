"""Pairing of calls and results, so that each turn with calls is followed by exactly one result per call.

Results are matched by id with the calls that are still open before them: nearly always the calls of the preceding turn
(failures ID-10, ID-21: ids repeat over rounds), else earlier calls without a result (HIST-08). A mismatch is fixed
and reported (failures HIST-02, HIST-04, HIST-06, HIST-07, ORD-01, ORD-02).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from msgspec.structs import replace

from .conversation import Assistant, Message, TextPart, ToolResult, ToolResults
from .model import ToolCall

Report = Callable[[str, str, int], None]
UNANSWERED = "This call was not executed: the conversation went on without an answer to it."


def paired(messages: Sequence[Message], report: Report) -> list[Message]:
    """Return the turns with exactly one result for every call.

    ``report(code, message, index)`` is called for each fix; ``index`` is that of a message. Results that other turns
    separate from their calls are moved. Calls in the last turn stay open, because their results may still follow.
    """
    return [message for _, message in paired_segment(messages, report, 0, len(messages))]


def paired_segment(
    messages: Sequence[Message], report: Report, start: int, stop: int, stored: bool = False
) -> list[tuple[int, Message]]:
    """Return the paired turns from ``start`` to ``stop`` (two boundaries, see `is_boundary`), each with its index.

    Results that were moved or generated get the index after their calls. ``stored``: the provider stores earlier calls
    that are not in ``messages``, so results without a call stay where they are.
    """
    pairing = _Pairing(messages, start, stop)
    mismatches = pairing.mismatches
    paired_messages: list[tuple[int, Message]] = []
    for index in range(start, stop):
        message = messages[index]
        if type(message) is ToolResults:
            if stored and (orphans := pairing.orphans.get(index)):
                paired_messages.append((index, orphans))
            continue
        paired_messages.append((index, message))
        matched = pairing.matched.get(index)
        if isinstance(matched, ToolResults):
            paired_messages.append((index + 1, matched))
        elif matched is not None and index + 1 < len(messages):
            paired_messages.append((index + 1, ToolResults(matched.answers(mismatches), matched.extra)))
    for index, code, text in sorted(mismatches, key=_index_of) if len(mismatches) > 1 else mismatches:
        if not (stored and code == "orphan"):
            report(code, text, index)
    return paired_messages


def answers_at(index: int, messages: Sequence[Message], stop: int, open_calls: list[str]) -> ToolResults | None:
    """Return the `ToolResults` at an index if nothing else is there and they match the call ids in order; else None.

    This is the fast path for the usual history. ``open_calls``: the ids of the calls.
    """
    if index >= stop or type(following := messages[index]) is not ToolResults:
        return None
    results = following.results
    if len(results) != len(open_calls) or (index + 1 < stop and type(messages[index + 1]) is ToolResults):
        return None
    number = 0
    for result in results:  # every request runs this loop; zip would cost more than the rest of it
        if result.call_id != open_calls[number]:
            return None
        number += 1  # noqa: SIM113 - enumerate is slower, too
    return following


def is_boundary(messages: Sequence[Message], index: int, open_before: Iterable[str] | None = None) -> bool:
    """Return whether an index is a boundary: the turns before it and those from it on can be paired independently.

    It is a boundary unless the preceding turn makes calls, or results after it may belong to calls before it.
    ``open_before``: the result of `open_ids` for the turns before it, if known.
    """
    if index and _calls(messages[index - 1]):
        return False
    later_ids: set[str] = set()
    detached = True  # until the next turn with calls
    for message in islice(messages, index, None):
        if type(message) is ToolResults:
            if detached:
                return False
            later_ids.update(result.call_id for result in message.results)
        elif detached and _calls(message):
            detached = False
            if open_before is not None and not open_before:
                return True
    return not later_ids or later_ids.isdisjoint(open_ids(messages, 0, index) if open_before is None else open_before)


def last_boundary(messages: Sequence[Message]) -> int:
    """Return the last index that follows neither an assistant turn nor detached results; 0 if it is not a boundary."""
    for index in range(len(messages), 0, -1):
        before = messages[index - 1]
        if type(before) is Assistant or (
            type(before) is ToolResults and not (index > 1 and _calls(messages[index - 2]))
        ):
            continue
        return index if is_boundary(messages, index) else 0
    return 0


def open_ids(messages: Sequence[Message], start: int, stop: int) -> set[str]:
    """Return the ids of the calls between two boundaries that have no result there and may get one later."""
    ids: set[str] = set()
    for matched in _Pairing(messages, start, stop).matched.values():
        if type(matched) is _OpenCalls:
            ids |= _names(call for call, result in zip(matched.calls, matched.results, strict=True) if result is None)
    return ids


def segment_end(messages: Sequence[Message], index: int, stop: int) -> int:
    """Return the end of the segment that is paired together with the turn at a boundary.

    If a call has no result before the next turn with calls, any later turn may hold it, so the segment ends at
    ``stop``.
    """
    if calls := _calls(messages[index]):
        end = _next_calls(messages, index + 1, stop)
        if end == stop or answers_at(index + 1, messages, end, [call.id for call in calls]) is not None:
            return end
        (matched,) = _Pairing(messages, index, end).matched.values()
        return end if isinstance(matched, ToolResults) or None not in matched.results else stop
    index += 1
    while index < stop and type(messages[index]) is ToolResults:
        index += 1
    return index


class _OpenCalls:
    """The calls of one turn and their results in call order; the result of an open call is None.

    ``detached_from``: the index from which results no longer directly follow the calls. ``extra``: members of the
    messages that held the results.
    """

    __slots__ = ("calls", "detached_from", "extra", "index", "results")

    def __init__(self, index: int, detached_from: int, calls: list[ToolCall]) -> None:
        self.index = index
        self.detached_from = detached_from
        self.calls = calls
        self.results: list[ToolResult | None] = [None] * len(calls)
        self.extra: dict[str, object] = {}

    def answers(self, mismatches: list[_Mismatch]) -> list[ToolResult]:
        """Return one result per call; note each one that has to be generated."""
        answers = []
        for call, result in zip(self.calls, self.results, strict=True):
            if result is None:
                mismatches.append((self.index, "answered", f"{call.name} ({call.id}) had no result"))
            answers.append(unanswered(call) if result is None else result)
        return answers


#: Turn index, code and message of a mismatch.
_Mismatch = tuple[int, str, str]
#: An open call: its turn, and its index among the calls of the turn.
_OpenCall = tuple[_OpenCalls, int]


def _index_of(note: _Mismatch) -> int:
    return note[0]


class _Pairing:
    """Matches results with the calls between two boundaries.

    ``matched``: index of each turn with calls -> the `ToolResults` that directly follow it (the usual case), or its
    calls with their results. ``orphans``: turn index -> the results without a call.
    """

    def __init__(self, messages: Sequence[Message], start: int, stop: int) -> None:
        self.matched: dict[int, ToolResults | _OpenCalls] = {}
        self.orphans: dict[int, ToolResults] = {}
        self.mismatches: list[_Mismatch] = []
        self._messages = messages
        self._open: dict[str, list[_OpenCall]] = {}  # by call id
        self._others: dict[str, list[_OpenCall]] = {}  # by item id
        self._last: set[str] | None = None  # cache: the ids of the most recent calls
        open_calls: _OpenCalls | None = None  # the most recent calls, unless `answers_at` matched them
        span: list[int] = []  # the indexes of the results after them
        index = start
        while index < stop:
            message = messages[index]
            if type(message) is ToolResults:
                span.append(index)
            elif calls := _calls(message):
                if span:
                    self._take(span, open_calls)
                    span = []
                self._last = None
                following = answers_at(index + 1, messages, stop, [call.id for call in calls])
                if following is not None:
                    self.matched[index] = following
                    open_calls = None
                    index += 1
                else:
                    self.matched[index] = open_calls = self._track(index, calls)
            index += 1
        if span:
            self._take(span, open_calls)

    def _track(self, index: int, calls: list[ToolCall]) -> _OpenCalls:
        detached_from = index + 1
        while detached_from < len(self._messages) and type(self._messages[detached_from]) is ToolResults:
            detached_from += 1
        open_calls = _OpenCalls(index, detached_from, calls)
        for number, call in enumerate(calls):
            self._open.setdefault(call.id, []).append((open_calls, number))
            if call.wire_id and call.wire_id != call.id:
                self._others.setdefault(call.wire_id, []).append((open_calls, number))
        return open_calls

    def _take(self, span: list[int], open_calls: _OpenCalls | None) -> None:
        """Assign the results between two turns with calls to the open calls with their ids."""
        messages = self._messages
        by_id: dict[str, list[tuple[int, ToolResult]]] = {}
        for index in span:
            message = messages[index]
            for result in message.results:  # type: ignore[union-attr]
                by_id.setdefault(result.call_id, []).append((index, result))
            if open_calls is not None:
                open_calls.extra = {**open_calls.extra, **message.extra}  # type: ignore[union-attr]
        moved: set[int] = set()
        for id, results in by_id.items():
            candidates = self._candidates(id, len(results))
            for (index, result), (candidate, number) in zip(results, candidates, strict=False):
                call = candidate.calls[number]
                candidate.results[number] = result if result.call_id == call.id else replace(result, call_id=call.id)
                if index > candidate.detached_from and index not in moved:
                    moved.add(index)
                    self.mismatches.append(
                        (index, "order", "results did not directly follow their calls and were moved to them")
                    )
            for index, result in results[len(candidates) :]:
                self._surplus(index, result, open_calls is None)

    def _candidates(self, id: str, most: int) -> list[_OpenCall]:
        """Return the last open calls with an id, at most ``most``, in order."""
        candidates: list[_OpenCall] = []
        for known in (self._open.get(id), self._others.get(id)):
            last: list[_OpenCall] = []
            while known and len(candidates) + len(last) < most:
                call = known.pop()
                if call[0].results[call[1]] is None:  # has no result under its other id
                    last.append(call)
            candidates += reversed(last)
        return candidates

    def _surplus(self, index: int, result: ToolResult, alone: bool) -> None:
        """Note a result without an open call. ``alone``: it keeps the members of its message."""
        if self._last is None:
            self._last = _names(_calls_before(self._messages, index))
        id = result.call_id
        if id in self._last:
            self.mismatches.append((index, "duplicate-answer", f"a second result for {id}"))
            return
        surplus = f"a result for {id}, but no preceding call has this id" if id else "a result that belongs to no call"
        self.mismatches.append((index, "orphan", surplus))
        if index not in self.orphans:
            self.orphans[index] = ToolResults([], self._messages[index].extra if alone else {})  # type: ignore[union-attr]
        self.orphans[index].results.append(result)


def _calls(message: Message) -> list[ToolCall]:
    return message.response.calls if type(message) is Assistant else []


def _calls_before(messages: Sequence[Message], index: int) -> list[ToolCall]:
    """Return the most recent calls before an index."""
    for before in range(index - 1, -1, -1):
        if calls := _calls(messages[before]):
            return calls
    return []


def _next_calls(messages: Sequence[Message], start: int, end: int) -> int:
    """Return the index of the next turn with calls, or ``end``."""
    for index in range(start, end):
        if _calls(messages[index]):
            return index
    return end


def _names(calls: Iterable[ToolCall]) -> set[str]:
    """Return the ids by which a result may refer to these calls."""
    names: set[str] = set()
    for call in calls:
        names.add(call.id)
        if call.wire_id:
            names.add(call.wire_id)
    return names


def unanswered(call: ToolCall, reason: str = UNANSWERED) -> ToolResult:
    """Return the error result of a call that was not executed. ``reason``: its text."""
    return ToolResult(call.id, [TextPart(reason)], is_error=True, name=call.name, kind=call.kind)
