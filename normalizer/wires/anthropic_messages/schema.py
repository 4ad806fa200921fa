"""Wire schema of the Messages API: structs for responses and stream events.

Source: `anthropic.types` and `anthropic.types.beta` (Message, ContentBlock, RawMessageStreamEvent and their beta
unions). A single flat struct, `Event`, represents every stream event. Its `type` determines which members are set.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Raw, Struct, field

from ..schema import Unknown, Wire, carrier, constant, event_decoder, tagged

WIRE = "anthropic.messages"
NO_INPUT = Raw(b"")


class TextBlock(Wire, tag_field="type", tag="text"):
    text: str = ""
    citations: list[Any] | None = None


class ThinkingBlock(Wire, tag_field="type", tag="thinking"):
    thinking: str = ""
    signature: str | None = None


class RedactedThinkingBlock(Wire, tag_field="type", tag="redacted_thinking"):
    data: str = ""


class ToolUseBlock(Wire, tag_field="type", tag="tool_use"):
    id: str | None = None
    name: str | None = None
    input: Raw = NO_INPUT
    caller: Any = None
    toolset_name: str | None = None


class ServerToolUseBlock(Wire, tag_field="type", tag="server_tool_use"):
    id: str | None = None
    name: str | None = None
    input: Raw = NO_INPUT
    caller: Any = None


class McpToolUseBlock(Wire, tag_field="type", tag="mcp_tool_use"):
    id: str | None = None
    name: str | None = None
    input: Raw = NO_INPUT
    server_name: Any = None


class ResultBlock(Wire, tag_field="type", tag=""):
    """Base of the results of server tools."""

    tool_use_id: str | None = None
    content: Any = None
    caller: Any = None


class WebSearchResult(ResultBlock, tag="web_search_tool_result"):
    pass


class WebFetchResult(ResultBlock, tag="web_fetch_tool_result"):
    pass


class CodeExecutionResult(ResultBlock, tag="code_execution_tool_result"):
    pass


class BashResult(ResultBlock, tag="bash_code_execution_tool_result"):
    pass


class TextEditorResult(ResultBlock, tag="text_editor_code_execution_tool_result"):
    pass


class ToolSearchResult(ResultBlock, tag="tool_search_tool_result"):
    pass


class AdvisorResult(ResultBlock, tag="advisor_tool_result"):
    pass


class McpResult(ResultBlock, tag="mcp_tool_result"):
    is_error: bool | None = None


class ContainerUpload(Wire, tag_field="type", tag="container_upload"):
    file_id: Any = None


class Compaction(Wire, tag_field="type", tag="compaction"):
    content: str | None = None
    encrypted_content: str | None = None
    signature: str | None = None
    tool_changes: Any = None


class FallbackBlock(Wire, tag_field="type", tag="fallback"):
    from_: Any = field(default=None, name="from")
    to: Any = None
    trigger: Any = None


class McpToolListing(Wire, tag_field="type", tag="mcp_tool_listing"):
    mcp_server_name: Any = None
    tools: Any = None


#: The canonical tool of each type of server tool result.
RESULTS: dict[type[Wire], str] = {
    WebSearchResult: "web_search",
    WebFetchResult: "web_fetch",
    CodeExecutionResult: "code_execution",
    BashResult: "code_execution",
    TextEditorResult: "code_execution",
    ToolSearchResult: "tool_search",
    AdvisorResult: "advisor",
    McpResult: "mcp",
    # blocks of a server tool that belong to no call
    ContainerUpload: "code_execution",
    FallbackBlock: "fallback",
    McpToolListing: "mcp",
}

Block = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ServerToolUseBlock
    | McpToolUseBlock
    | WebSearchResult
    | WebFetchResult
    | CodeExecutionResult
    | BashResult
    | TextEditorResult
    | ToolSearchResult
    | AdvisorResult
    | McpResult
    | ContainerUpload
    | Compaction
    | FallbackBlock
    | McpToolListing
    | Unknown
)


class Message(Wire):
    """A complete message, the message of `message_start`, or an error body."""

    model: str | None = None
    id: str | None = None
    type: str | None = None
    role: str | None = None
    content: list[Block] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Any = None
    usage: dict[str, Any] | None = None
    container: Any = None
    context_management: Any = None
    diagnostics: Any = None
    error: Any = None
    request_id: Any = None
    input_transformations: Any = None


class Delta(Wire):
    """The `delta` of a content block, or of the message at its end."""

    type: str | None = None
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    citation: Any = None
    content: str | None = None
    encrypted_content: str | None = None
    estimated_tokens: Any = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Any = None
    container: Any = None


class EventMembers(Wire):
    """The members of a stream event."""

    type: ClassVar[str | None]
    index: int | None = None
    delta: Delta | None = None
    content_block: Block | None = None
    message: Message | None = None
    usage: dict[str, Any] | None = None
    error: Any = None
    context_management: Any = None
    input_transformations: Any = None
    request_id: Any = None
    # Bedrock: metrics of the invocation, and padding
    invocation_metrics: Any = field(default=None, name="amazon-bedrock-invocationMetrics")
    p: Any = None


class Event(EventMembers):
    """One stream event of any type."""

    type: str | None = None  # type: ignore[misc]  # in the other structs, the class determines the type


# Structs of the fast path: one per event type. Those for text fragments have only the members that such an event has.
# An event with other members does not fit, and the stream then parses it as an `Event`.


class TextPiece(Struct, tag_field="type", tag="text_delta", forbid_unknown_fields=True, gc=False):
    text: str
    kind: str = constant("text")


class InputPiece(Struct, tag_field="type", tag="input_json_delta", forbid_unknown_fields=True, gc=False):
    text: str = field(name="partial_json")
    kind: str = constant("partial_json")


class ThinkingPiece(Struct, tag_field="type", tag="thinking_delta", forbid_unknown_fields=True, gc=False):
    text: str = field(name="thinking")
    kind: str = constant("thinking")


class SignaturePiece(Struct, tag_field="type", tag="signature_delta", forbid_unknown_fields=True, gc=False):
    text: str = field(name="signature")
    kind: str = constant("signature")


class Piece(Struct, tag_field="type", tag="content_block_delta", forbid_unknown_fields=True, gc=False):
    at: int = field(name="index")
    delta: TextPiece | InputPiece | ThinkingPiece | SignaturePiece
    p: Any = None


#: The types of the events between fragments.
BETWEEN = frozenset(
    ("content_block_start", "content_block_stop", "message_start", "message_delta", "message_stop", "ping")
)
decode_event = event_decoder(Piece, *(tagged(EventMembers, kind) for kind in sorted(BETWEEN)))

carry_message = carrier(
    Message, "id", "type", "role", "model", "content", "stop_reason", "usage", "error", "request_id"
)
carry_delta = carrier(
    Delta,
    "type",
    "text",
    "partial_json",
    "thinking",
    "signature",
    "citation",
    "content",
    "encrypted_content",
    "estimated_tokens",
    "stop_reason",
)
#: `p` is padding that hides the length of the text.
carry_event = carrier(EventMembers, "index", "delta", "content_block", "message", "usage", "error", "request_id", "p")
