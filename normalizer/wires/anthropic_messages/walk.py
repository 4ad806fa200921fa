"""Ways through a request body that may be anything: what is not of the expected form is passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

#: Blocks with their places in the body.
Blocks = list[tuple[str, dict[str, Any]]]


class Run(Struct, frozen=True):
    """The messages of one role that follow each other: one turn, as the API joins them."""

    role: str
    blocks: Blocks

    def of(self, *kinds: str) -> Blocks:
        """The blocks of these types."""
        return [(path, block) for path, block in self.blocks if block.get("type") in kinds]


def items(body: Any, member: str) -> list[Any]:
    """A member that is a list; nothing where it is none."""
    given = body.get(member) if isinstance(body, dict) else None
    return given if isinstance(given, list) else []


def dicts(given: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """What of it are objects."""
    return (one for one in given if isinstance(one, dict))


def text(given: Any) -> str:
    """A text; an empty one for anything else."""
    return given if isinstance(given, str) else ""


def id_of(block: dict[str, Any], member: str) -> str | None:
    """A member that is an id; null for anything else."""
    id = block.get(member)
    return id if isinstance(id, str) else None


def ids_of(found: Blocks, member: str) -> set[str | None]:
    """The ids that are one member of each block."""
    return {id_of(block, member) for _, block in found}


def blocks(body: Any, *, system: bool = False, within: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """The content blocks of all messages with their places; of the instructions and inside of results, if asked."""
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
    """The turns. A string is short for one text block."""
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
