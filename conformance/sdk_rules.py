"""What the official SDKs make of a stream: their rules, written from their sources, so that none has to be installed.

The decoder of this package repairs what it can. The stream helpers of the SDKs do not: they add fragments up as they
arrive, and fail where a provider departs from its own form. Each rule takes the JSON objects of a stream and returns
``{"calls", "text"}``, and what else the helper exposes: the role of the message and the types of its calls, and the
calls of the finished items. Where the helper raises, the rule raises an error, too.

Sources: openai-python 3.57 (``lib/streaming/_deltas.py``, ``lib/streaming/chat/_completions.py``,
``lib/streaming/responses/_responses.py``), anthropic-sdk-python 2.14 (``lib/streaming/_messages.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from toolparity.normalizer import json_codec

_Json = dict[str, Any]
#: Values that are added to those before them.
_ADDED = (str, int, float, list)


def _chat(chunks: Iterable[_Json]) -> _Json:
    """Add up the deltas of each choice (``accumulate_delta``)."""
    choices: list[_Json] = []
    for chunk in chunks:
        if chunk.get("object") != "chat.completion.chunk":
            continue
        for choice in chunk["choices"]:
            number, delta = choice["index"], choice["delta"]
            if number >= len(choices):
                choices.append({})
            message = _accumulated(choices[number], delta)
            for part in delta.get("tool_calls") or ():
                call = message["tool_calls"][int(part["index"])]
                if call.get("type") == "function" and part.get("function") is None:
                    raise TypeError("a fragment of a call has no function")
    message = choices[0] if choices else {}
    calls = message.get("tool_calls") or []
    return {
        "calls": [_chat_call(call) for call in calls],
        "text": message.get("content") if choices else "",
        "role": message.get("role"),
        "types": [call.get("type") for call in calls],
    }


def _accumulated(held: _Json, delta: _Json) -> _Json:
    """Add a delta to what its predecessors gave: texts are concatenated, and lists are merged by ``index``."""
    for key, value in delta.items():
        indexed = isinstance(value, list) and any(isinstance(entry, dict) and "index" in entry for entry in value)
        before: Any = held.get(key)
        if before is None and indexed:
            before = held[key] = []
        if before is None or key in ("index", "type"):
            held[key] = value
        elif isinstance(before, dict) and isinstance(value, dict):
            _accumulated(before, value)
        elif not indexed and isinstance(value, _ADDED):
            held[key] = before + value
        for entry in value if indexed else ():
            at = int(entry["index"])
            if at < len(before):
                _accumulated(before[at], entry)
            else:
                before.insert(at, entry)
    return held


def _chat_call(call: _Json) -> _Json:
    body = call.get("function") or call.get("custom") or {}
    return {
        "id": call.get("id"),
        "name": body.get("name") or "",
        "arguments_text": body.get("arguments") or body.get("input") or "",
    }


def _responses(events: Iterable[_Json]) -> _Json:
    """Check the items of the events (``ResponseStreamState``), and read the calls of the terminal response."""
    opened: dict[int, _Json] = {}
    done: dict[int, _Json] = {}
    response: _Json | None = None
    lifecycle: set[Any] = set()
    for event in events:
        kind, at = event.get("type"), event.get("output_index", -1)
        if not lifecycle and kind != "response.created":
            raise RuntimeError(f"expected response.created before {kind}")
        if isinstance(event.get("response"), dict):
            lifecycle.add(event["response"].get("id"))
            if len(lifecycle) > 1:
                raise RuntimeError("the id of the response changed")
        if kind == "response.output_item.added":
            if at in opened:
                raise RuntimeError(f"duplicate output index {at}")
            opened[at] = event["item"]
        elif kind == "response.output_item.done":
            if at in opened and _identity(opened[at]) != _identity(event["item"]):
                raise RuntimeError(f"the identity of the item at output index {at} changed")
            done[at] = event["item"]
        elif kind in ("response.output_text.delta", "response.function_call_arguments.delta") and at not in opened:
            raise RuntimeError(f"an event for output index {at} arrived before its item")
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            response = event["response"]
    if response is None:
        raise RuntimeError("the terminal event is missing")
    output = response.get("output")
    if output is not None:
        final = [_identity(item) for item in output]
        if any(at not in done and _identity(item) not in final for at, item in opened.items()):
            raise RuntimeError("an item is unfinished")
    items = [done[at] for at in sorted(done)] if output is None else output
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or ()]
    return {
        "calls": _calls_of(items),
        "text": "".join(part.get("text") or "" for part in parts),
        "finished": _calls_of(done[at] for at in sorted(done)),
    }


def _calls_of(items: Iterable[_Json]) -> list[_Json]:
    return [
        {
            "id": item.get("call_id"),
            "name": item.get("name"),
            "arguments_text": item.get("arguments", item.get("input")),
        }
        for item in items
        if item.get("type") in ("function_call", "custom_tool_call")
    ]


def _identity(item: _Json) -> tuple[Any, Any, Any]:
    """Return what identifies an item: calls by their call id, others also by their id (``_output_identity``)."""
    calls = ("function_call", "custom_tool_call", "shell_call", "shell_call_output")
    return item.get("type"), None if item.get("type") in calls else item.get("id"), item.get("call_id")


def _messages(events: Iterable[_Json]) -> _Json:
    """Add up the fragments (``accumulate_event``): blocks in the order of their starts, fragments by their index."""
    blocks: list[_Json] = []
    begun = False
    for event in events:
        if event["type"] == "ping":
            continue
        if not begun and event["type"] != "message_start":
            raise RuntimeError(f"{event['type']} arrived before message_start")
        begun = True
        if event["type"] == "content_block_start":
            blocks.append({"json": "", "text": "", **event["content_block"]})
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            block["json"] += delta.get("partial_json", "")
            block["text"] += delta.get("text", "")
        elif event["type"] == "content_block_stop":
            blocks[event["index"]]
        elif event["type"] == "message_delta":
            event["usage"]["output_tokens"]
    calls = [
        {
            "id": block["id"],
            "name": block["name"],
            "arguments_text": block["json"] or json_codec.text(block.get("input")),
        }
        for block in blocks
        if block["type"] == "tool_use"
    ]
    return {"calls": calls, "text": "".join(block["text"] for block in blocks if block["type"] == "text")}


def finished(wire: str, events: Iterable[_Json]) -> str:
    """Return how many finished blocks a stream helper yields, if that is not the number of blocks; else "".

    Anthropic's yields an event with the whole block for each ``content_block_stop`` (``build_events``).
    """
    if wire != "anthropic.messages":
        return ""
    kinds = [event.get("type") for event in events]
    blocks, ends = kinds.count("content_block_start"), kinds.count("content_block_stop")
    return f"the stream helper of Anthropic's SDK yields {ends} finished blocks for {blocks}" if ends != blocks else ""


#: Wire -> the rule of its SDK's stream helper.
RULES: dict[str, Callable[[Iterable[_Json]], _Json]] = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic.messages": _messages,
}
