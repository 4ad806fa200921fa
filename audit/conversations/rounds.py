"""What is known of a history at the end of each of its rounds, so that the linker reads no message twice.

The requests of a conversation repeat their history. Those that were read by one cache share the `Rounds` of it, which
grow with the conversation, and each has a `SharedMessages` that says how many of the messages are its own.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, TypeVar, overload

import msgspec

from .links import ids_of
from .records import MessageRecord

Item = TypeVar("Item")

encode = msgspec.json.Encoder().encode


class Rounds:
    """The messages of a history from its first answer on, and their chain. Messages are only added.

    Methods are about the first ``end`` messages.
    """

    def __init__(self, messages: list[MessageRecord], chain: Iterable[int] = ()) -> None:
        self.messages: list[MessageRecord] = []
        self.chain: list[int] = []
        self._results: int | None = None  # the first message with results, and with one of a call before it
        self._matched: int | None = None
        self._first: dict[str, int] = {}  # by id of a call, the first message that has it
        self._again: list[tuple[int, str]] = []  # the ids in further messages
        self._questions: list[int] = []  # the messages of the user
        self._hashed: tuple[bytes, int, Any] = (b"", 0, None)  # the last hash: of these bytes, and so many messages
        self._earlier = self._hashed  # that without the messages which were added last
        self._added = 0  # where these begin
        self.extend(messages, chain)

    def __reduce__(self) -> tuple[type[Rounds], tuple[list[MessageRecord], list[int]]]:
        return Rounds, (self.messages, self.chain)  # for another process

    def extend(self, messages: list[MessageRecord], chain: Iterable[int]) -> None:
        """Add messages at the end."""
        for number, message in enumerate(messages, len(self.messages)):
            if message.calls:
                ids = ids_of(message.calls)
                self._again += ((number, id) for id in ids if self._first.setdefault(id, number) < number)
            elif message.results:
                self._results = number if self._results is None else self._results
                if self._matched is None and any(result.call_id in self._first for result in message.results):
                    self._matched = number
            elif message.role == "user":
                self._questions.append(number)
        self._added = len(self.messages)
        self.messages += messages
        self.chain += chain

    def continued(self, end: int, messages: list[MessageRecord], chain: Iterable[int]) -> Rounds:
        """Add messages after the first ``end`` ones, or to a copy if others follow these. Return where they are."""
        rounds = self if end == len(self.messages) else self._branch(end)
        rounds.extend(messages, chain)
        return rounds

    def _branch(self, end: int) -> Rounds:
        """Return a copy of the first ``end`` messages."""
        made = Rounds([])
        made.messages, made.chain = self.messages[:end], self.chain[:end]
        made._results = self._results if self.has_results(end) else None
        made._matched = self._matched if self.has_matched(end) else None
        made._first = {id: number for id, number in self._first.items() if number < end}
        made._again = [each for each in self._again if each[0] < end]
        made._questions = self._questions[: bisect_left(self._questions, end)]
        if self._earlier[1] <= end:
            made._hashed = made._earlier = self._earlier
        return made

    def has_results(self, end: int) -> bool:
        """Return whether a message has results."""
        return self._results is not None and self._results < end

    def has_matched(self, end: int) -> bool:
        """Return whether a message has a result of a call before it."""
        return self._matched is not None and self._matched < end

    def repeated(self, end: int, drawn: set[str]) -> set[str]:
        """Return the ids of calls that are in several messages, and those of ``drawn`` that are in one."""
        again = {id for number, id in self._again if number < end}
        return again.union(id for id in drawn if self._first.get(id, end) < end)

    def question(self, end: int) -> MessageRecord | None:
        """Return the last message of the user."""
        at = bisect_left(self._questions, end)
        return self.messages[self._questions[at - 1]] if at else None

    def hashed(self, before: bytes, end: int) -> Any:
        """Return the hash of bytes and of the messages as JSON after them. Raises UnicodeEncodeError."""
        state: Any
        known, done, state = self._hashed if self._hashed[1] <= end else self._earlier
        if known != before or done > end:
            done, state = 0, blake2b(before, digest_size=8)
        for stop in (self._added, end):
            if done < stop <= end:
                state = state.copy()
                state.update(b"," * bool(done) + encode(self.messages[done:stop])[1:-1])
                done = stop
            if stop == self._added and done == stop:
                self._earlier = before, done, state
        self._hashed = before, done, state
        return state.copy()


class SharedList(Sequence[Item]):
    """The items of ``before``, and the first ``end`` ones of ``rest``, a list to which others are only added."""

    __slots__ = ("before", "end", "rest")

    def __init__(self, before: Sequence[Item], rest: list[Item], end: int) -> None:
        self.before, self.rest, self.end = before, rest, end

    def __len__(self) -> int:
        return len(self.before) + self.end

    def __iter__(self) -> Iterator[Item]:
        return itertools.chain(self.before, islice(self.rest, self.end))

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice[Any, Any, Any]) -> list[Item]: ...
    def __getitem__(self, at: Any) -> Any:
        before = len(self.before)
        if type(at) is int and 0 <= (place := at - before) < self.end:
            return self.rest[place]
        if isinstance(at, slice):
            start, end, step = at.indices(before + self.end)
            if step != 1:
                return [*self][at]
            if before <= start <= end:
                return self.rest[start - before : end - before]
            return [*self.before[start:end], *self.rest[max(start - before, 0) : max(end - before, 0)]]
        place = at - before if at >= 0 else self.end + at
        if not -before <= place < self.end:
            raise IndexError(at)
        return self.rest[place] if place >= 0 else self.before[place]

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __eq__(self, other: object) -> bool:
        return [*self] == ([*other] if isinstance(other, SharedList) else other)


class SharedMessages(SharedList[MessageRecord]):
    """The messages of a request: those of ``before``, which have no calls, and then those of ``rounds``."""

    __slots__ = ("rounds",)

    def __init__(self, before: Sequence[MessageRecord], rounds: Rounds, end: int) -> None:
        super().__init__(before, rounds.messages, end)
        self.rounds = rounds

    def __reduce__(self) -> tuple[type[SharedMessages], tuple[Sequence[MessageRecord], Rounds, int]]:
        return SharedMessages, (self.before, self.rounds, self.end)


def continued(
    known: Sequence[MessageRecord], chain: Sequence[int], end: int, messages: list[MessageRecord], new: list[int]
) -> tuple[SharedMessages, SharedList[int]]:
    """Return the first ``end`` messages of a request and those after them, and the chain of all of them."""
    if type(known) is SharedMessages and end >= len(known.before):
        before, rounds = known.before, known.rounds.continued(end - len(known.before), messages, new)
        made = SharedMessages(before, rounds, len(rounds.messages))
    else:
        chain = [*chain[:end], *new]
        made = shared([*known[:end], *messages], chain)
    return made, SharedList(chain[: len(made.before)], made.rounds.chain, made.end)


def shared(messages: Sequence[MessageRecord], chain: Sequence[int] = ()) -> SharedMessages:
    """Return messages with their rounds, which are made if they are not known."""
    if type(messages) is SharedMessages:
        return messages
    before = next((n for n, message in enumerate(messages) if message.role == "assistant"), len(messages))
    rounds = Rounds([*messages[before:]], chain[before:])
    return SharedMessages([*messages[:before]], rounds, len(rounds.messages))
