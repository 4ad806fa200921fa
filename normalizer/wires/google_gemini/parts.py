"""Conversion between content parts and Gemini's parts, for content of users, tools and the system."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..traverse import items, member, members_except
from ..write_context import WriteContext, merged
from .schema import DATA

#: The first part of a MIME type -> the kind of media; all others are files.
_KINDS = ("image", "audio", "video")
#: MIME types that the models accept (https://ai.google.dev/gemini-api/docs/file-input-methods).
_ACCEPTED = frozenset(
    (
        *(f"image/{name}" for name in ("png", "jpeg", "webp", "heic", "heif", "bmp")),
        *(f"audio/{name}" for name in ("wav", "x-wav", "mp3", "mpeg", "aiff", "aac", "ogg", "flac", "m4a", "mp4")),
        *(f"audio/{name}" for name in ("webm", "pcm", "l16", "opus")),
        *(
            f"video/{name}"
            for name in ("mp4", "mpeg", "mov", "quicktime", "avi", "x-flv", "mpg", "webm", "wmv", "3gpp")
        ),
        *(f"application/{name}" for name in ("pdf", "json", "xml", "rtf", "x-javascript", "x-python")),
    )
)
#: Beginning of each image format in base64, for images without a media type.
_SIGNATURES = {"iVBOR": "image/png", "/9j/": "image/jpeg", "UklGR": "image/webp"}
#: Addresses of files that only Google can read: those of the Files API and of Cloud Storage.
_UPLOADS = ("https://generativelanguage.googleapis.com/", "gs://", "files/")


def read_parts(parts: list[Any]) -> list[Part]:
    """Convert the parts of a content."""
    return [_read_part(part) for part in parts]


def _read_part(part: Any) -> Part:
    """Convert a part. One that no part type represents becomes an opaque part."""
    if not isinstance(part, dict):
        return OpaquePart("", part)
    data = [name for name in DATA if part.get(name) is not None]
    if data == ["text"] and isinstance(part["text"], str):
        return TextPart(part["text"], members_except(part, "text"))
    if data in (["inlineData"], ["fileData"]):
        media = read_media(part, data[0])
        if media is not None:
            return media
    return OpaquePart(data[0] if data else "", part)


def read_media(part: dict[str, Any], member: str) -> MediaPart | None:
    """Convert a part with inline data or the address of a file. Return None if its members have unexpected types."""
    source = part[member]
    content = "data" if member == "inlineData" else "fileUri"
    if not isinstance(source, dict) or not source.keys() <= {content, "mimeType", "displayName"}:
        return None
    kind, name, value = source.get("mimeType"), source.get("displayName"), source.get(content)
    if not isinstance(value, str) or not all(text is None or isinstance(text, str) for text in (kind, name)):
        return None
    family = (kind or "").partition("/")[0]
    place = "data" if content == "data" else "file_id" if value.startswith(_UPLOADS) else "url"
    extra = members_except(part, member)
    if family not in _KINDS:
        return MediaPart("file", kind, name=name, extra=extra, **{place: value})
    if name is not None:  # on the other wires, only files have names
        extra[member] = {"displayName": name}
    return MediaPart(family, kind, extra=extra, **{place: value})


def write_parts(parts: list[Part], context: WriteContext) -> list[dict[str, Any]]:
    """Return the parts of a content, and report losses."""
    written: list[dict[str, Any]] = []
    for part in parts:
        if type(part) is TextPart:
            if part.text or context.own:
                written.append(_with_extra({"text": part.text}, part.extra, context))
        elif type(part) is JsonPart:
            written.append({"text": json_codec.text(part.value)})
        elif type(part) is MediaPart:
            media = write_media(part, context)
            written.append({"text": note_of(part, context)} if media is None else media)
        elif type(part) is OpaquePart and context.own:
            written.append(part.raw)
        else:
            context.lose("opaque", f"a part of type {part.wire_type!r} was left out")  # type: ignore[union-attr]
    return written


def _with_extra(written: dict[str, Any], extra: dict[str, Any], context: WriteContext) -> dict[str, Any]:
    if not extra:
        return written
    if context.own:
        return merged(written, extra)
    context.lose_extra(extra)
    return written


def note_of(part: MediaPart, context: WriteContext) -> str:
    """Return the note that replaces media that the models do not accept, and report the loss."""
    label = " ".join(filter(None, (part.kind, part.name or part.url, part.media_type)))
    context.lose("media", f"{label} was replaced by a note")
    return f"[{label}: not carried over]"


def write_media(part: MediaPart, context: WriteContext) -> dict[str, Any] | None:
    """Return the part for an image, a file, audio or video; None if the models do not accept it."""
    kind = part.media_type
    if part.data is not None:
        if kind is None:
            kind = next((known for head, known in _SIGNATURES.items() if part.data.startswith(head)), None)
        if not context.own and not (kind is not None and (kind in _ACCEPTED or kind.startswith("text/"))):
            return None
        member, source = "inlineData", {"mimeType": kind, "data": part.data}
    elif part.url is not None:
        member, source = "fileData", {"mimeType": kind, "fileUri": part.url}
    elif part.file_id is not None and context.own:  # a file id is only valid for the provider that holds the upload
        member, source = "fileData", {"mimeType": kind, "fileUri": part.file_id}
    else:
        return None
    if part.name is not None and context.own:
        source["displayName"] = part.name
    elif part.name is not None:  # the Gemini API refuses a name
        context.lose("extra", f"left out: the name {part.name}")
    written = {name: value for name, value in source.items() if value is not None}
    if context.own and isinstance(inner := part.extra.get(member), dict):
        written.update(inner)
    return _with_extra({member: written}, part.extra, context)


def begins_with_call(contents: list[Any]) -> bool:
    """Return whether a function call is in the first turn of contents, which may be any JSON values."""
    for content in contents:
        if member(content, "role") != "model":
            return False
        if any(member(part, "functionCall") is not None for part in items(content, "parts")):
            return True
    return False
