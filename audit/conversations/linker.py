"""Linking: finds the exchange whose response a request continues.

A request holds a history. Its last assistant message that is known leads to the exchange that it continues: by an id
that the provider drew, by the signature of its reasoning, or as the response to an earlier request with the same
messages before it. Where the provider stores the history, `previous_response_id` or the ids of the results do. A
conversation may continue on another wire; an exchange on the same wire is preferred.

Only an id or a signature of one response proves a link. Ids that are counted or missing prove nothing: another session
may have asked the same question, and its exchange may be missing in the input. Such a message is a response only if it
has exactly its calls. If it differs, the link is uncertain, and nothing is judged by it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.registry import spec

from . import fingerprints
from .call_ids import is_drawn, is_long, stem
from .links import CallPlace, Link, Node, ids_of, placed_calls
from .records import CallRecord, ExchangeRecord, MessageRecord

#: What is equal in a repeated request: its wire, chain, and the ids of its last results.
_Request = tuple[str, int, tuple[str, ...]]
#: The question of a turn, and calls without their ids.
_Turn = tuple[int | None, tuple[tuple[str, int], ...]]
Key = TypeVar("Key", bound=int | str | tuple[str, int] | _Request | _Turn)

#: How many messages of earlier requests are remembered, as fingerprints. Older exchanges are forgotten first.
MESSAGES_KEPT = 1_000_000
#: How many exchanges with the same call id are compared.
_CANDIDATES = 8


class Linker:
    """Keeps the exchanges that later ones may continue, in bounded memory.

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
        self._taken: dict[_Request, Node] = {}  # the first one
        #: By drawn id or signature: the response that made it, or None if there are several; and how many exchanges.
        self._origins: dict[str | int, tuple[int | None, int]] = {}
        self._order = 0

    def node(self, record: ExchangeRecord, number: int) -> Node:
        """Return the node of an exchange, which is not known to the linker until it is added."""
        chain, choices = record.chain, record.choices
        endings = [fingerprints.chained(chain[-1], choice.content) for choice in choices] if chain else []
        made = [call for choice in choices for call in choice.calls]
        drawn = {id for call in made for id in call.ids if is_drawn(id, call.name)}
        node = Node(record, number, chain, choices, endings, ids_of(made), drawn, _digest(record))
        thread, known = node.own_thread, set[str]()
        for message in record.messages or ():
            if message.calls:
                ids = ids_of(message.calls)
                node.repeated |= ids & (known | drawn)
                known |= ids
            elif message.results:
                thread.results = True
                thread.matched = thread.matched or any(result.call_id in known for result in message.results)
        return node

    def link(self, child: Node) -> Link | None:
        """Return the exchange that a request continues, or None if it is unknown."""
        messages = child.record.messages
        if not messages:
            return None
        if id := child.record.previous_response_id:
            parent = self._by_response_id.get(id)
            return None if parent is None or parent is child else _continued(parent, child, messages)
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

    def take(self, child: Node) -> None:
        """Remember the request of an exchange, so that it is found if it is repeated."""
        if child.chain:
            self._taken.setdefault(_request(child), child)

    def repeated(self, child: Node) -> Node | None:
        """Return an exchange with the same messages in its request that was taken, or None."""
        return self._taken.get(_request(child)) if child.chain else None

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

    def answered_late(self, link: Link) -> Iterator[tuple[Node, CallPlace]]:
        """Yield the calls of other exchanges that a request answers. Ids that repeat mean the same conversation."""
        ancestors: set[int] | None = None
        for message in link.following:
            for result in message.results:
                node = self.known_call(result.call_id)
                if node is None or result.call_id in link.parent.ids:
                    continue
                if not self.proves(result.call_id):
                    ancestors = _ancestors(link.parent) if ancestors is None else ancestors
                    if node.number not in ancestors:
                        continue
                for place, call in placed_calls(node):
                    if result.call_id in call.ids:
                        yield node, place

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
        if node.chain:
            self._by_request.setdefault((node.record.wire, node.chain[-1]), deque()).append(node)
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
        if node.chain:
            _remove(self._taken, _request(node), node)
            _remove_oldest(self._by_request, (node.record.wire, node.chain[-1]))
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

    def _by_calls(self, child: Node, position: int, message: MessageRecord) -> Link | None:
        """Return the link to the exchange whose response made these calls, or one that is uncertain.

        Of several, it is one that a drawn id or a signature proves, then one on the same wire, then the one that shares
        most messages, then one that shares all of its messages, then one with exactly these calls, then one that is
        signed if the message is, then one of the same model, then the one that fewest requests continue yet, then one
        that is not a copy, then the latest.
        """
        if not message.calls:
            return None
        nodes = [node for id in ids_of(message.calls) for node in _latest(self._by_call.get(id))]
        nodes += [self._by_seal[seal] for seal in message.seals if seal in self._by_seal]
        nodes += _latest(self._by_turn.get(_turn(_question(child.record, position), message)))
        nodes += self._same_requests(child, position)
        links = [
            link
            for node in {node.order: node for node in nodes if node is not child}.values()
            for number, choice in enumerate(node.choices)
            if choice.calls and (link := self._possible(node, child, position, number, message)) is not None
        ]
        return max(links, key=_likelihood, default=None)

    def _possible(self, node: Node, child: Node, position: int, choice: int, message: MessageRecord) -> Link | None:
        """Return the link to a choice of a response, or None if the message cannot be that response.

        A signature proves the link, and a drawn id if its call is the same, or if the request repeats the earlier one.
        Otherwise the message has exactly the calls of the response, after the same messages or the same question. It
        may differ only in an uncertain link: the request repeats the earlier one, and no other response is between.
        """
        shared = _shared(node, child)
        made = node.choices[choice]
        link = Link(node, child, position, min(shared, position), choice=choice)
        extends = shared == len(node.chain) and shared <= position
        same = [
            (call, other)
            for call in message.calls
            for other in made.calls
            if any(id in node.drawn and self.proves(id) for id in call.ids & other.ids)
        ]
        if not same and _signed_differently(node, made, message):
            return None
        equal = any(call.content == other.content for call, other in same)
        if any(map(self.proves, set(message.seals).intersection(made.seals))):
            link.proven = True
        elif child.number > node.number or any(map(is_long, ids_of(other for _, other in same))):
            link.proven = equal or (extends and bool(same))
        elif same and not (extends and equal):  # a request that comes before the response: a server can repeat the id
            return None
        else:
            link.proven = equal
        if shared > position and not link.proven:  # the message is in the request that the response answers
            return None
        link.names = _names(message.calls, made.calls)
        link = _with_pieces(link)
        if link.proven or (link.complete and (extends or _question(node.record) == _question(child.record, position))):
            return link
        link.uncertain = True
        return link if extends and _is_next(link) and not link.changes_wire else None

    def _same_requests(self, child: Node, position: int) -> Iterator[Node]:
        """Yield exchanges with the messages before this one in their request, and one with this response."""
        if position > 0:
            wire = child.record.wire
            yield from self._with_request(wire, child.chain[position - 1])
            yield from _latest(self._by_response.get((wire, child.chain[position])))

    def _with_request(self, wire: str, chain: int) -> Iterator[Node]:
        """Yield the latest exchanges with the same messages in their request, the last one first."""
        return _latest(self._by_request.get((wire, chain)))

    def _same_response(self, child: Node, position: int, message: MessageRecord) -> Node | None:
        """Return the exchange whose response is this message, after the same messages.

        On another wire, calls under other ids prove nothing: the same question leads to the same calls.
        """
        ending = child.chain[position]
        same = max(_latest(self._by_response.get((child.record.wire, ending))), key=_freedom, default=None)
        if same is not None and _signed_differently(same, same.choices[_choice_of(same, message)], message):
            return None
        return same or (None if message.calls else self._by_any_response.get(ending))

    def _by_results(self, child: Node, messages: list[MessageRecord]) -> Link | None:
        """Return the link by the results of a request that does not contain the calls."""
        for message in reversed(messages):
            for result in reversed(message.results):
                node = self.known_call(result.call_id) if self.proves(result.call_id) else None
                if node is None or node is child or node.record.wire != child.record.wire:
                    continue
                if node.number < child.number or is_long(result.call_id):
                    choice = next(place[0] for place, call in placed_calls(node) if result.call_id in call.ids)
                    return Link(node, child, -1, 0, choice=choice)
            if message.role == "assistant":
                break
        return None

    def _by_prefix(self, child: Node, messages: list[MessageRecord]) -> Link | None:
        """Return the link to an exchange with the same messages, if the history has some of its calls by other ids."""
        for position in range(len(messages) - 1, 0, -1):
            message = messages[position]
            if message.role != "assistant":
                continue
            for node in self._with_request(child.record.wire, child.chain[position - 1]):
                for number, choice in enumerate(node.choices):
                    made = {call.content for call in choice.calls}
                    kept = not message.calls or (
                        any(call.content in made and call.position is None for call in message.calls)
                        and ids_of(message.calls).isdisjoint(ids_of(choice.calls))
                    )
                    if made and kept and message.text == choice.text and (message.calls or choice.text):
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


