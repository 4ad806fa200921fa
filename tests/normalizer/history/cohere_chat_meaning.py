"""When two requests of Cohere's Chat API, version 2, mean the same: what may differ, and why."""

from __future__ import annotations

from typing import Any


def meaning(body: dict[str, Any]) -> dict[str, Any]:
    """The request with every equivalent spelling made one."""
    told = _given(body)
    told["messages"] = [_message(message) for message in told["messages"]]
    return told


def _given(members: dict[str, Any]) -> dict[str, Any]:
    """Absent and None are the same: every optional member may be null (recorded: `content` beside calls)."""
    return {key: value for key, value in members.items() if value is not None}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    told = _given(message)
    if isinstance(told.get("content"), str):  # a string is treated as a text content block (cohere.types.UserMessageV2)
        told["content"] = [{"type": "text", "text": told["content"]}]
    return told
