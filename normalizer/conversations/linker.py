"""Linking: finds the exchange whose response a request continues.

A request holds a history. Its last assistant message that is known, as the response to an earlier request with the same
messages before it, or by the ids of its calls, leads to the exchange that it continues. Where the provider stores the
history, `previous_response_id` or the ids of the results do. A conversation may continue on another wire; an exchange
on the same wire is preferred.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from msgspec import Struct

from . import fingerprints
from .records import CallRecord, ExchangeRecord, MessageRecord

Key = TypeVar("Key", bound=int | str | tuple[str, int])

#: How many messages of earlier requests are remembered, as fingerprints. Older exchanges are forgotten first.
MESSAGES_KEPT = 1_000_000
#: How many exchanges with the same call id are compared.
_CANDIDATES = 8


class Node(Struct, eq=False):
    """An exchange that later requests may continue. ``number``: its position in the input. ``chain``: fingerprints of
    the first n messages of its request, for every n. ``parent``: the exchange that it continues.
    """

    record: ExchangeRecord
    number: int
    chain: list[int]
    parent: Node | None = None
    children: int = 0


class Link(Struct, eq=False):
    """A request that continues a response. ``position``: the index of the response in the history of the request; -1
    if the provider stores it. ``shared``: how many messages at their beginning the two requests share.
    """

    parent: Node
    child: Node
    position: int
    shared: int

    @property
    def changes_wire(self) -> bool:
        """Whether the conversation continues on another wire, as after a fallback to another provider."""
        return self.parent.record.wire != self.child.record.wire

    @property
    def replaced_ids(self) -> bool:
        """Whether the history has the calls of the response, all under other ids."""
        response, messages = self.parent.record.response, self.child.record.messages
        if self.position < 0 or response is None or not messages:
            return False
        kept = messages[self.position].calls
        return bool(kept and response.calls) and ids_of(kept).isdisjoint(ids_of(response.calls))


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
        self._by_request: dict[tuple[str, int], Node] = {}  # by wire, and the chain of the request
        self._by_response_id: dict[str, Node] = {}
        self._by_call: dict[str, deque[Node]] = {}  # oldest first

    def node(self, record: ExchangeRecord, number: int) -> Node:
        """Return the node of an exchange, which is not known to the linker until it is added."""
        chain: list[int] = []
        last = 0
        for message in record.messages or ():
            last = fingerprints.chained(last, message.content)
            chain.append(last)
        return Node(record, number, chain)

    def link(self, child: Node) -> Link | None:
        """Return the exchange that a request continues, or None if it is unknown."""
        messages = child.record.messages
        if not messages:
            return None
        if id := child.record.previous_response_id:
            parent = self._by_response_id.get(id)
            return None if parent is None else Link(parent, child, -1, 0)
        other_ids = None
        for position in range(len(messages) - 1, -1, -1):
            message = messages[position]
            if message.role != "assistant":
                continue
            if link := self._by_calls(child, position, message.calls):
                return link
            same = self._same_response(child, position, message)
            if same is not None and not message.calls:
                return other_ids or Link(same, child, position, position)
            if same is not None and other_ids is None:
                other_ids = Link(same, child, position, position)
        if other_ids is not None:
            return other_ids
        return self._by_results(child, messages) or self._by_prefix(child, messages)

    def repeated(self, child: Node) -> Node | None:
        """Return an earlier exchange with the same messages in its request, or None."""
        return self._by_request.get((child.record.wire, child.chain[-1])) if child.chain else None

    def known_call(self, id: str) -> Node | None:
        """Return the last exchange whose response made a call with this id, or None."""
        nodes = self._by_call.get(id)
        return nodes[-1] if nodes else None

    def _latest(self, id: str) -> Iterator[Node]:
        return islice(reversed(self._by_call.get(id, ())), _CANDIDATES)

    def add(self, node: Node) -> Iterator[Node]:
        """Remember an exchange. Yield the exchanges that are forgotten for it."""
        response = node.record.response
        self._nodes[node.number] = node
        self._weight += _weight(node)
        if node.chain:
            self._by_request[node.record.wire, node.chain[-1]] = node
        if response is not None:
            if node.chain and (response.text or response.calls):
                ending = fingerprints.chained(node.chain[-1], response.content)
                self._by_response[node.record.wire, ending] = self._by_any_response[ending] = node
            if node.record.response_id:
                self._by_response_id[node.record.response_id] = node
            for id in ids_of(response.calls):
                self._by_call.setdefault(id, deque()).append(node)
        while self._weight > self._kept and len(self._nodes) > 1:
            yield self._forget()

    def rest(self) -> Iterator[Node]:
        """Forget all exchanges, and yield them."""
        while self._nodes:
            yield self._forget()

    def _forget(self) -> Node:
        _, node = self._nodes.popitem(last=False)
        self._weight -= _weight(node)
        response = node.record.response
        if node.chain:
            _remove(self._by_request, (node.record.wire, node.chain[-1]), node)
        if response is not None:
            if node.chain:
                ending = fingerprints.chained(node.chain[-1], response.content)
                _remove(self._by_response, (node.record.wire, ending), node)
                _remove(self._by_any_response, ending, node)
            if node.record.response_id is not None:
                _remove(self._by_response_id, node.record.response_id, node)
            for id in ids_of(response.calls):
                nodes = self._by_call[id]
                nodes.popleft()  # the oldest, which is this one
                if not nodes:
                    del self._by_call[id]
        node.parent = None
        return node

    def _by_calls(self, child: Node, position: int, calls: tuple[CallRecord, ...]) -> Link | None:
        """Return the link to the exchange that made one of these calls.

        Of several, it is the one that shares most messages, first on the same wire. If none shares any, the ids
        identify nothing.
        """
        candidates = {n.number: n for call in calls for n in self._latest(call.id)}
        links = [Link(node, child, position, _shared(node, child)) for node in candidates.values()]
        links = [link for link in links if _is_plausible(link, calls)]
        links = [link for link in links if not link.changes_wire] or links
        if not links:
            return None
        best = max(links, key=lambda link: (link.shared, link.parent.number))
        return best if best.shared or len(links) == 1 else None

    def _same_response(self, child: Node, position: int, message: MessageRecord) -> Node | None:
        """Return the exchange whose response is this message, after the same messages.

        On another wire, calls under other ids prove nothing: the same question leads to the same calls.
        """
        ending = child.chain[position]
        same = self._by_response.get((child.record.wire, ending))
        return same or (None if message.calls else self._by_any_response.get(ending))

    def _by_results(self, child: Node, messages: list[MessageRecord]) -> Link | None:
        """Return the link by the results of a request that does not contain the calls."""
        for message in reversed(messages):
            for result in message.results:
                nodes = self._by_call.get(result.call_id)
                if nodes and len(nodes) == 1 and nodes[0].record.wire == child.record.wire:
                    return Link(nodes[0], child, -1, 0)
            if message.role == "assistant":
                break
        return None

    def _by_prefix(self, child: Node, messages: list[MessageRecord]) -> Link | None:
        """Return the link to an exchange with the same messages, if the history has some of its calls."""
        for position in range(len(messages) - 1, 0, -1):
            message = messages[position]
            if message.role != "assistant":
                continue
            node = self._by_request.get((child.record.wire, child.chain[position - 1]))
            response = node.record.response if node is not None else None
            if node is None or response is None or not response.calls:
                continue
            made = {call.content for call in response.calls}
            kept = not message.calls or any(call.content in made for call in message.calls)
            if kept and message.text == response.text and (message.calls or response.text):
                return Link(node, child, position, position)
        return None


def _shared(parent: Node, child: Node) -> int:
    shared = 0
    for one, other in zip(parent.chain, child.chain, strict=False):
        if one != other:
            break
        shared += 1
    return shared


def _is_plausible(link: Link, calls: tuple[CallRecord, ...]) -> bool:
    """Return whether an equal id means the same call: ids repeat where they were scrubbed or are counted from 1.

    The request repeats the earlier one, or the call has the same name and arguments.
    """
    record = link.parent.record
    if record.response is None:
        return False
    if link.shared == len(link.parent.chain) and link.position >= link.shared:
        return True
    return any(call.content == made.content and call.ids & made.ids for call in calls for made in record.response.calls)


def ids_of(calls: Iterable[CallRecord]) -> set[str]:
    """Return every id by which a result may refer to one of the calls."""
    return {id for call in calls for id in call.ids if id}


def _weight(node: Node) -> int:
    return 1 + len(node.chain)


def _remove(index: dict[Key, Node], key: Key, node: Node) -> None:
    if index.get(key) is node:
        del index[key]
