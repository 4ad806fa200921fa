"""Structs for Responses bodies and stream events.

Source: `openai.types.responses` (Response, ResponseOutputItem, ResponseStreamEvent) and its beta union
(`openai.types.beta.BetaResponseOutputItem`). Members of xAI and other servers come from recorded traffic. One flat
struct reads every stream event; its `type` determines which members are set.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Raw, field

from ..schema import Unknown, Wire, carrier

WIRE = "openai.responses"
ABSENT = Raw(b"")


class Item(Wire, tag_field="type", tag=""):
    """Members that every output item may have. Some gateways add ``item_id`` and ``output_index``."""

    id: str | None = None
    status: str | None = None
    agent: Any = None
    created_by: Any = None
    item_id: Any = None
    output_index: Any = None


class Part(Wire):
    """A content part of a message: output_text or refusal, or output_audio of a session, with its size only."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    logprobs: Any = None
    audio: Any = None


class MessageItem(Item, tag="message"):
    role: str | None = None
    content: list[Part] | None = None
    phase: Any = None


class ReasoningItem(Item, tag="reasoning"):
    summary: list[Any] | None = None
    content: list[Any] | None = None
    encrypted_content: str | None = None


class FunctionCall(Item, tag="function_call"):
    arguments: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    caller: Any = None
    async_: Any = field(default=None, name="async")


class CustomToolCall(Item, tag="custom_tool_call"):
    call_id: str | None = None
    name: str | None = None
    input: str | None = None
    namespace: str | None = None
    caller: Any = None
    async_: Any = field(default=None, name="async")


class ComputerCall(Item, tag="computer_call"):
    call_id: str | None = None
    action: Raw = ABSENT
    actions: Raw = ABSENT
    pending_safety_checks: Any = None


class LocalShellCall(Item, tag="local_shell_call"):
    call_id: str | None = None
    action: Raw = ABSENT


class ShellCall(Item, tag="shell_call"):
    call_id: str | None = None
    action: Raw = ABSENT
    environment: dict[str, Any] | None = None
    caller: Any = None


class ApplyPatchCall(Item, tag="apply_patch_call"):
    call_id: str | None = None
    operation: Raw = ABSENT
    caller: Any = None


class ToolSearchCall(Item, tag="tool_search_call"):
    call_id: str | None = None
    arguments: Raw = ABSENT
    execution: str | None = None


class McpApprovalRequest(Item, tag="mcp_approval_request"):
    name: str | None = None
    arguments: str | None = None
    server_label: str | None = None


class WebSearchCall(Item, tag="web_search_call"):
    action: Raw = ABSENT
    name: Any = None
    call_id: Any = None
    arguments: Any = None


class XSearchCall(Item, tag="x_search_call"):
    """A server call of xAI. Its ids may be empty, and its names may be those of sub-tools (failure SRV-09)."""

    action: Raw = ABSENT
    name: Any = None
    call_id: Any = None
    arguments: Any = None
    input: Any = None


class FileSearchCall(Item, tag="file_search_call"):
    queries: Raw = ABSENT
    results: Any = None


class CodeInterpreterCall(Item, tag="code_interpreter_call"):
    code: str | None = None
    container_id: Any = None
    outputs: Any = None


class ImageGenerationCall(Item, tag="image_generation_call"):
    result: Any = None
    action: Any = None
    background: Any = None
    error: Any = None
    output_format: Any = None
    quality: Any = None
    revised_prompt: Any = None
    size: Any = None
    svg_usage: Any = None


class McpCall(Item, tag="mcp_call"):
    name: str | None = None
    arguments: str | None = None
    server_label: Any = None
    approval_request_id: Any = None
    output: Any = None
    error: Any = None


class Program(Item, tag="program"):
    call_id: str | None = None
    code: str | None = None
    fingerprint: Any = None


class MultiAgentCall(Item, tag="multi_agent_call"):
    call_id: str | None = None
    action: Any = None
    arguments: Any = None


class Result(Item, tag=""):
    """An announcement or the output of a call. Its members are kept unchanged."""

    call_id: str | None = None


class FunctionCallOutput(Result, tag="function_call_output"):
    output: Any = None
    caller: Any = None
    name: Any = None
    namespace: Any = None


class CustomToolCallOutput(Result, tag="custom_tool_call_output"):
    output: Any = None
    caller: Any = None


class ComputerCallOutput(Result, tag="computer_call_output"):
    output: Any = None
    acknowledged_safety_checks: Any = None


class LocalShellCallOutput(Result, tag="local_shell_call_output"):
    output: Any = None


class ShellCallOutput(Result, tag="shell_call_output"):
    output: Any = None
    max_output_length: Any = None
    caller: Any = None


class ApplyPatchCallOutput(Result, tag="apply_patch_call_output"):
    output: Any = None
    caller: Any = None


class ProgramOutput(Result, tag="program_output"):
    result: Any = None


class ToolSearchOutput(Result, tag="tool_search_output"):
    execution: Any = None
    tools: Any = None


class AdditionalTools(Result, tag="additional_tools"):
    role: Any = None
    tools: Any = None


class McpListTools(Result, tag="mcp_list_tools"):
    server_label: Any = None
    tools: Any = None
    error: Any = None


class McpApprovalResponse(Result, tag="mcp_approval_response"):
    approval_request_id: str | None = None
    approve: Any = None
    reason: Any = None


