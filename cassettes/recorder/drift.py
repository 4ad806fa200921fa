"""Drift between the responses of real providers and those of the emulated ones, member by member.

    drifts = drift(live, emulated)          # exchanges of `toolparity.cassettes.sources.read`
    for one in drifts:
        print(one.surface, one.kind, one.path, one.difference, one.proposal)

A member is a path in one kind of message: the plain body, or the events of a stream by their type. Of each member, the
JSON types are compared, and the class of its values: whether they are numbers with a fraction, empty texts, ids with
their prefix, or one of few words. What models and callers make up (arguments, schemas, metadata) is not compared.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.readers import sniff
from toolparity.normalizer.wires.registry import spec

from ..emulation_marker import EMULATED
from ..errors import InvalidProvenance, UnreadableCassette
from ..library import load
from ..sources import Exchange
from ..surfaces import surface_of
from .diff_values import FREE

Difference = Literal["only live", "only emulated", "type", "values"]

_FREE = FREE | {"metadata", "json_schema", "input_schema", "output_schema", "args"}
#: Members whose texts are words of the wire's vocabulary.
_WORDS = frozenset(
    ("type", "object", "role", "status", "finish_reason", "stop_reason", "finishReason", "service_tier", "modality")
)
_ID = re.compile(r"([A-Za-z]+[_-])[A-Za-z0-9_-]{6,}")
_TYPES = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
#: Members in fewer live messages than this share are listed only on request: models and options differ.
COMMON = 0.5
_SHOWN = 60
#: The suffix of cassettes that may have a provenance.
_CASSETTE = ".yaml"


class MemberDrift(Struct, frozen=True):
    """One member that differs. ``kind``: the kind of message. ``path``: "" for the whole kind.

    ``live``, ``emulated``: the types, or with the difference "values" the classes of the values; "" if it is absent.
    ``seen`` of ``messages``: in how many live messages of its kind the member is (emulated ones if it is only there).
    ``example``: a live value as JSON, cut. ``samples``: the live responses that could have the member: few of them
    do not show that it is gone.
    """

    surface: str
    kind: str
    path: str
    difference: Difference
    live: str
    emulated: str
    seen: int
    messages: int
    example: str = ""
    samples: int = 0

    @property
    def share(self) -> float:
        """The share of messages that have the member."""
        return self.seen / self.messages

    @property
    def proposal(self) -> str:
        """What to change in the emulated provider."""
        where = f"cassettes/emulated/{self.surface.replace('.', '_')}.py"
        what = f"`{self.path}` in {self.kind}" if self.path else self.kind
        often = f"{self.seen:,} of {self.messages:,}"
        if self.difference == "only live":
            value = f", such as {self.example}" if self.example else ""
            return f"{where}: add {what} ({self.live}{value}): {often} live messages have it"
        if self.difference == "only emulated":
            return f"{where}: check whether {what} still exists: no live message has it, {often} emulated ones have"
        return f"{where}: change {what} from {self.emulated} to {self.live}, such as {self.example}"


class _Counted(Struct, kw_only=True):
    """Something that some ``responses`` have. ``last``: the number of the last one."""

    responses: int = 0
    last: int = -1

    def is_in(self, response: int) -> None:
        """Count a response, once."""
        self.responses += self.last != response
        self.last = response


class _Member(_Counted):
    """The observations of one member. ``types``, ``values``: in how many messages it has this type and class."""

    types: Counter[str]
    values: Counter[str]
    seen: int = 0
    example: str = ""


class _Kind(_Counted):
    """The members of one kind of message, by path. ``messages``: their number."""

    members: dict[str, _Member]
    messages: int = 0


_Surface = dict[str, _Kind]


def drift(live: Iterable[Exchange], emulated: Iterable[Exchange], *, at_least: float = COMMON) -> list[MemberDrift]:
    """Return the members that differ, on the surfaces that both have, the most frequent first.

    ``at_least``: the smallest share of messages in which a member must be.
    """
    real, made = _surfaces(live), _surfaces(emulated)
    drifts: list[MemberDrift] = []
    for surface in sorted(real.keys() & made.keys()):
        for kind in sorted(real[surface].keys() | made[surface].keys()):
            # a kind that is missing could be in each live response of its mode
            alike = (held.responses for name, held in real[surface].items() if (name == "body") == (kind == "body"))
            of_mode = max(alike, default=0)
            drifts += _of_kind(surface, kind, real[surface].get(kind), made[surface].get(kind), at_least, of_mode)
    kept = [one for one in drifts if one.share >= at_least]
    return sorted(kept, key=lambda one: (one.surface, -one.share, one.kind, one.path))


def compared_surfaces(live: Iterable[Exchange], emulated: Iterable[Exchange]) -> dict[str, tuple[int, int]]:
    """Return surface -> the numbers of live and emulated responses that are compared."""
    counts = [Counter(_surface(one) for one in exchanges if _is_compared(one)) for exchanges in (live, emulated)]
    return {name: (counts[0][name], counts[1][name]) for name in sorted(counts[0].keys() & counts[1].keys())}


def _surfaces(exchanges: Iterable[Exchange]) -> dict[str, _Surface]:
    found: dict[str, _Surface] = defaultdict(dict)
    for number, exchange in enumerate(exchanges):
        if not _is_compared(exchange):
            continue
        for kind, value in messages(exchange):
            held = found[_surface(exchange)].setdefault(kind, _Kind({}))
            held.messages += 1
            held.is_in(number)
            leaves: dict[str, list[Any]] = {}
            for path, leaf in _members(value, "", ""):
                leaves.setdefault(path, []).append(leaf)
            for path, listed in leaves.items():
                member = held.members.setdefault(path, _Member(Counter(), Counter()))
                member.is_in(number)
                _observe(member, path, listed)
    return found


def _observe(member: _Member, path: str, leaves: list[Any]) -> None:
    """Count the values that one message has at a path."""
    member.seen += 1
    member.types.update({_type(leaf) for leaf in leaves})
    member.values.update({_class(path, leaf) for leaf in leaves})
    if not member.example and not isinstance(leaves[0], (dict, list)):
        member.example = json_codec.text(leaves[0])[:_SHOWN]


def _surface(exchange: Exchange) -> str:
    at = surface_of(exchange.provider, exchange.wire)
    return "" if at is None else at.name


def is_emulated(exchange: Exchange) -> bool | None:
    """Return whether an emulated provider answered, as the response or the cassette's provenance says; else None."""
    origin = exchange.origin or _origin_of(exchange.source.rpartition("#")[0])
    return None if origin is None else origin == EMULATED


