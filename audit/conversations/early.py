"""Requests that come before the response that they continue, as in an export with the newest entry first.

Time does not prove such a link, so only an id does that the provider drew: of the response, or of a call. Ids that an
application counts or names repeat in other conversations, and a mock repeats all: the request has to contain the
earlier one, and the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .call_ids import is_drawn
from .links import Node, ids_of


class EarlyRequests:
    """Requests whose response has not come yet, by the ids that it must have."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[int, Node]] = {}
        self._answered: dict[str, dict[int, Node]] = {}  # by the id of a result

    def add(self, node: Node) -> None:
        """Remember a request that continues no known response."""
        for id in _awaited(node):
            self._waiting.setdefault(id, {})[node.number] = node
        for id in _answered(node):
            self._answered.setdefault(id, {})[node.number] = node

    def continued(self, node: Node) -> None:
        """Take note that the response of a request came. Its results remain known."""
        _remove(self._waiting, _awaited(node), node)

    def forget(self, node: Node) -> None:
        """Forget a request, if it is remembered."""
        self.continued(node)
        _remove(self._answered, _answered(node), node)

    def of(self, parent: Node) -> list[Node]:
        """Return the requests that may continue a response, in the order of the input."""
        ids = parent.ids | {parent.record.response_id or ""}
        found = {number: node for id in ids for number, node in self._waiting.get(id, {}).items()}
        return [found[number] for number in sorted(found) if number < parent.number]

    def answer(self, ids: set[str]) -> bool:
        """Return whether a request that was early has a result for one of these ids."""
        return any(id in self._answered for id in ids)


def _remove(index: dict[str, dict[int, Node]], ids: Iterable[str], node: Node) -> None:
    for id in ids:
        nodes = index.get(id, {})
        nodes.pop(node.number, None)
        if not nodes:
            index.pop(id, None)


def _awaited(node: Node) -> Iterator[str]:
    """Yield the ids that show the response which a request continues."""
    if id := node.record.previous_response_id:
        yield from filter(is_drawn, (id,))
        return
    for message in reversed(node.record.messages or []):
        if message.calls:
            yield from filter(is_drawn, ids_of(message.calls))
        if message.role == "assistant":
            return


def _answered(node: Node) -> Iterator[str]:
    for message in node.record.messages or ():
        yield from (result.call_id for result in message.results if is_drawn(result.call_id))
