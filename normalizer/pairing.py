"""Calls and their answers: every call of an assistant turn has exactly one, directly after it and in call order.

Pairing is by id, over all calls that are open where an answer stands: nearly always those of the turn before it
(failures ID-10, ID-21: ids repeat over rounds), else earlier ones that nothing answered yet (HIST-08). What does not
fit is mended and reported, never silently (failures HIST-02, HIST-04, HIST-06, HIST-07, ORD-01, ORD-02).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


def placed(turns: Sequence[Turn], report: Report, start: int, stop: int, kept: bool = False) -> list[tuple[int, Turn]]:
    """The same for the turns from ``start`` to ``stop``, which are seams (`is_seam`), each turn behind its place.

    Answers that had to be put together have the place behind their calls. ``kept``: the provider keeps calls that do
    not stand here, so answers that nothing here asks for stay where they are.
    """
    pairing = _Pairing(turns, start, stop)
    notes = pairing.notes
    done: list[tuple[int, Turn]] = []
    for place in range(start, stop):
        turn = turns[place]
        if type(turn) is Results:
            if kept and (orphans := pairing.orphans.get(place)):
                done.append((place, orphans))
            continue
        done.append((place, turn))
        found = pairing.found.get(place)
        if isinstance(found, Results):
            done.append((place + 1, found))
        elif found is not None and place + 1 < len(turns):
            done.append((place + 1, Results(found.answers(notes), found.extra)))
    for place, code, message in sorted(notes, key=_place) if len(notes) > 1 else notes:
        if not (kept and code == "orphan"):
            report(code, message, place)
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


def is_seam(turns: Sequence[Turn], place: int, waiting: Iterable[str] | None = None) -> bool:
    """Whether the turns before a place are paired the same without those from it on, and the other way round.

    They are unless calls stand directly before it, or answers behind it that may belong to calls before it.
    ``waiting``: what `open_ids` gives for the turns before, where that is known.
    """
    if place and _calls(turns[place - 1]):
        return False
    behind: set[str] = set()
    near = True  # before the next calls
    for turn in islice(turns, place, None):
        if type(turn) is Results:
            if near:
                return False
            behind.update(result.call_id for result in turn.results)
        elif near and _calls(turn):
            near = False
            if waiting is not None and not waiting:
                return True
    return not behind or behind.isdisjoint(open_ids(turns, 0, place) if waiting is None else waiting)


def last_seam(turns: Sequence[Turn]) -> int:
    """The last place of which `is_seam` is true and before which no answer of the model stands open; 0 for none."""
    for place in range(len(turns), 0, -1):
        before = turns[place - 1]
        if type(before) is Assistant or (type(before) is Results and not (place > 1 and _calls(turns[place - 2]))):
            continue
        return place if is_seam(turns, place) else 0
    return 0


def open_ids(turns: Sequence[Turn], start: int, stop: int) -> set[str]:
    """The ids of the calls between two seams that nothing there answers: later answers under them are theirs."""
    ids: set[str] = set()
    for found in _Pairing(turns, start, stop).found.values():
        if type(found) is _Asked:
            ids |= _names(call for call, result in zip(found.calls, found.results, strict=True) if result is None)
    return ids


def stretch(turns: Sequence[Turn], place: int, stop: int) -> int:
    """The end of what is paired together with the turn at a place that is a seam.

    Where a call is not answered before the next ones, any later turn may do it: then all to the end.
    """
    if calls := _calls(turns[place]):
        end = _next_calls(turns, place + 1, stop)
        if end == stop or answers_at(place + 1, turns, end, [call.id for call in calls]) is not None:
            return end
        (found,) = _Pairing(turns, place, end).found.values()
        return end if isinstance(found, Results) or None not in found.results else stop
    place += 1
    while place < stop and type(turns[place]) is Results:
        place += 1
    return place


class _Asked:
    """The calls of one turn and what answers them, in call order; null for the calls that are open.

    ``apart``: the first place behind them where an answer does not stand directly behind them. ``extra``: members of
    the messages that answers stood in.
    """

    __slots__ = ("apart", "calls", "extra", "place", "results")

    def __init__(self, place: int, apart: int, calls: list[ToolCall]) -> None:
        self.place = place
        self.apart = apart
        self.calls = calls
        self.results: list[Result | None] = [None] * len(calls)
        self.extra: dict[str, object] = {}

    def answers(self, notes: list[_Note]) -> list[Result]:
        """One answer a call; those that are made here are told."""
        answers = []
        for call, result in zip(self.calls, self.results, strict=True):
            if result is None:
                notes.append((self.place, "answered", f"{call.name} ({call.id}) had no answer"))
            answers.append(unanswered(call) if result is None else result)
        return answers


#: Place, code and words of something that does not fit.
_Note = tuple[int, str, str]
#: An open call: its turn, and its number among that turn's calls.
_Open = tuple[_Asked, int]


def _place(note: _Note) -> int:
    return note[0]


class _Pairing:
    """Finds what answers the calls between two seams.

    ``found``: for the place of each turn with calls the answers as they stand directly behind it, which is the usual
    case, or who answers whom. ``orphans``: the answers that nothing asks for, for the place where they stand.
    """

    def __init__(self, turns: Sequence[Turn], start: int, stop: int) -> None:
        self.found: dict[int, Results | _Asked] = {}
        self.orphans: dict[int, Results] = {}
        self.notes: list[_Note] = []
        self._turns = turns
        self._open: dict[str, list[_Open]] = {}  # by the call's id
        self._others: dict[str, list[_Open]] = {}  # by the id of its item
        self._last: set[str] | None = None  # the ids of the calls that were made last, as far as anybody asked
        asked: _Asked | None = None  # the same, unless answered
        span: list[int] = []  # the places of the answers behind them
        place = start
        while place < stop:
            turn = turns[place]
            if type(turn) is Results:
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
        while apart < len(self._turns) and type(self._turns[apart]) is Results:
            apart += 1
        asked = _Asked(place, apart, calls)
        for number, call in enumerate(calls):
            self._open.setdefault(call.id, []).append((asked, number))
            if call.wire_id and call.wire_id != call.id:
                self._others.setdefault(call.wire_id, []).append((asked, number))
        return asked

    def _take(self, span: list[int], asked: _Asked | None) -> None:
        """Give the answers between two turns with calls to those that they name."""
        turns = self._turns
        given: dict[str, list[tuple[int, Result]]] = {}
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
        """The open calls that an id names, in order; where there are more than are asked for, the last ones."""
        takers: list[_Open] = []
        for known in (self._open.get(id), self._others.get(id)):
            found: list[_Open] = []
            while known and len(takers) + len(found) < most:
                asked, number = one = known.pop()
                if asked.results[number] is None:  # not answered under its other id
                    found.append(one)
            takers += reversed(found)
        return takers

    def _surplus(self, place: int, result: Result, alone: bool) -> None:
        """Take note of an answer that no call takes. ``alone``: its message's members go with it."""
        if self._last is None:
            self._last = _names(_calls_before(self._turns, place))
        id = result.call_id
        if id in self._last:
            self.notes.append((place, "duplicate-answer", f"one answer to {id} too many"))
            return
        self.notes.append((place, "orphan", f"an answer to {id}, which nothing asks for"))
        if place not in self.orphans:
            self.orphans[place] = Results([], self._turns[place].extra if alone else {})  # type: ignore[union-attr]
        self.orphans[place].results.append(result)


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


def _names(calls: Iterable[ToolCall]) -> set[str]:
    """The ids under which an answer may name these calls."""
    names: set[str] = set()
    for call in calls:
        names.add(call.id)
        if call.wire_id:
            names.add(call.wire_id)
    return names


def unanswered(call: ToolCall, reason: str = UNANSWERED) -> Result:
    """The answer to a call that nobody executed."""
    return Result(call.id, [TextPart(reason)], is_error=True, name=call.name, kind=call.kind)
