"""Tables of the stream events, of which only this wire has many: deltas, ends of parts, start, end and progress."""

from __future__ import annotations

from ..schema import Unknown, Wire, event_decoder, tagged
from . import schema as s
from .spec import GRAMMAR

#: Item -> type of the block it starts. `is_hosted` decides for types of calls that are not in this table.
BLOCK_TYPES: dict[type[Wire], str] = {
    s.ReasoningItem: "reasoning",
    s.Compaction: "reasoning",
    s.FunctionCall: "tool_call",
    s.ComputerCall: "tool_call",
    s.LocalShellCall: "tool_call",
    s.ApplyPatchCall: "tool_call",
    s.McpApprovalRequest: "approval_request",
    s.WebSearchCall: "server_tool_call",
    s.XSearchCall: "server_tool_call",
    s.FileSearchCall: "server_tool_call",
    s.CodeInterpreterCall: "server_tool_call",
    s.ImageGenerationCall: "server_tool_call",
    s.McpCall: "server_tool_call",
    s.Program: "server_tool_call",
    s.MultiAgentCall: "server_tool_call",
    Unknown: "opaque",
}

#: Deltas: event type -> (part of the item that it extends, item type that it implies if no item began).
DELTAS: dict[str, tuple[str, type[Wire]]] = {
    "response.output_text.delta": ("text", s.MessageItem),
    "response.refusal.delta": ("refusal", s.MessageItem),
    "response.reasoning_text.delta": ("content", s.ReasoningItem),
    "response.reasoning_summary_text.delta": ("summary", s.ReasoningItem),
    "response.function_call_arguments.delta": ("arguments", s.FunctionCall),
    "response.custom_tool_call_input.delta": ("input", s.CustomToolCall),
    "response.mcp_call_arguments.delta": ("arguments", s.McpCall),
    "response.code_interpreter_call_code.delta": ("code", s.CodeInterpreterCall),
}
#: Complete parts: event type -> (part, member of the event that holds it, implied item type).
DONES: dict[str, tuple[str, str, type[Wire]]] = {
    "response.output_text.done": ("text", "text", s.MessageItem),
    "response.refusal.done": ("refusal", "refusal", s.MessageItem),
    "response.reasoning_text.done": ("content", "text", s.ReasoningItem),
    "response.reasoning_summary_text.done": ("summary", "text", s.ReasoningItem),
    "response.function_call_arguments.done": ("arguments", "arguments", s.FunctionCall),
    "response.custom_tool_call_input.done": ("input", "input", s.CustomToolCall),
    "response.mcp_call_arguments.done": ("arguments", "arguments", s.McpCall),
    "response.code_interpreter_call_code.done": ("code", "code", s.CodeInterpreterCall),
}
#: Parts of a call that hold arguments and arrive in deltas.
ARGUMENT_PARTS = frozenset(("arguments", "input"))
_TAKES: dict[type[Wire], frozenset[str]] = {
    s.MessageItem: frozenset(("text", "refusal")),
    s.ReasoningItem: frozenset(("content", "summary")),
    s.FunctionCall: frozenset(("arguments",)),
    s.McpCall: frozenset(("arguments",)),
    s.McpApprovalRequest: frozenset(("arguments",)),
    s.MultiAgentCall: frozenset(("arguments",)),
    s.WebSearchCall: frozenset(("arguments",)),
    s.XSearchCall: frozenset(("arguments", "input")),
    s.CustomToolCall: frozenset(("input",)),
    s.CodeInterpreterCall: frozenset(("code",)),
    s.Program: frozenset(("code",)),
}
_NO_PART: frozenset[str] = frozenset()


def takes(item: Wire, part: str) -> bool:
    """Whether deltas of ``part`` can belong to the item. An item of an unknown type accepts all parts."""
    kind = type(item)
    return kind is Unknown or part in _TAKES.get(kind, _NO_PART)


_RESPONSE, _ITEM = GRAMMAR.units[:2]
#: Start and end of an item.
ADDED, DONE = _ITEM.start, _ITEM.end
#: Terminal events, and the status that each implies if its response has none. Only the first three are OpenAI's.
#: Proxies send the others (decolua/9router 2142, can1357/oh-my-pi 4692).
TERMINAL: dict[str, str] = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.done": "completed",
    "response.cancelled": "cancelled",
    "response.canceled": "cancelled",
}
BEGINNING = frozenset((_RESPONSE.start, *_RESPONSE.within.split()))
#: Progress events. The decoder skips them, because the item contains their content at its end.
PROGRESS = frozenset(
    (
        "keepalive",
        "ping",
        "response.content_part.added",
        "response.content_part.done",
        "response.reasoning_part.added",
        "response.reasoning_part.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.output_text.annotation.added",
        "response.audio.delta",
        "response.audio.done",
        "response.audio.transcript.delta",
        "response.audio.transcript.done",
        "response.code_interpreter_call.in_progress",
        "response.code_interpreter_call.interpreting",
        "response.code_interpreter_call.completed",
        "response.compaction.compacting",
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.file_search_call.completed",
        "response.image_generation_call.in_progress",
        "response.image_generation_call.generating",
        "response.image_generation_call.partial_image",
        "response.image_generation_call.completed",
        "response.mcp_call.in_progress",
        "response.mcp_call.completed",
        "response.mcp_call.failed",
        "response.mcp_list_tools.in_progress",
        "response.mcp_list_tools.completed",
        "response.mcp_list_tools.failed",
        "response.shell_call_command.added",
        "response.shell_call_command.delta",
        "response.shell_call_command.done",
        "response.shell_call_output_content.delta",
        "response.shell_call_output_content.done",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
        # over a WebSocket: status of input that was sent during a running response
        "response.inject.created",
        "response.inject.failed",
        "response.steer.accepted",
        "response.steer.failed",
        "response.steer.pending",
        # xAI
        "response.x_search_call.in_progress",
        "response.x_search_call.searching",
        "response.x_search_call.completed",
    )
)

#: The types of the events that change the response, and of those that do not.
KNOWN = DELTAS.keys() | DONES.keys() | TERMINAL.keys() | BEGINNING | PROGRESS | {ADDED, DONE}
#: Struct of each delta.
PIECES: dict[str, type[s.DeltaEvent]] = {kind: tagged(s.DeltaEvent, kind) for kind in DELTAS}
#: Decodes regular events. An event with other members does not fit, and the stream then parses it as an `Event`.
decode_event = event_decoder(
    *PIECES.values(),
    *(tagged(s.TerminalEvent, kind) for kind in sorted(TERMINAL)),
    *(tagged(s.RegularEvent, kind) for kind in sorted(KNOWN - DELTAS.keys() - TERMINAL.keys())),
)
