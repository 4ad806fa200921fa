"""Conversion of content parts of users, tools and the system to xAI's content elements: text, images and files."""

from __future__ import annotations

import base64
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..write_context import WriteContext, image_detail
from .schema import Content, FileContent, ImageUrlContent, as_dict, detail_name, fields_except, parse_dict

_DETAILS: dict[str | None, str] = {"low": "DETAIL_LOW", "high": "DETAIL_HIGH", "auto": "DETAIL_AUTO"}


def read_parts(content: Any) -> list[Part]:
    """Convert content elements to parts."""
    return [_read_part(part) for part in content]


def _read_part(part: Any) -> Part:
    kind = part.WhichOneof("content")
    if kind == "text":
        return TextPart(part.text)
    if kind == "image_url":
        url, extra = part.image_url.image_url, fields_except(part.image_url, "image_url", "detail")
        detail = detail_name(part.image_url.detail)
        if detail:
            extra["detail"] = detail
        head, comma, data = url.partition(";base64,")
        if comma and head.startswith("data:") and ";" not in head:
            return MediaPart("image", head[5:] or None, data=data, extra=extra)
        return MediaPart("image", url=url, extra=extra)
    if kind == "file":
        file = part.file
        if [bool(file.file_id), bool(file.data), bool(file.url)].count(True) == 1:
            return MediaPart(
                "file",
                file.mime_type or None,
                base64.b64encode(file.data).decode() if file.data else None,
                file.url or None,
                file.file_id or None,
                file.filename or None,
            )
    return opaque_part(part)


def opaque_part(part: Any) -> OpaquePart:
    """Keep a content element as it is."""
    return OpaquePart(part.WhichOneof("content") or "", as_dict(part))


def write_content(parts: list[Part], context: WriteContext) -> list[Any]:
    """Convert parts to content elements, and report losses."""
    written = []
    for part in parts:
        known: tuple[str, ...] = ()
        if isinstance(part, TextPart):
            written.append(Content(text=part.text))
        elif isinstance(part, JsonPart):
            written.append(Content(text=json_codec.text(part.value)))
        elif isinstance(part, MediaPart):
            written.append(_write_media(part, context))
            known = ("image_url", "detail") if part.kind == "image" and image_detail(part.extra) in _DETAILS else ()
        elif context.own:
            written.append(parse_dict(part.raw, Content()))
            continue
        else:
            context.lose("opaque", f"a part of type {part.wire_type!r} was left out")
            continue
        if not context.own:
            context.lose_extra(part.extra, "", None, *known)
    return written


def with_content(message: Any) -> Any:
    """Return the message with at least one content element, as xAI requires (EMPTY-01)."""
    if not message.content and not message.encrypted_content:
        message.content.append(Content(text=""))
    return message


def _write_media(part: MediaPart, context: WriteContext) -> Any:
    if part.file_id is None or context.own:
        is_image = part.kind == "image" and part.file_id is None
        written = _write_image(part, context.own) if is_image else _write_file(part)
        if written is not None:
            return written
    label = part.name or part.file_id or part.media_type or "no name"
    context.lose("media", f"{part.kind} {label} was replaced by a note: xAI cannot read it")
    return Content(text=f"[{part.kind} left out: {label}]")


def _write_image(part: MediaPart, own: bool) -> Any:
    if part.data is not None:
        url = f"data:{part.media_type or 'image/png'};base64,{part.data}"
    elif part.url is not None:
        url = part.url
    else:
        return None
    # DETAIL_AUTO is the SDK's default. An unset detail is not valid.
    detail = part.extra.get("detail", "DETAIL_AUTO") if own else _DETAILS.get(image_detail(part.extra), "DETAIL_AUTO")
    try:
        return Content(image_url=ImageUrlContent(image_url=url, detail=detail))
    except ValueError:
        return Content(image_url=ImageUrlContent(image_url=url, detail="DETAIL_AUTO"))


def _write_file(part: MediaPart) -> Any:
    """Return a file element with the part's file id, bytes or URL, or None if xAI does not accept the part."""
    if part.kind not in ("file", "image"):
        return None
    if part.file_id is not None:
        return Content(file=FileContent(file_id=part.file_id))
    file = FileContent(filename=part.name or "", mime_type=part.media_type or "")
    if part.data is not None:
        try:
            file.data = base64.b64decode(part.data, validate=True)
        except ValueError:
            return None
    elif part.url is not None:
        file.url = part.url
    else:
        return None
    return Content(file=file)
