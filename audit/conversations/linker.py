"""Linking: finds the exchange whose response a request continues.

A request holds a history. Its last assistant message that is known leads to the exchange that it continues: by an id
that the provider drew, by the signature of its reasoning, or as the response to an earlier request with the same
messages before it. Where the provider stores the history, `previous_response_id` or the ids of the results do. A
conversation may continue on another wire; an exchange on the same wire is preferred.

Ids that are counted or missing prove nothing: another session may have asked the same question, and its exchange may be
missing in the input. Such a message is a response only if it has exactly its calls. If it differs, the link is
uncertain, and nothing is judged by it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from toolparity.normalizer.wires.registry import spec

from . import fingerprints
from .call_ids import is_drawn
from .links import CallPlace, Link, Node, ids_of, placed_calls
from .records import CallRecord, ExchangeRecord, MessageRecord

Key = TypeVar("Key", bound=int | str | tuple[str, int])

#: How many messages of earlier requests are remembered, as fingerprints. Older exchanges are forgotten first.
MESSAGES_KEPT = 1_000_000
#: How many exchanges with the same call id are compared.
_CANDIDATES = 8


class Linker:
    """Keeps the exchanges that later ones may continue, in bounded memory.

    ``kept``: how many messages are remembered, by default `MESSAGES_KEPT`.
    """

    def __init__(self, kept: int | None = None) -> None:
        self._kept = MESSAGES_KEPT if kept is None else kept
        self._nodes: OrderedDict[int, Node] = OrderedDict()
        self._weight = 0
        self._by_response: dict[tuple[str, int], Node] = {}  # by wire, and the chain that ends with the response
        self._by_any_response: dict[int, Node] = {}  # the same on any wire
        self._by_request: dict[tuple[str, int], deque[Node]] = {}  # by wire, and the chain of the request; oldest first
        self._by_response_id: dict[str, Node] = {}
        self._by_call: dict[str, deque[Node]] = {}  # oldest first
        self._by_seal: dict[int, Node] = {}

    def node(self, record: ExchangeRecord, number: int) -> Node:
        """Return the node of an exchange, which is not known to the linker until it is added."""
        chain, choices = record.chain, record.choices
        endings = [fingerprints.chained(chain[-1], choice.content) for choice in choices] if chain else []
        return Node(record, number, chain, choices, endings, {id for choice in choices for id in ids_of(choice.calls)})

    def link(self, child: Node) -> Link | None:
        """Return the exchange that a request continues, or None if it is unknown."""
        messages = child.record.messages
        if not messages:
            return None
        if id := child.record.previous_response_id:
            parent = self._by_response_id.get(id)
            return None if parent is None else _continued(parent, child, messages)
        other_ids = uncertain = None
        for position in range(len(messages) - 1, -1, -1):
            message = messages[position]
            if message.role != "assistant":
                continue
            link = self._by_calls(child, position, message)
            if link is not None and not link.uncertain:
                return link
            uncertain = uncertain or link
            same = self._same_response(child, position, message)
            if same is None:
                continue
            link = Link(same, child, position, position, choice=_choice_of(same, message))
            if not message.calls:
                return other_ids or link
            if link.replaced_ids:
                other_ids = other_ids or link
        if other_ids is not None:
            return other_ids
        return self._by_results(child, messages) or self._by_prefix(child, messages) or uncertain

    def repeated(self, child: Node) -> Node | None:
        """Return an earlier exchange with the same messages in its request, or None."""
        earlier = next(self._with_request(child.record.wire, child.chain[-1]), None) if child.chain else None
        return earlier if earlier is not None and _answered(earlier) == _answered(child) else None

    def copied(self, node: Node) -> Node | None:
        """Return an equal exchange before this one, if the provider drew an id in it: of the response or a call."""
        record = node.record
        drawn = next(filter(is_drawn, sorted(node.ids)), "")
        if not drawn and not record.response_id:
            return None
        earlier = (
            next(self._with_request(record.wire, node.chain[-1]), None) if node.chain else None,
            self.known_call(drawn),
            self._by_response_id.get(record.response_id or ""),
        )
        return next((other for other in earlier if other is not None and is_copy(other.record, record)), None)

    def known_call(self, id: str) -> Node | None:
        """Return the last exchange whose response made a call with this id, or None."""
        nodes = self._by_call.get(id)
        return nodes[-1] if nodes else None

    def answered_late(self, link: Link) -> Iterator[tuple[Node, CallPlace]]:
        """Yield the calls of other exchanges that a request answers. Ids that repeat mean the same conversation."""
        ancestors: set[int] | None = None
        for message in link.following:
            for result in message.results:
                node = self.known_call(result.call_id)
                if node is None or node is link.parent:
                    continue
                if not is_drawn(result.call_id):
                    ancestors = _ancestors(link.parent) if ancestors is None else ancestors
                    if node.number not in ancestors:
                        continue
                for place, call in placed_calls(node):
                    if result.call_id in call.ids:
                        yield node, place

    def add(self, node: Node) -> Iterator[Node]:
        """Remember an exchange. Yield the exchanges that are forgotten for it."""
        self._nodes[node.number] = node
        self._weight += _weight(node)
        if node.chain:
            self._by_request.setdefault((node.record.wire, node.chain[-1]), deque()).append(node)
            for choice, ending in zip(node.choices, node.endings, strict=True):
                if choice.text or choice.calls:
                    self._by_response[node.record.wire, ending] = self._by_any_response[ending] = node
        if node.record.response_id:
            self._by_response_id[node.record.response_id] = node
        for id in node.ids:
            self._by_call.setdefault(id, deque()).append(node)
        self._by_seal.update(dict.fromkeys(_seals(node), node))
        while self._weight > self._kept and len(self._nodes) > 1:
            yield self._forget()

    def rest(self) -> Iterator[Node]:
        """Forget all exchanges, and yield them."""
        yield from self._nodes.values()
        self._nodes.clear()
        for index in (self._by_request, self._by_response, self._by_any_response, self._by_response_id, self._by_call):
            index.clear()
        self._by_seal.clear()

    def _forget(self) -> Node:
        _, node = self._nodes.popitem(last=False)
        self._weight -= _weight(node)
        if node.chain:
            _remove_oldest(self._by_request, (node.record.wire, node.chain[-1]))
            for ending in node.endings:
                _remove(self._by_response, (node.record.wire, ending), node)
                _remove(self._by_any_response, ending, node)
        if node.record.response_id is not None:
            _remove(self._by_response_id, node.record.response_id, node)
        for id in node.ids:
            _remove_oldest(self._by_call, id)
        for seal in _seals(node):
            _remove(self._by_seal, seal, node)
        node.parent = None
        return node

    def _by_calls(self, child: Node, position: int, message: MessageRecord) -> Link | None:
        """Return the link to the exchange whose response made these calls, or one that is uncertain.

        Of several, it is one that a drawn id or a signature proves, then one on the same wire, then the one that shares
        most messages, then one with exactly these calls, then one that is signed if the message is, then one that no
        request continues yet, then the latest.
        """
        if not message.calls:
            return None
        nodes = [node for id in ids_of(message.calls) for node in _latest(self._by_call.get(id))]
        nodes += [self._by_seal[seal] for seal in message.seals if seal in self._by_seal]
        nodes += self._same_requests(child, position)
        links = [
            link
            for node in {node.number: node for node in nodes}.values()
            for number, choice in enumerate(node.choices)
            if choice.calls and (link := _possible(node, child, position, number, message)) is not None
        ]
        return max(links, key=_likelihood, default=None)

    def _same_requests(self, child: Node, position: int) -> Iterator[Node]:
        """Yield exchanges with the messages before this one in their request, and one with this response."""
        if position > 0:
            wire = child.record.wire
            yield from self._with_request(wire, child.chain[position - 1])
            if (node := self._by_response.get((wire, child.chain[position]))) is not None:
                yield node

    def _with_request(self, wire: str, chain: int) -> Iterator[Node]:
        """Yield the latest exchanges with the same messages in their request, the last one first."""
        return _latest(self._by_request.get((wire, chain)))

    def _same_response(self, child: Node, position: int, message: MessageRecord) -> Node | None:
        """Return the exchange whose response is this message, after the same messages.

        On another wire, calls under other ids prove nothing: the same question leads to the same calls.
        """
        ending = child.chain[position]
        same = self._by_response.get((child.record.wire, ending))
        if same is not None and _signed_differently(same, same.choices[_choice_of(same, message)], message):
            return None
        return same or (None if message.calls else self._by_any_response.get(ending))

    def _by_results(self, child: Node, messages: list[MessageRecord]) -> Link | None:
        """Return the link by the results of a request that does not contain the calls."""
        for message in reversed(messages):
            for result in reversed(message.results):
                nodes = self._by_call.get(result.call_id) if is_drawn(result.call_id) else None
                if nodes and len(nodes) == 1 and nodes[0].record.wire == child.record.wire:
                    choice = next(place[0] for place, call in placed_calls(nodes[0]) if result.call_id in call.ids)
                    return Link(nodes[0], child, -1, 0, choice=choice)
            if message.role == "assistant":
                break
        return None

    def _by_prefix(self, child: Node, messages: list[MessageRecord]) -> Link | None:
        """Return the link to an exchange with the same messages, if the history has some of its calls by other ids."""
        for position in range(len(messages) - 1, 0, -1):
            message = messages[position]
            if message.role != "assistant":
                continue
            node = next(self._with_request(child.record.wire, child.chain[position - 1]), None)
            for number, choice in enumerate(node.choices if node is not None else ()):
                made = {call.content for call in choice.calls}
                kept = not message.calls or (
                    any(call.content in made and call.position is None for call in message.calls)
                    and ids_of(message.calls).isdisjoint(ids_of(choice.calls))
                )
                if made and kept and message.text == choice.text and (message.calls or choice.text):
                    assert node is not None
                    return Link(node, child, position, position, choice=number)
        return None


def _ancestors(node: Node) -> set[int]:
    numbers: set[int] = set()
    parent = node.parent
    while parent is not None and parent.number not in numbers:
        numbers.add(parent.number)
        parent = parent.parent
    return numbers


def _shared(parent: Node, child: Node) -> int:
    shared = 0
    for one, other in zip(parent.chain, child.chain, strict=False):
        if one != other:
            break
        shared += 1
    return shared


def _possible(node: Node, child: Node, position: int, choice: int, message: MessageRecord) -> Link | None:
    """Return the link to a choice of a response, or None if the message cannot be that response.

    A signature proves the link, and a drawn id if its call is the same, or if the request repeats the earlier one.
    Otherwise the message has exactly the calls of the response, after the same messages or the same question. It may
    differ only in an uncertain link: the request repeats the earlier one, and no other response is between.
    """
    shared = _shared(node, child)
    made = node.choices[choice].calls
    link = Link(node, child, position, shared, choice=choice)
    extends = shared == len(node.chain) and position >= shared
    same = [(call, other) for call in message.calls for other in made if any(map(is_drawn, call.ids & other.ids))]
    if not same and _signed_differently(node, node.choices[choice], message):
        return None
    link.proven = (
        not set(message.seals).isdisjoint(node.choices[choice].seals)
        or any(call.content == other.content for call, other in same)
        or (extends and bool(same))
    )
    link.names = _names(message.calls, made)
    link = _with_pieces(link)
    if link.proven or (link.complete and (extends or _question(node.record) == _question(child.record, position))):
        return link
    link.uncertain = True
    return link if extends and _is_next(link) and not link.changes_wire else None


def _signed_differently(node: Node, choice: MessageRecord, message: MessageRecord) -> bool:
    """Return whether both a response and a message have signatures, but none is of both."""
    if not choice.seals or not message.seals or spec(node.record.wire).sealed_anew:
        return False
    return set(choice.seals).isdisjoint(message.seals)


def _likelihood(link: Link) -> tuple[bool, bool, bool, int, bool, bool, bool, int]:
    sure, same_wire, free = not link.uncertain, not link.changes_wire, not link.parent.children
    response, kept = link.response, link.kept
    as_signed = response is not None and kept is not None and bool(response.seals) == bool(kept.seals)
    return sure, link.proven, same_wire, link.shared, link.complete, as_signed, free, link.parent.number


def _is_next(link: Link) -> bool:
    """Return whether no other response is between the messages that the two requests share and this one."""
    between = (link.child.record.messages or ())[link.shared : link.position]
    return all(message.role != "assistant" for message in between)


def _question(record: ExchangeRecord, end: int | None = None) -> int | None:
    """Return the fingerprint of the last message of the user before a position."""
    return next((m.content for m in reversed((record.messages or [])[:end]) if m.role == "user"), None)


def _names(calls: tuple[CallRecord, ...], made: tuple[CallRecord, ...]) -> dict[str, str]:
    """Return the ids of a response's calls, by those that the history's calls without ids were assigned.

    The position of a call says little, as an earlier one may be left out: first equal calls belong together, then calls
    of one tool.
    """
    names: dict[str, str] = {}
    without_ids = [call for call in calls if call.position is not None]
    left = [call for call in made if not any(call.ids & other.ids for other in calls if other.position is None)]
    for of_tool in (False, True):
        for call in without_ids:
            same = (other for other in left if other.name == call.name and (of_tool or other.content == call.content))
            if call.id not in names and (match := next(same, None)) is not None:
                names[call.id] = match.id
                left.remove(match)
    return names


def _continued(parent: Node, child: Node, messages: list[MessageRecord]) -> Link:
    """Return the link by the id of a response, which the request can contain nevertheless."""
    made = parent.ids
    for position in range(len(messages) - 1, -1, -1):
        if not made.isdisjoint(ids_of(messages[position].calls)):
            return _with_pieces(Link(parent, child, position, _shared(parent, child)))
    return Link(parent, child, -1, 0)


def _with_pieces(link: Link) -> Link:
    """Extend a link to earlier messages with further calls of the response, its text or its reasoning."""
    response, messages = link.response, link.child.record.messages
    if response is None or not messages:
        return link
    left = list(response.calls)
    if not _take(left, messages[link.position].calls):
        return link
    results = ids_of(response.calls)
    found = [link.position]
    start = link.shared if link.shared == len(link.parent.chain) else 0
    for index in range(link.position - 1, start - 1, -1):
        message = messages[index]
        if message.role == "results" and all(result.call_id in results for result in message.results):
            continue
        if message.role != "assistant" or not _take(left, message.calls):
            break
        if not message.calls and not (_is_part(message, response) and found[-1] == index + 1):
            break
        found.append(index)
    link.position = found.pop()
    link.pieces = tuple(reversed(found))
    return link


def _take(left: list[CallRecord], calls: tuple[CallRecord, ...]) -> bool:
    """Remove the calls from those that are left. Return whether all were there."""
    for call in calls:
        made = next((made for made in left if call.ids & made.ids), None)
        if made is None:
            return False
        left.remove(made)
    return True


def _is_part(message: MessageRecord, response: MessageRecord) -> bool:
    """Return whether a message without calls has text or reasoning of the response, and nothing else."""
    seals = set(message.seals)
    return bool(message.text or seals) and seals <= set(response.seals) and message.text in response.text


def is_copy(one: ExchangeRecord, other: ExchangeRecord) -> bool:
    """Return whether two records are equal in everything but their places."""
    return replace(one, place=other.place) == other


def _choice_of(node: Node, message: MessageRecord) -> int:
    """Return which choice of a response has the content of a message."""
    return next(number for number, choice in enumerate(node.choices) if choice.content == message.content)


def _answered(node: Node) -> list[str]:
    """Return the ids of the results after the last assistant message, which fingerprints do not contain."""
    ids: list[str] = []
    for message in reversed(node.record.messages or ()):
        if message.role == "assistant":
            break
        ids.extend(result.call_id for result in message.results)
    return sorted(ids)


def _latest(nodes: deque[Node] | None) -> Iterator[Node]:
    return islice(reversed(nodes or ()), _CANDIDATES)


def _seals(node: Node) -> Iterator[int]:
    return (seal for choice in node.choices for seal in choice.seals)


def _weight(node: Node) -> int:
    return 1 + len(node.chain)


def _remove(index: dict[Key, Node], key: Key, node: Node) -> None:
    if index.get(key) is node:
        del index[key]


def _remove_oldest(index: dict[Key, deque[Node]], key: Key) -> None:
    nodes = index[key]
    nodes.popleft()
    if not nodes:
        del index[key]
