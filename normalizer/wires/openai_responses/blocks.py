"""Convert output items into canonical blocks, for complete bodies and for finished streams.

This module decides whether a call is a client call or a server call, as the API documents it: by the item's type,
`tool_search_call.execution` and `shell_call.environment`. xAI sends its own calls as `custom_tool_call`. They are
recognized by the tools that the request declares or, if those are unknown, by the names that xAI documents. In all
other cases a name decides nothing (failures SRV-05, SRV-09, NAME-07).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from ... import json_codec
from ...arguments import by_value
from ...model import (
    ApprovalRequest,
    Block,
    CallStatus,
    Opaque,
    Reasoning,
    Refusal,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..schema import Unknown, Wire, exact_text, raw_object
from ..xai_tools import TOOLS_OF_XAI
from . import schema as s

#: Statuses of a call that failed, and of one that has not ended.
_FAILED = frozenset(("failed", "cancelled"))
_BEGUN = frozenset(("in_progress", "queued"))
#: Output item -> type of the client call that it answers.
_ANSWERS: dict[type[Wire], type[Wire]] = {
    s.FunctionCallOutput: s.FunctionCall,
    s.CustomToolCallOutput: s.CustomToolCall,
    s.ComputerCallOutput: s.ComputerCall,
    s.LocalShellCallOutput: s.LocalShellCall,
    s.ShellCallOutput: s.ShellCall,
    s.ApplyPatchCallOutput: s.ApplyPatchCall,
    s.ToolSearchOutput: s.ToolSearchCall,
}


class CustomTools(Struct, gc=False, frozen=True):
    """xAI's rule for custom calls (failure SRV-09). ``names``: the declared custom tools, None if unknown."""

    names: frozenset[str] | None


class Conversion(Struct, gc=False):
    """State that is shared by the items of one response while they are converted."""

    builder: CallBuilder
    #: xAI's rule; None if the server runs no custom tools
    custom: CustomTools | None
    #: calls whose output is in the same response: (type of the call, id) -> the output's tool
    answered: dict[tuple[type[Wire], str], str] | None = None
    #: those of them that already have a block
    converted: set[tuple[type[Wire], str, str | None, str]] | None = None
    #: whether the items are from a history, which may contain the same call twice, each with a result
    is_history: bool = False


#: Appends the blocks of one item. The last argument: whether the response was cut off inside it.
_Convert = Callable[[Conversion, Any, list[Block], bool], None]


def convert(conversion: Conversion, items: list[Any], cut_last: bool) -> list[Block]:
    """Return the blocks of all items in order. ``cut_last``: the response was cut off inside the last one."""
    blocks: list[Block] = []
    last = len(items) - 1 if cut_last else -1
    if not _ANSWERS.keys().isdisjoint(map(type, items)):
        conversion.answered = _answered_calls(items)
    for number, item in enumerate(items):
        kind = type(item)
        if kind is s.FunctionCall:
            _function(
                conversion,
                item,
                blocks,
                "complete" if item.status == "completed" else _call_status(item, number == last),
            )
        elif kind is s.MessageItem:
            _message(conversion, item, blocks)
        elif kind is s.ReasoningItem:
            blocks.append(reasoning(item))
        else:
            _OTHERS.get(kind, _result)(conversion, item, blocks, number == last)
    return blocks


def _call_status(item: Any, last: bool) -> CallStatus:
    """Return the canonical status of a call. ``last``: the response was cut off inside it."""
    status = item.status
    if status == "completed":
        return "complete"
    if status in _FAILED:
        return "invalid"
    if last or status == "incomplete" or (status in _BEGUN and not _has_arguments(item)):
        return "truncated"
    return "complete"


def _has_arguments(item: Any) -> bool:
    members = (getattr(item, name, None) for name in ("arguments", "input", "action", "actions", "operation"))
    has_value = any(_given(member) if isinstance(member, Raw) else member for member in members)
    return has_value or bool(item.extra_ and "arguments" in item.extra_)


def _answered_calls(items: list[Any]) -> dict[tuple[type[Wire], str], str]:
    answered = {}
    for item in items:
        if (call := _ANSWERS.get(type(item))) is not None and (id := _answered_id(item)):
            answered[call, id] = s.RESULTS[type(item)]
    return answered


def _answered_id(item: Any) -> str | None:
    """Return the id of the call that an output answers."""
    # In the SDK's type of a local shell's output, `id` is the call id.
    own = item.id if type(item) is s.LocalShellCallOutput else None
    id: str | None = item.call_id or own
    return id