@lru_cache(maxsize=1)  # the exchanges of a file follow each other
def _origin_of(path: str) -> str | None:
    if not path.endswith(_CASSETTE):
        return None
    try:
        return load(path).provenance.origin
    except (UnreadableCassette, InvalidProvenance):
        return None


def _is_compared(exchange: Exchange) -> bool:
    return bool(_surface(exchange)) and (exchange.status or 200) < 400


def messages(exchange: Exchange) -> Iterator[tuple[str, Any]]:
    """Yield the JSON of a response with its kind: "body", "event TYPE", or "chunk" for events without a type."""
    if exchange.frames is not None and exchange.wire is not None:
        schema = spec(exchange.wire).part("schema")
        for frame in exchange.frames:
            message = schema.chunk_from(frame) if exchange.stream else schema.response_from(frame)
            yield "chunk" if exchange.stream else "body", schema.as_dict(message)
        return
    data = exchange.body or b""
    if not exchange.stream:
        yield from (("body", value) for value in _parsed(data))
        return
    reader = sniff(data, len(data) + 1)
    for name, payload in [] if reader is None else [*reader.feed(data), *reader.close()]:
        for value in _parsed(payload):
            kind = value.get("type") or value.get("event_type") or name
            yield f"event {kind}" if isinstance(kind, str) else "chunk", value


