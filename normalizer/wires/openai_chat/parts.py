"""Read and write the content parts of a chat message: text, images, audio and files.

A part's ``extra`` holds its members that have no canonical field. Members of the nested object (``image_url.detail``)
are in it under that object's name.
"""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..write_context import AS_WRITTEN, WriteContext, image_detail
from .dialects import Dialect

#: Value of `AS_WRITTEN` in `extra` if the wire held a plain URL instead of a nested object (Mistral).
_BARE = "bare"
#: Audio ``format`` -> MIME type; any other format is audio/<format>. `_FORMATS` is the reverse mapping.
_SOUNDS = {"mp3": "audio/mpeg", "wav": "audio/wav"}
_FORMATS = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-wav": "wav", "audio/wave": "wav"}
_DETAILS = frozenset(("auto", "low", "high"))
_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
_KINDS = {"image_url": "image", "document_url": "file", "video_url": "video", "audio_url": "audio"}


def read_parts(content: Any) -> list[Part]:
    """Return the parts of a message's content, which may be any JSON value."""
    if isinstance(content, str):
        return [TextPart(content)]
    if isinstance(content, list):
        return [_read_part(part) for part in content]
    return [] if content is None else [OpaquePart("", content)]


def _read_part(part: Any) -> Part:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        return OpaquePart("", part)
    if kind == "text" and isinstance(part.get("text"), str):
        return TextPart(part["text"], _without(part, "type", "text"))
    inner = part.get(kind)
    if kind in _KINDS and isinstance(inner, str):
        named = kind == "document_url" and isinstance(part.get("document_name"), str)
        rest = _without(part, "type", kind, *(("document_name",) if named else ()))
        return _media_from_url(
            _KINDS[kind], inner, {AS_WRITTEN: _BARE, **rest}, part["document_name"] if named else None
        )
    if not isinstance(inner, dict):
        return OpaquePart(kind, part)
    if kind in _KINDS and isinstance(inner.get("url"), str):
        return _media_from_url(_KINDS[kind], inner["url"], _extra(part, kind, "url"))
    if kind == "input_audio" and isinstance(inner.get("data"), str) and isinstance(inner.get("format"), str):
        format = inner["format"]
        mime = _SOUNDS.get(format, f"audio/{format}")
        known = ("format",) if _audio_format(mime) == format else ()
        return MediaPart("audio", mime, inner["data"], extra=_extra(part, kind, "data", *known))
    if kind == "file":
        name = inner.get("filename") if isinstance(inner.get("filename"), str) else None
        if isinstance(inner.get("file_data"), str) and "file_id" not in inner:
            extra = _extra(part, kind, "file_data", *(("filename",) if name is not None else ()))
            return _media_from_url("file", inner["file_data"], extra, name)
        if isinstance(inner.get("file_id"), str) and "file_data" not in inner:
            extra = _extra(part, kind, "file_id", *(("filename",) if name is not None else ()))
            return MediaPart("file", file_id=inner["file_id"], name=name, extra=extra)
    return OpaquePart(kind, part)


def _media_from_url(kind: str, url: str, extra: dict[str, Any], name: str | None = None) -> MediaPart:
    match = _DATA_URL.fullmatch(url)
    if match:
        return MediaPart(kind, match[1], match[2], name=name, extra=extra)
    return MediaPart(kind, url=url, name=name, extra=extra)


def _without(part: dict[str, Any], *known: str) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in known}


def _extra(part: dict[str, Any], kind: str, *known: str) -> dict[str, Any]:
    inner = _without(part[kind], *known)
    outer = _without(part, "type", kind)
    return {kind: inner, **outer} if inner else outer


def write_content(parts: list[Part], plain: bool, dialect: Dialect, context: WriteContext) -> Any:
    """Return the content of a message: a text if possible and ``plain`` or foreign, else a list of parts."""
    own = context.own
    if len(parts) == 1 and type(part := parts[0]) is TextPart and (plain or not (own or part.extra)):
        if not own:
            context.lose_extra(part.extra)
        return part.text
    written = [made for part in parts if (made := write_part(part, dialect, context)) is not None]
    if not (own or dialect.lists) and all(map(is_text, written)):
        return "\n\n".join(part["text"] for part in written)
    return written or ("" if plain else [])


