"""When two requests of Converse mean the same: what may differ, and why.

Each step below undoes one equivalence; whatever differs after all of them differs in meaning.
"""

from __future__ import annotations

import json
from typing import Any


def meaning(request: Any) -> Any:
    """The request with every equivalent spelling made one."""
    told = json.loads(request if isinstance(request, str) else json.dumps(request))
    for member in ("system", "inferenceConfig"):
        if not told.get(member):  # an empty list or object states nothing
            told.pop(member, None)
    told["messages"] = _joined(told["messages"])
    return told


def _joined(messages: list[Any]) -> list[Any]:
    """Messages of one role that follow each other are one turn: only few models accept them apart."""
    joined: list[Any] = []
    for message in messages:
        content = [_block(block) for block in message["content"]]
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += content
        else:
            joined.append({**message, "content": content})
    return joined


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """The type `tool_use` of a call is the default; the service model has no such value."""
    use = block.get("toolUse")
    if use is not None and use.get("type") == "tool_use":
        return {"toolUse": {key: value for key, value in use.items() if key != "type"}}
    return block
