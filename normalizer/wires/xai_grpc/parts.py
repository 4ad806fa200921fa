"""Conversion of content parts of users, tools and the system to xAI's content elements: text, images and files."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, Part, TextPart, ToolResult, ToolResults
from ..surrogates import is_encodable
from ..write_context import WriteContext, detail_of, mark_failed, unrepresented
from .schema import ROLE_TOOL, Content, FileContent, ImageUrlContent, parse_dict

_DETAILS: dict[str | None, str] = {"low": "DETAIL_LOW", "high": "DETAIL_HIGH", "auto": "DETAIL_AUTO"}


def content(parts: list[Part], context: WriteContext, same: bool, turn: int) -> list[Any]:
    """Convert parts to content elements, and report losses.

    ``same``: the parts came from this wire, so their other members and opaque parts are kept. ``turn``: index of the
    turn, for losses.
    """
    made = []
    for part in parts:
        if type(part) is TextPart:
            made.append(Content(text=part.text))
        elif isinstance(part, JsonPart):
            made.append(Content(text=json_codec.text(part.value)))
        elif isinstance(part, MediaPart):
            made.append(_media(part, context, same, turn))
            carried = ("image_url", "detail") if part.kind == "image" and detail_of(part.extra) in _DETAILS else ()
            if not same and (lost := unrepresented(part.extra, *carried)):
                context.lose("extra", f"left out: {', '.join(lost)}", turn)
            continue
        elif same:
            made.append(parse_dict(part.raw, Content()))  # type: ignore[union-attr]
            continue
        else:
            context.lose("opaque", f"a part of type {part.wire_type} was left out", turn)  # type: ignore[union-attr]
            continue
        if not same and (lost := unrepresented(part.extra)):
            context.lose("extra", f"left out: {', '.join(lost)}", turn)
    return made


def note_media(result: ToolResult, context: WriteContext, same: bool, turn: int) -> tuple[list[Any], list[Any]]:
    """Return the content of a tool message, and the media that must follow in a user message (RES-03)."""
    if not any(type(part) is MediaPart for part in result.parts):
        return _marked(content(result.parts, context, same, turn), result.is_error), []
    staying: list[Part] = []
    moving: list[Part] = []
    for part in result.parts:
        (moving if isinstance(part, MediaPart) else staying).append(part)
    label = result.name or result.call_id
    context.lose("order", f"what {label} returned beside words follows in a message of the user", turn)
    if not staying:
        staying.append(TextPart("The result follows in the next message of the user."))
    moving.insert(0, TextPart(f"Returned by {label} ({result.call_id}):"))
    said = _marked(content(staying, context, same, turn), result.is_error)
    return said, content(moving, context, same, turn)


def usual_answers(turn: ToolResults) -> list[dict[str, Any]] | None:
    """Return the members of the tool messages for results that are one plain text each, or None for any other turn.

    Part of the writer's fast path.
    """
    if turn.extra:
        return None
    messages = []
    for result in turn.results:
        parts = result.parts
        if result.extra or len(parts) != 1 or type(part := parts[0]) is not TextPart or part.extra:
            return None
        text = part.text
        if not is_encodable(text):
            return None
        if result.is_error or text[:6] == "[tool_":
            text = mark_failed(text, result.is_error)
        messages.append({"role": ROLE_TOOL, "content": [{"text": text}], "tool_call_id": result.call_id})
    return messages


def _marked(said: list[Any], is_error: bool) -> list[Any]:
    """Mark the content of a tool message as an error in its text, because xAI has no error flag."""
    if said and said[0].WhichOneof("content") == "text":
        first = said[0]
        marked = mark_failed(first.text, is_error)
        if marked is not first.text:
            first.text = marked
    elif is_error:
        said.insert(0, Content(text=mark_failed("", True)))
    return said


def filled(message: Any) -> Any:
    """Return the message with at least one content element, as xAI requires (EMPTY-01)."""
    if not message.content and not message.encrypted_content:
        message.content.append(Content(text=""))
    return message


def _media(part: MediaPart, context: WriteContext, same: bool, turn: int) -> Any:
    if part.file_id is None or same:
        made = _image(part, same) if part.kind == "image" and part.file_id is None else _file(part)
        if made is not None:
            return made
    called = part.name or part.file_id or part.media_type or "no name"
    context.lose("media", f"{part.kind} {called}: xAI cannot read it; a note stands in its place", turn)
    return Content(text=f"[{part.kind} left out: {called}]")


def _image(part: MediaPart, same: bool) -> Any:
    if part.data is not None:
        url = f"data:{part.media_type or 'image/png'};base64,{part.data}"
    elif part.url is not None:
        url = part.url
    else:
        return None
    # DETAIL_AUTO is the SDK's default. An unset detail is not valid.
    detail = part.extra.get("detail", "DETAIL_AUTO") if same else _DETAILS.get(detail_of(part.extra), "DETAIL_AUTO")
    try:
        return Content(image_url=ImageUrlContent(image_url=url, detail=detail))
    except ValueError:
        return Content(image_url=ImageUrlContent(image_url=url, detail="DETAIL_AUTO"))


def _file(part: MediaPart) -> Any:
    """Return a file element with the part's file id, bytes or URL, or None if xAI does not accept the part."""
    if part.kind not in ("file", "image"):
        return None
    if part.file_id is not None:
        return Content(file=FileContent(file_id=part.file_id))
    file = FileContent(filename=part.name or "", mime_type=part.media_type or "")
    if part.data is not None:
        try:
            file.data = base64.b64decode(part.data, validate=True)
        except (binascii.Error, ValueError):
            return None
    elif part.url is not None:
        file.url = part.url
    else:
        return None
    return Content(file=file)
