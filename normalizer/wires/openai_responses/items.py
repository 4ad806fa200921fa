"""From output items to canonical blocks: shared by whole bodies and by finished streams.

Who executes a call is decided as the API documents it: by the item's type, `tool_search_call.execution`,
`shell_call.environment`; xAI sends its own calls as `custom_tool_call`, told apart by what the request declared.
A name alone decides nothing (failures SRV-05, SRV-09, NAME-07).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Raw, Struct

from ... import jsontext
from ...model import (
    ApprovalRequest,
    Block,
    Opaque,
    Reasoning,
    Refusal,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from ..common import NO_OBJECT, CallSite, Context, parse_object
from ..schema import Unknown, Wire, exact_text, raw_object
from . import schema as s


class Reading(Struct, gc=False):
    """What the items of one response share: where calls are built, and whether xAI's rules hold."""

    site: CallSite
    #: names of custom tools that the caller declared; null where the server runs none of its own as such
    custom: frozenset[str] | None


def convert(reading: Reading, items: list[Any], cut_last: bool) -> list[Block]:
    """The blocks of all items in order. ``cut_last``: the answer was cut inside the last one."""
    blocks: list[Block] = []
    last = len(items) - 1
    for number, item in enumerate(items):
        kind = type(item)
        if kind is s.FunctionCall:
            cut = item.status == "incomplete" or (cut_last and number == last and item.status != "completed")
            _function(reading, item, blocks, cut)
        elif kind is s.MessageItem:
            _message(reading, item, blocks)
        elif kind is s.ReasoningItem:
            blocks.append(_reasoning(item))
        elif kind is s.CustomToolCall:
            cut = item.status == "incomplete" or (cut_last and number == last and item.status != "completed")
            _custom(reading, item, blocks, cut)
        else:
            _OTHERS.get(kind, _result)(reading, item, blocks)
    return blocks


def _function(reading: Reading, item: s.FunctionCall, blocks: list[Block], cut: bool) -> None:
    site = reading.site
    if item.arguments is None and item.extra_ and "arguments" in item.extra_:
        _spell(item, site.context)
    id, name, text = item.call_id, item.name, item.arguments or ""
    if id in site.seen:
        if site.repeats(id, name, text):
            return
    elif id and name and text and site.trusting and not cut and text.isascii() and "\\" not in text:
        # The hot path: what `build` does for a call with nothing odd about it, which is nearly every one.
        try:
            arguments = parse_object(text)
        except NO_OBJECT:
            pass
        else:
            site.seen[id] = (name, text)
            extra = s.carry_function(item)
            call = ToolCall(
                id, name, arguments, text, "complete", "function", item.id, item.namespace, item.caller, extra
            )
            blocks.append(call)
            return
    extra = s.carry_function(item)
    blocks.append(site.build(len(blocks), id, name, text, "function", extra, cut, item.id, item.namespace, item.caller))


def _spell(item: s.FunctionCall, context: Context) -> None:
    """Arguments that came as an object (or any JSON but text): compact JSON, and a finding (failure ARG-02)."""
    context.find("arguments-respelled", "arguments came as JSON, not as text")
    rest = dict(item.extra_ or ())
    item.arguments = jsontext.text(rest.pop("arguments"))
    item.extra_ = rest or None


def _message(reading: Reading, item: s.MessageItem, blocks: list[Block]) -> None:
    """One block a content part; each keeps the item's own members, so that the item can be put together again."""
    shared = s.carry_message(item)
    if item.role not in (None, "assistant"):
        shared["role"] = item.role  # a compacted conversation repeats the user's own messages
    if not item.content:
        blocks.append(Text("", [], shared))
        return
    for part in item.content:
        own = s.carry_part(part)
        extra = {**shared, "part": own} if own and own != {"logprobs": []} else shared
        if part.refusal is not None:
            blocks.append(Refusal(part.refusal, extra))
        elif part.text is not None:
            blocks.append(Text(part.text, part.annotations or [], extra))
        else:
            reading.site.context.find("unknown-block", f"content part {part.type!r}", reading.site.choice, len(blocks))
            blocks.append(Opaque(part.type or "", raw_object(part), shared))


