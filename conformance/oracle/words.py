"""The words of each wire in a conversation: types, roles and states, and where they may occur."""

from __future__ import annotations

from collections.abc import Iterator

from toolparity.normalizer import json_codec

from . import Json, facts
from .history import conversation


def unknown_words(body: Json, wire: str) -> Iterator[str]:
    """Yield the types, roles and states in a conversation that its wire does not have, or not at this place."""
    known, system = facts(wire), body.get("system")
    prompt = [{"role": "system", "content": system}] if isinstance(system, list) else []
    for item in [*prompt, *conversation(body)[1]]:
        parts = item.get("content") if isinstance(item.get("content"), list) else []
        places = [(item, known.item)]
        places += [(part, known.part) for part in [*parts, *_result_parts([item, *parts])]]
        places += [(call, known.call) for call in item.get("tool_calls") or []]
        for place, words in places:
            for name, allowed in words.items():
                if place.get(name) not in allowed:
                    yield f"{name} {json_codec.text(place.get(name))}"
        for call in item.get("tool_calls") or []:
            if call.get("type") in ("function", "custom") and call["type"] not in call:
                yield f"type {call.get('type')} of a call that has none"


def _result_parts(holders: list[Json]) -> list[Json]:
    """Return the parts of the results among items and parts."""
    members = {"tool_result": "content", "function_result": "result"}
    found = [holder.get(members.get(holder.get("type", ""), "")) for holder in holders]
    return [part for parts in found if isinstance(parts, list) for part in parts]
