"""Records of exchanges, and the request rules that they break, for which each round of a history is read once.

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
from hashlib import blake2b
from itertools import pairwise
from operator import is_
from typing import Any, NamedTuple

from msgspec import Struct, msgpack
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import Response, Wire
from toolparity.normalizer.requests import broken_rules, check_request, read_request
from toolparity.normalizer.wires.registry import History, spec
from toolparity.normalizer.wires.rule import Violation

from .conversations import ExchangeRecord, record
from .conversations.records import MessageRecord, chain_of, has_references, message_records, with_response
from .conversations.rounds import Rounds, SharedList, SharedMessages

#: About how many bytes the cached histories take.
KEPT_BYTES = 32 << 20
#: About how many bytes a head or round takes, each message, call, result or tool in it, and another key.
_PIECE, _RECORD, _KEY = 700, 450, 100


class _Cached(Struct, eq=False):
    """A head, or the rounds of a conversation. ``size``: about its bytes. ``keys``: those under which it is found; none
    if it is not cached any more.
    """

    keys: list[bytes] = []
    size: int = 0


class _Beginning(Struct, eq=False):
    """A beginning of a history: the head, or all up to the end of a round, of which ``rounds`` has ``end`` messages.

    ``last``: the fingerprint of the messages. ``count`` and ``references``: how many canonical messages there are, and
    whether one of them refers to stored items. ``is_open``: the last message may continue in the next round. ``size``:
    about how many bytes the head takes, or the rounds.
    """

    last: list[int]
    count: int
    references: bool
    is_open: bool
    cached: _Cached
    size: int
    rounds: Rounds | None = None
    end: int = 0


class _Head(Struct, eq=False):
    """The head of a request. ``record``: that of a request with nothing else. ``seed``: begins the digests of rounds.

    ``broken``: by the key of a round, the ids of the rules about single rounds that it or one before it breaks, None if
    the request has a message that is not an object.
    """

    record: ExchangeRecord
    beginning: _Beginning
    seed: bytes
    broken: dict[bytes, frozenset[str] | None] = {}


class _Cut(NamedTuple):
    """A request cut into its head and rounds. ``ends``: where the head, and then each round ends. ``keys``: of rounds.

    ``body``: the request, whose history was ``items``. ``digest``: that of all rounds but the last one.
    """

    context: tuple[Wire, str | None]
    member: str
    body: dict[str, Any]
    items: list[Any]
    head: _Head
    ends: list[int]
    keys: list[bytes]
    digest: Any


class _Indivisible(Exception):
    """A request can only be read whole."""


class Histories:
    """Makes the records of exchanges, and caches the latest histories. ``kept``: about how many bytes they take.

    A history that takes more is not cached. The last request is always kept. A body must not be changed later, because
    the next one may have the same members. Not thread-safe.
    """

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self._kept = kept
        self._size = 0
        self._latest: OrderedDict[_Cached, None] = OrderedDict()  # the oldest one first
        self._heads: dict[bytes, _Head] = {}
        self._beginnings: dict[bytes, _Beginning] = {}
        self._last: _Cut | None = None  # the request before

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

    def violations(self, body: Any, wire: Wire, provider: str | None = None) -> list[Violation]:
        """Return what `check_request` returns. Rules about single rounds are checked for new ones, with the head."""
        try:
            cut = self._cut(body, wire, provider)
        except Exception:  # it cannot be read
            cut = None
        broken = self._broken(cut, body) if cut is not None and cut.keys else None
        if broken is None:
            return check_request(body, wire, provider=provider)
        return broken_rules(body, wire, provider, lambda rule: rule.whole or rule.id in broken)

    def _broken(self, cut: _Cut, body: dict[str, Any]) -> frozenset[str] | None:
        """Return the ids of the rules about single rounds that the request may break, None for all of them."""
        head, known, keys, (wire, provider) = cut.head.beginning, cut.head.broken, cut.keys, cut.context
        count = next((n for n in range(len(keys), 0, -1) if keys[n - 1] in known), 0)
        broken = known[keys[count - 1]] if count else frozenset()
        for key, (start, end) in zip(keys[count:], pairwise(cut.ends[count:]), strict=True):
            items = cut.items[: cut.ends[0]] + cut.items[start:end]
            if broken is None or not all(isinstance(item, dict) for item in items):
                broken = None
            else:
                found = broken_rules({**body, cut.member: items}, wire, provider, lambda rule: not rule.whole)
                ids = {violation.rule for violation in found}
                broken = broken if ids <= broken else broken | ids
            known[key] = broken
            self._keep(head.cached, head.size + _KEY * len(known))
        return broken

    def _read(self, body: Any, wire: Wire, provider: str | None) -> ExchangeRecord:
        try:
            if (cut := self._cut(body, wire, provider)) is not None:
                return self._joined(cut.head, self._beginning(cut, body), body)
        except _Indivisible:
            pass
        return record("", wire, read_request(body, wire, provider=provider), None)

    def _cut(self, body: Any, wire: Wire, provider: str | None) -> _Cut | None:
        """Cut a request, or return None if it has no list of messages. Raises MalformedBody."""
        form = spec(wire).history
        if form is None or not (isinstance(body, dict) and isinstance(items := body.get(form.member), list)):
            return None
        context, last = (wire, provider), self._last
        if last is not None and last.context == context and _extends(last, body, items):
            head, keys, digest = last.head, last.keys[:-1], last.digest.copy()
            ends = last.ends[:-1] + _ends(items, form, last.ends[-2])
        else:
            ends, keys = _ends(items, form, 0), []
            for end in [*ends]:
                head = self._head({**body, form.member: items[:end]}, form, wire, provider)
                if end == len(items) or not head.beginning.is_open:
                    break
                ends.remove(end)
            digest = blake2b(head.seed, digest_size=16) if len(ends) > 1 else None
        before = digest
        for start, end in pairwise(ends[len(keys) :]):
            before = digest.copy() if end == len(items) else digest
            digest.update(_encoded(items[start:end]))
            keys.append(digest.digest())
        self._last = _Cut(context, form.member, body, [*items], head, ends, keys, before)
        return self._last

    def _head(self, body: dict[str, Any], form: History, wire: Wire, provider: str | None) -> _Head:
        """Return the head that a request consists of."""
        key = _digest([wire, provider, body])
        head = self._heads.get(key)
        if head is not None:
            self._keep(head.beginning.cached)
            return head
        request = read_request(body, wire, provider=provider)
        made = record("", wire, replace(request, messages=[]), None)
        made.messages = message_records(request.messages)
        made.chain = chain_of(made.messages)
        references = has_references(request.messages)
        size, is_open = _size(made.messages) + _RECORD * len(made.tools), _is_open(made.messages)
        beginning = _Beginning(made.chain[-1:], len(request.messages), references, is_open, _Cached(), size)
        needed = [body.get(name) for name in form.needed]
        seed = _digest([wire, provider, needed, [len(body[form.member]), beginning.count, references, beginning.last]])
        head = self._heads[key] = _Head(made, beginning, seed)
        self._keep(beginning.cached, size, key)
        return head

    def _beginning(self, cut: _Cut, body: dict[str, Any]) -> _Beginning:
        """Return all of a request's history, of which new rounds are read. Raises _Indivisible and MalformedBody."""
        (wire, provider), ends, keys = cut.context, cut.ends, cut.keys
        known, beginning = 0, cut.head.beginning
        for number in range(len(keys), 0, -1):
            found = self._beginnings.get(keys[number - 1])
            if found is not None and not (found.is_open and number < len(keys)):
                known, beginning = number, found
                break
        form = spec(wire).history
        assert form is not None
        start, made = ends[known], {}
        try:
            for key, end in zip(keys[known:], ends[known + 1 :], strict=True):
                part = {**{name: body[name] for name in form.needed if name in body}, form.member: cut.items[start:end]}
                position = {"items": [start], "messages": [beginning.count]}.get(form.counted, [])
                request = spec(wire).part("read").read(part, provider, *position)
                messages = message_records(request.messages)
                if messages[0].role != "assistant":
                    raise _Indivisible
                if end == len(cut.items) or not _is_open(messages):
                    beginning, start = _continued(beginning, messages, request), end
                    made[key] = beginning
        finally:  # at once, so that a history that is too large takes the place of no other one
            self._beginnings |= made
            self._keep(beginning.cached, beginning.size, *made)
        return beginning

    def _joined(self, head: _Head, beginning: _Beginning, body: dict[str, Any]) -> ExchangeRecord:
        """Return the record of a request."""
        messages, chain, rounds = head.record.messages or [], head.record.chain, beginning.rounds
        if rounds is not None:
            chain = SharedList(chain, rounds.chain, beginning.end)
            if any(message.calls for message in messages):
                messages = SharedList(messages, rounds.messages, beginning.end)
            else:
                messages = SharedMessages(messages, rounds, beginning.end)
        references = body.get("store") is not False and beginning.references
        return replace(head.record, messages=messages, chain=chain, references=references)

    def _keep(self, cached: _Cached, size: int = 0, *keys: bytes) -> None:
        """Note that something was used, under new keys, and its size if it grew.

        It is forgotten if it is too large, and else what was not used for the longest time.
        """
        cached.keys += keys
        if not cached.keys:
            return
        self._size += max(size - cached.size, 0)
        cached.size = max(size, cached.size)
        self._latest[cached] = None
        self._latest.move_to_end(cached)
        while self._size > self._kept:
            forgotten = cached if cached.size > self._kept else next(iter(self._latest))
            del self._latest[forgotten]
            self._size -= forgotten.size
            for key in forgotten.keys:
                self._heads.pop(key, None)
                self._beginnings.pop(key, None)
            forgotten.keys, forgotten.size = [], 0


