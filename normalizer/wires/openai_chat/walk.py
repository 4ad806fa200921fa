"""Iterators over an unvalidated request body; they skip values of an unexpected type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..traverse import items


class Round(NamedTuple):
    """An assistant message with calls and the results directly after it.

    ``place``: the position of the message, -1 for results that follow no calls. ``ids``: the ids of its calls.
    ``results``: position and call id of each result. Ids are in the form that `key` returns.
    """

    place: int
    ids: list[str]
    results: list[tuple[int, str]]


def messages(body: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield position and value of each message that is an object."""
    for number, message in enumerate(items(body, "messages")):
        if isinstance(message, dict):
            yield number, message


def calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of a message that are objects; none if it is not from the assistant."""
    if message.get("role") != "assistant":
        return []
    return [call for call in items(message, "tool_calls") if isinstance(call, dict)]


def tools(body: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield position and value of each tool definition that is an object."""
    for number, tool in enumerate(items(body, "tools")):
        if isinstance(tool, dict):
            yield number, tool


def parts(body: Any, *roles: str) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each content part, of all messages or of those with one of ``roles``."""
    for number, message in messages(body):
        if not roles or message.get("role") in roles:
            for place, part in enumerate(items(message, "content")):
                yield f"messages[{number}].content[{place}]", part


def inner(holder: dict[str, Any]) -> dict[str, Any]:
    """Return the `function` or `custom` object of a call or tool definition; an empty one if it has neither."""
    for kind in ("function", "custom"):
        if isinstance(given := holder.get(kind), dict):
            return given
    return {}


def named(body: Any) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each tool name in the history and the tool definitions."""
    for number, message in messages(body):
        for place, call in enumerate(calls(message)):
            yield f"messages[{number}].tool_calls[{place}].function.name", inner(call).get("name")
    for number, tool in tools(body):
        if given := inner(tool):
            yield f"tools[{number}].function.name", given.get("name")


def ids(body: Any) -> Iterator[tuple[str, str]]:
    """Yield path and value of each call id in calls and results."""
    for number, message in messages(body):
        for place, call in enumerate(calls(message)):
            if isinstance(id := call.get("id"), str):
                yield f"messages[{number}].tool_calls[{place}].id", id
        if message.get("role") == "tool" and isinstance(id := message.get("tool_call_id"), str):
            yield f"messages[{number}].tool_call_id", id


def rounds(body: Any) -> Iterator[Round]:
    """Yield a `Round` for each message, except for results, which belong to the round before them."""
    place, asked, results = -1, list[str](), list[tuple[int, str]]()
    for number, message in messages(body):
        if message.get("role") == "tool":
            results.append((number, key(message.get("tool_call_id"))))
            continue
        yield Round(place, asked, results)
        made = calls(message)
        place, asked, results = (number if made else -1), [key(call.get("id")) for call in made], []
    yield Round(place, asked, results)


def key(id: Any) -> str:
    """Return the form of an id, of any type, that rules compare and report."""
    return repr(id)
