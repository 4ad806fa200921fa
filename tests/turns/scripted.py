"""Scripts of the library, played as turns: providers that answer from cassettes, and the parts of a turn that are equal
whichever provider answers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import msgspec

from toolparity import normalize
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec
from toolparity.normalizer.turns.events import (
    RoundStarted,
    TurnBlockDelta,
    TurnBlockReset,
    TurnBlockRevised,
    TurnBlockStart,
    TurnBlockStop,
    TurnEvent,
)


class CassetteOver(Exception):
    """The script ends before the turn does: with a truncated call after which the turn asks again."""


class Recorded:
    """A provider that answers from a cassette, in its order. ``asked``: what it was asked, and what was recorded."""

    def __init__(self, scenario: str, surface: str) -> None:
        self.wire = SURFACES[surface].wire
        self.name = SURFACES[surface].provider
        self.model = SURFACES[surface].model
        self.exchanges = load(path_for(surface, scenario, stream=True)).exchanges
        self.asked: list[tuple[Any, Any]] = []

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        if len(self.asked) == len(self.exchanges):
            raise CassetteOver("nothing more was recorded")
        exchange = self.exchanges[len(self.asked)]
        self.asked.append((_plain(body), _without_count(exchange.request)))
        frames = exchange.frames
        if (exchange.status or 200) >= 400 and not frames:
            yield normalize(exchange.body or b"", self.wire, provider=self.name, request=body, status=exchange.status)
            return
        for frame in frames if frames is not None else [exchange.body or b""]:
            yield frame
        if frames is not None and exchange.body is not None:
            yield exchange.body  # the status of a call that broke off


def _plain(body: Any) -> Any:
    if isinstance(body, dict):
        return json_codec.decode(json_codec.encode(body))
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(body, preserving_proto_field_name=True)


def _without_count(body: Any) -> Any:
    """xAI's SDK always sends the number of answers, without being asked to."""
    return {name: value for name, value in body.items() if (name, value) != ("n", 1)}


_BLOCKS = (TurnBlockStart, TurnBlockDelta, TurnBlockReset, TurnBlockRevised, TurnBlockStop)


def skeleton(events: Iterable[TurnEvent]) -> list[dict[str, Any]]:
    """The events of a turn without the parts that differ by provider: ids, usage, thinking (not all show it),
    the chunks of texts, and when a block is complete. The blocks of an answer are in order, each with its shown and its
    stored content; those of an answer that broke off have only the shown content.
    """
    events = list(events)
    ids: dict[str, str] = {}
    thoughts = {e.sequence for e in events if isinstance(e, TurnBlockStart) and e.block_type == "thinking"}
    numbers = {n: place for place, n in enumerate(sorted(_sequences(events) - thoughts))}
    blocks: dict[int, dict[str, Any]] = {}
    told: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event, _BLOCKS):
            _block(event, blocks, told, thoughts)
            continue
        plain = msgspec.to_builtins(event)
        for name in ("seq", "usage", "key", "turn", "wire"):
            plain.pop(name, None)
        if isinstance(event, RoundStarted):
            plain["first_block"] = sum(place < event.first_block for place in numbers)
        told.append(plain)
    broke = told[-1].get("termination_reason") in ("provider_failed", "incomplete")
    last = max((place for place, plain in enumerate(told) if plain.get("type") == "round_started"), default=0)
    for place, plain in enumerate(told):
        if "sequence" in plain:
            plain["sequence"] = numbers[plain["sequence"]]
            if broke and place > last:
                plain.pop("kept")
                plain.pop("cut")
        if plain.get("type") == "turn_failed":  # each provider has its own words for what went wrong
            plain["error"] = plain["error"] is not None
            plain.pop("text")
        for ref in (*plain.get("kept", ()), *plain.get("dropped", ()), *plain.get("rejected", ())):
            if isinstance(ref, dict):
                ref.pop("block", None)  # counts what was thought
    return [_renamed(plain, ids) for plain in told]


def _sequences(events: Iterable[TurnEvent]) -> set[int]:
    return {event.sequence for event in events if isinstance(event, TurnBlockStart)}


def _block(event: Any, blocks: dict[int, dict[str, Any]], told: list[dict[str, Any]], thoughts: set[int]) -> None:
    number = event.block.sequence if isinstance(event, (TurnBlockStop, TurnBlockRevised)) else event.sequence
    if number in thoughts:
        return
    if isinstance(event, TurnBlockStart):
        blocks[number] = {"block": event.block_type, "sequence": number, "shown": "", "name": event.tool_name}
        told.append(blocks[number])
    elif isinstance(event, TurnBlockDelta):
        blocks[number]["shown"] += event.text
    elif isinstance(event, TurnBlockReset):
        blocks[number]["shown"] = event.text
    else:
        blocks[number]["kept"] = [event.block.text_content, msgspec.to_builtins(event.block.content)]
        if isinstance(event, TurnBlockStop):
            blocks[number]["cut"] = event.cut


def _renamed(value: Any, ids: dict[str, str]) -> Any:
    """Ids of calls by the order in which they are met."""
    if isinstance(value, list):
        return [_renamed(one, ids) for one in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for name, one in value.items():
        if name in ("id", "call_id", "tool_use_id") and isinstance(one, str):
            made[name] = ids.setdefault(one, f"call {len(ids) + 1}")
        elif name in ("waiting", "results"):
            made[name] = [ids.setdefault(id, f"call {len(ids) + 1}") for id in one]
        else:
            made[name] = _renamed(one, ids)
    return made
