"""Links exchanges into conversations as they end, and judges what the application did with the calls.

The findings are those of `toolparity.conversations`, at once instead of at the end of the input. A call that looks
dropped may be answered by a later request, or by another branch: such a finding is revoked then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from ..conversations import ExchangeRecord, Line
from ..conversations.findings import ConversationFinding
from ..conversations.handling import judge_calls
from ..conversations.history import compare
from ..conversations.linker import Linker
from ..conversations.links import CallPlace, Link, Node, placed_calls
from ..conversations.records import MessageRecord
from .judgement import JudgedFinding, RevokedFinding

_DROPPED = "dropped-in-fact"
#: The most messages of a request that are shown, the last ones.
_SHOWN = 12
#: How many messages of earlier requests are remembered: about 100 MB, as the proxy runs for a long time.
_MESSAGES_KEPT = 100_000
#: A call: the number of its exchange, and its place in the response.
_Call = tuple[int, CallPlace]


class LinkedExchange(Struct):
    """The place of an exchange. ``conversation``: the number of its first exchange. ``continues``: that of the exchange
    whose response its request continues. ``lines``: what is new in the request, and the response.
    """

    conversation: int
    continues: int | None = None
    findings: list[JudgedFinding] = []
    revoked: list[RevokedFinding] = []
    lines: list[Line] = []


class LiveConversations:
    """The conversations so far, in bounded memory. ``kept``: how many messages are remembered."""

    def __init__(self, kept: int = _MESSAGES_KEPT) -> None:
        self._linker = Linker(kept)
        self._conversations: dict[int, int] = {}
        self._answered: dict[_Call, None] = {}
        self._dropped: dict[_Call, RevokedFinding] = {}

    def add(self, record: ExchangeRecord, number: int) -> LinkedExchange:
        """Take the next exchange. ``number``: its number, which no other exchange has."""
        node = self._linker.index.node(record, number)
        link = self._linker.link(node)
        repeated = self._linker.index.repeated(node)
        linked = LinkedExchange(number, None if link is None else link.parent.number)
        earlier = repeated if link is None else link.parent
        if earlier is not None:
            linked.conversation = self._conversations.get(earlier.number, earlier.number)
        if link is not None and (repeated is None or repeated.parent is not link.parent):
            self._judge(link, linked)
        elif repeated is not None:
            node.parent = repeated.parent
        self._linker.index.take(node)
        linked.lines = list(_lines(record, -1 if link is None else link.position))
        self._conversations[number] = linked.conversation
        for forgotten in self._linker.index.add(node):
            self._forget(forgotten)
        return linked

    def _judge(self, link: Link, linked: LinkedExchange) -> None:
        parent = link.parent.number
        link.child.continues(link.parent, proven=link.proven)
        judged = judge_calls(link, self._linker.index)
        answered = [
            (parent, (link.choice, index)) for index, handling in judged.handling.items() if handling == "answered"
        ]
        late = [(node.number, place) for node, place in self._linker.answered_late(link)]
        for call in (*answered, *late):
            self._answered[call] = None
            if (revoked := self._dropped.pop(call, None)) is not None:
                linked.revoked.append(revoked)
        for index, found in judged.findings:
            if found.code == _DROPPED and index is not None:
                call = parent, (link.choice, index)
                if call in self._answered:
                    continue
                self._dropped[call] = RevokedFinding(link.child.number, found.code, found.call_id)
            linked.findings.append(_judged(found, parent))
        linked.findings += [_judged(found, parent) for found in compare(link)[0]]

    def _forget(self, node: Node) -> None:
        self._conversations.pop(node.number, None)
        for place, _ in placed_calls(node):
            self._answered.pop((node.number, place), None)
            self._dropped.pop((node.number, place), None)


def _judged(found: ConversationFinding, parent: int) -> JudgedFinding:
    return JudgedFinding(found.code, found.severity, found.message, "conversation", parent, found.call_id)


def _lines(record: ExchangeRecord, position: int) -> Iterator[Line]:
    new = [message for message in (record.messages or [])[position + 1 :] if message.role != "system"]
    for message in new[-_SHOWN:]:
        yield from _message_lines(message)
    for choice in record.choices:
        yield from _assistant_lines(choice, "model")


def _message_lines(message: MessageRecord) -> Iterable[Line]:
    if message.role == "assistant":
        return _assistant_lines(message, "application")
    if message.results:
        return [Line("tool", result.text, result.call_id) for result in message.results]
    return [Line("user", message.text)]


def _assistant_lines(message: MessageRecord, role: Literal["model", "application"]) -> Iterator[Line]:
    if message.text:
        yield Line(role, message.text)
    for call in message.calls:
        yield Line(role, f"{call.name} {call.text}", call.id)
