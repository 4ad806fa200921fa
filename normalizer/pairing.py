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


def paired(turns: Sequence[Message], report: Report) -> list[Message]:
    """Return the turns with exactly one result for every call.

    ``report(code, message, turn)`` is called for each fix; ``turn`` is an index in ``turns``. Results that other turns
    separate from their calls are moved. Calls in the last turn stay open, because their results may still follow.
    """
    return [turn for _, turn in paired_segment(turns, report, 0, len(turns))]


def paired_segment(
    turns: Sequence[Message], report: Report, start: int, stop: int, kept: bool = False
) -> list[tuple[int, Message]]:
    """Return the paired turns from ``start`` to ``stop`` (two boundaries, see `is_boundary`), each with its index.

    Results that were moved or generated get the index after their calls. ``kept``: the provider stores earlier calls
    that are not in ``turns``, so results without a call stay where they are.
    """
    pairing = _Pairing(turns, start, stop)
    notes = pairing.notes
    done: list[tuple[int, Message]] = []
    for place in range(start, stop):
        turn = turns[place]
        if type(turn) is ToolResults:
            if kept and (orphans := pairing.orphans.get(place)):
                done.append((place, orphans))
            continue
        done.append((place, turn))
        found = pairing.found.get(place)
        if isinstance(found, ToolResults):
            done.append((place + 1, found))
        elif found is not None and place + 1 < len(turns):
            done.append((place + 1, ToolResults(found.answers(notes), found.extra)))
    for place, code, message in sorted(notes, key=_place) if len(notes) > 1 else notes:
        if not (kept and code == "orphan"):
            report(code, message, place)
    return done


def answers_at(place: int, turns: Sequence[Message], stop: int, asked: list[str]) -> ToolResults | None:
    """Return the `ToolResults` at an index if nothing else is there and they match the call ids in order; else None.

    This is the fast path for the usual history. ``asked``: the ids of the calls.
    """
    if place >= stop or type(near := turns[place]) is not ToolResults:
        return None
    results = near.results
    if len(results) != len(asked) or (place + 1 < stop and type(turns[place + 1]) is ToolResults):
        return None
    number = 0
    for result in results:  # every request runs this loop; zip would cost more than the rest of it
        if result.call_id != asked[number]:
            return None
        number += 1  # noqa: SIM113 - enumerate is slower, too
    return near


def is_boundary(turns: Sequence[Message], place: int, waiting: Iterable[str] | None = None) -> bool:
    """Return whether an index is a boundary: the turns before it and those from it on can be paired independently.

    It is a boundary unless the preceding turn makes calls, or results after it may belong to calls before it.
    ``waiting``: the result of `open_ids` for the turns before it, if known.
    """
    if place and _calls(turns[place - 1]):
        return False
    behind: set[str] = set()
    near = True  # until the next turn with calls
    for turn in islice(turns, place, None):
        if type(turn) is ToolResults:
            if near:
                return False
            behind.update(result.call_id for result in turn.results)
        elif near and _calls(turn):
            near = False
            if waiting is not None and not waiting:
                return True
    return not behind or behind.isdisjoint(open_ids(turns, 0, place) if waiting is None else waiting)


def last_boundary(turns: Sequence[Message]) -> int:
    """Return the last index that follows neither an assistant turn nor detached results; 0 if it is not a boundary."""
    for place in range(len(turns), 0, -1):
        before = turns[place - 1]
        if type(before) is Assistant or (type(before) is ToolResults and not (place > 1 and _calls(turns[place - 2]))):
            continue
        return place if is_boundary(turns, place) else 0
    return 0


def open_ids(turns: Sequence[Message], start: int, stop: int) -> set[str]:
    """Return the ids of the calls between two boundaries that have no result there and may get one later."""
    ids: set[str] = set()
    for found in _Pairing(turns, start, stop).found.values():
        if type(found) is _Asked:
            ids |= _names(call for call, result in zip(found.calls, found.results, strict=True) if result is None)
    return ids


def segment_end(turns: Sequence[Message], place: int, stop: int) -> int:
    """Return the end of the segment that is paired together with the turn at a boundary.

    If a call has no result before the next turn with calls, any later turn may hold it, so the segment ends at
    ``stop``.
    """
    if calls := _calls(turns[place]):
        end = _next_calls(turns, place + 1, stop)
        if end == stop or answers_at(place + 1, turns, end, [call.id for call in calls]) is not None:
            return end
        (found,) = _Pairing(turns, place, end).found.values()
        return end if isinstance(found, ToolResults) or None not in found.results else stop
    place += 1
    while place < stop and type(turns[place]) is ToolResults:
        place += 1
    return place


class _Asked:
    """The calls of one turn and their results in call order; the result of an open call is None.

    ``apart``: the index from which results no longer directly follow the calls. ``extra``: members of the messages that
    held the results.
    """

    __slots__ = ("apart", "calls", "extra", "place", "results")

    def __init__(self, place: int, apart: int, calls: list[ToolCall]) -> None:
        self.place = place
        self.apart = apart
        self.calls = calls
        self.results: list[ToolResult | None] = [None] * len(calls)
        self.extra: dict[str, object] = {}

    def answers(self, notes: list[_Note]) -> list[ToolResult]:
        """Return one result per call; note each one that has to be generated."""
        answers = []
        for call, result in zip(self.calls, self.results, strict=True):
            if result is None:
                notes.append((self.place, "answered", f"{call.name} ({call.id}) had no answer"))
            answers.append(unanswered(call) if result is None else result)
        return answers