def _reasoning(item: s.ReasoningItem) -> Reasoning:
    spoken = _texts(item.content) or _texts(item.summary)
    text = "\n\n".join(spoken)
    encrypted = item.encrypted_content
    return Reasoning(text, None, encrypted, bool(encrypted and not text), s.carry_reasoning(item))


def _texts(parts: list[Any] | None) -> list[str]:
    found = [part.get("text") for part in parts or () if isinstance(part, dict)]
    return [text for text in found if isinstance(text, str) and text]


def _custom(reading: Reading, item: s.CustomToolCall, blocks: list[Block], cut: bool) -> None:
    text = item.input or ""
    if is_hosted(item, reading.custom):
        extra = {"type": "custom_tool_call", "call_id": item.call_id, **s.carry_custom(item)}
        tool = "x_search" if (item.name or "").startswith("x_") else item.name or ""
        blocks.append(ServerToolCall(item.id or item.call_id or "", tool, item.name or "", text, item.status, extra))
        return
    site = reading.site
    if item.call_id in site.seen and site.repeats(item.call_id, item.name, text):
        return
    blocks.append(
        site.build(
            len(blocks),
            item.call_id,
            item.name,
            text,
            kind="custom",
            wire_id=item.id,
            namespace=item.namespace,
            caller=item.caller,
            extra=s.carry_custom(item),
            cut=cut,
            free_text=True,
        )
    )


def _client(kind: str, *members: str) -> Callable[[Reading, Any, list[Block]], None]:
    """A built-in tool that the caller runs: its arguments are the JSON of one member of the item."""

    def convert_client(reading: Reading, item: Any, blocks: list[Block]) -> None:
        member = next((m for m in members if _given(getattr(item, m))), members[0])
        raw = getattr(item, member)
        text = exact_text(raw) if _given(raw) else ""
        if text.startswith("["):
            text = f'{{"{member}":{text}}}'
        extra = {k: v for k, v in raw_object(item).items() if k not in ("type", "call_id", "id", "caller", member)}
        extra["member"] = member
        caller = getattr(item, "caller", None)
        blocks.append(
            reading.site.build(
                len(blocks),
                item.call_id or item.id,
                kind,
                text,
                kind=kind,
                wire_id=item.id,
                caller=caller,
                extra=extra,
                cut=item.status == "incomplete",
            )
        )

    return convert_client


def _given(raw: Raw) -> bool:
    return len(memoryview(raw)) > 0


_shell = _client("shell", "action")
_local_shell = _client("local_shell", "action")
_tool_search = _client("tool_search", "arguments")
_apply_patch = _client("apply_patch", "operation")
_computer = _client("computer", "action", "actions")


def is_hosted(item: Any, custom: frozenset[str] | None) -> bool:
    """Whether the provider runs this call, for the item types that alone do not tell. ``custom``: see `Reading`."""
    kind = type(item)
    if kind is s.ShellCall:
        # A shell in a container is the provider's; a local one (or none named) is the caller's.
        return item.environment is not None and item.environment.get("type") not in (None, "local")
    if kind is s.ToolSearchCall:
        return bool(item.execution != "client")
    return kind is s.CustomToolCall and custom is not None and item.name not in custom


def _shell_call(reading: Reading, item: s.ShellCall, blocks: list[Block]) -> None:
    if is_hosted(item, None):
        _server("shell", "action")(reading, item, blocks)
    else:
        _shell(reading, item, blocks)


def _tool_search_call(reading: Reading, item: s.ToolSearchCall, blocks: list[Block]) -> None:
    if is_hosted(item, None):
        _server("tool_search", "arguments")(reading, item, blocks)
    else:
        _tool_search(reading, item, blocks)


