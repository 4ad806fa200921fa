"""Detection of misplaced arguments, on the wires whose argument fragments do not reliably name their call.

A call without arguments either needs none or lost them. It may have lost them if there is a surplus elsewhere: a call
without a name has arguments, one call has the arguments of two, or the stream had fragments that it assigned to no
call. A call that may lack its arguments, or may have those of another call, is marked as truncated and must not run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from typing import Any, Protocol

from msgspec.structs import replace

from .. import json_codec
from ..model import Block, Choice, ServerToolCall, Text, ToolCall
from .calls import BY_NAME, NO_ARGUMENTS

_EMPTY: frozenset[int] = frozenset()


class _Declared(Protocol):
    @property
    def schemas(self) -> dict[str, Any]: ...


class _Context(Protocol):
    """The part of a `decode_context.Context` that is used here, because that module imports this one."""

    @property
    def declared(self) -> _Declared: ...

    def find(self, code: str, message: str = "", choice: int | None = None, block: int | None = None) -> None: ...


def mark_misplaced(
    context: _Context,
    choice: int,
    blocks: list[Block],
    strays: Set[int] = _EMPTY,
    rivals: Set[int] = _EMPTY,
    doubted: Iterable[int] = (),
) -> None:
    """Mark calls with possibly missing or wrong arguments as truncated, in place, with a finding for each.

    All sets contain indexes into ``blocks``. ``strays``: calls that received fragments which the stream assigned to no
    call. ``rivals``: calls that these fragments may belong to instead. ``doubted``: calls whose arguments may have
    gone to another call.
    """
    without_arguments = {
        index for index, block in enumerate(blocks) if type(block) is ToolCall and _may_lack_arguments(context, block)
    }
    if not without_arguments and not strays:
        return
    misplaced = {index for index in doubted if index in without_arguments}
    if any(_has_surplus(block, index in strays) for index, block in enumerate(blocks)):
        misplaced |= without_arguments
    lacking = (
        {index for index in rivals if _is_unfinished(blocks[index], index in without_arguments)} if strays else set()
    )
    if lacking:
        misplaced |= lacking | strays
    if without_arguments - misplaced:
        misplaced |= _in_text(context, choice, blocks, without_arguments - misplaced)
    for index in sorted(misplaced):
        _mark(context, choice, blocks, index)


def _mark(context: _Context, choice: int, blocks: list[Block], index: int) -> None:
    block = blocks[index]
    if type(block) is ToolCall and block.status == "complete":
        message = f"{block.name} ({block.id}): arguments were sent for the wrong call"
        context.find("arguments-misplaced", message, choice, index)
        blocks[index] = replace(block, status="truncated", arguments=None)


def mark_beside_surplus(context: _Context, choices: list[Choice]) -> None:
    """Mark calls without arguments in the same way if another call of the choice has arguments that they may lack."""
    for choice in choices:
        blocks = choice.blocks
        if any(type(block) is ToolCall and _has_surplus(block, False) for block in blocks):
            for index, block in enumerate(blocks):
                if type(block) is ToolCall and _may_lack_arguments(context, block):
                    _mark(context, choice.index, blocks, index)


def _may_lack_arguments(context: _Context, call: ToolCall) -> bool:
    """Report whether a complete call has no arguments although its tool may take some."""
    if call.arguments or call.status != "complete" or call.kind not in BY_NAME:
        return False
    if call.arguments is None and call.arguments_text:
        return False  # free text of a custom tool
    schema = schema_of(context, call.name)
    return schema is None or bool(schema.get("properties")) or any(schema.get(key) for key in _MORE)


#: Members by which a schema without `properties` still declares parameters.
_MORE = ("$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties", "required")


def schema_of(context: _Context, name: str) -> dict[str, Any] | None:
    """Return the schema that the request declares for a tool, or None if there is none or it is not an object."""
    schema = context.declared.schemas.get(name)
    if isinstance(schema, str):
        try:
            schema = json_codec.decode(schema)
        except (ValueError, RecursionError):
            return None
    return schema if isinstance(schema, dict) else None


def requires_arguments(context: _Context, name: str | None) -> bool:
    """Report whether the request declares a tool with this name that requires at least one member."""
    return bool((schema_of(context, name or "") or {}).get("required"))


def _has_surplus(block: Block, stray: bool) -> bool:
    """Report whether a call has arguments that another may lack: it has no name, or the arguments of two calls."""
    if type(block) is not ToolCall and type(block) is not ServerToolCall:
        return False
    text = block.arguments_text
    if not block.name or block.name.isspace():
        return text.strip() not in NO_ARGUMENTS
    if block.status == "complete" or not text or (type(block) is ToolCall and block.kind == "custom"):
        return False
    from ..arguments import parse  # imported only when needed

    code = parse(text).code
    return code == "arguments-glued" or (stray and code == "arguments-invalid")


def _is_unfinished(block: Block, bare: bool) -> bool:
    if type(block) is ToolCall:
        return block.status != "complete" or (bare and not block.arguments_text.strip())
    return type(block) is ServerToolCall and not block.arguments_text.strip()


def _in_text(context: _Context, choice: int, blocks: list[Block], without_arguments: set[int]) -> set[int]:
    """Return the calls whose arguments are in the text: a JSON object with all members that the tool requires.

    If the request does not show that, the text may be a message to the user. The call then only gets the finding
    `arguments-in-text`.
    """
    objects = _objects("".join(block.text for block in blocks if type(block) is Text))
    in_text = set()
    for index in sorted(without_arguments if objects else ()):
        call = blocks[index]
        assert type(call) is ToolCall
        required = (schema_of(context, call.name) or {}).get("required")
        names = set(map(str, required)) if isinstance(required, list) else None
        if names and any(names <= value.keys() for value in objects):
            in_text.add(index)
        else:
            message = f"{call.name} ({call.id}) has no arguments, and the text is a JSON object"
            context.find("arguments-in-text", message, choice, index)
    return in_text


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the non-empty JSON objects that a text consists of; none if it contains anything but JSON objects."""
    text = text.strip()
    objects: list[dict[str, Any]] = []
    if text[:1] != "{" or text[-1:] != "}":
        return objects
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
            objects.append(value)
        while text[at : at + 1].isspace():
            at += 1
    return objects
