"""Conversion between tool results and `function_result` steps."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...conversation import JsonPart, Part, TextPart, ToolResult
from ..history_reader import OpenCalls
from ..traverse import members_except
from ..write_context import OF_RESULTS, WriteContext, merged
from .parts import read_part, write_contents

SILENT_ERROR = "The tool failed and said nothing."
#: The members of a step that canonical fields represent.
_REPRESENTED = ("type", "call_id", "result", "is_error", "name")


def read_result(step: dict[str, Any], calls: OpenCalls) -> ToolResult:
    """Convert a step. ``calls``: those that it may answer."""
    id, output, name = step.get("call_id"), step.get("result"), step.get("name")
    call = calls.take(id, name) or calls.take(id)
    parts: list[Part]
    if isinstance(output, str):
        parts = [TextPart(output)] if output else []
    elif isinstance(output, list):
        parts = [read_part(part) for part in output]
    else:
        parts = [] if output is None else [JsonPart(output)]
    known = isinstance(name, str)
    extra = members_except(step, *_REPRESENTED) if known or name is None else members_except(step, *_REPRESENTED[:-1])
    result = ToolResult(
        call.id if call else id if isinstance(id, str) else "",
        parts,
        step.get("is_error") is True,
        name if known else None,
        plain=not isinstance(output, list),
        extra=extra,
    )
    return replace(result, name=result.name or call.name, kind=call.kind) if call else result


def write_result(result: ToolResult, id: str, name: str | None, context: WriteContext) -> dict[str, Any]:
    """Return the step of a result. ``id``, ``name``: those of its call on the wire."""
    step: dict[str, Any] = {"type": "function_result", "call_id": id}
    if name is not None:  # required, contrary to the SDK's types (robocurve/inspect-robots 380)
        step["name"] = name
    step["result"] = _output(result, context)
    if result.is_error:
        step["is_error"] = True
    if context.own:
        return merged(step, result.extra)
    context.lose_extra(result.extra, f"the result for {result.call_id}", None, *OF_RESULTS)
    return step


def _output(result: ToolResult, context: WriteContext) -> Any:
    """Return the result: an object or a text if possible, else contents."""
    parts = result.parts
    if result.is_error and not any(not isinstance(part, TextPart) or part.text for part in parts):
        context.lose("empty", "an error result without content was given a placeholder")
        return SILENT_ERROR
    if not parts:
        return "" if result.plain else []
    part = parts[0]
    if result.plain and len(parts) == 1 and isinstance(part, (TextPart, JsonPart)):
        if not context.own:
            context.lose_extra(part.extra, "a part")
        if isinstance(part, TextPart):
            return part.text
        return part.value if isinstance(part.value, dict) else json_codec.text(part.value)
    return write_contents(parts, context)
