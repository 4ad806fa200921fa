"""What one body or stream of Chat Completions shows of the traits in `openai_chat.profiles`, read without the wire."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

Seen = dict[str, set[str]]


def of_body(body: dict[str, Any]) -> Seen:
    """The traits of a whole body."""
    seen: Seen = defaultdict(set)
    for choice in body.get("choices") or ():
        message = choice.get("message") or {}
        calls = message.get("tool_calls") or []
        seen["ids"].update(call.get("id") or "" for call in calls)
        _stop(seen, choice, called=bool(calls))
        _reasoning(seen, message)
    return seen


def of_stream(chunks: list[dict[str, Any]]) -> Seen:
    """The traits of a stream of chunks."""
    seen: Seen = defaultdict(set)
    indexes: list[Any] = []
    pieces: dict[int, int] = defaultdict(int)
    choices = [choice for chunk in chunks for choice in chunk.get("choices") or ()]
    called = any((choice.get("delta") or {}).get("tool_calls") for choice in choices)
    for choice in choices:
        _stop(seen, choice, called=called)
        _reasoning(seen, choice.get("delta") or {})
        for call in (choice.get("delta") or {}).get("tool_calls") or ():
            function = call.get("function") or {}
            if function.get("name"):
                indexes.append(call.get("index"))
                seen["ids"].add(call.get("id") or "")
            pieces[len(indexes)] += bool(function.get("arguments"))
    if indexes:
        seen["indexes"].add(_numbering(indexes))
        seen["arguments"].update("in pieces" if count > 1 else "at once" for count in pieces.values())
    seen["usage"].update(set(_usage(chunks)) or {"none"})
    return seen


def chunks_of(text: str) -> list[dict[str, Any]]:
    """The JSON objects of server-sent events, with or without their prefix."""
    lines = (line.strip().removeprefix("data:").strip() for line in text.splitlines())
    return [value for line in lines if line.startswith("{") and isinstance(value := json.loads(line), dict)]


def _stop(seen: Seen, choice: dict[str, Any], *, called: bool) -> None:
    if choice.get("finish_reason"):
        seen["stops of calls" if called else "stops"].add(choice["finish_reason"])


def _reasoning(seen: Seen, message: dict[str, Any]) -> None:
    seen["reasoning"].update(
        name for name in ("reasoning", "reasoning_content", "reasoning_details") if message.get(name)
    )
    content = message.get("content")
    if isinstance(content, list) and any(part.get("type") == "thinking" for part in content):
        seen["reasoning"].add("thinking in content")
    if isinstance(content, str) and content.lstrip().startswith("<think>"):
        seen["reasoning"].add("<think> in content")


def _numbering(indexes: list[Any]) -> str:
    if None in indexes:
        return "missing"
    if indexes == list(range(len(indexes))):
        return "numbered"
    return "all 0" if set(indexes) == {0} else ", ".join(map(str, indexes))


def _usage(chunks: list[dict[str, Any]]) -> Iterator[str]:
    for chunk in chunks:
        choices = chunk.get("choices") or []
        if (chunk.get("x_groq") or {}).get("usage"):
            yield "x_groq"
        if any(choice.get("usage") for choice in choices):
            yield "in the choice"
        if chunk.get("usage"):
            ended = any(choice.get("finish_reason") for choice in choices)
            yield "without choices" if not choices else "beside the stop word" if ended else "beside a delta"
