"""Ways through a request body that may be anything: what is not of the expected form is passed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Round(NamedTuple):
    """A turn with calls and the results directly after it.

    ``place``: of the turn's message, -1 for results that follow no such turn. ``ids``: of its calls; ``results``: place
    and id of each. Ids are as `key` makes them.
    """

    place: int
    ids: list[str]
    results: list[tuple[int, str]]


def items(holder: Any, member: str) -> list[Any]:
    """A member that is a list; nothing where it is none."""
    given = holder.get(member) if isinstance(holder, dict) else None
    return given if isinstance(given, list) else []


def messages(body: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The messages that are objects, with their places."""
    for number, message in enumerate(items(body, "messages")):
        if isinstance(message, dict):
            yield number, message


def calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of an assistant's message."""
    if message.get("role") != "assistant":
        return []
    return [call for call in items(message, "tool_calls") if isinstance(call, dict)]


def tools(body: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The declarations that are objects, with their places."""
    for number, tool in enumerate(items(body, "tools")):
        if isinstance(tool, dict):
            yield number, tool


def parts(body: Any, *roles: str) -> Iterator[tuple[str, Any]]:
    """The parts of all contents that are lists, with their places; of these roles, if any are named."""
    for number, message in messages(body):
        if not roles or message.get("role") in roles:
            for place, part in enumerate(items(message, "content")):
                yield f"messages[{number}].content[{place}]", part


def inner(holder: dict[str, Any]) -> dict[str, Any]:
    """The function or custom object of a call or tool."""
    for kind in ("function", "custom"):
        if isinstance(given := holder.get(kind), dict):
            return given
    return {}


def named(body: Any) -> Iterator[tuple[str, Any]]:
    """Every place of a tool's name in the history and the declarations."""
    for number, message in messages(body):
        for place, call in enumerate(calls(message)):
            yield f"messages[{number}].tool_calls[{place}].function.name", inner(call).get("name")
    for number, tool in tools(body):
        if given := inner(tool):
            yield f"tools[{number}].function.name", given.get("name")


def ids(body: Any) -> Iterator[tuple[str, str]]:
    """Every place of an id of a call."""
    for number, message in messages(body):
        for place, call in enumerate(calls(message)):
            if isinstance(id := call.get("id"), str):
                yield f"messages[{number}].tool_calls[{place}].id", id
        if message.get("role") == "tool" and isinstance(id := message.get("tool_call_id"), str):
            yield f"messages[{number}].tool_call_id", id


def rounds(body: Any) -> Iterator[Round]:
    """Each turn with calls; between them what results follow none."""
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
    """An id as it is told and compared, whatever it is."""
    return repr(id)
