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

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from toolparity.normalizer.wires.registry import spec

from .call_ids import is_long
from .exchange_index import ExchangeIndex, question_of
from .links import CallPlace, Link, Node, ids_of, placed_calls
from .records import CallRecord, MessageRecord


class Linker:
    """Chooses the exchange that a request continues, among those in ``index``.

    ``kept``: how many messages are remembered, by default `exchange_index.MESSAGES_KEPT`.
    """

    def __init__(self, kept: int | None = None) -> None:
        self.index = ExchangeIndex(kept)

    def link(self, child: Node) -> Link | None:
        """Return the exchange that a request continues, or None if it is unknown."""
        messages = child.record.messages
        if not messages:
            return None
        if id := child.record.previous_response_id:
            parent = self.index.with_response_id(id)
            return None if parent is None or parent is child else _continued(parent, child, messages)
        messages, chain = messages[:], child.chain[:]  # lists are read faster
        other_ids = uncertain = None
        for position in range(len(messages) - 1, -1, -1):
            message = messages[position]
            if message.role != "assistant":
                continue
            link = self._by_calls(child, chain, position, message)
            if link is not None and not link.uncertain:
                return link
            uncertain = uncertain or link
            same = self._same_response(child, chain[position], message)
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

    def answered_late(self, link: Link) -> Iterator[tuple[Node, CallPlace]]:
        """Yield the calls of other exchanges that a request answers. Ids that repeat mean the same conversation."""
        ancestors: set[int] | None = None
        for message in link.following:
            for result in message.results:
                node = self.index.known_call(result.call_id)
                if node is None or result.call_id in link.parent.ids:
                    continue
                if not self.index.proves(result.call_id):
                    ancestors = _ancestors(link.parent) if ancestors is None else ancestors
                    if node.number not in ancestors:
                        continue
                for place, call in placed_calls(node):
                    if result.call_id in call.ids:
                        yield node, place

    def _by_calls(self, child: Node, chain: Sequence[int], position: int, message: MessageRecord) -> Link | None:
        """Return the link to the exchange whose response made these calls, or one that is uncertain.

        Of several, it is one that a drawn id or a signature proves, then one on the same wire, then the one that shares
        most messages, then one that shares all of its messages, then one with exactly these calls, then one that is
        signed if the message is, then one of the same model, then the one that fewest requests continue yet, then one
        that is not a copy, then the latest.
        """
        if not message.calls:
            return None
        nodes = [node for id in ids_of(message.calls) for node in self.index.with_call(id)]
        nodes += self.index.with_seals(message.seals)
        nodes += self.index.with_turn(question_of(child.record, position), message)
        nodes += self._same_requests(child.record.wire, chain, position)
        links = [
            link
            for node in {node.order: node for node in nodes if node is not child}.values()
            for number, choice in enumerate(node.choices)
            if choice.calls and (link := self._possible(node, child, position, number, message)) is not None
        ]
        return links[0] if len(links) == 1 else max(links, key=_likelihood, default=None)

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
            if any(id in node.drawn and self.index.proves(id) for id in call.ids & other.ids)
        ]
        if not same and _signed_differently(node, made, message):
            return None
        equal = any(call.content == other.content for call, other in same)
        if any(map(self.index.proves, set(message.seals).intersection(made.seals))):
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
        if link.proven or (
            link.complete and (extends or question_of(node.record) == question_of(child.record, position))
        ):
            return link
        link.uncertain = True
        return link if extends and _is_next(link) and not link.changes_wire else None

    def _same_requests(self, wire: str, chain: Sequence[int], position: int) -> Iterator[Node]:
        """Yield exchanges with the messages before this one in their request, and one with this response."""
        if position > 0:
            yield from self.index.with_request(wire, chain[position - 1])
            yield from self.index.with_response(wire, chain[position])

    def _same_response(self, child: Node, ending: int, message: MessageRecord) -> Node | None:
        """Return the exchange whose response is this message, after the same messages. ``ending``: of the chain.

        On another wire, calls under other ids prove nothing: the same question leads to the same calls.
        """
        same = max(self.index.with_response(child.record.wire, ending), key=_freedom, default=None)
        if same is not None and _signed_differently(same, same.choices[_choice_of(same, message)], message):
            return None
        return same or (None if message.calls else self.index.with_response_on_any_wire(ending))

    def _by_results(self, child: Node, messages: Sequence[MessageRecord]) -> Link | None:
        """Return the link by the results of a request that does not contain the calls."""
        for message in reversed(messages):
            for result in reversed(message.results):
                node = self.index.known_call(result.call_id) if self.index.proves(result.call_id) else None
                if node is None or node is child or node.record.wire != child.record.wire:
                    continue
                if node.number < child.number or is_long(result.call_id):
                    choice = next(place[0] for place, call in placed_calls(node) if result.call_id in call.ids)
                    return Link(node, child, -1, 0, choice=choice)
            if message.role == "assistant":
                break
        return None

    def _by_prefix(self, child: Node, messages: Sequence[MessageRecord]) -> Link | None:
        """Return the link to an exchange with the same messages, if the history has some of its calls by other ids."""
        chain = child.chain[:]
        for position in range(len(messages) - 1, 0, -1):
            message = messages[position]
            if message.role != "assistant":
                continue
            for node in self.index.with_request(child.record.wire, chain[position - 1]):
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
    """Return how many messages the requests share. Each fingerprint of a chain is one of all messages before, too."""
    one, other = parent.chain, child.chain
    end = min(len(one), len(other))
    if end and one[end - 1] == other[end - 1]:
        return end
    return bisect_left(range(end), 1, key=lambda n: one[n] != other[n])


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


def _continued(parent: Node, child: Node, messages: Sequence[MessageRecord]) -> Link:
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
