"""Conversion between content parts and content blocks, for content of users, tools and the system."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..write_context import WriteContext, merged, unrepresented

_KINDS = {"image": "image", "document": "file"}
#: The members of each source type that a MediaPart represents. A source with other members stays opaque.
_SOURCES = {
    "base64": {"type", "media_type", "data"},
    "url": {"type", "url"},
    "file": {"type", "file_id"},
    "text": {"type", "media_type", "data"},
}
#: Providers that accept no image URLs (recorded: "URL sources are not supported").
_NO_ADDRESSES = frozenset(("bedrock",))
_IMAGES = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))
#: Beginning of each image format in base64, for images without a media type.
_HEADS = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def parts_of(content: Any) -> list[Part]:
    """Convert the ``content`` of a message or tool result to parts. It may be a text, a list of blocks or None."""
    if isinstance(content, list):
        return [part_of(block) for block in content]
    if isinstance(content, str):
        return [TextPart(content)] if content else []
    return [] if content is None else [OpaquePart("", content)]


def part_of(block: Any) -> Part:
    """Convert a content block to a part. A block that no part type represents becomes an opaque part."""
    kind = kind_of(block)
    if kind == "text" and isinstance(block.get("text"), str):
        return TextPart(block["text"], rest(block, "type", "text"))
    if kind in _KINDS:
        media = _media(block)
        if media is not None:
            return media
    return OpaquePart(kind or "", block)


def kind_of(block: Any) -> str | None:
    """Return the ``type`` of a content block, or None if it has none or it is not a text."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else None


def rest(members: dict[str, Any], *known: str) -> dict[str, Any]:
    """Return the members that are not in ``known`` and not None."""
    return {key: value for key, value in members.items() if key not in known and value is not None}


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
    given = {key: source.get(key) for key in ("media_type", "data", "url", "file_id")}
    if form == "text":  # plain text, while all other data is base64
        if given["media_type"] not in (None, "text/plain") or not isinstance(given["data"], str):
            return None
        given["media_type"] = "text/plain"
        given["data"] = base64.b64encode(given["data"].encode("utf-8", "surrogatepass")).decode()
    if not all(value is None or isinstance(value, str) for value in given.values()):
        return None
    title = block.get("title") if block["type"] == "document" and isinstance(block.get("title"), str) else None
    known = ("type", "source") if title is None else ("type", "source", "title")
    return MediaPart(_KINDS[block["type"]], **given, name=title, extra=rest(block, *known))


def blocks_of(parts: list[Part], own: bool, context: WriteContext, turn: int) -> list[dict[str, Any]]:
    """Convert parts to content blocks, and report losses.

    ``own``: the parts came from this wire, so their other members and opaque blocks are kept. ``turn``: index of the
    turn, for losses.
    """
    blocks: list[dict[str, Any]] = []
    for part in parts:
        kind = type(part)
        if kind is TextPart:
            if part.text:  # type: ignore[union-attr]  # an empty text block is refused
                block = {"type": "text", "text": part.text}  # type: ignore[union-attr]
                blocks.append(_with(block, part.extra, own, context, turn))  # type: ignore[union-attr]
        elif kind is JsonPart:
            blocks.append({"type": "text", "text": json_codec.text(part.value)})  # type: ignore[union-attr]
        elif kind is MediaPart:
            blocks.append(_media_block(part, own, context, turn))  # type: ignore[arg-type]
        elif own:
            blocks.append(part.raw)  # type: ignore[union-attr]
        else:
            context.lose("opaque", f"a part of type {part.wire_type!r} was left out", turn)  # type: ignore[union-attr]
    return blocks


def _with(block: dict[str, Any], extra: dict[str, Any], own: bool, context: WriteContext, turn: int) -> dict[str, Any]:
    if not extra:
        return block
    if own:
        return merged(block, extra)
    if lost := unrepresented(extra):
        context.lose("extra", f"left out: {', '.join(lost)}", turn)
    return block


def _media_block(part: MediaPart, own: bool, context: WriteContext, turn: int) -> dict[str, Any]:
    source = _source(part, own, context.provider)
    if source is None:
        what = " ".join(filter(None, (part.kind, part.name or part.url, part.media_type)))
        context.lose("media", f"{what} was replaced by a note", turn)
        return {"type": "text", "text": f"[{what}: not carried over]"}
    block: dict[str, Any] = {"type": "image" if part.kind == "image" else "document", "source": source}
    if part.name is not None and part.kind == "file":
        block["title"] = part.name
    return _with(block, part.extra, own, context, turn)


def _source(part: MediaPart, own: bool, provider: str | None) -> dict[str, Any] | None:
    """Return the ``source`` of an image or document block, or None if the target does not accept such content."""
    if part.kind not in ("image", "file"):
        return None
    if part.file_id is not None:  # a file id is only valid for the provider that holds the upload
        return {"type": "file", "file_id": part.file_id} if own else None
    if part.url is not None:
        by_address = part.kind != "image" or provider not in _NO_ADDRESSES
        return {"type": "url", "url": part.url} if by_address else None
    if part.data is None:
        return None
    kind = part.media_type
    if part.kind == "image":
        kind = kind or next((known for head, known in _HEADS.items() if part.data.startswith(head)), None)
        takes = kind in _IMAGES
    else:
        takes = kind == "application/pdf"
        if kind is not None and kind.startswith("text/"):
            try:
                words = base64.b64decode(part.data).decode("utf-8", "surrogatepass")
            except (binascii.Error, UnicodeDecodeError):
                return None
            return {"type": "text", "media_type": "text/plain", "data": words}
    return {"type": "base64", "media_type": kind, "data": part.data} if takes or own else None
