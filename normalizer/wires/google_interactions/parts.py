"""Conversion between content parts and contents: text, images, audio, video and documents."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..traverse import members_except
from ..write_context import WriteContext

#: Type of a content -> kind of the media part.
KINDS = {"image": "image", "audio": "audio", "video": "video", "document": "file"}
CONTENTS = frozenset(("text", *KINDS))
_TYPES = {kind: type for type, kind in KINDS.items()}
#: Beginnings of addresses that only Google can read: files that were uploaded to the Files API, and its cloud storage.
_UPLOADED = ("https://generativelanguage.googleapis.com/", "gs://", "files/")
#: Beginning of each image format in base64, for images without a media type.
_SIGNATURES = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def read_parts(content: Any) -> list[Part]:
    """Convert the ``content`` of a step: a list of contents, one content, a text or None."""
    if isinstance(content, list):
        return [read_part(part) for part in content]
    if isinstance(content, str):
        return [TextPart(content)]
    return [] if content is None else [read_part(content)]


def read_part(raw: Any) -> Part:
    """Convert one content. One that no part represents becomes an opaque part."""
    kind = raw.get("type") if isinstance(raw, dict) else None
    if not isinstance(kind, str):
        return OpaquePart("", raw)
    if kind == "text" and isinstance(raw.get("text"), str):
        return TextPart(raw["text"], members_except(raw, "type", "text"))
    if kind in KINDS:
        data, uri, media_type = raw.get("data"), raw.get("uri"), raw.get("mime_type")
        given = [source for source in (data, uri) if source is not None]
        if len(given) == 1 and isinstance(given[0], str) and (media_type is None or isinstance(media_type, str)):
            rest = members_except(raw, "type", "data", "uri", "mime_type")
            if data is not None:
                return MediaPart(KINDS[kind], media_type, data, extra=rest)
            if uri.startswith(_UPLOADED):
                return MediaPart(KINDS[kind], media_type, file_id=uri, extra=rest)
            return MediaPart(KINDS[kind], media_type, url=uri, extra=rest)
    return OpaquePart(kind, raw)


def is_plain(content: Any) -> bool:
    """Report whether a content is only a text, which other wires write as one string."""
    if isinstance(content, list):
        first = content[0] if len(content) == 1 else None
        return isinstance(first, dict) and first.keys() == {"type", "text"} and first["type"] == "text"
    return isinstance(content, str)


def write_contents(parts: list[Part], context: WriteContext) -> list[Any]:
    """Return the contents for parts; those that the wire does not have are left out and reported."""
    contents = []
    for part in parts:
        if type(part) is OpaquePart:
            if context.own:
                contents.append(part.raw)
            else:
                context.lose("opaque", f"a part of type {part.wire_type!r} was left out")
        elif type(part) is MediaPart:
            contents.append(_write_media(part, context))
        else:
            text = part.text if isinstance(part, TextPart) else json_codec.text(part.value)  # type: ignore[union-attr]
            contents.append(_with_extra({"type": "text", "text": text}, part.extra, context))  # type: ignore[union-attr]
    return contents


def _write_media(part: MediaPart, context: WriteContext) -> dict[str, Any]:
    media_type = part.media_type
    if media_type is None and part.data is not None and part.kind == "image" and not context.own:
        media_type = next((kind for head, kind in _SIGNATURES.items() if part.data.startswith(head)), None)
    reason = None
    if part.kind not in _TYPES:
        reason = "has no counterpart here"
    elif part.file_id is not None and not context.own:
        reason = "is known to its own provider alone"
    elif media_type is None and part.data is not None and not context.own:
        reason = "has no media type, which its data needs here"
    if reason is not None:
        label = " ".join(filter(None, (part.kind, part.name, part.media_type)))
        context.lose("media", f"{label} {reason}")
        if not context.own:
            context.lose_extra(part.extra)
        return {"type": "text", "text": f"[{label} left out: it {reason}]"}
    content: dict[str, Any] = {"type": _TYPES[part.kind]}
    if part.data is not None:
        content["data"] = part.data
    else:
        content["uri"] = part.url if part.url is not None else part.file_id
    if media_type is not None:
        content["mime_type"] = media_type
    if part.name is not None and not context.own:
        context.lose("extra", f"left out of a {part.kind}: its name")
    return _with_extra(content, part.extra, context)


def _with_extra(content: dict[str, Any], extra: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    if context.own:
        return {**content, **extra}
    context.lose_extra(extra, "a part", None, *content)
    return content


def text_of(parts: list[Part], context: WriteContext) -> str:
    """Return the text of parts for a member that holds only text; other parts are left out and reported."""
    texts = []
    for part in parts:
        if isinstance(part, TextPart):
            context.lose_extra(part.extra, "a text")
            texts.append(part.text)
        elif isinstance(part, JsonPart):
            texts.append(json_codec.text(part.value))
        elif isinstance(part, MediaPart):
            context.lose("media", f"{part.kind} was left out of the system instruction")
        else:
            context.lose("opaque", f"a part of type {part.wire_type!r} was left out")
    return "\n".join(texts)
