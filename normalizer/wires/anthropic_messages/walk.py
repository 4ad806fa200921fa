"""Traversal of unvalidated request bodies: values of an unexpected form are skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from ..traverse import items

#: Blocks with their paths in the body.
Blocks = list[tuple[str, dict[str, Any]]]


class Run(Struct, frozen=True):
    """Consecutive messages of one role, which the API concatenates to one turn."""

    role: str
    blocks: Blocks

    def of(self, *kinds: str) -> Blocks:
        """Return the blocks of these types, with their paths."""
        return [(path, block) for path, block in self.blocks if block.get("type") in kinds]


def dicts(given: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the items that are objects."""
    return (one for one in given if isinstance(one, dict))


def text(given: Any) -> str:
    """Return ``given`` if it is a text, else an empty text."""
    return given if isinstance(given, str) else ""


def id_of(block: dict[str, Any], member: str) -> str | None:
    """Return the id in a member, or None if it is not a text."""
    id = block.get(member)
    return id if isinstance(id, str) else None


def ids_of(found: Blocks, member: str) -> set[str | None]:
    """Return the ids in this member of all blocks."""
    return {id_of(block, member) for _, block in found}


def blocks(body: Any, *, system: bool = False, within: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the content blocks of all messages, with their paths.

    ``system``: include the blocks of the system prompt. ``within``: include the blocks inside of tool results.
    """
    if system:
        yield from _placed("system", body.get("system") if isinstance(body, dict) else None, within)
    for number, message in enumerate(items(body, "messages")):
        if isinstance(message, dict):
            yield from _placed(f"messages[{number}].content", message.get("content"), within)


def _placed(path: str, content: Any, within: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            where = f"{path}[{number}]"
            yield where, block
            if within and block.get("type") == "tool_result":
                yield from _placed(f"{where}.content", block.get("content"), within)


def runs(body: Any) -> list[Run]:
    """Return the turns of a body. A string as content counts as one text block."""
    found: list[Run] = []
    for number, message in enumerate(items(body, "messages")):
        if not isinstance(message, dict):
            continue
        role, content = text(message.get("role")), message.get("content")
        path = f"messages[{number}].content"
        if isinstance(content, str):
            placed: Blocks = [(path, {"type": "text", "text": content})]
        else:
            placed = list(_placed(path, content, False))
        if found and found[-1].role == role:
            found[-1].blocks.extend(placed)
        else:
            found.append(Run(role, placed))
    return found