def _function(conversion: Conversion, item: s.FunctionCall, blocks: list[Block], status: CallStatus) -> None:
    builder = conversion.builder
    if item.arguments is None and item.extra_ and "arguments" in item.extra_:
        _respell_arguments(item, builder.context)
    id, name, text = item.call_id, item.name, item.arguments or ""
    if status == "complete" and not conversion.answered:  # the same as `_call` for a regular call
        extra = s.carry_function(item)
        call = builder.regular_call(id, name, text, "function", extra, item.id, item.namespace, item.caller)
        if call is not None:
            blocks.append(call)
            return
    _call(conversion, item, blocks, status, id, name, text, "function", s.carry_function(item))


def _call(
    conversion: Conversion,
    item: Any,
    blocks: list[Block],
    status: CallStatus,
    id: str | None,
    name: str | None,
    text: str,
    kind: str,
    extra: dict[str, Any],
    free_text: bool = False,
) -> ToolCall | None:
    """Append a client call of any kind and return it.

    A duplicate is dropped, and a call whose output is in the same response becomes a server call. Both return None.
    """
    builder = conversion.builder
    if conversion.answered and (tool := conversion.answered.get((type(item), id or ""))) is not None:
        # The call has run already: on the server, or before the conversation was compacted.
        identity = (type(item), id or "", name, text if free_text else by_value(text))
        if conversion.converted is None:
            conversion.converted = set()
        if identity in conversion.converted:
            builder.context.find("duplicate-call", f"{name} ({id}) is repeated", builder.choice)
            return None
        conversion.converted.add(identity)
        builder.context.find(
            "answered-call", f"{name} ({id}): the response contains its output", builder.choice, len(blocks)
        )
        blocks.append(ServerToolCall(id or "", tool, name or "", text, item.status, {"item": raw_object(item)}))
        return None
    if id in builder.seen and not conversion.is_history and builder.repeats(id, name, text, free_text):
        return None
    namespace, caller = getattr(item, "namespace", None), getattr(item, "caller", None)
    cut = status == "truncated"
    built = builder.build(len(blocks), id, name, text, kind, extra, cut, item.id, namespace, caller, free_text)
    if status == "invalid":
        builder.context.find("call-failed", f"{name}: status {item.status!r}", builder.choice, len(blocks))
        built = replace(built, status="invalid", arguments=None)
    blocks.append(built)
    return built


def _respell_arguments(item: s.FunctionCall, context: Context) -> None:
    """Replace arguments that are JSON but not text by compact JSON text (failure ARG-02)."""
    context.find("arguments-respelled", "the arguments are JSON, not text")
    rest = dict(item.extra_ or ())
    item.arguments = json_codec.text(rest.pop("arguments"))
    item.extra_ = rest or None


def _message(conversion: Conversion, item: s.MessageItem, blocks: list[Block]) -> None:
    """Append one block per content part. Each keeps the extra members of the item, so the writer can rebuild it."""
    shared = s.carry_message(item)
    if item.role not in (None, "assistant"):
        shared["role"] = item.role  # a compacted conversation contains user messages
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
            if part.audio is None:
                conversion.builder.context.find(
                    "unknown-block", f"content part {part.type!r}", conversion.builder.choice, len(blocks)
                )
            blocks.append(Opaque(part.type or "", raw_object(part), shared))


def reasoning(item: s.ReasoningItem | s.Compaction) -> Reasoning:
    """Convert a reasoning item, or the summary of older messages: it has to go back and is not text for the user."""
    if isinstance(item, s.Compaction):
        extra = {name: value for name, value in raw_object(item).items() if name != "encrypted_content"}
        return Reasoning("", None, item.encrypted_content, True, extra)
    texts = _texts(item.content) or _texts(item.summary)
    text = "\n\n".join(texts)
    encrypted = item.encrypted_content
    return Reasoning(text, None, encrypted, bool(encrypted and not text), s.carry_reasoning(item))


def _texts(parts: list[Any] | None) -> list[str]:
    texts = [part.get("text") for part in parts or () if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str) and text]


