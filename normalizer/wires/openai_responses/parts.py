"""Read and write the content parts of messages and outputs: text, images, files and audio."""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..traverse import members_except
from ..write_context import WriteContext, image_detail, merged

#: Types of text parts; this wire accepts `input_text` from a user.
_TEXTS = frozenset(("input_text", "output_text", "text"))
_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_SUFFIXES = {"application/pdf": ".pdf", "text/plain": ".txt", "text/csv": ".csv", "application/json": ".json"}
_FORMATS = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def read_parts(content: str | list[Any]) -> list[Part]:
    """Return the parts of a message's content, which is a string or a list."""
    if isinstance(content, str):
        return [TextPart(content)]
    return [read_part(part) for part in content]


def read_part(raw: Any) -> Part:
    """Return one part; a value that does not have a documented shape becomes an opaque part."""
    if not isinstance(raw, dict):
        return OpaquePart("", raw)
    kind = raw.get("type")
    if not isinstance(kind, str):
        return OpaquePart("", raw)
    if kind in _TEXTS and isinstance(raw.get("text"), str):
        known = ("type", "text") if kind == "input_text" else ("text",)
        return TextPart(raw["text"], members_except(raw, *known))
    if kind in ("input_image", "computer_screenshot"):
        part = _image(raw)
    elif kind == "input_file":
        part = _file(raw)
    elif kind == "input_audio":
        part = _audio(raw)
    else:
        part = None
    return part or OpaquePart(kind, raw)


def _image(raw: dict[str, Any]) -> Part | None:
    url, id = raw.get("image_url"), raw.get("file_id")
    rest = members_except(raw, "type", "image_url", "file_id")
    if isinstance(url, str) and id is None:
        match = _DATA_URL.fullmatch(url)
        if match:
            return MediaPart("image", match[1], match[2], extra=rest)
        return MediaPart("image", url=url, extra=rest)
    return MediaPart("image", file_id=id, extra=rest) if isinstance(id, str) and url is None else None


def _file(raw: dict[str, Any]) -> Part | None:
    present = [m for m in ("file_data", "file_url", "file_id") if raw.get(m) is not None]
    name = raw.get("filename")
    if len(present) != 1 or not isinstance(raw[present[0]], str) or not (name is None or isinstance(name, str)):
        return None
    value = raw[present[0]]
    rest = members_except(raw, "type", "filename", "file_data", "file_url", "file_id")
    if present[0] == "file_url":
        return MediaPart("file", url=value, name=name, extra=rest)
    if present[0] == "file_id":
        return MediaPart("file", file_id=value, name=name, extra=rest)
    match = _DATA_URL.fullmatch(value)
    if match:
        return MediaPart("file", match[1], match[2], name=name, extra=rest)
    return MediaPart("file", data=value, name=name, extra=rest)


def _audio(raw: dict[str, Any]) -> Part | None:
    sound = raw.get("input_audio")
    if not isinstance(sound, dict) or sound.keys() != {"data", "format"} or not isinstance(sound["data"], str):
        return None
    kind = _FORMATS.get(sound["format"]) if isinstance(sound["format"], str) else None
    return MediaPart("audio", kind, sound["data"], extra=members_except(raw, "type", "input_audio")) if kind else None


def write_content(
    parts: list[Part], plain: bool, context: WriteContext, *, in_output: bool = False
) -> str | list[dict[str, Any]]:
    """Return a string for a single text or JSON part if ``plain``, else a list of parts. ``in_output``: of a call."""
    if plain and not parts:
        return ""
    if plain and len(parts) == 1:
        part = parts[0]
        if type(part) is TextPart:
            if not context.same_wire:
                context.lose_extra(part.extra, "a text")
            return part.text
        if type(part) is JsonPart:
            return json_codec.text(part.value)
    written = [_write_part(part, context, in_output) for part in parts]
    return [part for part in written if part is not None]


def _write_part(part: Part, context: WriteContext, in_output: bool) -> dict[str, Any] | None:
    """Return the wire form of one part; None if it has none."""
    if type(part) is TextPart:
        return _with_extra({"type": "input_text", "text": part.text}, part.extra, context)
    if type(part) is JsonPart:
        return _with_extra({"type": "input_text", "text": json_codec.text(part.value)}, part.extra, context)
    if type(part) is MediaPart:
        return _write_media(part, context, in_output)
    assert isinstance(part, OpaquePart)
    if context.same_wire and isinstance(part.raw, dict):
        return part.raw
    context.lose("opaque", f"a part of type {part.wire_type!r} was left out")
    return None


def _with_extra(members: dict[str, Any], extra: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    if context.same_wire:
        return {**members, **extra}
    context.lose_extra(extra, "a part", None, *members)
    return members


def _write_media(part: MediaPart, context: WriteContext, in_output: bool) -> dict[str, Any]:
    members: dict[str, Any] | None = None
    reason = "has no counterpart here"
    if part.file_id is not None and not context.own:
        reason = "is known to its own provider alone"
    elif part.kind == "image":
        members = {"type": "input_image", **_source(part, "image_url", "image_url")}
        if not context.same_wire:
            return _write_foreign_image(part.extra, members, context)
    elif part.kind == "file":
        members = {"type": "input_file", **_source(part, "file_data", "file_url")}
        name = part.name
        if name is None and part.data is not None and not context.same_wire:
            name = "file" + _SUFFIXES.get(part.media_type or "", "")  # OpenAI rejects data without a name
        if name is not None:
            members["filename"] = name
    elif part.kind == "audio" and part.data is not None and context.same_wire and not in_output:
        format = next((name for name, kind in _FORMATS.items() if kind == part.media_type), None)
        if format:
            members = {"type": "input_audio", "input_audio": {"data": part.data, "format": format}}
    if members is None:
        context.lose("media", f"a part of kind {part.kind} ({part.media_type}) {reason}")
        if not context.same_wire:
            context.lose_extra(part.extra)
        return {"type": "input_text", "text": f"[{part.kind} left out: it {reason}]"}
    return _with_extra(members, part.extra, context)


def _write_foreign_image(extra: dict[str, Any], members: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    detail = image_detail(extra)
    members["detail"] = detail if detail in ("low", "high") else "auto"
    context.lose_extra(extra, "an image", None, *(("image_url", "detail") if detail in ("low", "high", "auto") else ()))
    return members


def _source(part: MediaPart, data: str, url: str) -> dict[str, Any]:
    if part.data is not None:
        without_type = part.media_type is None and part.kind == "file"
        return {data: part.data if without_type else f"data:{part.media_type or ''};base64,{part.data}"}
    return {url: part.url} if part.url is not None else {"file_id": part.file_id}


def text_of(parts: list[Part]) -> str:
    """Return the text of the text and JSON parts, for members that accept only a string."""
    return "\n".join(
        part.text if isinstance(part, TextPart) else json_codec.text(part.value)
        for part in parts
        if isinstance(part, (TextPart, JsonPart))
    )


def write_screenshot(part: MediaPart) -> dict[str, Any]:
    """Return the output of a computer call."""
    return merged({"type": "computer_screenshot", **_source(part, "image_url", "image_url")}, part.extra)
