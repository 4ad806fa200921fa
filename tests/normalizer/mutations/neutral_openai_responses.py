"""Mutations of OpenAI's Responses that change no meaning."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from .changes import copied, pieces
from .material import DONE, Traffic

#: Terminal events of an answer that ended well.
_ENDS = ("response.completed", "response.incomplete")


def _streamed(change: Callable[[list[Any], Random], list[Any] | None]) -> Callable[[Traffic, Random], Traffic | None]:
    """A mutation of a stream that ends well."""

    def apply(traffic: Traffic, chance: Random) -> Traffic | None:
        parts = [part for part in traffic.parts if part != DONE]
        if not traffic.stream or not parts or parts[-1].get("type") not in _ENDS:
            return None
        changed = change(copied(parts), chance)
        return None if changed is None or changed == traffic.parts else traffic._replace(parts=changed)

    return apply


def _without(*suffixes: str) -> Callable[[Traffic, Random], Traffic | None]:
    """The events whose types end so left out."""
    return _streamed(lambda parts, chance: [part for part in parts if not part["type"].endswith(suffixes)])


def _twice(*suffixes: str) -> Callable[[Traffic, Random], Traffic | None]:
    def change(parts: list[Any], chance: Random) -> list[Any]:
        return [
            each for part in parts for each in ([part, copied(part)] if part["type"].endswith(suffixes) else [part])
        ]

    return _streamed(change)


def _is_delta(part: Any) -> bool:
    return part["type"].endswith(".delta") and isinstance(part.get("delta"), str)


def _split(parts: list[Any], chance: Random) -> list[Any]:
    out: list[Any] = []
    for part in parts:
        if not _is_delta(part) or not part["delta"]:
            out.append(part)
            continue
        out += ({**part, "delta": piece} for piece in pieces(part["delta"], chance))
    return out


_PLACE = ("type", "item_id", "output_index", "content_index", "summary_index")


def _merged(parts: list[Any], chance: Random) -> list[Any]:
    out: list[Any] = []
    for part in parts:
        last = out[-1] if out else {}
        if _is_delta(part) and all(last.get(name) == part.get(name) for name in _PLACE) and chance.random() < 0.7:
            last["delta"] += part["delta"]
        else:
            out.append(part)
    return out


def _empty(parts: list[Any], chance: Random) -> list[Any]:
    return [each for part in parts for each in ([{**part, "delta": ""}, part] if _is_delta(part) else [part])]


def _rotated(parts: list[Any], chance: Random) -> list[Any]:
    """Another item id in every event, as GitHub Copilot's backend sends them; the terminal output keeps its own."""
    for number, part in enumerate(parts):
        if part.get("output_index") is not None:
            if "item_id" in part:
                part["item_id"] = f"rotated_{number}"
            item = part.get("item")
            if isinstance(item, dict) and isinstance(item.get("id"), str) and part["type"].endswith(".added"):
                item["id"] = f"rotated_{number}"
    return parts


def _no_item_ids(parts: list[Any], chance: Random) -> list[Any]:
    for part in parts:
        if part.get("output_index") is not None:
            part.pop("item_id", None)
    return parts


def _no_indexes(parts: list[Any], chance: Random) -> list[Any] | None:
    """Output indexes left out where an item id is given."""
    for part in parts:
        if isinstance(part.get("item_id"), str):
            part.pop("output_index", None)
    return parts


def _renumbered(parts: list[Any], chance: Random) -> list[Any]:
    first, step = chance.randint(0, 5), chance.randint(1, 3)
    for part in parts:
        if isinstance(part.get("output_index"), int):
            part["output_index"] = first + step * part["output_index"]
    return parts


def _no_numbers(parts: list[Any], chance: Random) -> list[Any]:
    for part in parts:
        part.pop("sequence_number", None)
        part.pop("obfuscation", None)
    return parts


def _obfuscated(parts: list[Any], chance: Random) -> list[Any]:
    for part in parts:
        if _is_delta(part):
            part["obfuscation"] = "x" * chance.randint(0, 9)
    return parts


def _interleaved(parts: list[Any], chance: Random) -> list[Any] | None:
    """The events of the items in turn; each item's own keep their order."""
    places = [at for at, part in enumerate(parts) if isinstance(part.get("output_index"), int)]
    queues: dict[int, list[Any]] = {}
    for at in places:
        queues.setdefault(parts[at]["output_index"], []).append(parts[at])
    began = all(queue[0]["type"] == "response.output_item.added" for queue in queues.values())
    if len(queues) < 2 or not began:
        return None
    ordered = [queue.pop(0) for queue in queues.values()]
    while any(queues.values()):
        ordered.append(chance.choice([queue for queue in queues.values() if queue]).pop(0))
    for at, part in zip(places, ordered, strict=True):
        parts[at] = part
    return parts


def _sentinel(parts: list[Any], chance: Random) -> list[Any]:
    return [*parts, DONE]


def _plain_output(parts: list[Any], chance: Random) -> list[Any] | None:
    """An empty terminal output, where every item had its end."""
    output = parts[-1]["response"].get("output")
    ended = [part["item"] for part in parts if part["type"] == "response.output_item.done"]
    if not output or output != ended:
        return None
    parts[-1]["response"]["output"] = []
    return parts


def _left_out(traffic: Traffic, chance: Random) -> Traffic | None:
    """Members that say nothing of the answer left out."""
    if traffic.stream:
        return None
    parts = copied(traffic.parts)
    for item in parts[0].get("output") or ():
        if isinstance(item, dict) and item.get("type") == "message":
            for part in item.get("content") or ():
                if isinstance(part, dict) and part.get("logprobs") in ([], None):
                    part.pop("logprobs", None)
    return traffic._replace(parts=parts)


#: What this wire says up to three times: a chain takes away one of them.
SENT_ONCE = frozenset(("an empty terminal output", "no item.added", "no item.done", "no deltas"))
TABLE: dict[str, Callable[..., Any]] = {
    "deltas split": _streamed(_split),
    "deltas merged": _streamed(_merged),
    "empty deltas": _streamed(_empty),
    "item ids rotated": _streamed(_rotated),
    "no item ids": _streamed(_no_item_ids),
    "no output indexes": _streamed(_no_indexes),
    "indexes renumbered with gaps": _streamed(_renumbered),
    "no sequence numbers": _streamed(_no_numbers),
    "obfuscation": _streamed(_obfuscated),
    "items in turn": _streamed(_interleaved),
    "a sentinel of Chat Completions": _streamed(_sentinel),
    "an empty terminal output": _streamed(_plain_output),
    "no created and in_progress": _without("response.in_progress", "response.queued"),
    "no part.added": _without("_part.added"),
    "no part.done": _without("_part.done"),
    "no text.done": _without("text.done", "refusal.done"),
    "no arguments.done": _without("arguments.done", "input.done"),
    "no progress events": _without(".searching", "call.in_progress", "call.completed", ".interpreting"),
    "no item.added": _without("output_item.added"),
    "no item.done": _without("output_item.done"),
    "no deltas": _without(".delta"),
    "added twice": _twice(".added"),
    "done twice": _twice(".done"),
    "ends repeated": _twice(*_ENDS),
    "optional members left out": _left_out,
}
