"""When two requests of the Messages API mean the same: what may differ, and why.

Each step below undoes one equivalence; whatever differs after all of them differs in meaning.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.conversation import Assistant, Message, Request
from toolparity.normalizer.model import Block, Opaque, ServerToolResult


def meaning(request: Any) -> Any:
    """The request with every equivalent spelling made one."""
    body = json.loads(request) if isinstance(request, str) else request
    told = _given(body)
    if "system" in told:
        told["system"] = _blocks(told["system"])
        if not told["system"]:  # empty instructions instruct nothing
            del told["system"]
    if not told.get("tools"):  # no tools, spelled as an empty list
        told.pop("tools", None)
    else:
        told["tools"] = [_given(tool) if isinstance(tool, dict) else tool for tool in told["tools"]]
    told["messages"] = _joined(told["messages"])
    return told


def _given(members: dict[str, Any]) -> dict[str, Any]:
    """Absent and None are the same: every optional member of this API may be null."""
    return {key: value for key, value in members.items() if value is not None}


def _joined(messages: list[Any]) -> list[Any]:
    """The API joins messages of one role that follow each other (documented at `messages`)."""
    joined: list[Any] = []
    for message in messages:
        if not isinstance(message, dict):
            joined.append(message)
            continue
        told = _given(message)
        told["content"] = _blocks(told.get("content"))
        last = joined[-1] if joined else None
        if isinstance(last, dict) and last.get("role") == told.get("role") != "system":
            last["content"] = last["content"] + told["content"]
        else:
            joined.append(told)
    return joined


def _blocks(content: Any) -> Any:
    """A string is short for a list of one text block (documented at `content`); an empty one holds nothing."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_block(block) if isinstance(block, dict) else block for block in content]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    told = _given(block)
    if told.get("type") == "tool_result":
        told["content"] = _blocks(told.get("content"))  # absent, "" and [] are all an empty result
        if told.get("is_error") is False:  # the default
            del told["is_error"]
    if told.get("type") == "thinking":  # unsigned: the API's types require the member, other servers do not
        told.setdefault("signature", "")
    if told.get("type") == "text" and told.get("citations") == []:  # no citations
        del told["citations"]
    return told


def erased(request: Request, *, results: bool = True) -> Request:
    """The request with ``raw`` and ``extra`` emptied on every block of a known type: canonical fields must carry it.

    ``results``: also the ``raw`` of a server's results, which is the canonical field for the result of a call.
    """
    return replace(request, messages=[_erased_turn(turn, results) for turn in request.messages])


def _erased_turn(turn: Message, results: bool) -> Message:
    if not isinstance(turn, Assistant):
        return turn
    choices = [
        replace(c, blocks=[_erased_block(b, results) for b in c.blocks], extra={}) for c in turn.response.choices
    ]
    return Assistant(replace(turn.response, choices=choices, extra={}))


def _erased_block(block: Block, results: bool) -> Block:
    if isinstance(block, Opaque):
        return block
    if isinstance(block, ServerToolResult):
        return replace(block, raw=None if results else block.raw, extra={})
    return replace(block, extra={})
