"""Independent readings of the history in a request: who said what, the calls and their results."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from . import Json, message_texts, oracle
from .responses import parsed_arguments


def conversation(body: Json) -> tuple[str, list[Any]]:
    """Return the name of the member that holds the conversation, and its items. A text is one item of the user."""
    key = next((name for name in ("input", "contents") if name in body), "messages")
    items = body.get(key)
    return key, items if isinstance(items, list) else [{"role": "user", "content": items}]


def split(items: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return what the model said, and the results, of the items that follow a response."""
    results = [item for item in items if _is_result(item)]
    return [item for item in items if not _is_result(item)], results


def _is_result(item: Json) -> bool:
    return item.get("role") in ("tool", "ROLE_TOOL", "user") or str(item.get("type")).endswith(_RESULTS)


#: The ends of the types of items that are results.
_RESULTS = ("call_output", "function_result")


def role_of(item: Json) -> str:
    """Return the role of an item without the prefix of its wire."""
    if item.get("type") == "user_input":
        return "user"
    return str(item.get("role", "")).removeprefix("ROLE_").lower()


def turns(body: Json) -> list[tuple[str, str]]:
    """Return who says what, one after the other: "user", "model" or "result", and the text; a result has none."""
    found: list[tuple[str, str]] = []
    for item in conversation(body)[1]:
        role = role_of(item)
        if role in ("system", "developer"):
            continue
        parts = item.get("content", item.get("parts"))
        if role == "user" and isinstance(parts, list):
            found += [_turn("result" if holds_result(part) else "user", part) for part in parts]
        else:
            speaker = "user" if role == "user" else "result" if _is_result(item) else "model"
            found.append(_turn(speaker, {"text": parts}))
    return merged_turns(found)


def holds_result(part: Json) -> bool:
    """Return whether a part of a user's message is the result of a call."""
    return part.get("type") == "tool_result" or "toolResult" in part or "functionResponse" in part


def _turn(speaker: str, part: Json) -> tuple[str, str]:
    if isinstance(part.get("text"), list):
        part = {"text": [inner for inner in part["text"] if inner.get("thought") is not True]}  # of google.gemini
    return speaker, "" if speaker == "result" else "".join(texts_of([part]))


def merged_turns(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the turns with those of one speaker in a row as one."""
    grouped = groupby(said, key=lambda turn: turn[0])
    return [(speaker, "".join(text for _, text in spoken)) for speaker, spoken in grouped]


def thoughts(body: Json) -> list[str]:
    """Return the texts of the reasoning in a conversation."""
    found = []
    for item in conversation(body)[1]:
        parts = [
            item,
            *(item.get("summary") or []),
            *(part for part in item.get("content") or [] if isinstance(part, dict)),
        ]
        found += [
            part.get(name) for part in parts for name in ("reasoning_content", "reasoning", "thinking", "tool_plan")
        ]
        found += [part.get("text") for part in parts[1:] if item.get("type") in ("reasoning", "thought")]
        found += [part["text"] for part in item.get("parts") or [] if part.get("thought") is True]
        found += [part.get("reasoningContent", {}).get("reasoningText", {}).get("text") for part in parts]
    return [text for text in found if text]


def result_texts(body: Json, wire: str) -> list[str]:
    """Return the text of each result in a request."""
    return [_joined(item.content) for item in oracle(wire).items(body) if item.kind == "result"]


class Exchanged(NamedTuple):
    """A call or a result. ``content``: an object as JSON text. ``is_error``: whether the result is marked as one."""

    kind: str
    content: str
    is_error: bool


def exchanged(body: Json, wire: str) -> list[Exchanged]:
    """Return each call and result in a request, in order."""
    failed = oracle(wire).failed_results(body) or ()
    return [
        Exchanged("result", _joined(item.content), item.id in failed)
        if item.kind == "result"
        else Exchanged("call", _arguments(item.content), is_error=False)
        for item in oracle(wire).items(body)
    ]


def _arguments(content: Any) -> str:
    value = content
    if isinstance(content, str):
        value, status = parsed_arguments(content)
        if status != "complete":
            return content
    return json_codec.text(value or {})


def _joined(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    if parts and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
        return "".join(part["text"] for part in parts)
    return "" if content in (None, []) else json_codec.text(content)


def texts_of(content: Any) -> Iterator[str]:
    """Yield the texts of a content: a text, or parts."""
    yield from message_texts([{"role": "system", "content": content}], "system")


#: The signature with which Gemini accepts a call of another model
#: (https://ai.google.dev/gemini-api/docs/thought-signatures).
_ACCEPTED = base64.b64encode(b"skip_thought_signature_validator").decode()


def refused_calls(body: Json) -> list[str]:
    """Return the calls of another model that Gemini refuses: the first ones of a content need a signature."""
    contents = [item.get("parts") or [] for item in conversation(body)[1] if item.get("role") == "model"]
    first = [next((part for part in parts if "functionCall" in part), None) for parts in contents]
    return [
        part["functionCall"]["name"] for part in first if part is not None and part.get("thoughtSignature") != _ACCEPTED
    ]