#: Turn index, code and message of a mismatch.
_Note = tuple[int, str, str]
#: An open call: its turn, and its index among the calls of the turn.
_Open = tuple[_Asked, int]


def _place(note: _Note) -> int:
    return note[0]


class _Pairing:
    """Matches results with the calls between two boundaries.

    ``found``: index of each turn with calls -> the `ToolResults` that directly follow it (the usual case), or its calls
    with their results. ``orphans``: turn index -> the results without a call.
    """

    def __init__(self, turns: Sequence[Message], start: int, stop: int) -> None:
        self.found: dict[int, ToolResults | _Asked] = {}
        self.orphans: dict[int, ToolResults] = {}
        self.notes: list[_Note] = []
        self._turns = turns
        self._open: dict[str, list[_Open]] = {}  # by call id
        self._others: dict[str, list[_Open]] = {}  # by item id
        self._last: set[str] | None = None  # cache: the ids of the most recent calls
        asked: _Asked | None = None  # the most recent calls, unless `answers_at` matched them
        span: list[int] = []  # the indexes of the results after them
        place = start
        while place < stop:
            turn = turns[place]
            if type(turn) is ToolResults:
                span.append(place)
            elif calls := _calls(turn):
                if span:
                    self._take(span, asked)
                    span = []
                self._last = None
                near = answers_at(place + 1, turns, stop, [call.id for call in calls])
                if near is not None:
                    self.found[place] = near
                    asked = None
                    place += 1
                else:
                    self.found[place] = asked = self._ask(place, calls)
            place += 1
        if span:
            self._take(span, asked)

    def _ask(self, place: int, calls: list[ToolCall]) -> _Asked:
        apart = place + 1
        while apart < len(self._turns) and type(self._turns[apart]) is ToolResults:
            apart += 1
        asked = _Asked(place, apart, calls)
        for number, call in enumerate(calls):
            self._open.setdefault(call.id, []).append((asked, number))
            if call.wire_id and call.wire_id != call.id:
                self._others.setdefault(call.wire_id, []).append((asked, number))
        return asked

    def _take(self, span: list[int], asked: _Asked | None) -> None:
        """Assign the results between two turns with calls to the open calls with their ids."""
        turns = self._turns
        given: dict[str, list[tuple[int, ToolResult]]] = {}
        for place in span:
            turn = turns[place]
            for result in turn.results:  # type: ignore[union-attr]
                given.setdefault(result.call_id, []).append((place, result))
            if asked is not None:
                asked.extra = {**asked.extra, **turn.extra}  # type: ignore[union-attr]
        moved: set[int] = set()
        for id, results in given.items():
            takers = self._takers(id, len(results))
            for (place, result), (taker, number) in zip(results, takers, strict=False):
                call = taker.calls[number]
                taker.results[number] = result if result.call_id == call.id else replace(result, call_id=call.id)
                if place > taker.apart and place not in moved:
                    moved.add(place)
                    self.notes.append((place, "order", "answers stood apart from their calls and were moved to them"))
            for place, result in results[len(takers) :]:
                self._surplus(place, result, asked is None)

    def _takers(self, id: str, most: int) -> list[_Open]:
        """Return the last open calls with an id, at most ``most``, in order."""
        takers: list[_Open] = []
        for known in (self._open.get(id), self._others.get(id)):
            found: list[_Open] = []
            while known and len(takers) + len(found) < most:
                asked, number = one = known.pop()
                if asked.results[number] is None:  # has no result under its other id
                    found.append(one)
            takers += reversed(found)
        return takers

    def _surplus(self, place: int, result: ToolResult, alone: bool) -> None:
        """Note a result without an open call. ``alone``: it keeps the members of its message."""
        if self._last is None:
            self._last = _names(_calls_before(self._turns, place))
        id = result.call_id
        if id in self._last:
            self.notes.append((place, "duplicate-answer", f"one answer to {id} too many"))
            return
        self.notes.append((place, "orphan", f"an answer to {id}, which nothing asks for"))
        if place not in self.orphans:
            self.orphans[place] = ToolResults([], self._turns[place].extra if alone else {})  # type: ignore[union-attr]
        self.orphans[place].results.append(result)


def _calls(turn: Message) -> list[ToolCall]:
    return turn.response.calls if type(turn) is Assistant else []


def _calls_before(turns: Sequence[Message], place: int) -> list[ToolCall]:
    """Return the most recent calls before an index."""
    for before in range(place - 1, -1, -1):
        if calls := _calls(turns[before]):
            return calls
    return []


def _next_calls(turns: Sequence[Message], start: int, end: int) -> int:
    """Return the index of the next turn with calls, or ``end``."""
    for place in range(start, end):
        if _calls(turns[place]):
            return place
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
