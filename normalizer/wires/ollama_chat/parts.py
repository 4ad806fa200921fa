"""Conversion between content parts and the two members of a message that hold content: ``content`` and ``images``.

The server puts the images of a message before its text (`server/prompt.go`), and so does the canonical form.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, Part, TextPart
from ..write_context import WriteContext

#: Beginning of each image format in base64. The wire does not state the format.
_SIGNATURES = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def is_readable(message: dict[str, Any]) -> bool:
    """Return whether ``content`` and ``images`` have the types that the server accepts."""
    images = message.get("images")
    if images is not None and not (isinstance(images, list) and all(isinstance(image, str) for image in images)):
        return False
    return message.get("content") is None or isinstance(message["content"], str)


def read_parts(message: dict[str, Any]) -> list[Part]:
    """Return the parts of a readable message."""
    parts: list[Part] = [MediaPart("image", _format(image), image) for image in message.get("images") or ()]
    if message.get("content") is not None and (message["content"] or not parts):
        parts.append(TextPart(message["content"]))
    return parts


def _format(image: str) -> str | None:
    return next((format for head, format in _SIGNATURES.items() if image.startswith(head)), None)


def write_parts(parts: list[Part], context: WriteContext, separator: str = "\n\n") -> tuple[str, list[str]]:
    """Return the text and the images of parts. ``separator``: between texts."""
    texts: list[str] = []
    images: list[str] = []
    for part in parts:
        if type(part) is TextPart:
            texts.append(part.text)
            context.lose_extra(part.extra)
        elif type(part) is JsonPart:
            texts.append(json_codec.text(part.value))
        elif type(part) is MediaPart:
            if part.kind == "image" and part.data is not None:
                if texts:
                    context.lose("order", "an image was moved before the text of its message")
                images.append(part.data)
                context.lose_extra(part.extra)
            else:
                texts.append(_describe(part))
                form = "data" if part.data is not None else "an address" if part.url else "a reference"
                context.lose("media", f"{texts[-1]}, sent as {form}, became a note: the wire has only images as data")
                context.lose_extra(part.extra)
        else:
            context.lose("opaque", f"a part of type {part.wire_type!r} was left out")  # type: ignore[union-attr]
    return separator.join(texts), images


def _describe(part: MediaPart) -> str:
    """Return the placeholder text for media that the target does not accept."""
    return f"[{part.kind}: {part.name or part.url or part.file_id or part.media_type or 'no address'}]"