def _server(tool: str, member: str, *results: str) -> Callable[[Reading, Any, list[Block]], None]:
    """A call that the provider ran. ``results``: members of the same item that say what came of it."""

    def convert_server(reading: Reading, item: Any, blocks: list[Block]) -> None:
        members = raw_object(item)
        raw = getattr(item, member, None)
        text = exact_text(raw) if isinstance(raw, Raw) and _given(raw) else _as_text(members.get(member))
        id = item.id or getattr(item, "call_id", None) or ""
        name = getattr(item, "name", None)
        outcome = {k: members.pop(k) for k in results if k in members}
        extra = {k: v for k, v in members.items() if k not in ("id", "name", "status", member)}
        blocks.append(ServerToolCall(id, tool, name if isinstance(name, str) else "", text, item.status, extra))
        if outcome:
            failed = outcome.get("error") is not None or item.status == "failed"
            blocks.append(ServerToolResult(id, tool, failed, outcome))

    return convert_server


def _as_text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else jsontext.text(value)


def _approval(reading: Reading, item: s.McpApprovalRequest, blocks: list[Block]) -> None:
    extra = {k: v for k, v in raw_object(item).items() if k not in ("type", "id", "name", "arguments", "server_label")}
    server, name = item.server_label or "", item.name or ""
    blocks.append(ApprovalRequest(item.id or "", server, name, item.arguments or "", extra))


def _compaction(reading: Reading, item: s.Compaction, blocks: list[Block]) -> None:
    """A summary that stands for older turns: state of the model, to be sent back, not words for the user."""
    extra = {k: v for k, v in raw_object(item).items() if k != "encrypted_content"}
    blocks.append(Reasoning("", None, item.encrypted_content, True, extra))


def _unknown(reading: Reading, item: Unknown, blocks: list[Block]) -> None:
    """A type that no table names: `…_call` is the provider's own until documented otherwise (failure SRV-05)."""
    raw = item.raw
    if item.wire_type.endswith("_call") and isinstance(raw, dict):
        name = raw.get("name")
        text = next((_as_text(raw[k]) for k in ("arguments", "action", "input", "code") if raw.get(k) is not None), "")
        id = next((raw[k] for k in ("id", "call_id") if isinstance(raw.get(k), str)), "")
        status = raw.get("status")
        blocks.append(
            ServerToolCall(
                id,
                item.wire_type.removesuffix("_call"),
                name if isinstance(name, str) else "",
                text,
                status if isinstance(status, str) else None,
                {"item": raw},
            )
        )
    else:
        blocks.append(Opaque(item.wire_type, raw))


def _result(reading: Reading, item: Wire, blocks: list[Block]) -> None:
    id = getattr(item, "call_id", None) or getattr(item, "approval_request_id", None)
    failed = getattr(item, "error", None) is not None or getattr(item, "status", None) == "failed"
    blocks.append(ServerToolResult(id or "", s.RESULTS[type(item)], failed, raw_object(item)))


_OTHERS: dict[type[Wire], Callable[[Reading, Any, list[Block]], None]] = {
    s.ComputerCall: _computer,
    s.LocalShellCall: _local_shell,
    s.ShellCall: _shell_call,
    s.ApplyPatchCall: _apply_patch,
    s.ToolSearchCall: _tool_search_call,
    s.McpApprovalRequest: _approval,
    s.WebSearchCall: _server("web_search", "action"),
    s.XSearchCall: _server("x_search", "action"),
    s.FileSearchCall: _server("file_search", "queries", "results"),
    s.CodeInterpreterCall: _server("code_execution", "code", "outputs"),
    s.ImageGenerationCall: _server("image_generation", "revised_prompt", "result", "error"),
    s.McpCall: _server("mcp", "arguments", "output", "error"),
    s.Program: _server("program", "code"),
    s.MultiAgentCall: _server("multi_agent", "arguments"),
    s.Compaction: _compaction,
    Unknown: _unknown,
}
