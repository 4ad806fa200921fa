"""Conversion between content parts and content blocks, for content of users, tools and the system."""

from __future__ import annotations

import base64
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..traverse import members_except
from ..write_context import WriteContext, merged

_KINDS = {"image": "image", "document": "file"}
#: The members of each source type that a MediaPart represents. A source with other members stays opaque.
_SOURCES = {
    "base64": {"type", "media_type", "data"},
    "url": {"type", "url"},
    "file": {"type", "file_id"},
    "text": {"type", "media_type", "data"},
}
#: Providers that accept no image URLs (recorded: "URL sources are not supported").
_WITHOUT_IMAGE_URLS = frozenset(("bedrock",))
_IMAGES = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))
#: Beginning of each image format in base64, for images without a media type.
_SIGNATURES = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def read_parts(content: Any) -> list[Part]:
    """Convert the ``content`` of a message or tool result to parts. It may be a text, a list of blocks or None."""
    if isinstance(content, list):
        return [_read_part(block) for block in content]
    if isinstance(content, str):
        return [TextPart(content)] if content else []
    return [] if content is None else [OpaquePart("", content)]


def _read_part(block: Any) -> Part:
    """Convert a content block to a part. A block that no part type represents becomes an opaque part."""
    kind = kind_of(block)
    if kind == "text" and isinstance(block.get("text"), str):
        return TextPart(block["text"], members_except(block, "type", "text"))
    if kind in _KINDS:
        media = _media(block)
        if media is not None:
            return media
    return OpaquePart(kind or "", block)


def kind_of(block: Any) -> str | None:
    """Return the ``type`` of a content block, or None if it has none or it is not a text."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else None


def _media(block: dict[str, Any]) -> MediaPart | None:
    source = block.get("source")
    form = source.get("type") if isinstance(source, dict) else None
    if (
        not isinstance(source, dict)
        or not isinstance(form, str)
        or form not in _SOURCES
        or not source.keys() <= _SOURCES[form]
    ):
        return None
    members = {key: source.get(key) for key in ("media_type", "data", "url", "file_id")}
    if form == "text":  # plain text, while all other data is base64
        if members["media_type"] not in (None, "text/plain") or not isinstance(members["data"], str):
            return None
        members["media_type"] = "text/plain"
        members["data"] = base64.b64encode(members["data"].encode("utf-8", "surrogatepass")).decode()
    if not all(value is None or isinstance(value, str) for value in members.values()):
        return None
    title = block.get("title") if block["type"] == "document" and isinstance(block.get("title"), str) else None
    known = ("type", "source") if title is None else ("type", "source", "title")
    return MediaPart(_KINDS[block["type"]], **members, name=title, extra=members_except(block, *known))


def write_content(parts: list[Part], plain: bool, context: WriteContext) -> str | list[dict[str, Any]]:
    """Return the content of a message or tool result: a text if ``plain`` and possible, else blocks."""
    if plain and len(parts) == 1 and type(part := parts[0]) is TextPart and part.text and not part.extra:
        return part.text
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if type(part) is TextPart:
            if part.text:  # an empty text block is refused
                blocks.append(_with_extra({"type": "text", "text": part.text}, part.extra, context))
        elif type(part) is JsonPart:
            blocks.append({"type": "text", "text": json_codec.text(part.value)})
        elif type(part) is MediaPart:
            blocks.append(_media_block(part, context))
        elif type(part) is OpaquePart and context.own:
            blocks.append(part.raw)
        else:
            context.lose("opaque", f"a part of type {part.wire_type!r} was left out")  # type: ignore[union-attr]
    return blocks


def _with_extra(block: dict[str, Any], extra: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    if context.own:
        return merged(block, extra)
    context.lose_extra(extra)
    return block


def _media_block(part: MediaPart, context: WriteContext) -> dict[str, Any]:
    source = _source(part, context)
    if source is None:
        label = " ".join(filter(None, (part.kind, part.name or part.url, part.media_type)))
        context.lose("media", f"{label} was replaced by a note")
        if not context.own:
            context.lose_extra(part.extra)
        return {"type": "text", "text": f"[{label}: not carried over]"}
    block: dict[str, Any] = {"type": "image" if part.kind == "image" else "document", "source": source}
    if part.name is not None and part.kind == "file":
        block["title"] = part.name
    return _with_extra(block, part.extra, context)


def _source(part: MediaPart, context: WriteContext) -> dict[str, Any] | None:
    """Return the ``source`` of an image or document block, or None if the target does not accept such content."""
    if part.kind not in ("image", "file"):
        return None
    if part.file_id is not None:  # a file id is only valid for the provider that holds the upload
        return {"type": "file", "file_id": part.file_id} if context.own else None
    if part.url is not None:
        accepted = part.kind != "image" or context.provider not in _WITHOUT_IMAGE_URLS
        return {"type": "url", "url": part.url} if accepted else None
    if part.data is None:
        return None
    kind = part.media_type
    if part.kind == "image":
        kind = kind or next((known for head, known in _SIGNATURES.items() if part.data.startswith(head)), None)
        accepted = kind in _IMAGES
    else:
        accepted = kind == "application/pdf"
        if kind is not None and kind.startswith("text/"):
            try:
                text = base64.b64decode(part.data).decode("utf-8", "surrogatepass")
            except ValueError:
                return None
            return {"type": "text", "media_type": "text/plain", "data": text}
    return {"type": "base64", "media_type": kind, "data": part.data} if accepted or context.own else None
