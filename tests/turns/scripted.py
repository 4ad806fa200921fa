"""Scripts of the library as turns: providers that answer from cassettes, and what does not differ by provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import msgspec

from toolparity import normalize
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec
from toolparity.turns.events import (
    RoundStarted,
    TurnBlockDelta,
    TurnBlockReset,
    TurnBlockRevised,
    TurnBlockStart,
    TurnBlockStop,
    TurnEvent,
)


class CassetteOver(Exception):
    """The cassette has no response for a further request."""


class Recorded:
    """A provider that answers from a cassette, in order. ``asked``: each request with the recorded one."""

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
    """Without the number of answers, which xAI's SDK always adds."""
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
    numbers = {n: position for position, n in enumerate(sorted(_sequences(events) - thoughts))}
    blocks: dict[int, dict[str, Any]] = {}
    skeletons: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event, _BLOCKS):
            _block(event, blocks, skeletons, thoughts)
            continue
        plain = msgspec.to_builtins(event)
        for name in ("seq", "usage", "key", "turn", "wire"):
            plain.pop(name, None)
        if isinstance(event, RoundStarted):
            plain["first_block"] = sum(position < event.first_block for position in numbers)
        skeletons.append(plain)
    broke = skeletons[-1].get("termination_reason") in ("provider_failed", "incomplete")
    last = max(
        (position for position, plain in enumerate(skeletons) if plain.get("type") == "round_started"), default=0
    )
    for position, plain in enumerate(skeletons):
        if "sequence" in plain:
            plain["sequence"] = numbers[plain["sequence"]]
            if broke and position > last:
                plain.pop("kept")
                plain.pop("cut")
        if plain.get("type") == "turn_failed":  # error texts differ by provider
            plain["error"] = plain["error"] is not None
            plain.pop("text")
        for ref in (*plain.get("kept", ()), *plain.get("dropped", ()), *plain.get("rejected", ())):
            if isinstance(ref, dict):
                ref.pop("block", None)  # the number includes thinking blocks
    return [_renamed(plain, ids) for plain in skeletons]


def _sequences(events: Iterable[TurnEvent]) -> set[int]:
    return {event.sequence for event in events if isinstance(event, TurnBlockStart)}


def _block(event: Any, blocks: dict[int, dict[str, Any]], skeletons: list[dict[str, Any]], thoughts: set[int]) -> None:
    number = event.block.sequence if isinstance(event, (TurnBlockStop, TurnBlockRevised)) else event.sequence
    if number in thoughts:
        return
    if isinstance(event, TurnBlockStart):
        blocks[number] = {"block": event.block_type, "sequence": number, "shown": "", "name": event.tool_name}
        skeletons.append(blocks[number])
    elif isinstance(event, TurnBlockDelta):
        blocks[number]["shown"] += event.text
    elif isinstance(event, TurnBlockReset):
        blocks[number]["shown"] = event.text
    else:
        blocks[number]["kept"] = [event.block.text_content, msgspec.to_builtins(event.block.content)]
        if isinstance(event, TurnBlockStop):
            blocks[number]["cut"] = event.cut


def _renamed(value: Any, ids: dict[str, str]) -> Any:
    """Replace the ids of calls by numbers in order of appearance."""
    if isinstance(value, list):
        return [_renamed(item, ids) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {}
    for name, item in value.items():
        if name in ("id", "call_id", "tool_use_id") and isinstance(item, str):
            renamed[name] = ids.setdefault(item, f"call {len(ids) + 1}")
        elif name in ("waiting", "results"):
            renamed[name] = [ids.setdefault(id, f"call {len(ids) + 1}") for id in item]
        else:
            renamed[name] = _renamed(item, ids)
    return renamed