def _signed_differently(node: Node, choice: MessageRecord, message: MessageRecord) -> bool:
    """Return whether both a response and a message have signatures, but none is of both."""
    if not choice.seals or not message.seals or spec(node.record.wire).sealed_anew:
        return False
    return set(choice.seals).isdisjoint(message.seals)


def _likelihood(link: Link) -> tuple[bool, bool, bool, int, bool, bool, bool, bool, tuple[int, bool, int]]:
    sure, same_wire, parent = not link.uncertain, not link.changes_wire, link.parent
    response, kept = link.response, link.kept
    as_signed = response is not None and kept is not None and bool(response.seals) == bool(kept.seals)
    extends = link.shared == len(parent.chain)
    same_model = parent.record.model == link.child.record.model
    return sure, link.proven, same_wire, link.shared, extends, link.complete, as_signed, same_model, _freedom(parent)


def _freedom(node: Node) -> tuple[int, bool, int]:
    """Return how likely an exchange is continued, compared to others that only differ in this."""
    return -node.children, not node.is_copy, node.order


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


def _choice_of(node: Node, message: MessageRecord) -> int:
    """Return which choice of a response has the content of a message."""
    return next(number for number, choice in enumerate(node.choices) if choice.content == message.content)


def _request(node: Node) -> _Request:
    """Return what is equal in a repeated request. Fingerprints do not contain the ids of results."""
    ids: list[str] = []
    for message in reversed(node.record.messages or ()):
        if message.role == "assistant":
            break
        ids.extend(result.call_id for result in message.results)
    return node.record.wire, node.chain[-1], tuple(sorted(ids))


def _digest(record: ExchangeRecord) -> int:
    return fingerprints.of_bytes(json_codec.encode(replace(record, place="")))


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
    question = _question(node.record) if node.ids - node.drawn else None
    return {_turn(question, choice) for choice in node.choices if not ids_of(choice.calls) <= node.drawn}


def _latest(nodes: deque[Node] | None) -> Iterator[Node]:
    return islice(reversed(nodes or ()), _CANDIDATES)


def _seals(node: Node) -> Iterator[int]:
    return (seal for choice in node.choices for seal in choice.seals)


def weight(node: Node) -> int:
    """Return how many messages are remembered for an exchange."""
    return 1 + len(node.chain)


def _remove(index: dict[Key, Node], key: Key, node: Node) -> None:
    if index.get(key) is node:
        del index[key]


def _remove_oldest(index: dict[Key, deque[Node]], key: Key) -> None:
    nodes = index[key]
    nodes.popleft()
    if not nodes:
        del index[key]
