"""Conversion between content parts and content blocks, for content of users, tools and the system."""

from __future__ import annotations

import base64
import re
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ...digests import digest
from ..traverse import members_except
from ..write_context import AS_WRITTEN, WriteContext, merged

#: The kinds of media, and the media type of each format (`ImageFormat`, `DocumentFormat`, … of the service model).
FORMATS: dict[str, dict[str, str]] = {
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "video": {
        "mp4": "video/mp4",
        "mov": "video/quicktime",
        "mkv": "video/x-matroska",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpeg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "opus": "audio/opus",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mkv": "audio/x-matroska",
        "mka": "audio/x-matroska",
        "x-aac": "audio/x-aac",
        "m4a": "audio/x-m4a",
        "mpeg": "audio/mpeg",
        "mpga": "audio/mpeg",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
    },
}
_KINDS = {"image": "image", "document": "file", "video": "video", "audio": "audio"}
_MEMBERS = {kind: member for member, kind in _KINDS.items()}
#: Media type -> format, by kind of media; the first format that has a media type counts.
_FORMAT_OF = {kind: {media: name for name, media in reversed(formats.items())} for kind, formats in FORMATS.items()}
#: Beginning of each image format in base64, for images without a media type.
_SIGNATURES = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
#: The characters of a document's name (documented at `DocumentBlock.name`).
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9\s()\[\]-]+|\s{2,}")
_LONGEST_NAME = 200
#: The names that Bedrock accepts: documented without the underscore, which recorded requests have.
DOCUMENT_NAME = re.compile(r"(?!.*\s\s)[a-zA-Z0-9_\s()\[\]-]{1,200}")
#: The text beside a document without one, which Bedrock requires.
_BESIDE_DOCUMENT = "See the document."


def read_parts(content: Any) -> list[Part]:
    """Convert the content of a message, tool result or system prompt to parts."""
    if not isinstance(content, list):
        return [] if content is None else [OpaquePart("", content)]
    return [_read_part(block) for block in content]


def _read_part(block: Any) -> Part:
    """Convert a content block to a part. A block that no part type represents becomes an opaque part."""
    kind = kind_of(block)
    if kind is None or len(block) != 1:
        return OpaquePart(kind or "", block)
    value = block[kind]
    if kind == "text" and isinstance(value, str):
        return TextPart(value)
    if kind == "json":
        return JsonPart(value)
    if kind == "guardContent" and isinstance(value, dict) and value.keys() == {"text"}:
        guarded = value["text"]
        if isinstance(guarded, dict) and isinstance(guarded.get("text"), str):
            return TextPart(guarded["text"], {kind: "text", **members_except(guarded, "text")})
    part = _media(kind, value) if kind in _KINDS and isinstance(value, dict) else None
    return OpaquePart(kind, block) if part is None else part


def kind_of(block: Any) -> str | None:
    """Return the type of a content block, which is the name of its first member, or None if it has none."""
    return next(iter(block), None) if isinstance(block, dict) else None


def role_of(message: Any) -> Any:
    """Return the role of a written message, or None. Messages kept as raw items may have any form."""
    return message.get("role") if isinstance(message, dict) else None


def _media(member: str, value: dict[str, Any]) -> MediaPart | None:
    format, source = value.get("format"), value.get("source")
    if not isinstance(source, dict) or len(source) != 1 or not isinstance(format, (str, type(None))):
        return None
    extra = members_except(value, "format", "source", "name")
    media_type = None if format is None else FORMATS[member].get(format)
    if format is not None and _FORMAT_OF[member].get(media_type or "") != format:
        extra["format"] = format
    name = value.get("name")
    if name is not None and not (isinstance(name, str) and member == "document"):
        return None
    data = file_id = None
    ((form, content),) = source.items()
    if form == "bytes" and isinstance(content, str):
        data = content
    elif form == "text" and isinstance(content, str):
        data = base64.b64encode(content.encode("utf-8", "surrogatepass")).decode()
        extra[AS_WRITTEN] = "text" if format is not None else "text without format"
        media_type = media_type or "text/plain"
    elif form == "s3Location" and isinstance(content, dict) and isinstance(content.get("uri"), str):
        file_id = content["uri"]
        extra.update(members_except(content, "uri"))
    else:
        return None
    return MediaPart(_KINDS[member], media_type, data, file_id=file_id, name=name, extra=extra)


