"""Conversion between tool results and `functionResponse` parts.

A response is an object. `google.genai.types.FunctionResponse` documents ``output`` for the result and ``error`` for an
error; the SDK's own calls of tools write ``result``. An object without these members is itself the result.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart, ToolResult
from ..calls import is_synthetic
from ..history_reader import OpenCalls
from ..traverse import members_except
from ..write_context import AS_WRITTEN, OF_RESULTS, WriteContext, merged
from .parts import note_of, read_media, write_media
from .spelling import listed

_REPRESENTED = ("id", "name", "response", "parts")
#: The members that hold a result, and whether it is an error.
_HOLDERS = {"output": False, "result": False, "error": True}
#: Members of the part with the response.
_OF_PART: tuple[str, ...] = ("thoughtSignature", "partMetadata")
#: Hint for a response that is itself the result.
_WHOLE = "whole"


def read_result(part: dict[str, Any], calls: OpenCalls) -> ToolResult:
    """Convert a part with a `functionResponse`. ``calls``: those that it may answer.

    A response without an id, or with an empty one, belongs to the first open call with its name (GEM-03).
    """
    response = part["functionResponse"]
    id, name = response.get("id") or None, response.get("name")
    call = calls.take(id, name, any_id=True)
    parts, is_error, holder = _read_response(response.get("response"))
    parts += [_read_media(item) for item in listed(response.get("parts"))]
    extra = {**members_except(response, *_REPRESENTED), **members_except(part, "functionResponse")}
    if holder is not None:
        extra[AS_WRITTEN] = holder
    if call is not None:
        if not isinstance(id, str) and not is_synthetic(call.id):
            extra["id"] = ""  # the call has an id, its result has none
        return ToolResult(call.id, parts, is_error, call.name, call.kind, _is_plain(parts), extra=extra)
    call_id = id if isinstance(id, str) else ""
    return ToolResult(call_id, parts, is_error, name if isinstance(name, str) else None, extra=extra)


def _read_response(response: Any) -> tuple[list[Part], bool, str | None]:
    """Return the parts of a response, whether it is an error, and the hint for the way in which it is written."""
    if isinstance(response, dict) and len(response) == 1:
        holder = next(iter(response))
        if holder in _HOLDERS:
            value = response[holder]
            part: Part = TextPart(value) if isinstance(value, str) else JsonPart(value)
            written = {"result": "result"}.get(holder)
            return ([part] if value != "" else []), _HOLDERS[holder], written
    return ([] if response is None else [JsonPart(response)]), False, _WHOLE


def _read_media(item: Any) -> Part:
    if isinstance(item, dict):
        for member in ("inlineData", "fileData"):
            if item.get(member) is not None and (media := read_media(item, member)) is not None:
                return media
    return OpaquePart("functionResponsePart", item)


def _is_plain(parts: list[Part]) -> bool:
    return all(type(part) is TextPart for part in parts) and len(parts) <= 1


def write_result(result: ToolResult, name: str, with_id: bool, context: WriteContext) -> dict[str, Any]:
    """Return the part for a tool result. ``name``: the name of its call. ``with_id``: its call has an id there."""
    own = context.own
    written: dict[str, Any] = {}
    if with_id and not (own and result.extra.get("id") == ""):
        written["id"] = context.id(result.call_id)
    media, texts = _divided(result.parts, context)
    written["name"] = name
    written["response"] = _response(result, texts, own)
    if media:
        written["parts"] = media
    if own:
        beside = {key: value for key, value in result.extra.items() if key not in (AS_WRITTEN, "id")}
        of_part = {key: beside.pop(key) for key in _OF_PART if key in beside}
        return {"functionResponse": merged(written, beside), **of_part}
    context.lose_extra(result.extra, "", None, *OF_RESULTS)
    return {"functionResponse": written}


def _divided(parts: list[Part], context: WriteContext) -> tuple[list[Any], list[Any]]:
    """Return the media parts of a result and its other values. Media that is not accepted becomes a note."""
    media: list[Any] = []
    values: list[Any] = []
    for part in parts:
        if type(part) is TextPart:
            values.append(part.text)
            context.lose_extra(part.extra)
        elif type(part) is JsonPart:
            values.append(part.value)
        elif type(part) is MediaPart:
            written = write_media(part, context)
            if written is None:
                values.append(note_of(part, context))
            else:
                media.append(written)
        elif type(part) is OpaquePart and context.own:
            media.append(part.raw)
        else:
            context.lose("opaque", f"a part of type {part.wire_type!r} was left out")  # type: ignore[union-attr]
    return media, values


def _response(result: ToolResult, values: list[Any], own: bool) -> dict[str, Any]:
    """Return the object with a result: the values of its parts as text, unless there is only one."""
    written = result.extra.get(AS_WRITTEN) if own else None
    if written == _WHOLE and len(values) == 1 and isinstance(values[0], dict):
        return values[0]
    if len(values) == 1:
        value = values[0]
    else:
        value = "\n".join(value if isinstance(value, str) else json_codec.text(value) for value in values)
    holder = "error" if result.is_error else "result" if written == "result" else "output"
    return {holder: value}
