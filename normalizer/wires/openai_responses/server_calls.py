"""Writer for server calls: they become items of their original types, of which only this wire has several."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...model import ServerToolCall
from ..write_context import AS_WRITTEN

#: Canonical tool -> item type, the member that holds the arguments, and whether its value is JSON.
SERVER: dict[str, tuple[str, str, bool]] = {
    "web_search": ("web_search_call", "action", True),
    "x_search": ("x_search_call", "action", True),
    "file_search": ("file_search_call", "queries", True),
    "code_execution": ("code_interpreter_call", "code", False),
    "image_generation": ("image_generation_call", "revised_prompt", False),
    "mcp": ("mcp_call", "arguments", False),
    "tool_search": ("tool_search_call", "arguments", True),
    "shell": ("shell_call", "action", True),
    "program": ("program", "code", False),
    "multi_agent": ("multi_agent_call", "arguments", False),
}
#: Required members by item type; None if there is no value.
_NULLABLE = {"code_interpreter_call": ("code", "outputs"), "image_generation_call": ("result",)}
#: Keys of ``extra`` that are not sent: hints of the reader, and members that gateways add to streamed items.
INTERNAL = frozenset((AS_WRITTEN, "part", "member", "item_id", "output_index"))


def write_server_call(block: ServerToolCall) -> dict[str, Any]:
    extra = block.extra
    raw = extra.get("item")
    if isinstance(raw, dict):  # an item of an unknown type, kept unchanged
        return raw
    kind, member, is_json = SERVER.get(block.tool, (f"{block.tool}_call", "arguments", False))
    kind = extra.get("type", kind)
    if kind == "custom_tool_call":
        member, is_json = "input", False
    item: dict[str, Any] = {"type": kind}
    if block.id and extra.get(AS_WRITTEN) != "no id":
        item["id"] = block.id
    if kind == "tool_search_call":
        item["execution"] = "server"
    if block.name:
        item["name"] = block.name
    if block.status is not None:
        item["status"] = block.status
    if block.arguments_text:
        item[member] = parsed(block.arguments_text) if is_json else block.arguments_text
    item.update((k, v) for k, v in extra.items() if k not in item and k not in INTERNAL)
    for required in _NULLABLE.get(kind, ()):
        item.setdefault(required, None)
    return item


def parsed(text: str) -> Any:
    """Return the JSON value of a text; an empty object if it is not JSON."""
    try:
        return json_codec.decode(text)
    except ValueError:
        return {}
