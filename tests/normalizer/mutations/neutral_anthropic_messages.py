"""Mutations of Anthropic's Messages that change no meaning."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from .changes import copied, pieces
from .material import Traffic

_WORDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def _streamed(change: Callable[[list[Any], Random], list[Any] | None]) -> Callable[[Traffic, Random], Traffic | None]:
    """A mutation of a stream that ends well and whose blocks come one after the other."""

    def apply(traffic: Traffic, chance: Random) -> Traffic | None:
        kinds = [part.get("type") for part in traffic.parts if isinstance(part, dict)]
        if not traffic.stream or kinds[-1:] != ["message_stop"] or "error" in kinds:
            return None
        parts = change(copied(traffic.parts), chance)
        return None if parts is None or parts == traffic.parts else traffic._replace(parts=parts)

    return apply


def _split(parts: list[Any], chance: Random) -> list[Any]:
    out: list[Any] = []
    for part in parts:
        delta = part.get("delta") or {}
        member = _WORDS.get(delta.get("type", ""), "")
        text = delta.get(member) if part["type"] == "content_block_delta" else None
        cut = pieces(text, chance) if isinstance(text, str) and text else [None]
        out += [part] if cut == [None] else [{**part, "delta": {**delta, member: piece}} for piece in cut]
    return out


def _merged(parts: list[Any], chance: Random) -> list[Any]:
    out: list[Any] = []
    for part in parts:
        last = out[-1] if out else {}
        kind = (part.get("delta") or {}).get("type")
        same = last.get("index") == part.get("index") and (last.get("delta") or {}).get("type") == kind
        if part["type"] == "content_block_delta" == last.get("type") and same and kind in _WORDS:
            member = _WORDS[kind]
            last["delta"][member] = last["delta"][member] + part["delta"][member]
        else:
            out.append(part)
    return out


def _empty(parts: list[Any], chance: Random) -> list[Any]:
    """Deltas that say nothing, in front of those that do."""
    out: list[Any] = []
    for part in parts:
        kind = (part.get("delta") or {}).get("type")
        if part["type"] == "content_block_delta" and kind in _WORDS and chance.random() < 0.5:
            out.append({**part, "delta": {"type": kind, _WORDS[kind]: ""}})
        out.append(part)
    return out


def _pings(parts: list[Any], chance: Random) -> list[Any]:
    return [each for part in parts for each in (part, {"type": "ping"})][:-1]


def _no_pings(parts: list[Any], chance: Random) -> list[Any]:
    return [part for part in parts if part["type"] != "ping"]


def _renumbered(parts: list[Any], chance: Random) -> list[Any]:
    first, step = chance.randint(0, 5), chance.randint(1, 3)
    for part in parts:
        if isinstance(part.get("index"), int):
            part["index"] = first + step * part["index"]
    return parts


def _interleaved(parts: list[Any], chance: Random) -> list[Any] | None:
    """The events of the blocks in turn; each block's own keep their order, and all begin in theirs."""
    places = [at for at, part in enumerate(parts) if part["type"].startswith("content_block_")]
    queues: dict[Any, list[Any]] = {}
    for at in places:
        queues.setdefault(parts[at].get("index"), []).append(parts[at])
    starts = [queue[0]["type"] == "content_block_start" for queue in queues.values()]
    if len(queues) < 2 or not all(starts) or places != list(range(places[0], places[0] + len(places))):
        return None
    ordered = [queue.pop(0) for queue in queues.values()]
    while any(queues.values()):
        ordered.append(chance.choice([queue for queue in queues.values() if queue]).pop(0))
    return [*parts[: places[0]], *ordered, *parts[places[-1] + 1 :]]


def _no_block_stops(parts: list[Any], chance: Random) -> list[Any]:
    return [part for part in parts if part["type"] != "content_block_stop"]


def _block_stops_twice(parts: list[Any], chance: Random) -> list[Any]:
    return [each for part in parts for each in ([part, part] if part["type"] == "content_block_stop" else [part])]


def _ends_twice(parts: list[Any], chance: Random) -> list[Any]:
    ends = ("message_delta", "message_stop")
    return [each for part in parts for each in ([part, copied(part)] if part["type"] in ends else [part])]


def _no_indexes(parts: list[Any], chance: Random) -> list[Any]:
    for part in parts:
        part.pop("index", None)
    return parts


def _left_out(traffic: Traffic, chance: Random) -> Traffic | None:
    """Members that say nothing of the answer left out."""
    parts = copied(traffic.parts)
    for part in parts:
        message = part.get("message") if traffic.stream else part
        if isinstance(message, dict):
            message.pop("role", None)
            if traffic.stream:
                message.pop("type", None)
    return traffic._replace(parts=parts)


TABLE: dict[str, Callable[..., Any]] = {
    "deltas split": _streamed(_split),
    "deltas merged": _streamed(_merged),
    "empty deltas": _streamed(_empty),
    "pings everywhere": _streamed(_pings),
    "no pings": _streamed(_no_pings),
    "indexes renumbered with gaps": _streamed(_renumbered),
    "blocks in turn": _streamed(_interleaved),
    "no block stops": _streamed(_no_block_stops),
    "block stops repeated": _streamed(_block_stops_twice),
    "ends repeated": _streamed(_ends_twice),
    "no indexes": _streamed(_no_indexes),
    "optional members left out": _left_out,
}
