"""The exchanges that are known: what later requests may continue, found by ids, signatures and messages.

Memory is bounded: the oldest exchanges are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from toolparity.normalizer import json_codec

from . import fingerprints
from .call_ids import is_drawn, stem
from .links import Node, Request, Thread, ids_of
from .records import ExchangeRecord, MessageRecord
from .rounds import SharedMessages, encode, shared

#: The question of a turn, and calls without their ids.
_Turn = tuple[int | None, tuple[tuple[str, int], ...]]
Key = TypeVar("Key", bound=int | str | tuple[str, int] | Request | _Turn)

#: How many messages of earlier requests are remembered, as fingerprints. Older exchanges are forgotten first.
MESSAGES_KEPT = 1_000_000
#: How many exchanges with the same call id are compared.
_CANDIDATES = 8


class ExchangeIndex:
    """Keeps exchanges under all that a later request may say of them.

    ``kept``: how many messages are remembered, by default `MESSAGES_KEPT`.
    """

    def __init__(self, kept: int | None = None) -> None:
        self.kept = MESSAGES_KEPT if kept is None else kept
        self._nodes: OrderedDict[int, Node] = OrderedDict()
        self._weight = 0
        self._by_response: dict[tuple[str, int], deque[Node]] = {}  # by wire, and the chain that ends with the response
        self._by_any_response: dict[int, Node] = {}  # the same on any wire
        self._by_request: dict[tuple[str, int], deque[Node]] = {}  # by wire, and the chain of the request; oldest first
        self._by_response_id: dict[str, Node] = {}
        self._by_call: dict[str, deque[Node]] = {}  # oldest first
        self._by_turn: dict[_Turn, deque[Node]] = {}  # of responses with an id that is not drawn
        self._by_seal: dict[int, Node] = {}
        self._by_digest: dict[int, Node] = {}  # the first one
        self._taken: dict[Request, Node] = {}  # the first one
        #: By drawn id or signature: the response that made it, or None if there are several; and how many exchanges.
        self._origins: dict[str | int, tuple[int | None, int]] = {}
        self._order = 0

    def node(self, record: ExchangeRecord, number: int) -> Node:
        """Return the node of an exchange, which is not known to the linker until it is added."""
        chain, choices = record.chain, record.choices
        endings = [fingerprints.chained(chain[-1], choice.content) for choice in choices] if chain else []
        made = [call for choice in choices for call in choice.calls]
        drawn = {id for call in made for id in call.ids if is_drawn(id, call.name)}
        messages = shared(record.messages or [])
        rounds, beginning, end = messages.rounds, messages.before, messages.end
        thread = Thread(rounds.has_results(end) or any(m.results for m in beginning), rounds.has_matched(end))
        repeated = rounds.repeated(end, drawn)
        request, ids = _request(record) if chain else None, ids_of(made)
        return Node(record, number, chain, request, choices, endings, ids, drawn, _digest(record), repeated, thread)

    def take(self, child: Node) -> None:
        """Remember the request of an exchange, so that it is found if it is repeated."""
        if child.request is not None:
            self._taken.setdefault(child.request, child)

    def repeated(self, child: Node) -> Node | None:
        """Return an exchange with the same messages in its request that was taken, or None."""
        return None if child.request is None else self._taken.get(child.request)

    def original(self, node: Node) -> Node | None:
        """Return the equal exchange that was added before, or None."""
        original = self._by_digest.get(node.digest)
        return None if original is node else original

    def proves(self, key: str | int) -> bool:
        """Return whether an id that looks drawn, or a signature, is in one response only, as far as is known."""
        return self._origins.get(stem(key) if isinstance(key, str) else key, (None, 0))[0] is not None

    def known_call(self, id: str) -> Node | None:
        """Return the last exchange whose response made a call with this id, or None."""
        nodes = self._by_call.get(id)
        return nodes[-1] if nodes else None

    def with_response_id(self, id: str) -> Node | None:
        """Return the last exchange whose response has this id, or None."""
        return self._by_response_id.get(id)

    def with_call(self, id: str) -> Iterator[Node]:
        """Yield the latest exchanges whose response made a call with this id, the last one first."""
        return _latest(self._by_call.get(id))

    def with_seals(self, seals: tuple[int, ...]) -> Iterator[Node]:
        """Yield the last exchange whose response has each of these signatures."""
        return (self._by_seal[seal] for seal in seals if seal in self._by_seal)

    def with_turn(self, question: int | None, message: MessageRecord) -> Iterator[Node]:
        """Yield the latest exchanges whose response answers this question with the message's calls."""
        return _latest(self._by_turn.get(_turn(question, message)))

    def with_request(self, wire: str, chain: int) -> Iterator[Node]:
        """Yield the latest exchanges with the same messages in their request, the last one first."""
        return _latest(self._by_request.get((wire, chain)))

    def with_response(self, wire: str, ending: int) -> Iterator[Node]:
        """Yield the latest exchanges whose messages end with this response, the last one first."""
        return _latest(self._by_response.get((wire, ending)))

    def with_response_on_any_wire(self, ending: int) -> Node | None:
        """Return the last exchange whose messages end with this response, or None."""
        return self._by_any_response.get(ending)

    def add(self, node: Node) -> Iterator[Node]:
        """Remember an exchange. Yield the exchanges that are forgotten for it."""
        self._order += 1
        node.order = self._order
        self._nodes[node.order] = node
        self._weight += weight(node)
        known_as = self._by_digest.setdefault(node.digest, node)
        node.is_copy = known_as is not node and bool(node.drawn or node.record.response_id)
        for key, origin in _evidence(node):
            known, uses = self._origins.get(key, (origin, 0))
            self._origins[key] = (origin if known == origin else None), uses + 1
        if node.request is not None:
            self._by_request.setdefault(node.request[:2], deque()).append(node)
            for choice, ending in zip(node.choices, node.endings, strict=True):
                if choice.text or choice.calls:
                    self._by_response.setdefault((node.record.wire, ending), deque()).append(node)
                    self._by_any_response[ending] = node
        if node.record.response_id:
            self._by_response_id[node.record.response_id] = node
        for id in node.ids:
            self._by_call.setdefault(id, deque()).append(node)
        for turn in _turns(node):
            self._by_turn.setdefault(turn, deque()).append(node)
        self._by_seal.update(dict.fromkeys(_seals(node), node))
        while self._weight > self.kept and len(self._nodes) > 1:
            yield self._forget()

    def rest(self) -> Iterator[Node]:
        """Forget all exchanges, and yield them."""
        while self._nodes:
            yield self._forget()

    def _forget(self) -> Node:
        _, node = self._nodes.popitem(last=False)
        self._weight -= weight(node)
        for key, _ in _evidence(node):
            known, uses = self._origins.pop(key)
            if uses > 1:
                self._origins[key] = known, uses - 1
        _remove(self._by_digest, node.digest, node)
        if node.request is not None:
            _remove(self._taken, node.request, node)
            _remove_oldest(self._by_request, node.request[:2])
            for choice, ending in zip(node.choices, node.endings, strict=True):
                if choice.text or choice.calls:
                    _remove_oldest(self._by_response, (node.record.wire, ending))
                _remove(self._by_any_response, ending, node)
        if node.record.response_id is not None:
            _remove(self._by_response_id, node.record.response_id, node)
        for id in node.ids:
            _remove_oldest(self._by_call, id)
        for turn in _turns(node):
            _remove_oldest(self._by_turn, turn)
        for seal in _seals(node):
            _remove(self._by_seal, seal, node)
        node.parent = None
        return node


