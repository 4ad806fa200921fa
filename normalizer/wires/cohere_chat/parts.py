"""Conversion between content parts and the content of messages: text, images, and documents in tool results.

A document is a `JsonPart` with the whole document as its value, which `AS_WRITTEN` marks; other wires write it as JSON.
"""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..traverse import members_except
from ..write_context import AS_WRITTEN, WriteContext, image_detail

DOCUMENT = "document"
_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def read_parts(content: Any) -> list[Part]:
    """Convert the ``content`` of a message or tool result, which may be any JSON value, to parts."""
    if isinstance(content, str):
        return [TextPart(content)]
    if isinstance(content, list):
        return [_read_part(part) for part in content]
    return [] if content is None else [OpaquePart("", content)]


def _read_part(part: Any) -> Part:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return TextPart(part["text"], members_except(part, "type", "text"))
    image = part.get("image_url") if kind == "image_url" else None
    if isinstance(image, dict) and isinstance(image.get("url"), str):
        inner = members_except(image, "url")
        extra = members_except(part, "type", "image_url")
        if inner:
            extra["image_url"] = inner
        found = _DATA_URL.fullmatch(image["url"])
        if found:
            return MediaPart("image", found[1], found[2], extra=extra)
        return MediaPart("image", url=image["url"], extra=extra)
    if kind == DOCUMENT and isinstance(part.get(DOCUMENT), (dict, str)) and part.keys() == {"type", DOCUMENT}:
        return JsonPart(part[DOCUMENT], {AS_WRITTEN: DOCUMENT})
    return OpaquePart(kind if isinstance(kind, str) else "", part)


def write_content(parts: list[Part], plain: bool, context: WriteContext, images: bool = False) -> str | list[Any]:
    """Return the content of a message or tool result: a text if ``plain`` and possible, else a list.

    ``images``: whether the API accepts images in this message.
    """
    if plain and len(parts) == 1 and type(part := parts[0]) is TextPart and not part.extra:
        return part.text
    written = [made for part in parts if (made := _write_part(part, context, images)) is not None]
    if plain and len(written) == 1 and written[0].keys() == {"type", "text"}:
        text: str = written[0]["text"]
        return text
    return written


def _write_part(part: Part, context: WriteContext, images: bool) -> dict[str, Any] | None:
    if type(part) is TextPart:
        if not (part.text or context.own):
            return None
        return {"type": "text", "text": part.text, **context.kept_extra(part.extra)}
    if type(part) is JsonPart:
        if part.extra.get(AS_WRITTEN) == DOCUMENT and context.own:
            return {"type": DOCUMENT, DOCUMENT: part.value}
        return {"type": "text", "text": json_codec.text(part.value)}
    if type(part) is MediaPart:
        return _write_media(part, context, images)
    if isinstance(part, OpaquePart) and context.own:
        raw: dict[str, Any] | None = part.raw
        return raw
    context.lose("opaque", f"a part of type {part.wire_type!r} was left out")  # type: ignore[union-attr]
    return None


def image_part(part: MediaPart, context: WriteContext) -> dict[str, Any] | None:
    """Return an image as the content of a user message; None for other media and for an uploaded file."""
    url = part.url if part.data is None else f"data:{part.media_type or 'application/octet-stream'};base64,{part.data}"
    if part.kind != "image" or url is None:
        return None
    detail = image_detail(part.extra)
    image = {"url": url} if detail is None else {"url": url, "detail": detail}
    if context.own:
        inner = part.extra.get("image_url")
        rest = members_except(part.extra, "image_url")
        return {"type": "image_url", "image_url": {**image, **(inner if isinstance(inner, dict) else {})}, **rest}
    context.lose_extra(part.extra, "", None, *(("image_url", "detail") if detail is not None else ()))
    return {"type": "image_url", "image_url": image}


def _write_media(part: MediaPart, context: WriteContext, images: bool) -> dict[str, Any]:
    image = image_part(part, context) if images else None
    if image is not None:
        return image
    label = " ".join(filter(None, (part.kind, part.name or part.url or part.file_id, part.media_type)))
    size = "" if part.data is None else f" ({len(part.data) * 3 // 4} bytes)"
    context.lose("media", f"{label}{size} was replaced by a note")
    if not context.own:
        context.lose_extra(part.extra)
    return {"type": "text", "text": f"[{label}: not carried over]"}
