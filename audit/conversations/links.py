"""Exchanges as nodes, and the links between them: a request that continues a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from .records import EXCERPT, CallRecord, ExchangeRecord, MessageRecord

#: The place of a call in a response: the number of its choice, and its index there.
CallPlace = tuple[int, int]
#: What is equal in a repeated request: its wire, chain, and the ids of its last results.
Request = tuple[str, int, tuple[str, ...]]


class Thread(Struct, eq=False):
    """What is known of a conversation. ``results``: one of its requests has results. ``matched``: one of them names a
    call of its request. ``merged``: the thread that has become the same.
    """

    results: bool = False
    matched: bool = False
    merged: Thread | None = None


class Node(Struct, eq=False):
    """An exchange that other requests may continue. ``number``: its position in the input. ``chain`` and ``choices``:
    those of its record. ``request``: None without messages. ``endings``: fingerprints of the messages with each choice.
    ``ids``: those of the calls. ``drawn``: those that look drawn. ``repeated``: ids that are in more than one response.
    ``digest``: the fingerprint of its record without its place. ``order``: its position among the exchanges that the
    linker knows. ``is_copy``: an equal exchange was added before, and the provider drew an id in it. ``parent``: the
    exchange that it continues.
    """

    record: ExchangeRecord
    number: int
    chain: Sequence[int]
    request: Request | None
    choices: tuple[MessageRecord, ...]
    endings: list[int]
    ids: set[str]
    drawn: set[str]
    digest: int
    repeated: set[str]
    own_thread: Thread
    order: int = 0
    is_copy: bool = False
    parent: Node | None = None
    children: int = 0

    @property
    def thread(self) -> Thread:
        """What is known of the conversation."""
        thread = self.own_thread
        while thread.merged is not None:
            thread = thread.merged
        self.own_thread = thread
        return thread

    def continues(self, parent: Node, *, proven: bool) -> None:
        """Note that this exchange continues another one. Only a proven link shows that the conversation is the same."""
        self.parent = parent
        parent.children += 1
        one, other = self.thread, parent.thread
        if proven and one is not other:
            other.results, other.matched = one.results or other.results, one.matched or other.matched
            one.merged = other


class Link(Struct, eq=False):
    """A request that continues a response. ``position``: the index of the response in the history of the request; -1
    if the provider stores it. ``choice``: which choice of the response it is. ``shared``: how many messages at their
    beginning the two requests share. ``pieces``: the indexes of the other messages into which the history divides the
    response, as when each call directly precedes its result. ``names``: the ids of the response's calls, by those
    assigned in the history, if the application left them out. ``proven``: a drawn id or a signature shows that the
    message is the response. ``uncertain``: nothing shows it, and the calls differ.
    """

    parent: Node
    child: Node
    position: int
    shared: int
    pieces: tuple[int, ...] = ()
    choice: int = 0
    names: dict[str, str] = {}
    proven: bool = False
    uncertain: bool = False

    @property
    def response(self) -> MessageRecord | None:
        """The response that the request continues: one of its choices."""
        choices = self.parent.choices
        return choices[self.choice] if choices else None

    @property
    def kept(self) -> MessageRecord | None:
        """The response in the history, with all its pieces, or None if the history does not hold it."""
        messages = self.child.record.messages
        if self.position < 0 or messages is None:
            return None
        first = self._named(messages[self.position])
        if not self.pieces:
            return first
        parts = [first, *(messages[index] for index in self.pieces)]
        return replace(
            first,
            text="".join(part.text for part in parts)[:EXCERPT],
            calls=tuple(call for part in parts for call in part.calls),
            seals=tuple(seal for part in parts for seal in part.seals),
            server_calls=tuple(id for part in parts for id in part.server_calls),
        )

    @property
    def following(self) -> Sequence[MessageRecord]:
        """The messages after the response, without its pieces."""
        after = (self.child.record.messages or [])[self.position + 1 :]
        if not self.pieces:
            return list(map(self._named, after)) if self.names else after
        return [message for index, message in enumerate(after, self.position + 1) if index not in self.pieces]

    def _named(self, message: MessageRecord) -> MessageRecord:
        """Return a message of the history with the ids of the response's calls."""
        names = self.names
        if not names:
            return message
        calls = (
            replace(call, id=names[call.id], position=None) if call.id in names else call for call in message.calls
        )
        results = (replace(result, call_id=names.get(result.call_id, result.call_id)) for result in message.results)
        return replace(message, calls=tuple(calls), results=tuple(results))

    @property
    def changes_wire(self) -> bool:
        """Whether the conversation continues on another wire, as after a fallback to another provider."""
        return self.parent.record.wire != self.child.record.wire

    @property
    def replaced_ids(self) -> bool:
        """Whether the history has the calls of the response, all under other ids."""
        response, kept = self.response, self.kept
        if response is None or kept is None:
            return False
        return bool(kept.calls and response.calls) and ids_of(kept.calls).isdisjoint(ids_of(response.calls))

    @property
    def complete(self) -> bool:
        """Whether the history has exactly the calls of the response, under the same ids."""
        response, kept = self.response, self.kept
        return response is not None and kept is not None and calls_of(response) == calls_of(kept)


def calls_of(message: MessageRecord | None) -> list[tuple[str, str, int]]:
    """Return the calls of a message with their ids, in any order."""
    return sorted((call.id, *call.content) for call in (message.calls if message is not None else ()))


def ids_of(calls: Iterable[CallRecord]) -> set[str]:
    """Return every id by which a result may refer to one of the calls."""
    return {id for call in calls for id in call.ids if id}


def placed_calls(node: Node) -> Iterator[tuple[CallPlace, CallRecord]]:
    """Yield the calls of all choices of a response, with their places."""
    for number, choice in enumerate(node.choices):
        for index, call in enumerate(choice.calls):
            yield (number, index), call
