"""Mutations that damage an exchange: each gives the pieces to feed, or None where it does not apply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.support.damage import STRANGE, places

from .changes import copied
from .material import Traffic, sent

#: Values that JSON holds and few programs expect.
_HUGE: tuple[Any, ...] = (2**63, -(2**63), 10**400, -1, 1e308, float("nan"), float("inf"), 10**18)
_WORDS = ("", "stop", "tool_calls", "end_turn", "error", "unheard_of", "function_call", "in_progress", "\ud800", "null")


def _pieces(traffic: Traffic) -> list[bytes]:
    return list(traffic.parts) if traffic.wire == "xai.grpc" else [sent(traffic, json.dumps)]


def _on_bytes(change: Callable[[bytearray, Random], None]) -> Callable[..., list[bytes]]:
    """A mutation of the bytes, or of one of the messages."""

    def apply(traffic: Traffic, other: Traffic, chance: Random) -> list[bytes]:
        found = _pieces(traffic)
        at = chance.randrange(len(found))
        data = bytearray(found[at])
        change(data, chance)
        return [*found[:at], bytes(data), *found[at + 1 :]]

    return apply


def _flipped(data: bytearray, chance: Random) -> None:
    for _ in range(chance.randint(1, 8)):
        if data:
            data[chance.randrange(len(data))] ^= chance.randint(1, 255)


def _cut(data: bytearray, chance: Random) -> None:
    del data[chance.randint(0, len(data)) :]


def _holed(data: bytearray, chance: Random) -> None:
    at = chance.randint(0, len(data))
    del data[at : at + chance.randint(1, 40)]


def _noisy(data: bytearray, chance: Random) -> None:
    at = chance.randint(0, len(data))
    data[at:at] = chance.choice([b"\n\n", b"data: ", b"\x00", b"\xff\xfe", b"{", b"]", b'"', b"\\ud800", b"[DONE]"])


def _on_parts(change: Callable[[list[Any], Random], list[Any] | None]) -> Callable[..., list[bytes] | None]:
    """A mutation of the events of a stream, or of the messages."""

    def apply(traffic: Traffic, other: Traffic, chance: Random) -> list[bytes] | None:
        if not traffic.stream or len(traffic.parts) < 2:
            return None
        parts = change(copied(traffic.parts), chance)
        return _pieces(traffic._replace(parts=parts)) if parts else None

    return apply


def _deleted(parts: list[Any], chance: Random) -> list[Any]:
    for _ in range(chance.randint(1, 3)):
        if len(parts) > 1:
            del parts[chance.randrange(len(parts))]
    return parts


def _duplicated(parts: list[Any], chance: Random) -> list[Any]:
    at = chance.randrange(len(parts))
    parts.insert(chance.randint(0, len(parts)), copied(parts[at]))
    return parts


def _swapped(parts: list[Any], chance: Random) -> list[Any]:
    for _ in range(chance.randint(1, 4)):
        one, other = chance.randrange(len(parts)), chance.randrange(len(parts))
        parts[one], parts[other] = parts[other], parts[one]
    return parts


def _shortened(parts: list[Any], chance: Random) -> list[Any]:
    return parts[: chance.randint(1, len(parts) - 1)]


def _spliced(traffic: Traffic, other: Traffic, chance: Random) -> list[bytes] | None:
    """The beginning of one stream and the end of another."""
    if not (traffic.stream and other.stream and len(traffic.parts) > 1 and len(other.parts) > 1):
        return None
    first, second = chance.randint(1, len(traffic.parts)), chance.randint(0, len(other.parts) - 1)
    return _pieces(traffic._replace(parts=[*traffic.parts[:first], *other.parts[second:]]))


def _mixed(traffic: Traffic, other: Traffic, chance: Random) -> list[bytes] | None:
    """The events of two streams in turn."""
    if not (traffic.stream and other.stream):
        return None
    queues = [list(traffic.parts), list(other.parts)]
    parts = []
    while any(queues):
        parts.append(chance.choice([queue for queue in queues if queue]).pop(0))
    return _pieces(traffic._replace(parts=parts))


def _on_values(values: Callable[[Random, Any], Any]) -> Callable[..., list[bytes] | None]:
    """A mutation that gives one to four members of a JSON wire another value."""

    def apply(traffic: Traffic, other: Traffic, chance: Random) -> list[bytes] | None:
        if traffic.wire == "xai.grpc":
            return None
        parts = copied(traffic.parts)
        for _ in range(chance.randint(1, 4)):
            found = [path for path in places(parts) if len(path) > 1]
            if not found:
                return None
            *path, last = chance.choice(found)
            holder: Any = parts
            for key in path:
                holder = holder[key]
            holder[last] = values(chance, holder[last])
        return _pieces(traffic._replace(parts=parts))

    return apply


def _nested(chance: Random, value: Any) -> Any:
    for _ in range(chance.choice([3, 200])):
        value = [value]
    return value


def _indexes(traffic: Traffic, other: Traffic, chance: Random) -> list[bytes] | None:
    """Every index of the wire another number: negative, huge, or all the same."""
    if traffic.wire == "xai.grpc":
        return None
    parts, found = copied(traffic.parts), 0
    for holder in _objects(parts):
        for key in ("index", "output_index", "content_index", "contentBlockIndex"):
            if isinstance(holder.get(key), int) and chance.random() < 0.5:
                holder[key] = chance.choice([-1, -(2**31), 2**31, 2**63, 0, 7])
                found += 1
    return _pieces(traffic._replace(parts=parts)) if found else None


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def _ids(traffic: Traffic, other: Traffic, chance: Random) -> list[bytes] | None:
    """Every id the same, or none."""
    if traffic.wire == "xai.grpc":
        return None
    parts, id = copied(traffic.parts), chance.choice(["same", "", None, 5])
    for holder in _objects(parts):
        for key in ("id", "call_id", "item_id", "tool_use_id", "toolUseId"):
            if key in holder and chance.random() < 0.7:
                holder[key] = id
    return _pieces(traffic._replace(parts=parts))


MUTATIONS: dict[str, Callable[[Traffic, Traffic, Random], list[bytes] | None]] = {
    "bytes flipped": _on_bytes(_flipped),
    "bytes cut off": _on_bytes(_cut),
    "bytes lost": _on_bytes(_holed),
    "bytes put in": _on_bytes(_noisy),
    "events deleted": _on_parts(_deleted),
    "events repeated": _on_parts(_duplicated),
    "events swapped": _on_parts(_swapped),
    "the end missing": _on_parts(_shortened),
    "two streams spliced": _spliced,
    "two streams in turn": _mixed,
    "values of another type": _on_values(lambda chance, value: copied(chance.choice(STRANGE))),
    "numbers without limit": _on_values(lambda chance, value: chance.choice(_HUGE)),
    "words that nothing lists": _on_values(lambda chance, value: chance.choice(_WORDS)),
    "deep nesting": _on_values(_nested),
    "indexes anywhere": _indexes,
    "ids that are no ids": _ids,
}