def _custom(conversion: Conversion, item: s.CustomToolCall, blocks: list[Block], last: bool) -> None:
    text = item.input or ""
    if is_hosted(item, conversion.custom):
        extra = {"type": "custom_tool_call", "call_id": item.call_id, **s.carry_custom(item)}
        name = item.name or ""
        tool = TOOLS_OF_XAI.get(name) or ("x_search" if name.startswith("x_") else name)
        blocks.append(ServerToolCall(item.id or item.call_id or "", tool, item.name or "", text, item.status, extra))
        return
    extra = s.carry_custom(item)
    built = _call(
        conversion, item, blocks, _call_status(item, last), item.call_id, item.name, text, "custom", extra, True
    )
    if built is not None and conversion.custom is not None and conversion.custom.names is None:
        context = conversion.builder.context
        context.find(
            "unresolved-call", f"{item.name}: no declared tools are known", conversion.builder.choice, len(blocks) - 1
        )
        blocks[-1] = replace(built, status="invalid", kind="unresolved")


def _client(kind: str, *members: str) -> _Convert:
    """Return the converter for a built-in client tool. The first of ``members`` with a value holds the arguments."""

    def convert_client(conversion: Conversion, item: Any, blocks: list[Block], last: bool) -> None:
        member = next((m for m in members if _given(getattr(item, m))), members[0])
        raw = getattr(item, member)
        text = exact_text(raw) if _given(raw) else ""
        if text.startswith("["):
            text = f'{{"{member}":{text}}}'
        extra = {k: v for k, v in raw_object(item).items() if k not in ("type", "call_id", "id", "caller", member)}
        extra["member"] = member
        _call(conversion, item, blocks, _call_status(item, last), item.call_id or item.id, kind, text, kind, extra)

    return convert_client


def _given(raw: Raw) -> bool:
    return len(memoryview(raw)) > 0


_shell = _client("shell", "action")
_local_shell = _client("local_shell", "action")
_tool_search = _client("tool_search", "arguments")
_apply_patch = _client("apply_patch", "operation")
_computer = _client("computer", "action", "actions")


def is_hosted(item: Any, custom: CustomTools | None) -> bool:
    """Whether the provider runs this call, for item types that leave it open. ``custom``: see `Conversion`."""
    kind = type(item)
    if kind is s.ShellCall:
        # The provider runs a shell in a container. The client runs a local or unspecified one.
        return item.environment is not None and item.environment.get("type") not in (None, "local")
    if kind is s.ToolSearchCall:
        return bool(item.execution != "client")
    if kind is not s.CustomToolCall or custom is None:
        return False
    return item.name in TOOLS_OF_XAI if custom.names is None else item.name not in custom.names


def _shell_call(conversion: Conversion, item: s.ShellCall, blocks: list[Block], last: bool) -> None:
    if is_hosted(item, None):
        _server("shell", "action")(conversion, item, blocks, last)
    else:
        _shell(conversion, item, blocks, last)


def _tool_search_call(conversion: Conversion, item: s.ToolSearchCall, blocks: list[Block], last: bool) -> None:
    if is_hosted(item, None):
        _server("tool_search", "arguments")(conversion, item, blocks, last)
    else:
        _tool_search(conversion, item, blocks, last)


def _server(tool: str, member: str, *results: str) -> _Convert:
    """Return the converter for a server call. ``results``: members of the same item that hold its result."""

    def convert_server(conversion: Conversion, item: Any, blocks: list[Block], last: bool) -> None:
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
    return "" if value is None else value if isinstance(value, str) else json_codec.text(value)


def _approval(conversion: Conversion, item: s.McpApprovalRequest, blocks: list[Block], last: bool) -> None:
    extra = {k: v for k, v in raw_object(item).items() if k not in ("type", "id", "name", "arguments", "server_label")}
    server, name = item.server_label or "", item.name or ""
    blocks.append(ApprovalRequest(item.id or "", server, name, item.arguments or "", extra))


def _compaction(conversion: Conversion, item: s.Compaction, blocks: list[Block], last: bool) -> None:
    blocks.append(reasoning(item))


def _unknown(conversion: Conversion, item: Unknown, blocks: list[Block], last: bool) -> None:
    """Convert an item of an unknown type: `…_call` counts as a server call (failure SRV-05), any other is opaque."""
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


def _result(conversion: Conversion, item: Any, blocks: list[Block], last: bool) -> None:
    id = _answered_id(item) or getattr(item, "approval_request_id", None)
    failed = getattr(item, "error", None) is not None or getattr(item, "status", None) == "failed"
    blocks.append(ServerToolResult(id or "", s.RESULTS[type(item)], failed, raw_object(item)))


_OTHERS: dict[type[Wire], _Convert] = {
    s.CustomToolCall: _custom,
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
