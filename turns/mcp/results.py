"""Results of MCP tools as content parts of tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import JsonPart, MediaPart, Part, TextPart, ToolResult

if TYPE_CHECKING:
    from mcp_types import CallToolResult

#: First half of a MIME type -> kind of the media part. All others are files.
_KINDS = {"image": "image", "audio": "audio", "video": "video"}


def result_of_tool(result: CallToolResult) -> ToolResult:
    """Return the tool result for what a server returned. The executor adds the call's id.

    Structured content is a JSON part. A server should repeat it as text, which is then left out:
    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
    """
    document = result.model_dump(mode="json", by_alias=True, exclude_unset=True)
    parts: list[Part] = [_part(block) for block in document["content"]]
    structured = document.get("structuredContent")
    if structured is not None:
        parts = [*_without_repetition(parts, structured), JsonPart(structured)]
    return ToolResult(
        "", parts, is_error=result.is_error, plain=len(parts) == 1 and isinstance(parts[0], (TextPart, JsonPart))
    )


def _without_repetition(parts: list[Part], structured: Any) -> list[Part]:
    """Return the parts without the texts that repeat the structured content: one text with all of it, or one for each
    item. The official SDK for Python puts a value that is not an object into the member ``result``.
    """
    texts = [part for part in parts if isinstance(part, TextPart)]
    value = structured["result"] if isinstance(structured, dict) and structured.keys() == {"result"} else structured
    if isinstance(value, list) and len(texts) == len(value):
        repeated = [text for text, item in zip(texts, value, strict=True) if _is_text_of(text.text, item)]
        if len(repeated) == len(texts):
            return [part for part in parts if not isinstance(part, TextPart)]
    return [
        part
        for part in parts
        if not (isinstance(part, TextPart) and any(_is_text_of(part.text, whole) for whole in (structured, value)))
    ]


def _part(block: dict[str, Any]) -> Part:
    kind = block.get("type")
    if kind == "text":
        return TextPart(block["text"])
    if kind in ("image", "audio"):
        return MediaPart(kind, block["mimeType"], data=block["data"])
    if kind == "resource":
        return _resource_part(block["resource"])
    if kind == "resource_link":
        details = [block.get("title") or block.get("name"), block.get("mimeType"), block.get("description")]
        return TextPart(f"[resource {block['uri']}: {', '.join(detail for detail in details if detail)}]")
    return JsonPart(block)


def _resource_part(resource: dict[str, Any]) -> Part:
    """Return the part for the content of a resource. A text keeps its address, because the model may need it."""
    if "text" in resource:
        return TextPart(f"[resource {resource['uri']}]\n{resource['text']}")
    media_type = resource.get("mimeType") or "application/octet-stream"
    kind = _KINDS.get(media_type.partition("/")[0], "file")
    name = resource["uri"].rstrip("/").rpartition("/")[2] or None
    return MediaPart(kind, media_type, data=resource["blob"], name=name)


def _is_text_of(text: str, value: Any) -> bool:
    """Return whether a text is a value, or its JSON."""
    if text == value:
        return True
    try:
        return bool(json_codec.decode(text) == value)
    except ValueError:
        return False
