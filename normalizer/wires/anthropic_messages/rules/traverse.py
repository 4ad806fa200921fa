"""Turns and content blocks of an unvalidated request body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ...traverse import member, objects, text

#: Providers that serve Claude, as opposed to other providers of this wire.
CLAUDE = ("anthropic", "bedrock", "vertex", "google", "azure")
#: Calls that the provider executes itself.
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
CALLS = ("tool_use", *SERVER_CALLS)
THINKING = ("thinking", "redacted_thinking")
#: Blocks with their paths in the body.
Blocks = list[tuple[str, dict[str, Any]]]


class MergedTurn(Struct, frozen=True):
    """Consecutive messages of one role, which the API concatenates to one turn."""

    role: str
    blocks: Blocks

    def of(self, *kinds: str) -> Blocks:
        return [(path, block) for path, block in self.blocks if block.get("type") in kinds]


def turns_of(body: Any) -> list[MergedTurn]:
    """Return the turns of a body. A string as content counts as one text block."""
    turns: list[MergedTurn] = []
    for path, message in objects(body, "messages"):
        role, content = text(message.get("role")), message.get("content")
        if isinstance(content, str):
            blocks = [(f"{path}.content", {"type": "text", "text": content})]
        else:
            blocks = list(objects(message, "content", path))
        if turns and turns[-1].role == role:
            turns[-1].blocks.extend(blocks)
        else:
            turns.append(MergedTurn(role, blocks))
    return turns


def assistant_turns(body: Any) -> Iterator[tuple[MergedTurn, MergedTurn | None]]:
    """Yield each assistant turn with the turn after it, or None if it is the last turn."""
    turns = turns_of(body)
    for turn, following in zip(turns, [*turns[1:], None], strict=False):
        if turn.role == "assistant":
            yield turn, following


def blocks_of(body: Any, *, system: bool = False, nested: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the content blocks of all messages, with their paths.

    ``system``: include the blocks of the system prompt. ``nested``: include the blocks inside of tool results.
    """
    if system:
        yield from _content(body, "system", "", nested)
    for path, message in objects(body, "messages"):
        yield from _content(message, "content", path, nested)


def _content(holder: Any, name: str, holder_path: str, nested: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, block in objects(holder, name, holder_path):
        yield path, block
        if nested and block.get("type") == "tool_result":
            yield from _content(block, "content", path, nested)


def id_of(block: dict[str, Any], name: str) -> str | None:
    id = block.get(name)
    return id if isinstance(id, str) else None


def thinks(body: Any) -> bool:
    return bool(member(member(body, "thinking"), "type") == "enabled")


def is_server_result(block: dict[str, Any]) -> bool:
    return text(block.get("type")).endswith("_tool_result") and "tool_use_id" in block
