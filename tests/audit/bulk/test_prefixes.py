"""Records in part files: without the messages that an earlier record has, and the same when they are read."""

from __future__ import annotations

import msgspec
import pytest

from tests.audit.conversations.correct_agents import CorrectLog
from tests.audit.test_histories import links_by
from toolparity.audit.bulk import prefixes
from toolparity.audit.bulk.prefixes import Completer, Shortener, ShortRecord


def test_records_are_the_same_after_they_were_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    for reach in (prefixes.REACH, 3, 1):
        monkeypatch.setattr(prefixes, "REACH", reach)
        for seed in range(40):
            records = CorrectLog(seed).records
            shorten, complete = Shortener(), Completer()
            short = msgspec.json.decode(msgspec.json.encode([*map(shorten, records)]), type=list[ShortRecord])
            completed = [complete(one) for one in short]
            assert completed == records, (reach, seed)
            assert [*map(links_by, completed)] == [*map(links_by, records)], (reach, seed)


def test_each_message_of_a_conversation_is_written_once() -> None:
    record = next(r for seed in range(99) for r in CorrectLog(seed, "openai.chat").records if len(r.messages or ()) > 6)
    beginnings = [
        msgspec.structs.replace(record, messages=(record.messages or [])[:n], chain=record.chain[:n])
        for n in range(1, len(record.chain) + 1)
    ]
    short = [*map(Shortener(), beginnings)]
    assert [len(one.record.messages or ()) for one in short] == [1] * len(beginnings)
    with pytest.raises(ValueError, match="1 places before it, which is not kept"):
        Completer()(short[1])