def write_part(part: Part, dialect: Dialect, context: WriteContext) -> dict[str, Any] | None:
    """Return the wire form of a part; None if it has none."""
    if type(part) is TextPart:
        return {"type": "text", "text": part.text, **context.kept_extra(part.extra)}
    if type(part) is MediaPart:
        return _write_media(part, dialect, context)
    if type(part) is JsonPart:
        return {"type": "text", "text": json_codec.text(part.value)}
    assert isinstance(part, OpaquePart)
    if context.own:
        raw: dict[str, Any] | None = part.raw
        return raw
    context.lose("opaque", f"a part of type {part.wire_type!r} was left out")
    return None


def _write_media(part: MediaPart, dialect: Dialect, context: WriteContext) -> dict[str, Any]:
    own = context.own
    url = f"data:{part.media_type or 'application/octet-stream'};base64,{part.data}" if part.data else part.url
    written: dict[str, Any] | None = None
    if part.kind == "image":
        written = {"type": "image_url", "image_url": {"url": url}} if url is not None and dialect.images else None
    elif part.kind == "audio" and part.data is not None:
        format = _audio_format(part.media_type or "")
        if format in dialect.sound or (own and format and dialect.sound):
            written = {"type": "input_audio", "input_audio": {"data": part.data, "format": format}}
    elif part.kind == "file":
        written = _write_file(part, url, own, dialect)
    if written is None and own and dialect.sound and url is not None and part.kind in ("video", "audio"):
        written = {"type": f"{part.kind}_url", f"{part.kind}_url": {"url": url}}
    if written is None:
        context.lose("media")
        if not own:
            context.lose_extra(part.extra)
        return {"type": "text", "text": describe(part)}
    if not own and part.kind == "image" and (detail := image_detail(part.extra)) in _DETAILS:
        context.lose_extra(part.extra, "", None, "image_url", "detail")
        return {"type": "image_url", "image_url": {"url": url, "detail": detail}}
    return _with_extra(written, context.kept_extra(part.extra))


def _write_file(part: MediaPart, url: str | None, own: bool, dialect: Dialect) -> dict[str, Any] | None:
    if part.file_id is not None:
        inner = {"file_id": part.file_id, **({"filename": part.name} if part.name else {})}
        return {"type": "file", "file": inner} if own else None
    if dialect.files == "document_url" or (own and part.extra.get(AS_WRITTEN) == _BARE):
        return {"type": "document_url", "document_url": url, **({"document_name": part.name} if part.name else {})}
    if dialect.files is None or (part.data is None and not own):
        return None
    name = {"filename": part.name or "file"} if part.name or not own else {}
    return {"type": "file", "file": {**name, "file_data": url}}


def _audio_format(mime: str) -> str:
    """Return the ``format`` value for an audio MIME type; empty for any other MIME type."""
    return _FORMATS.get(mime) or (mime[len("audio/") :] if mime.startswith("audio/") else "")


def _with_extra(written: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """Return the part with its extra members and in its original spelling."""
    kind = written["type"]
    inner, outer = written[kind], {key: value for key, value in extra.items() if key not in (kind, AS_WRITTEN)}
    if isinstance(inner, dict):
        inner = inner["url"] if extra.get(AS_WRITTEN) == _BARE else {**inner, **(extra.get(kind) or {})}
    return {**written, kind: inner, **outer}


def is_text(part: Any) -> bool:
    """Whether a part, which may be any JSON value, is a text part."""
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def describe(part: MediaPart) -> str:
    """Return the placeholder text for media that the target does not accept."""
    source = part.url or part.file_id or part.media_type or "no address"
    return f"[{part.kind}: {part.name or source}]"
