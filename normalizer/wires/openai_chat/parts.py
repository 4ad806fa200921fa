"""Content parts of a chat message, both ways: text, images, sound and files.

A part's ``extra`` holds its other members; those that stand inside its own object (``image_url.detail``) stand there
under that object's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ... import jsontext
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..carry import told
from .dialects import Dialect

Lose = Callable[[str, str], None]
#: What stands under a part's own name in `extra` where the wire held a bare URL there (Mistral).
BARE = "bare"
_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
_KINDS = {"image_url": "image", "document_url": "file", "video_url": "video", "audio_url": "audio"}


def read_parts(content: Any) -> list[Part]:
    """The parts of a message's content, whatever it is."""
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
        return _linked(_KINDS[kind], inner, {kind: BARE, **_without(part, "type", kind)})
    if not isinstance(inner, dict):
        return OpaquePart(kind, part)
    if kind in _KINDS and isinstance(inner.get("url"), str):
        return _linked(_KINDS[kind], inner["url"], _extra(part, kind, "url"))
    if kind == "input_audio" and isinstance(inner.get("data"), str) and isinstance(inner.get("format"), str):
        return MediaPart("audio", f"audio/{inner['format']}", inner["data"], extra=_extra(part, kind, "data", "format"))
    if kind == "file":
        name = inner.get("filename") if isinstance(inner.get("filename"), str) else None
        if isinstance(inner.get("file_data"), str) and "file_id" not in inner:
            extra = _extra(part, kind, "file_data", *(("filename",) if name is not None else ()))
            return _linked("file", inner["file_data"], extra, name)
        if isinstance(inner.get("file_id"), str) and "file_data" not in inner:
            extra = _extra(part, kind, "file_id", *(("filename",) if name is not None else ()))
            return MediaPart("file", file_id=inner["file_id"], name=name, extra=extra)
    return OpaquePart(kind, part)


def _linked(kind: str, url: str, extra: dict[str, Any], name: str | None = None) -> MediaPart:
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


def write_part(part: Part, own: bool, dialect: Dialect, lose: Lose) -> dict[str, Any] | None:
    """The part on the wire; null where nothing of it can be said. ``own``: it goes back to where it came from."""
    if type(part) is TextPart:
        return {"type": "text", "text": part.text, **kept(part.extra, own, lose)}
    if type(part) is MediaPart:
        return _write_media(part, own, dialect, lose)
    if type(part) is JsonPart:
        return {"type": "text", "text": jsontext.text(part.value)}
    if own and isinstance(part, OpaquePart):
        raw: dict[str, Any] | None = part.raw
        return raw
    lose("opaque", "")
    return None


def _write_media(part: MediaPart, own: bool, dialect: Dialect, lose: Lose) -> dict[str, Any]:
    url = f"data:{part.media_type or 'application/octet-stream'};base64,{part.data}" if part.data else part.url
    if part.kind == "image" and url is not None:
        return _wrap("image_url", {"url": url}, part, own, lose)
    if part.kind == "audio" and part.data is not None and (part.media_type or "").startswith("audio/"):
        format = (part.media_type or "")[len("audio/") :]
        return _wrap("input_audio", {"data": part.data, "format": format}, part, own, lose)
    if part.kind == "file":
        if ("document_url" in part.extra and own) or (part.url is not None and dialect.bridge):
            return _wrap("document_url", {"url": url}, part, own, lose, bare=True)
        if url is not None and (part.data is not None or own):
            name = {"filename": part.name or "file"} if part.name or not own else {}
            return _wrap("file", {**name, "file_data": url}, part, own, lose)
        if part.file_id is not None and own:
            name = {"filename": part.name} if part.name else {}
            return _wrap("file", {**name, "file_id": part.file_id}, part, own, lose)
    if own and url is not None and part.kind in ("video", "audio"):
        return _wrap(f"{part.kind}_url", {"url": url}, part, own, lose)
    lose("media", "")
    return {"type": "text", "text": describe(part)}


def _wrap(
    kind: str, inner: dict[str, Any], part: MediaPart, own: bool, lose: Lose, bare: bool = False
) -> dict[str, Any]:
    extra = dict(kept(part.extra, own, lose))
    more = extra.pop(kind, None)
    if more == BARE or (bare and more is None):
        return {"type": kind, kind: inner["url"], **extra}
    return {"type": kind, kind: {**inner, **(more or {})}, **extra}


def kept(extra: dict[str, Any], own: bool, lose: Lose) -> dict[str, Any]:
    """The other members of something: as they are for the wire they came from, else none of them."""
    if own or not extra:
        return extra
    if left := [key for key in told(extra) if extra[key] != BARE]:
        lose("extra", f"{', '.join(left)} left out")
    return {}


def describe(part: MediaPart) -> str:
    """The words that stand where a medium cannot."""
    where = part.url or part.file_id or part.media_type or "no address"
    return f"[{part.kind}: {part.name or where}]"
