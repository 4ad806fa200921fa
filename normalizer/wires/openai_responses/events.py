"""The events of a Responses stream by type: what each grows, ends, begins, or merely tells of."""

from __future__ import annotations

from ..schema import Unknown, Wire, passed_over, run_reader, tagged
from . import schema as s

#: Canonical types of the blocks to come; who runs the others is told by `is_hosted`.
SHOWN: dict[type[Wire], str] = {
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

#: Deltas: event type -> (the part of the item it grows, the item that it implies where none began).
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
#: The same parts, whole: event type -> (part, the event's member that holds it, implied item).
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
#: The part of a call that says what is asked for, as far as it comes in deltas.
ASKED_IN_DELTAS = frozenset(("arguments", "input"))
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
    """Whether deltas of this part can belong to the item. An item of an unknown type takes all."""
    kind = type(item)
    return kind is Unknown or part in _TAKES.get(kind, _NO_PART)


#: Terminal events, and the status that each one stands for where the response states none. Only the first three are
#: OpenAI's; proxies end with the others (decolua/9router 2142, can1357/oh-my-pi 4692).
TERMINAL: dict[str, str] = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.done": "completed",
    "response.cancelled": "cancelled",
    "response.canceled": "cancelled",
}
BEGINNING = frozenset(("response.created", "response.in_progress", "response.queued"))
#: Progress notes: what they tell comes again, whole, in the item.
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
        # over a WebSocket: what became of input that was sent into a running answer
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

#: The struct of each delta, and a reader of many events at once that stops at none whose type a table names.
PIECES: dict[str, type[s.Piece]] = {kind: tagged(s.Piece, kind) for kind in DELTAS}
_passed = (
    DONES.keys() | TERMINAL.keys() | BEGINNING | PROGRESS | {"response.output_item.added", "response.output_item.done"}
)
read_run = run_reader(*PIECES.values(), *passed_over(*sorted(_passed)))