def _continued(before: _Beginning, messages: list[MessageRecord], request: Request) -> _Beginning:
    """Add a round to a history, or to a copy if it has been continued in another way."""
    chain = chain_of(messages, *before.last)
    rounds = (before.rounds or Rounds([])).continued(before.end, messages, chain)
    cached = before.cached if rounds is before.rounds else _Cached()
    count, references = before.count + len(request.messages), before.references or has_references(request.messages)
    size = _size(messages) + (before.size if before.rounds else 0)
    return _Beginning(chain[-1:], count, references, _is_open(messages), cached, size, rounds, len(rounds.messages))


def _ends(items: list[Any], form: History, start: int) -> list[int]:
    """Return where the head and rounds end, from a place on: where an assistant message follows, and at the end."""
    model = form.of_model(items[start:])
    ends = [n for n, (before, this) in enumerate(pairwise([start > 0, *model]), start) if this and not before]
    return [*ends, len(items)]


def _extends(last: _Cut, body: dict[str, Any], items: list[Any]) -> bool:
    """Return whether a request has the same objects as the one before, whose head is cached, and further messages."""
    if not last.head.beginning.cached.keys or not any(last.ends[:-1]):
        return False
    if len(items) < len(last.items) or items[0] is not last.items[0]:
        return False
    others = all(value is last.body.get(name) for name, value in body.items() if name != last.member)
    return others and [*body] == [*last.body] and all(map(is_, last.items, items))


def _is_open(messages: list[MessageRecord]) -> bool:
    """Return whether the last message may continue in the next round."""
    return bool(messages) and messages[-1].role == "assistant"


def _size(messages: list[MessageRecord]) -> int:
    return _PIECE + _RECORD * sum(1 + len(message.calls) + len(message.results) for message in messages)


def _digest(value: Any) -> bytes:
    return blake2b(_encoded(value), digest_size=16).digest()


def _encoded(value: Any) -> bytes:
    """Return bytes that no other value has. In JSON, NaN would be null."""
    try:
        return msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError):  # an integer of more than 64 bits, or a surrogate
        return json_codec.encode(value) + repr(value).encode()


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
