"""Gateways with one fault in the form of their streams, as a table: the law `stream-form` fails each of them.

A row has the client's wire, what the gateway does, and to which events. An event is named by its type. A chunk of Chat
Completions has the name ``[DONE]``, or that of what it contains: ``finish``, ``start`` of a call, or ``more`` of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from . import CHAT, MESSAGES, RESPONSES, add
from .passing import Event

_Events = Iterator[Event]


def _kind(event: Event) -> str:
    """Return the name of an event in the table."""
    data = event.data
    if not isinstance(data, dict):
        return str(data)
    for choice in data.get("choices") or ():
        parts = choice["delta"].get("tool_calls") or ()
        if choice.get("finish_reason"):
            return "finish"
        if parts:
            return "start" if parts[0].get("id") else "more"
    return str(data.get("type"))


def _double(kind: str, events: _Events) -> _Events:
    """Sends each of them twice."""
    for event in events:
        yield from [event] * (2 if _kind(event) == kind else 1)


def _drop(kind: str, events: _Events) -> _Events:
    """Leaves them out."""
    return (event for event in events if _kind(event) != kind)


def _delay(kind: str, until: str, events: _Events) -> _Events:
    """Sends them behind the next event of another kind."""
    held: list[Event] = []
    for event in events:
        if _kind(event) == kind:
            held.append(event)
            continue
        yield event
        if _kind(event) == until:
            yield from held
            held.clear()
    yield from held


def _early_finish(events: _Events) -> _Events:
    """Sends the finish reason with the first call."""
    for event in events:
        if _kind(event) == "start":
            event.data["choices"][0]["finish_reason"] = "tool_calls"
        if _kind(event) != "finish" or event.data["choices"][0]["delta"]:
            yield event


def _merge(kind: str, events: _Events) -> _Events:
    """Leaves out the blank line before the next event."""
    for event in events:
        following = next(events, None) if _kind(event) == kind else None
        if following is None:
            yield event
        else:
            both = [one.data if isinstance(one.data, str) else json.dumps(one.data) for one in (event, following)]
            yield Event(event.name, "\ndata: ".join(both))


def _rename(kind: str, name: str, events: _Events) -> _Events:
    """Gives them another name."""
    return (Event(name, event.data) if _kind(event) == kind else event for event in events)


def _relabel(kind: str, member: str, value: str, events: _Events) -> _Events:
    """Gives them another value in a member."""
    return (Event(one.name, {**one.data, member: value}) if _kind(one) == kind else one for one in events)


def _count_from_1(member: str, events: _Events) -> _Events:
    """Counts the indexes from 1."""
    for event in events:
        holders: list[Any] = [event.data]
        for choice in event.data.get("choices") or () if isinstance(event.data, dict) else ():
            holders += choice["delta"].get("tool_calls") or ()
        for holder in holders:
            if isinstance(holder, dict) and member in holder:
                holder[member] += 1
        yield event


def _restart(member: str, events: _Events) -> _Events:
    """Sends the same number with each event."""
    for event in events:
        if isinstance(event.data, dict) and member in event.data:
            event.data[member] = 0
        yield event


#: Name -> the client's wire, what the gateway does, and to what.
_FAULTS: dict[str, tuple[str, Callable[..., _Events], *tuple[str, ...]]] = {
    "block-stops-doubled": (MESSAGES, _double, "content_block_stop"),
    "block-stops-dropped": (MESSAGES, _drop, "content_block_stop"),
    "block-stops-late": (MESSAGES, _delay, "content_block_stop", "message_delta"),
    "block-starts-doubled": (MESSAGES, _double, "content_block_start"),
    "block-deltas-merged": (MESSAGES, _merge, "content_block_delta"),
    "block-starts-mislabelled": (MESSAGES, _rename, "content_block_start", "content_block_delta"),
    "blocks-from-1": (MESSAGES, _count_from_1, "index"),
    "message-delta-dropped": (MESSAGES, _drop, "message_delta"),
    "message-stop-doubled": (MESSAGES, _double, "message_stop"),
    "message-start-late": (MESSAGES, _delay, "message_start", "content_block_start"),
    "call-starts-doubled": (CHAT, _double, "start"),
    "call-starts-late": (CHAT, _delay, "start", "more"),
    "finish-doubled": (CHAT, _double, "finish"),
    "finish-dropped": (CHAT, _drop, "finish"),
    "done-doubled": (CHAT, _double, "[DONE]"),
    "finish-early": (CHAT, _early_finish),
    "chunks-merged": (CHAT, _merge, "more"),
    "chunks-mislabelled": (CHAT, _relabel, "more", "object", "chat.completion"),
    "calls-from-1": (CHAT, _count_from_1, "index"),
    "item-ends-doubled": (RESPONSES, _double, "response.output_item.done"),
    "item-ends-dropped": (RESPONSES, _drop, "response.output_item.done"),
    "item-ends-late": (RESPONSES, _delay, "response.output_item.done", "response.completed"),
    "argument-ends-dropped": (RESPONSES, _drop, "response.function_call_arguments.done"),
    "argument-deltas-merged": (RESPONSES, _merge, "response.function_call_arguments.delta"),
    "completed-doubled": (RESPONSES, _double, "response.completed"),
    "created-late": (RESPONSES, _delay, "response.created", "response.output_item.added"),
    "items-from-1": (RESPONSES, _count_from_1, "output_index"),
    "items-mislabelled": (RESPONSES, _rename, "response.output_item.added", "response.output_item.done"),
    "numbers-repeated": (RESPONSES, _restart, "sequence_number"),
}

for _name, (_wire, _change, *_what) in _FAULTS.items():
    _sentence = f"{(_change.__doc__ or '').removesuffix('.')}: {' … '.join(_what)}."
    add(_name, _sentence, "stream-form", "parallel-three stream", "events", partial(_change, *_what), _wire)