def _parsed(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the object that some bytes contain, if they contain one."""
    try:
        value = json_codec.decode(data)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value


def _members(value: Any, path: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each member. An object in a list that states its type has it in the path."""
    if isinstance(value, dict):
        kind = value.get("type")
        path = f"{path}<{kind}>" if path.endswith("]") and isinstance(kind, str) else path
        if path:
            yield path, value
        for key, inner in {} if name in _FREE else value.items():
            yield from _members(inner, f"{path}.{key}" if path else key, key)
    elif isinstance(value, list):
        yield path, value
        for inner in value:
            yield from _members(inner, f"{path}[]", name)
    else:
        yield path, value


def _type(value: Any) -> str:
    return "null" if value is None else _TYPES[type(value)]


def _class(path: str, value: Any) -> str:
    """Return the class of a value: what a client may rely on."""
    name = path.rpartition(".")[2].partition("[")[0]
    if isinstance(value, float):
        return "number with a fraction" if value % 1 else "number"
    if not isinstance(value, str):
        return _type(value)
    if not value:
        return "empty string"
    if name in _WORDS:
        return f'"{value}"'
    match = _ID.fullmatch(value) if name == "id" or name.endswith(("_id", "Id")) else None
    return f"id {match[1]}…" if match else "string"


def _one_sided(
    surface: str,
    kind: str,
    path: str,
    is_live: bool,
    types: str,
    seen: int,
    messages: int,
    example: str = "",
    samples: int = 0,
) -> MemberDrift:
    """Return the drift of a member that only one side has."""
    difference: Difference = "only live" if is_live else "only emulated"
    live, emulated = (types, "") if is_live else ("", types)
    return MemberDrift(surface, kind, path, difference, live, emulated, seen, messages, example, samples)


def _of_kind(
    surface: str, kind: str, live: _Kind | None, emulated: _Kind | None, at_least: float, of_mode: int
) -> Iterator[MemberDrift]:
    if live is None or emulated is None:
        only = live if live is not None else emulated
        assert only is not None
        counts = (only.messages, only.messages)
        yield _one_sided(surface, kind, "", live is not None, "object", *counts, samples=of_mode)
        return
    for path in sorted(live.members.keys() | emulated.members.keys()):
        if not _is_reported(path, live, emulated):
            continue
        real, made = live.members.get(path), emulated.members.get(path)
        if real is None or made is None:
            held, member = (live, real) if real is not None else (emulated, made)
            assert member is not None
            example = member.example if real is not None else ""
            types, parent = _names(member.types), live.members.get(path.rpartition(".")[0])
            samples = (live if parent is None else parent).responses
            counts = (member.seen, held.messages)
            yield _one_sided(surface, kind, path, real is not None, types, *counts, example, samples)
        else:
            yield from _of_values(surface, kind, path, real, made, live.messages, at_least)


def _is_reported(path: str, live: _Kind, emulated: _Kind) -> bool:
    """Return whether both or neither have what contains the member; otherwise that is reported, and not its members."""
    parent = path.rpartition(".")[0]
    return not parent or (parent in live.members) == (parent in emulated.members)


def _of_values(
    surface: str, kind: str, path: str, real: _Member, made: _Member, messages: int, at_least: float
) -> Iterator[MemberDrift]:
    """Yield the difference of types, or else of values: what most live messages have and no emulated one."""
    kinds: tuple[tuple[Difference, Counter[str], Counter[str]], ...] = (
        ("type", real.types, made.types),
        ("values", real.values, made.values),
    )
    for difference, of_live, of_emulated in kinds:
        missing = [name for name, count in of_live.items() if name not in of_emulated and count >= at_least * real.seen]
        if missing or not of_live.keys() & of_emulated.keys():
            both = (_names(of_live), _names(of_emulated))
            yield MemberDrift(surface, kind, path, difference, *both, real.seen, messages, real.example)
            return


def _names(counted: Counter[str]) -> str:
    listed = [name for name, _ in counted.most_common(4)]
    return " or ".join(listed) + (" …" if len(counted) > 4 else "")
