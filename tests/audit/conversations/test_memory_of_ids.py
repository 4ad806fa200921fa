"""Ids that repeat: logs whose ids were scrubbed, or are counted from 1 in every response."""

from __future__ import annotations

from toolparity.audit.conversations import linker
from toolparity.audit.conversations.records import CallRecord, ExchangeRecord, MessageRecord


def exchange(number: int, *, id: str = "call_1") -> ExchangeRecord:
    question = MessageRecord("user", number)
    answer = MessageRecord("assistant", number + 1_000, calls=(CallRecord(id, "f", number, "{}"),))
    return ExchangeRecord(
        f"log:{number}", "openai.chat", messages=[question], chain=[number], response=answer, finished=True
    )


def test_forgotten_exchanges_leave_the_index_of_an_id_that_others_have() -> None:
    known = linker.Linker(kept=6)
    nodes = [known.node(exchange(number), number) for number in range(1, 6)]
    forgotten = [gone.number for node in nodes for gone in known.add(node)]
    assert forgotten == [1, 2]
    assert known.known_call("call_1") is nodes[-1]
    assert [node.number for node in known.rest()] == [3, 4, 5]
    assert known.known_call("call_1") is None
