"""Mutations of streams of blocks, of Responses, Anthropic and Cohere, that change no meaning."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from .material import DONE, Traffic, copied, pieces

Parts = list[Any]
Mutate = Callable[[Traffic, Random], Traffic | None]
#: Where each kind of delta holds its text; of Responses, every kind in its member ``delta``.
_WORDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "content_block_delta": (("delta", "text"), ("delta", "thinking"), ("delta", "partial_json")),
    "content-delta": (("delta", "message", "content", "text"), ("delta", "message", "content", "thinking")),
    "tool-plan-delta": (("delta", "message", "tool_plan"),),
    "tool-call-delta": (("delta", "message", "tool_calls", "function", "arguments"),),
}
#: Members that say to which block a delta belongs.
_PLACE = ("type", "index", "item_id", "output_index", "content_index", "summary_index")
#: The events that end an answer well.
_ENDS = ("response.completed", "response.incomplete", "message_stop", "message-end")
#: Reasons for which a message of Cohere ends before all its blocks may have ended.
_EARLY = ("ERROR", "MAX_TOKENS", "TIMEOUT")


def _streamed(change: Callable[[Parts, Random], Parts | None]) -> Mutate:
    """A mutation of the events of a stream that ends well."""

    def apply(traffic: Traffic, chance: Random) -> Traffic | None:
        parts = [part for part in traffic.parts if part != DONE]
        kinds = [part.get("type") for part in parts]
        if not traffic.stream or not kinds or kinds[-1] not in _ENDS or "error" in kinds:
            return None
        changed = change(copied(parts), chance)
        if changed is None or changed == parts:
            return None
        return traffic._replace(parts=[*changed, DONE] if DONE in traffic.parts else changed)

    return apply


def _holder(part: Any) -> tuple[dict[str, Any], str] | None:
    """The object that holds the text of an event, and the name of its member."""
    if part["type"].startswith("response.") and isinstance(part.get("delta"), str):
        return part, "delta"
    for path in _WORDS.get(part["type"], ()):
        holder = part
        for name in path[:-1]:
            holder = holder.get(name) or {}
        if isinstance(holder.get(path[-1]), str):
            return holder, path[-1]
    return None


def _with(part: Any, text: str) -> Any:
    changed = copied(part)
    holder, name = _holder(changed) or ({}, "")
    holder[name] = text
    return changed


def _split(parts: Parts, chance: Random) -> Parts:
    out: Parts = []
    for part in parts:
        holder, name = _holder(part) or ({"": ""}, "")
        out += [_with(part, piece) for piece in pieces(holder[name], chance)] if holder[name] else [part]
    return out


def _merged(parts: Parts, chance: Random) -> Parts:
    out: Parts = []
    for part in parts:
        found, last = _holder(part), _holder(out[-1]) if out else None
        is_same = all(part.get(name) == out[-1].get(name) for name in _PLACE) if out else False
        if found and last and is_same and found[1] == last[1] and chance.random() < 0.7:
            last[0][last[1]] += found[0][found[1]]
        else:
            out.append(part)
    return out


def _empty(parts: Parts, chance: Random) -> Parts:
    """Deltas that say nothing, in front of those that do."""
    return [each for part in parts for each in ([_with(part, ""), part] if _holder(part) else [part])]


def _renumbered(name: str) -> Mutate:
    def change(parts: Parts, chance: Random) -> Parts:
        first, step = chance.randint(0, 5), chance.randint(1, 3)
        return [part | {name: first + step * part[name]} if isinstance(part.get(name), int) else part for part in parts]

    return _streamed(change)


def _interleaved(name: str, start: str) -> Mutate:
    """The events of the blocks in turn; each block's own keep their order, and all begin in theirs."""

    def change(parts: Parts, chance: Random) -> Parts | None:
        places = [at for at, part in enumerate(parts) if isinstance(part.get(name), int)]
        queues: dict[int, Parts] = {}
        for at in places:
            queues.setdefault(parts[at][name], []).append(parts[at])
        if len(queues) < 2 or any(queue[0]["type"] != start for queue in queues.values()):
            return None
        ordered = [queue.pop(0) for queue in queues.values()]
        while any(queues.values()):
            ordered.append(chance.choice([queue for queue in queues.values() if queue]).pop(0))
        for at, part in zip(places, ordered, strict=True):
            parts[at] = part
        return parts

    return _streamed(change)


