"""Conversion between tool results and messages of the roles `tool` and `function`."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, TextPart, ToolResult
from ...model import ToolCall
from ..write_context import AS_WRITTEN, FAILED, HINTS, REPEATED, WriteContext, mark_failed, unmark_failed
from .dialects import Dialect
from .parts import describe, is_text, read_parts, write_part

_NOTE = "The tool's result goes on in the next user message."


def read_result(message: dict[str, Any], call: ToolCall | None) -> ToolResult:
    """Convert a message of the role `tool` or `function`. ``call``: the call that it answers."""
    content, id, name, role = (message.get(member) for member in ("content", "tool_call_id", "name", "role"))
    extra = {k: v for k, v in message.items() if k not in ("role", "content", "tool_call_id")}
    if not isinstance(content, (str, list)):
        extra["content"] = content
    if role == "tool" and not (isinstance(id, str) and id):
        extra["tool_call_id"] = id
    if isinstance(content, list) and any(not (isinstance(p, dict) and p.get("type") == "text") for p in content):
        extra[AS_WRITTEN] = {"parts": True}
    if isinstance(name, str) and (role == "function" or (call is not None and call.name == name)):
        extra[REPEATED] = {"name": extra.pop("name")}
    parts = read_parts(content)
    failed = False
    if parts and isinstance(first := parts[0], TextPart):
        text, failed = unmark_failed(first.text)
        if text is not first.text:
            parts[:1] = [TextPart(text, first.extra)] if text or len(parts) == 1 else []
    return ToolResult(
        call.id if call else id if isinstance(id, str) else "",
        parts,
        failed,
        name if isinstance(name, str) else None,
        "legacy_function" if role == "function" else call.kind if call else "function",
        isinstance(content, str),
        extra=extra,
    )


def write_results(
    results: list[ToolResult], ids: dict[str, str | None], dialect: Dialect, context: WriteContext
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the messages for tool results, and the media that have to follow in a user message (failure RES-03).

    ``ids``: canonical call id -> id on the wire (None: no id).
    """
    media: list[dict[str, Any]] = []
    writer = _ResultWriter(dialect, context, media)
    return [writer.write(result, ids) for result in results], media


class _ResultWriter:
    """Writer for the results of one round. ``media``: collects content that has to follow in a user message."""

    def __init__(self, dialect: Dialect, context: WriteContext, media: list[dict[str, Any]]) -> None:
        self._dialect = dialect
        self._context = context
        self._media = media

    def write(self, result: ToolResult, ids: dict[str, str | None]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "tool"}
        if result.kind == "legacy_function" and self._context.own and result.call_id in ids:
            message = {"role": "function"}
        elif (id := ids.get(result.call_id)) is not None:
            message["tool_call_id"] = id
        extra = self._members(result.extra)
        if "tool_call_id" in extra:
            message.pop("tool_call_id", None)
        accepts_media = self._dialect.result_media or (self._context.own and AS_WRITTEN in result.extra)
        message["content"] = self._content(result, accepts_media, message.get("tool_call_id"))
        if "content" in extra and not result.parts:
            message["content"] = extra["content"]
        message.update((key, value) for key, value in extra.items() if key not in message and value is not None)
        if message["role"] == "function" and "name" not in message:
            message["name"] = result.name or ""
        return message

    def _members(self, extra: dict[str, Any]) -> dict[str, Any]:
        """Return a result's extra members for its own provider; none for another provider (failure RES-02)."""
        if self._context.own:
            return {k: v for k, v in (*extra.items(), *extra.get(REPEATED, {}).items()) if k not in HINTS}
        self._context.lose_extra(extra, "", None, "tool_call_id", "content")
        return {}

    def _content(self, result: ToolResult, accepts_media: bool, id: str | None) -> Any:
        own = self._context.own
        if len(result.parts) == 1:
            part = result.parts[0]
            if type(part) is TextPart and (result.plain or not (own or part.extra)):
                return mark_failed(part.text, result.is_error)
            if type(part) is JsonPart:
                return mark_failed(json_codec.text(part.value), result.is_error)
        written: list[dict[str, Any]] = []
        for part in result.parts:
            written_part = write_part(part, self._dialect, self._context)
            if written_part is not None and type(part) is MediaPart and not accepts_media and not is_text(written_part):
                written_part = self._move(part, written_part, id)
            if written_part is not None:
                written.append(written_part)
        if not written:
            return mark_failed("", result.is_error) if result.plain or not own or result.is_error else []
        if is_text(written[0]):
            written[0]["text"] = mark_failed(written[0]["text"], result.is_error)
        elif result.is_error:
            written.insert(0, {"type": "text", "text": FAILED})
        if not own and all(len(part) == 2 and is_text(part) for part in written):
            return "\n".join(part["text"] for part in written)
        return written

    def _move(self, part: MediaPart, written: dict[str, Any], id: str | None) -> dict[str, Any]:
        """Move a written part to the media, and return the note in its place."""
        label = f"Returned for {id}:"
        if not self._media or self._media[-1].get("text") != label:
            self._media.append({"type": "text", "text": label})
        self._media.append(written)
        description = describe(part)
        self._context.lose("media", f"{description} of a result was moved to a user message")
        return {"type": "text", "text": f"{description} {_NOTE}"}