class AgentMessage(Result, tag="agent_message"):
    author: Any = None
    recipient: Any = None
    content: Any = None


class MultiAgentCallOutput(Result, tag="multi_agent_call_output"):
    action: Any = None
    output: Any = None


class Compaction(Item, tag="compaction"):
    encrypted_content: str | None = None


#: Result or announcement -> canonical name of the tool it belongs to.
RESULTS: dict[type[Wire], str] = {
    FunctionCallOutput: "function",
    CustomToolCallOutput: "custom",
    ComputerCallOutput: "computer",
    LocalShellCallOutput: "shell",
    ShellCallOutput: "shell",
    ApplyPatchCallOutput: "apply_patch",
    ProgramOutput: "program",
    ToolSearchOutput: "tool_search",
    AdditionalTools: "tool_search",
    McpListTools: "mcp",
    McpApprovalResponse: "mcp",
    AgentMessage: "multi_agent",
    MultiAgentCallOutput: "multi_agent",
}

AnyItem = (
    MessageItem
    | ReasoningItem
    | FunctionCall
    | CustomToolCall
    | ComputerCall
    | LocalShellCall
    | ShellCall
    | ApplyPatchCall
    | ToolSearchCall
    | McpApprovalRequest
    | WebSearchCall
    | XSearchCall
    | FileSearchCall
    | CodeInterpreterCall
    | ImageGenerationCall
    | McpCall
    | Program
    | MultiAgentCall
    | FunctionCallOutput
    | CustomToolCallOutput
    | ComputerCallOutput
    | LocalShellCallOutput
    | ShellCallOutput
    | ApplyPatchCallOutput
    | ProgramOutput
    | ToolSearchOutput
    | AdditionalTools
    | McpListTools
    | McpApprovalResponse
    | AgentMessage
    | MultiAgentCallOutput
    | Compaction
    | Unknown
)


class Body(Wire):
    """A response body."""

    id: str | None = None
    object: str | None = None
    created_at: Any = None
    status: str | None = None
    background: Any = None
    billing: Any = None
    completed_at: Any = None
    content_filters: Any = None
    conversation: Any = None
    error: Any = None
    frequency_penalty: Any = None
    incomplete_details: Any = None
    instructions: Any = None
    max_output_tokens: Any = None
    max_tool_calls: Any = None
    model: str | None = None
    moderation: Any = None
    output: list[AnyItem] | None = None
    parallel_tool_calls: Any = None
    presence_penalty: Any = None
    previous_response_id: Any = None
    prompt: Any = None
    prompt_cache_diagnostics: Any = None
    prompt_cache_key: Any = None
    prompt_cache_options: Any = None
    prompt_cache_retention: Any = None
    reasoning: Any = None
    safety_identifier: Any = None
    service_tier: Any = None
    status_details: Any = None
    store: Any = None
    system_fingerprint: Any = None
    temperature: Any = None
    text: Any = None
    tool_choice: Any = None
    tool_usage: Any = None
    tools: Any = None
    top_logprobs: Any = None
    top_p: Any = None
    truncation: Any = None
    usage: dict[str, Any] | None = None
    user: Any = None
    metadata: Any = None
    access_programs: Any = None
    image: Any = None
    input_transformations: Any = None
    session: Any = None
    tool_calls: Any = None
    total_tokens: Any = None


class DeltaEvent(Wire):
    """The members of a delta in its regular form, as most events of a stream are."""

    type: ClassVar[str | None]
    sequence_number: Any = None
    item_id: str | None = None
    call_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: str | None = None
    logprobs: Any = None
    obfuscation: Any = None


class RegularEvent(DeltaEvent):
    """The members of the other regular events."""

    item: AnyItem | None = None
    part: Any = None
    text: str | None = None
    refusal: str | None = None
    arguments: str | None = None
    name: str | None = None
    input: str | None = None
    code: str | None = None
    annotation: Any = None
    annotation_index: Any = None
    response: Raw = ABSENT


class TerminalEvent(DeltaEvent, kw_only=True):
    """The members of an event that ends a response, in its regular form."""

    response: Body


class Event(RegularEvent):
    """One stream event of any type, with all members that the SDK declares or that servers add."""

    type: str | None = None  # type: ignore[misc]  # in the other structs, the class determines the type
    error: Any = None
    message: Any = None
    param: Any = None
    status: Any = None
    agent: Any = None
    command: Any = None
    command_index: Any = None
    output: Any = None
    background: Any = None
    output_format: Any = None
    partial_image_b64: Any = None
    partial_image_index: Any = None
    quality: Any = None
    size: Any = None
    phase: Any = None
    stream_id: Any = None
    response_id: Any = None
    steer: Any = None
    reason: Any = None
    required_input: Any = None
    p: Any = None


carry_body = carrier(Body, "id", "object", "model", "status", "output", "usage", "error")
carry_message = carrier(MessageItem, "role", "content")
carry_part = carrier(Part, "type", "text", "refusal", "annotations")
carry_reasoning = carrier(ReasoningItem, "encrypted_content")
carry_function = carrier(FunctionCall, "id", "call_id", "name", "arguments", "namespace", "caller")
carry_custom = carrier(CustomToolCall, "id", "call_id", "name", "input", "namespace", "caller")
