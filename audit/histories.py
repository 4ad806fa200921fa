"""Records of exchanges, for which each round of a history is read once.

Every request of an agent repeats the history. It is cut into its head, with everything before the first answer, and
rounds, which begin with an assistant message:

    body -> head and rounds -> a digest of each beginning -> the longest one that is cached
         -> the rounds after it are read and cached -> a record that shares the messages of earlier ones

A round is read without those before it, because an assistant message ends what its reader keeps of them (`History`
says what else it needs). Where the canonical form shows that this does not hold, the request is read whole. So a record
depends on its exchange alone, and not on the cache.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import Response, Wire
from toolparity.normalizer.requests import check_request, read_request
from toolparity.normalizer.wires.registry import History, spec

from .conversations import ExchangeRecord, record
from .conversations.records import MessageRecord, chain_of, has_references, message_records, with_response

#: About how many bytes the cached pieces of histories take.
KEPT_BYTES = 32 << 20
#: About how many bytes a piece takes, and each message, call, result or tool in it.
_PIECE, _RECORD = 700, 450


class _Piece(Struct, eq=False):
    """The head of a request, or a round that follows the round ``before``, None for the first one.

    ``chain``: fingerprints of the history up to each of the messages. ``count`` and ``references``: how many canonical
    messages the history has up to the end of the piece, and whether one of them refers to stored items. ``head``: the
    record of the request without messages. ``seed``: the beginning of the digests of the rounds.
    """

    key: bytes
    messages: list[MessageRecord]
    chain: list[int]
    count: int
    references: bool
    before: _Piece | None = None
    head: ExchangeRecord | None = None
    seed: bytes = b""

    @property
    def is_open(self) -> bool:
        """Whether the last message may continue after the piece."""
        return bool(self.messages) and self.messages[-1].role == "assistant"

    @property
    def size(self) -> int:
        parts = sum(1 + len(message.calls) + len(message.results) for message in self.messages)
        return _PIECE + _RECORD * (parts + len(self.head.tools if self.head is not None else ()))


class _Indivisible(Exception):
    """A request can only be read whole."""


class Histories:
    """Makes the records of exchanges, and caches the latest histories. ``kept``: about how many bytes they take.

    Not thread-safe.
    """

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self._kept = kept
        self._size = 0
        # A piece comes before those that it continues, and is forgotten before them.
        self._pieces: OrderedDict[bytes, _Piece] = OrderedDict()

    def record(
        self,
        place: str,
        wire: Wire,
        body: Any,
        response: Response | None,
        *,
        provider: str | None = None,
        transcript: bool = False,
    ) -> ExchangeRecord:
        """Return the record of an exchange. ``body``: that of the request, None if it is missing. Never raises."""
        made = ExchangeRecord("", wire)
        if body is not None:
            try:
                made = self._read(body, wire, provider)
                made.preceded = _is_preceded(made, body, wire)
            except Exception:  # one request must not stop the others
                made = ExchangeRecord("", wire)
        made.place, made.transcript = place, transcript
        return with_response(made, response)

    def _read(self, body: Any, wire: Wire, provider: str | None) -> ExchangeRecord:
        form = spec(wire).history
        if form is not None and isinstance(body, dict) and isinstance(items := body.get(form.member), list):
            try:
                head, *rounds = self._pieces_of(body, items, form, wire, provider)
                return self._joined(head, rounds, body)
            except _Indivisible:
                pass
        return record("", wire, read_request(body, wire, provider=provider), None)

    def _pieces_of(
        self, body: dict[str, Any], items: list[Any], form: History, wire: Wire, provider: str | None
    ) -> Iterator[_Piece]:
        """Yield the head of a request, and its rounds from the last one to the first. Raises _Indivisible."""
        model = form.of_model(items)
        ends = [n for n in range(1, len(items)) if model[n] and not model[n - 1]] + [len(items)]
        for end in [*ends]:
            head = self._head({**body, form.member: items[:end]}, form, wire, provider)
            if end == len(items) or not head.is_open:
                break
            ends.remove(end)
        yield head
        keys: list[bytes] = []
        digest = blake2b(head.seed, digest_size=16)
        for start, end in pairwise(ends):
            digest.update(json_codec.encode(items[start:end]))
            keys.append(digest.digest())
        known, last = len(keys), None
        while known and ((last := self._pieces.get(keys[known - 1])) is None or (last.is_open and known < len(keys))):
            known, last = known - 1, None
        start = ends[known]
        for key, end in zip(keys[known:], ends[known + 1 :], strict=True):
            before = last or head
            part = {**{name: body[name] for name in form.needed if name in body}, form.member: items[start:end]}
            position = {"items": [start], "messages": [before.count]}.get(form.counted, [])
            request = spec(wire).part("read").read(part, provider, *position)
            piece = _piece(key, request, before, last)
            if piece.messages[0].role != "assistant":
                raise _Indivisible
            if end == len(items) or not piece.is_open:
                last, start = piece, end
        while last is not None:
            yield last
            last = last.before

    def _head(self, body: dict[str, Any], form: History, wire: Wire, provider: str | None) -> _Piece:
        """Return the piece for a request that is nothing but the head."""
        key = _digest([wire, provider, body])
        piece = self._pieces.get(key)
        if piece is None:
            request = read_request(body, wire, provider=provider)
            piece = _piece(key, request)
            piece.head = record("", wire, replace(request, messages=[]), None)
            needed = [body.get(name) for name in form.needed]
            so_far = [len(body[form.member]), piece.count, piece.references, piece.chain[-1:]]
            piece.seed = _digest([wire, provider, needed, so_far])
        return piece

    def _joined(self, head: _Piece, rounds: list[_Piece], body: dict[str, Any]) -> ExchangeRecord:
        """Return the record of a request, and keep its pieces. ``rounds``: the last one first."""
        for piece in (*rounds, head):
            if piece.key not in self._pieces:
                self._pieces[piece.key] = piece
                self._size += piece.size
            self._pieces.move_to_end(piece.key)
        while self._size > self._kept:
            self._size -= self._pieces.popitem(last=False)[1].size
        messages, chain = [*head.messages], [*head.chain]
        for piece in reversed(rounds):
            messages += piece.messages
            chain += piece.chain
        assert head.head is not None
        references = body.get("store") is not False and (rounds or [head])[0].references
        return replace(head.head, messages=messages, chain=chain, references=references)


def _piece(key: bytes, request: Request, after: _Piece | None = None, before: _Piece | None = None) -> _Piece:
    """Return the piece for the messages of a request. ``after``: the piece before it, which can be the head."""
    messages = message_records(request.messages)
    chain, count, references = ([0], 0, False) if after is None else (after.chain, after.count, after.references)
    chain = chain_of(messages, *chain[-1:])
    count += len(request.messages)
    return _Piece(key, messages, chain, count, references or has_references(request.messages), before)


def _digest(value: Any) -> bytes:
    return blake2b(json_codec.encode(value), digest_size=16).digest()


def _is_preceded(made: ExchangeRecord, body: Any, wire: Wire) -> bool:
    """Return whether other content precedes results in the last turn, which the record of the request does not show."""
    wire_spec = spec(wire)
    last = [message.role for message in (made.messages or ())[-2:]]
    if wire_spec.results != "first" or wire_spec.history is None or last != ["results", "user"]:
        return False
    body = body if isinstance(body, dict) else json_codec.decode(body)
    items = body[wire_spec.history.member]
    after = len(items) - [*reversed(wire_spec.history.of_model(items)), True].index(True)
    violations = check_request({wire_spec.history.member: items[after:]}, wire)
    return any(violation.rule == "results-first" for violation in violations)