def question_of(record: ExchangeRecord, end: int | None = None) -> int | None:
    """Return the fingerprint of the last message of the user before a position."""
    messages = record.messages or []
    end = len(messages) if end is None else end
    if type(messages) is SharedMessages:
        if (found := messages.rounds.question(end - len(messages.before))) is not None:
            return found.content
        end = min(end, len(messages.before))
    return next((m.content for m in reversed(messages[:end]) if m.role == "user"), None)


def weight(node: Node) -> int:
    """Return how many messages are remembered for an exchange."""
    return 1 + len(node.chain)


def _request(record: ExchangeRecord) -> Request:
    """Return what is equal in a repeated request. Fingerprints do not contain the ids of results."""
    ids: list[str] = []
    for message in reversed(record.messages or ()):
        if message.role == "assistant":
            break
        ids.extend(result.call_id for result in message.results)
    return record.wire, record.chain[-1], tuple(sorted(ids))


def _digest(record: ExchangeRecord) -> int:
    """Return the fingerprint of a record as JSON, without its place. Of shared messages, only new ones are read."""
    messages, chain = record.messages, record.chain[:]
    if type(messages) is SharedMessages and messages.end:
        with suppress(UnicodeEncodeError):
            start = encode(["", record.wire, record.model])[:-1] + b",["
            rest = encode(replace(record, place="", messages=[], chain=[])).removeprefix(start + b"],[]")
            before = start + b"".join(encode(message) + b"," for message in messages.before)
            hashed = messages.rounds.hashed(before, messages.end)
            hashed.update(b"],%b%b" % (encode(chain), rest))
            return int.from_bytes(hashed.digest(), "big")
    messages = None if messages is None else messages[:]
    return fingerprints.of_bytes(json_codec.encode(replace(record, place="", messages=messages, chain=chain)))


def _evidence(node: Node) -> Iterator[tuple[str | int, int | None]]:
    """Yield what can prove a link to a response, and from where it comes. Equal responses to equal requests count once.

    An id that is in the request before, or twice in it, comes from several responses.
    """
    for number, choice in enumerate(node.choices):
        origin = node.endings[number] if node.endings else choice.content
        yield from ((key, origin) for key in {stem(id) for id in ids_of(choice.calls) & node.drawn})
        yield from ((key, origin) for key in set(choice.seals))
    yield from ((stem(id), None) for id in node.repeated)


def _turn(question: int | None, message: MessageRecord) -> _Turn:
    return question, tuple(sorted(call.content for call in message.calls))


def _turns(node: Node) -> set[_Turn]:
    question = question_of(node.record) if node.ids - node.drawn else None
    return {_turn(question, choice) for choice in node.choices if not ids_of(choice.calls) <= node.drawn}


def _latest(nodes: deque[Node] | None) -> Iterator[Node]:
    return islice(reversed(nodes or ()), _CANDIDATES)


def _seals(node: Node) -> Iterator[int]:
    return (seal for choice in node.choices for seal in choice.seals)


def _remove(index: dict[Key, Node], key: Key, node: Node) -> None:
    if index.get(key) is node:
        del index[key]


def _remove_oldest(index: dict[Key, deque[Node]], key: Key) -> None:
    nodes = index[key]
    nodes.popleft()
    if not nodes:
        del index[key]
