"""Calls whose arguments may be elsewhere in an answer, on the wires that name no block for a piece of arguments.

A call without arguments is a call that needs none, or one that lacks them. It lacks them where others have too much: a
call without a name holds arguments, a call holds those of two, or pieces came that nothing assigned to a call. No call
that may lack its arguments, or that may have those of another call, runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from typing import Any

from msgspec.structs import replace

from .. import json_codec
from ..model import Block, ServerToolCall, Text, ToolCall
from .common import BY_NAME, Context

_NOTHING = frozenset(("", "{}", "null"))
_EMPTY: frozenset[int] = frozenset()


def distrust(
    context: Context,
    choice: int,
    blocks: list[Block],
    strays: Set[int] = _EMPTY,
    rivals: Set[int] = _EMPTY,
    doubted: Iterable[int] = (),
) -> None:
    """Mark the calls of one choice that may lack their arguments as truncated, with a finding each.

    All sets hold places in ``blocks``. ``strays``: calls that took pieces which nothing assigned to a call.
    ``rivals``: the calls that these pieces may belong to instead. ``doubted``: calls whose arguments another has.
    """
    bare = {place for place, block in enumerate(blocks) if type(block) is ToolCall and _lacks(context, block)}
    if not bare and not strays:
        return
    misplaced = {place for place in doubted if place in bare}
    if any(_has_too_much(block, place in strays) for place, block in enumerate(blocks)):
        misplaced |= bare
    lacking = {place for place in rivals if _is_unfinished(blocks[place], place in bare)} if strays else set()
    if lacking:
        misplaced |= lacking | strays
    if bare - misplaced:
        misplaced |= _spoken(context, choice, blocks, bare - misplaced)
    for place in sorted(misplaced):
        block = blocks[place]
        if type(block) is ToolCall and block.status == "complete":
            message = f"{block.name} ({block.id}): arguments came elsewhere than for their call"
            context.find("arguments-misplaced", message, choice, place)
            blocks[place] = replace(block, status="truncated", arguments=None)


def _lacks(context: Context, call: ToolCall) -> bool:
    """Whether a call that would run has no arguments, though its tool may take some."""
    if call.arguments or call.status != "complete" or call.kind not in BY_NAME:
        return False
    if call.arguments is None and call.arguments_text:
        return False  # a custom tool's text
    schema = schema_of(context, call.name)
    return schema is None or bool(schema.get("properties")) or any(schema.get(key) for key in _MORE)


#: Members by which a schema without `properties` declares parameters all the same.
_MORE = ("$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties", "required")


def schema_of(context: Context, name: str) -> dict[str, Any] | None:
    """The schema that the request declares for a tool; None where that is not known."""
    schema = context.declared.schemas.get(name)
    if isinstance(schema, str):
        try:
            schema = json_codec.decode(schema)
        except (ValueError, RecursionError):
            return None
    return schema if isinstance(schema, dict) else None


def _has_too_much(block: Block, stray: bool) -> bool:
    """Whether a call holds arguments that another may lack: it has no name, or those of two calls."""
    if type(block) is not ToolCall and type(block) is not ServerToolCall:
        return False
    text = block.arguments_text
    if not block.name:
        return text.strip() not in _NOTHING
    if block.status == "complete" or not text:
        return False
    from ..arguments import parse  # loaded when one is needed

    code = parse(text).code
    return code == "arguments-glued" or (stray and code == "arguments-invalid")


def _is_unfinished(block: Block, bare: bool) -> bool:
    if type(block) is ToolCall:
        return block.status != "complete" or (bare and not block.arguments_text.strip())
    return type(block) is ServerToolCall and not block.arguments_text.strip()


def _spoken(context: Context, choice: int, blocks: list[Block], bare: set[int]) -> set[int]:
    """The calls whose arguments are the answer's text: it is a JSON object with all that their tools require.

    Where the request does not say so, the text may as well be what the model says beside a call that needs nothing.
    """
    spoken = _objects("".join(block.text for block in blocks if type(block) is Text))
    found = set()
    for place in sorted(bare if spoken else ()):
        call = blocks[place]
        assert type(call) is ToolCall
        required = (schema_of(context, call.name) or {}).get("required")
        names = set(map(str, required)) if isinstance(required, list) else None
        if names and any(names <= value.keys() for value in spoken):
            found.add(place)
        else:
            message = f"{call.name} ({call.id}) has no arguments, and the text is a JSON object"
            context.find("arguments-in-text", message, choice, place)
    return found


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects that a text consists of; none where there is anything else in it, or nothing in them."""
    text = text.strip()
    found: list[dict[str, Any]] = []
    if text[:1] != "{" or text[-1:] != "}":
        return found
    read = json.JSONDecoder().raw_decode
    at = 0
    while at < len(text):
        try:
            value, at = read(text, at)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        if value:
            found.append(value)
        while text[at : at + 1].isspace():
            at += 1
    return found
