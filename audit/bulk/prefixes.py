"""Records without the messages that an earlier record has, so that their size grows with a conversation and not with
the square of its length.

    record -> `Shortener` -> (how many records back, how many of its messages, the record with the further messages)
    -> `Completer` -> the same record

Both keep the latest records of a part. The chain of a record is made from its messages again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from ..conversations import ExchangeRecord, fingerprints
from ..conversations.records import MessageRecord
from ..conversations.rounds import SharedMessages, continued

#: How many records back the messages may be.
REACH = 2000
#: How many records with equal content are compared, whose ids can differ.
_ALIKE = 4


class ShortRecord(Struct, array_like=True, frozen=True):
    """A record without its first ``shared`` messages, which the record ``back`` places before has; 0: it has all."""

    back: int
    shared: int
    record: ExchangeRecord


class _Latest:
    """The messages and chains of the latest records, by their number."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: deque[tuple[Sequence[MessageRecord], Sequence[int]]] = deque(maxlen=REACH)

    def add(self, messages: Sequence[MessageRecord], chain: Sequence[int]) -> None:
        self._kept.append((messages, chain))
        self.count += 1

    def back(self, places: int) -> tuple[Sequence[MessageRecord], Sequence[int]]:
        """Return the messages and the chain of a record. Raises ValueError if it is not kept."""
        if not 0 < places <= len(self._kept):
            raise ValueError(f"a record refers to one {places} places before it, which is not kept")
        return self._kept[-places]


class Shortener:
    """Shortens records in their order."""

    def __init__(self) -> None:
        self._latest = _Latest()
        # The chain of each beginning -> the numbers of the latest records with it, which can differ in their ids.
        self._numbers: dict[int, tuple[int, ...]] = {}
        self._beginnings: deque[Sequence[int]] = deque()

    def __call__(self, record: ExchangeRecord) -> ShortRecord:
        """Return a record without the messages that an earlier one has. The record itself is not changed."""
        back = shared = 0
        messages, number = record.messages, self._latest.count
        for length in range(len(record.chain), 0, -1):
            known = (n for n in self._numbers.get(record.chain[length - 1], ()) if number - n <= REACH)
            back = next((number - n for n in known if messages and self._has(number - n, messages[:length])), 0)
            if back:
                shared = length
                break
        for beginning in record.chain[max(shared - 1, 0) :]:
            self._numbers[beginning] = (number, *self._numbers.get(beginning, ())[: _ALIKE - 1])
        self._forget(record.chain)
        left = None if messages is None else messages[shared:]
        if type(messages) is not SharedMessages:  # the objects of the messages are shared
            messages = [*(self._latest.back(back)[0][:shared] if back else ()), *(left or ())]
        self._latest.add(messages, record.chain)
        return ShortRecord(back, shared, replace(record, messages=left, chain=[]))

    def _has(self, back: int, messages: Sequence[MessageRecord]) -> bool:
        return self._latest.back(back)[0][: len(messages)] == messages

    def _forget(self, chain: Sequence[int]) -> None:
        """Forget the beginnings that only records out of reach have."""
        self._beginnings.append(chain)
        if len(self._beginnings) > REACH:
            oldest = self._latest.count - REACH
            for beginning in self._beginnings.popleft():
                if (self._numbers.get(beginning) or (-1,))[0] == oldest:
                    del self._numbers[beginning]


class Completer:
    """Completes shortened records in their order."""

    def __init__(self) -> None:
        self._latest = _Latest()

    def __call__(self, short: ShortRecord) -> ExchangeRecord:
        """Return the record. Raises ValueError if the one that it refers to is not among the latest."""
        record = short.record
        if record.messages is not None:
            messages, chain = self._latest.back(short.back) if short.back else ([], [])
            if short.shared > len(messages):
                raise ValueError(f"a record refers to {short.shared} messages of one with {len(messages)}")
            contents = (message.content for message in record.messages)
            before = chain[short.shared - 1] if short.shared else 0
            new = [*accumulate(contents, fingerprints.chained, initial=before)][1:]
            record.messages, record.chain = continued(messages, chain, short.shared, [*record.messages], new)
        self._latest.add(record.messages or [], record.chain)
        return record