def _without(*suffixes: str) -> Mutate:
    """The events whose types end so left out."""
    return _streamed(lambda parts, chance: [part for part in parts if not part["type"].endswith(suffixes)])


def _twice(*suffixes: str) -> Mutate:
    return _streamed(
        lambda parts, chance: [copied(part) for part in parts for _ in range(1 + part["type"].endswith(suffixes))]
    )


def _without_members(*names: str) -> Mutate:
    return _streamed(lambda parts, chance: [{k: v for k, v in part.items() if k not in names} for part in parts])


def _rotated(parts: Parts, chance: Random) -> Parts:
    """Another item id in every event, as GitHub Copilot's backend sends them; the terminal output keeps its own."""
    for number, part in enumerate(parts):
        if part.get("output_index") is not None:
            if "item_id" in part:
                part["item_id"] = f"rotated_{number}"
            item = part.get("item")
            if isinstance(item, dict) and isinstance(item.get("id"), str) and part["type"].endswith(".added"):
                item["id"] = f"rotated_{number}"
    return parts


def _no_item_ids(parts: Parts, chance: Random) -> Parts:
    for part in parts:
        if part.get("output_index") is not None:
            part.pop("item_id", None)
    return parts


def _no_output_indexes(parts: Parts, chance: Random) -> Parts:
    """Output indexes left out where an item id is given."""
    for part in parts:
        if isinstance(part.get("item_id"), str):
            part.pop("output_index", None)
    return parts


def _obfuscated(parts: Parts, chance: Random) -> Parts:
    return [part | {"obfuscation": "x" * chance.randint(0, 9)} if _holder(part) else part for part in parts]


def _plain_output(parts: Parts, chance: Random) -> Parts | None:
    """An empty terminal output, where every item had its end."""
    output = parts[-1]["response"].get("output")
    if not output or output != [part["item"] for part in parts if part["type"] == "response.output_item.done"]:
        return None
    parts[-1]["response"]["output"] = []
    return parts


def _sentinel(traffic: Traffic, chance: Random) -> Traffic | None:
    """A sentinel of Chat Completions more, or less."""
    *parts, last = traffic.parts
    if last == DONE:
        return traffic._replace(parts=parts)
    return traffic._replace(parts=[*parts, last, DONE]) if traffic.stream and last.get("type") in _ENDS else None


def _pings(parts: Parts, chance: Random) -> Parts:
    return [each for part in parts for each in (part, {"type": "ping"})][:-1]


def _no_ends(parts: Parts, chance: Random) -> Parts:
    """Without the events that end a content, a call or a citation: the end of a whole message ends all."""
    if parts[-1]["delta"].get("finish_reason") in _EARLY:
        return parts
    return [part for part in parts if part is parts[-1] or not part["type"].endswith("-end")]


#: What Responses says up to three times: a chain takes away one of them.
SENT_ONCE = frozenset(("an empty terminal output", "no item.added", "no item.done", "no deltas"))
_DELTAS = {"deltas split": _streamed(_split), "deltas merged": _streamed(_merged), "empty deltas": _streamed(_empty)}
TABLES: dict[str, dict[str, Mutate]] = {
    "openai.responses": {
        **_DELTAS,
        "item ids rotated": _streamed(_rotated),
        "no item ids": _streamed(_no_item_ids),
        "no output indexes": _streamed(_no_output_indexes),
        "indexes renumbered with gaps": _renumbered("output_index"),
        "no sequence numbers": _without_members("sequence_number", "obfuscation"),
        "obfuscation": _streamed(_obfuscated),
        "items in turn": _interleaved("output_index", "response.output_item.added"),
        "a sentinel of Chat Completions": _sentinel,
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
    },
    "anthropic.messages": {
        **_DELTAS,
        "pings everywhere": _streamed(_pings),
        "no pings": _without("ping"),
        "indexes renumbered with gaps": _renumbered("index"),
        "no indexes": _without_members("index"),
        "blocks in turn": _interleaved("index", "content_block_start"),
        "no block stops": _without("content_block_stop"),
        "block stops repeated": _twice("content_block_stop"),
        "ends repeated": _twice("message_delta", "message_stop"),
    },
    "cohere.chat": {**_DELTAS, "without the ends of blocks": _streamed(_no_ends), "without [DONE]": _sentinel},
}