def write_content(parts: list[Part], context: WriteContext, *, in_result: bool = False) -> list[dict[str, Any]]:
    """Return the content blocks of a message, or with ``in_result`` of a tool result."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if type(part) is TextPart:
            if (block := _text_block(part, context)) is not None:
                blocks.append(block)
        elif type(part) is JsonPart:
            # Only an object is accepted (aichat 1550: "Provide a json object for the field").
            as_json = in_result and isinstance(part.value, dict)
            blocks.append({"json": part.value} if as_json else {"text": json_codec.text(part.value)})
        elif type(part) is MediaPart:
            blocks.append(_media_block(part, context, in_result))
        elif type(part) is OpaquePart and context.own:
            blocks.append(part.raw)
        else:
            context.lose("opaque", f"a part of type {part.wire_type!r} was left out")  # type: ignore[union-attr]
    return blocks


def beside_documents(blocks: list[Any], context: WriteContext) -> list[Any]:
    """Return the content of a user message, with a text if it has a document and no text (documented at `document`)."""
    if len(blocks) == 1 and kind_of(blocks[0]) == "text":
        return blocks
    kinds = {kind_of(block) for block in blocks}
    if "document" not in kinds or kinds & {"text", "guardContent"}:
        return blocks
    context.lose("empty", "a text was added, which the target requires beside a document")
    return [*blocks, {"text": _BESIDE_DOCUMENT}]


def _text_block(part: TextPart, context: WriteContext) -> dict[str, Any] | None:
    """Return the block of a text, or None if it has only white space, which is refused."""
    text, extra = part.text, part.extra
    if not text or text.isspace():
        if text:
            context.lose("empty", "a text of only white space was left out")
        return None
    if extra:
        if context.own and extra.get("guardContent") == "text":
            return {"guardContent": {"text": {"text": text, **members_except(extra, "guardContent")}}}
        context.lose_extra(extra)
    return {"text": text}


def _media_block(part: MediaPart, context: WriteContext, in_result: bool) -> dict[str, Any]:
    member = _MEMBERS.get(part.kind, "")
    format = _format(member, part, context)
    source = _source(member, part, context)
    if source is None or (format is None and member != "document") or (in_result and member == "audio"):
        label = " ".join(filter(None, (part.kind, part.name or part.url, part.media_type)))
        context.lose("media", f"{label} was replaced by a note")
        context.lose_extra(part.extra)
        return {"text": f"[{label}: not carried over]"}
    block: dict[str, Any] = {} if format is None else {"format": format}
    if member == "document":
        block["name"] = _document_name(part, context)
    block["source"] = source
    if context.own:
        location = ("bucketOwner",) if "s3Location" in source else ()
        return {member: merged(block, part.extra, AS_WRITTEN, *location)}
    context.lose_extra(part.extra)
    return {member: block}


def _format(member: str, part: MediaPart, context: WriteContext) -> str | None:
    if context.own and isinstance(part.extra.get("format"), str):
        return str(part.extra["format"])
    if part.extra.get(AS_WRITTEN) == "text without format":
        return None
    formats = _FORMAT_OF.get(member, {})
    media_type = part.media_type
    if media_type is None and member == "image" and part.data is not None:
        media_type = next((known for head, known in _SIGNATURES.items() if part.data.startswith(head)), None)
    if member == "document" and media_type is not None and media_type.startswith("text/"):
        return formats.get(media_type, "txt")
    return formats.get(media_type or "")


def _source(member: str, part: MediaPart, context: WriteContext) -> dict[str, Any] | None:
    """Return the ``source`` of a block, or None if Bedrock does not accept such content: it loads no URLs."""
    if not member:
        return None
    if part.file_id is not None:  # the location is only valid in the account that has the upload
        owner = part.extra.get("bucketOwner")
        location = {"uri": part.file_id} if owner is None else {"uri": part.file_id, "bucketOwner": owner}
        return {"s3Location": location} if context.own else None
    if part.data is None:
        return None
    if member == "document":
        if context.own and AS_WRITTEN in part.extra:
            try:
                return {"text": base64.b64decode(part.data).decode("utf-8", "surrogatepass")}
            except ValueError:
                return None
        if _format(member, part, context) is None:
            return {"bytes": part.data} if context.own else None
    return {"bytes": part.data}


def _document_name(part: MediaPart, context: WriteContext) -> str:
    """Return the name of a document, which Bedrock requires, and only accepts in some characters."""
    if part.name is None:
        return f"document {digest(part.data or part.file_id or '', 8)}"
    if context.own and DOCUMENT_NAME.fullmatch(part.name):
        return part.name
    name = _NOT_IN_NAMES.sub(" ", part.name)[:_LONGEST_NAME].strip()
    name = re.sub(r"\s{2,}", " ", name) or f"document {digest(part.name, 8)}"
    if name != part.name:
        context.lose("media", f"the name {part.name!r} was written as {name!r}")
    return name
