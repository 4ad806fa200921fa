"""Mutations of Cohere's streams that change no meaning."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from .changes import copied, pieces
from .material import DONE, Traffic

#: Where each kind of event holds its text: members below ``delta.message``.
_WORDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "content-delta": (("content", "text"), ("content", "thinking")),
    "tool-plan-delta": (("tool_plan",),),
    "tool-call-delta": (("tool_calls", "function", "arguments"),),
}
#: Reasons for which a message ends before all its blocks may have ended.
_EARLY = ("ERROR", "MAX_TOKENS", "TIMEOUT")


def _streamed(change: Callable[[list[Any], Random], list[Any]]) -> Callable[[Traffic, Random], Traffic | None]:
    """A mutation of a stream of version 2 that ends well."""

    def apply(traffic: Traffic, chance: Random) -> Traffic | None:
        kinds = [part.get("type") for part in traffic.parts if isinstance(part, dict)]
        if not traffic.stream or kinds[-1:] != ["message-end"]:
            return None
        parts = change(copied(traffic.parts), chance)
        return None if parts == traffic.parts else traffic._replace(parts=parts)

    return apply


def _holder(part: Any) -> tuple[dict[str, Any], str] | None:
    """The object that holds the text of an event, and the name of its member."""
    for path in _WORDS.get(part.get("type", ""), ()) if isinstance(part, dict) else ():
        holder = part["delta"]["message"]
        for name in path[:-1]:
            holder = holder.get(name) or {}
        if isinstance(holder.get(path[-1]), str):
            return holder, path[-1]
    return None


def _with(part: Any, text: str) -> Any:
    (changed,) = copied([part])
    found = _holder(changed)
    assert found is not None
    found[0][found[1]] = text
    return changed


def _split(parts: list[Any], chance: Random) -> list[Any]:
    out: list[Any] = []
    for part in parts:
        found = _holder(part)
        text = "" if found is None else found[0][found[1]]
        out += [_with(part, piece) for piece in pieces(text, chance)] if text else [part]
    return out


def _merged(parts: list[Any], chance: Random) -> list[Any]:
    out: list[Any] = []
    for part in parts:
        found, last = _holder(part), _holder(out[-1]) if out else None
        if found and last and found[1] == last[1] and part.get("index") == out[-1].get("index"):
            last[0][last[1]] += found[0][found[1]]
        else:
            out.append(part)
    return out


def _empty(parts: list[Any], chance: Random) -> list[Any]:
    """Deltas that say nothing, in front of those that do."""
    out: list[Any] = []
    for part in parts:
        if _holder(part) is not None and chance.random() < 0.5:
            out.append(_with(part, ""))
        out.append(part)
    return out


def _no_ends(parts: list[Any], chance: Random) -> list[Any]:
    """Without the events that end a content, a call or a citation: the end of a whole message ends all."""
    if any(part["delta"].get("finish_reason") in _EARLY for part in parts if part != DONE and _is_last(part)):
        return parts
    return [part for part in parts if part == DONE or not part["type"].endswith(("-end",)) or _is_last(part)]


def _is_last(part: Any) -> bool:
    return bool(part["type"] == "message-end")


def _no_done(parts: list[Any], chance: Random) -> list[Any]:
    return [part for part in parts if part != DONE]


TABLE: dict[str, Callable[[Traffic, Random], Traffic | None]] = {
    "deltas split": _streamed(_split),
    "deltas merged": _streamed(_merged),
    "empty deltas": _streamed(_empty),
    "without the ends of blocks": _streamed(_no_ends),
    "without [DONE]": _streamed(_no_done),
}
