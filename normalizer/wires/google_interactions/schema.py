"""Wire schema of the Interactions API: structs for interactions and stream events.

Source: `google.genai.interactions` (Interaction, Step, StepDelta, InteractionSSEEvent) and recorded traffic. Until June
2026 the API sent ``outputs`` instead of ``steps``, and `content.…` instead of `step.…` events
(https://ai.google.dev/gemini-api/docs/interactions-breaking-changes-may-2026). An output is a step or a content, so one
union reads both. A single flat struct, `Event`, represents every stream event.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Raw, Struct, field

from ..schema import Unknown, Wire, carrier, constant, event_decoder, tagged

WIRE = "google.interactions"
NOTHING = Raw(b"")


class TextContent(Wire, tag_field="type", tag="text"):
    text: str = ""
    annotations: list[Any] | None = None


class MediaContent(Wire, tag_field="type", tag=""):
    """Base of the contents that are not text. Their data is base64."""

    data: Any = None
    uri: Any = None
    mime_type: Any = None
    processing: Any = None
    resolution: Any = None


class ImageContent(MediaContent, tag="image"):
    pass


class AudioContent(MediaContent, tag="audio"):
    channels: Any = None
    sample_rate: Any = None
    rate: Any = None  # in deltas, deprecated


class VideoContent(MediaContent, tag="video"):
    name: Any = None


class DocumentContent(MediaContent, tag="document"):
    pass


Content = TextContent | ImageContent | AudioContent | VideoContent | DocumentContent | Unknown


class UserInput(Wire, tag_field="type", tag="user_input"):
    content: Any = None


class ModelOutput(Wire, tag_field="type", tag="model_output"):
    content: list[Content] | None = None
    error: Any = None


class Thought(Wire, tag_field="type", tag="thought"):
    signature: str | None = None
    summary: list[Any] | None = None


class FunctionCall(Wire, tag_field="type", tag="function_call"):
    id: str | None = None
    name: str | None = None
    arguments: Raw = NOTHING
    signature: str | None = None


class ServerCall(Wire, tag_field="type", tag=""):
    """Base of the calls that the provider executes. Deltas complete their members."""

    id: str | None = None
    arguments: Raw = NOTHING
    signature: str | None = None


class CodeExecutionCall(ServerCall, tag="code_execution_call"):
    pass


class FileSearchCall(ServerCall, tag="file_search_call"):
    pass


class GoogleMapsCall(ServerCall, tag="google_maps_call"):
    pass


class GoogleSearchCall(ServerCall, tag="google_search_call"):
    search_type: Any = None


class McpServerToolCall(ServerCall, tag="mcp_server_tool_call"):
    name: str | None = None
    server_name: str | None = None


class ProcessingCall(ServerCall, tag="processing_call"):
    pass


class RetrievalCall(ServerCall, tag="retrieval_call"):
    retrieval_type: Any = None


class ToolSearchCall(ServerCall, tag="tool_search_call"):
    pass


class UrlContextCall(ServerCall, tag="url_context_call"):
    pass


class Result(Wire, tag_field="type", tag=""):
    """Base of the results of calls."""

    call_id: str | None = None
    result: Any = None
    is_error: bool | None = None
    signature: str | None = None


class FunctionResult(Result, tag="function_result"):
    name: str | None = None


class CodeExecutionResult(Result, tag="code_execution_result"):
    pass


class FileSearchResult(Result, tag="file_search_result"):
    pass


class GoogleMapsResult(Result, tag="google_maps_result"):
    pass


class GoogleSearchResult(Result, tag="google_search_result"):
    pass


class McpServerToolResult(Result, tag="mcp_server_tool_result"):
    name: Any = None
    server_name: Any = None


class ProcessingResult(Result, tag="processing_result"):
    pass


class RetrievalResult(Result, tag="retrieval_result"):
    pass


class ToolSearchResult(Result, tag="tool_search_result"):
    pass


class UrlContextResult(Result, tag="url_context_result"):
    pass


#: The canonical tool of each type of server call, result and generated content.
TOOLS: dict[type[Wire], str] = {
    CodeExecutionCall: "code_execution",
    FileSearchCall: "file_search",
    GoogleMapsCall: "google_maps",
    GoogleSearchCall: "web_search",
    McpServerToolCall: "mcp",
    ProcessingCall: "processing",
    RetrievalCall: "retrieval",
    ToolSearchCall: "tool_search",
    UrlContextCall: "web_fetch",
    FunctionResult: "function",
    CodeExecutionResult: "code_execution",
    FileSearchResult: "file_search",
    GoogleMapsResult: "google_maps",
    GoogleSearchResult: "web_search",
    McpServerToolResult: "mcp",
    ProcessingResult: "processing",
    RetrievalResult: "retrieval",
    ToolSearchResult: "tool_search",
    UrlContextResult: "web_fetch",
    # contents that the model generates, which belong to no call
    ImageContent: "image_generation",
    AudioContent: "audio_generation",
    VideoContent: "video_generation",
    DocumentContent: "document_generation",
}

Step = (
    UserInput
    | ModelOutput
    | Thought
    | FunctionCall
    | CodeExecutionCall
    | FileSearchCall
    | GoogleMapsCall
    | GoogleSearchCall
    | McpServerToolCall
    | ProcessingCall
    | RetrievalCall
    | ToolSearchCall
    | UrlContextCall
    | FunctionResult
    | CodeExecutionResult
    | FileSearchResult
    | GoogleMapsResult
    | GoogleSearchResult
    | McpServerToolResult
    | ProcessingResult
    | RetrievalResult
    | ToolSearchResult
    | UrlContextResult
    # outputs until June 2026
    | TextContent
    | ImageContent
    | AudioContent
    | VideoContent
    | DocumentContent
    | Unknown
)


class Interaction(Wire):
    """A complete interaction, the interaction of an event, or an error body."""

    id: str | None = None
    object: str | None = None
    model: str | None = None
    agent: Any = None
    status: str | None = None
    steps: list[Step] | None = None
    outputs: list[Step] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None
    errors: Any = None
    created: Any = None
    updated: Any = None
    service_tier: Any = None
    role: Any = None
    agent_config: Any = None
    cached_content: Any = None
    continuation_ids: Any = None
    continuation_token: Any = None
    environment: Any = None
    environment_id: Any = None
    generation_config: Any = None
    input: Any = None
    labels: Any = None
    previous_interaction_id: Any = None
    response_format: Any = None
    response_mime_type: Any = None
    response_modalities: Any = None
    safety_settings: Any = None
    store: Any = None
    stream: Any = None
    background: Any = None
    system_instruction: Any = None
    tools: Any = None
    webhook_config: Any = None
    # derived by the SDK
    output_text: Any = None
    output_image: Any = None
    output_audio: Any = None
    output_video: Any = None


class Delta(Wire):
    """The `delta` of a step, with the members of all types."""

    type: str | None = None
    text: str | None = None
    arguments: Raw = NOTHING
    signature: str | None = None
    content: Any = None
    annotations: list[Any] | None = None
    data: Any = None
    uri: Any = None
    mime_type: Any = None
    resolution: Any = None
    channels: Any = None
    rate: Any = None
    sample_rate: Any = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    server_name: str | None = None
    retrieval_type: Any = None
    result: Any = None
    is_error: bool | None = None


class EventMembers(Wire):
    """The members of a stream event."""

    event_type: ClassVar[str | None]
    event_id: Any = None
    index: int | None = None
    step: Step | None = None
    content: Step | None = None
    delta: Delta | None = None
    interaction: Interaction | None = None
    interaction_id: str | None = None
    status: str | None = None
    continuation_token: Any = None
    usage: dict[str, Any] | None = None
    step_usage: Any = None
    metadata: Any = None
    error: Any = None


class Event(EventMembers):
    """One stream event of any type."""

    event_type: str | None = None  # type: ignore[misc]  # in the other structs, the class determines the type


# Structs of the fast path: one per event type. Those for fragments have only the members that such an event has. An
# event with other members does not fit, and the stream then parses it as an `Event`.


class TextPiece(Struct, tag_field="type", tag="text", forbid_unknown_fields=True, gc=False):
    text: str
    kind: str = constant("text")


class ArgumentsPiece(Struct, tag_field="type", tag="arguments_delta", forbid_unknown_fields=True, gc=False):
    text: str = field(name="arguments")
    kind: str = constant("arguments_delta")


class SignaturePiece(Struct, tag_field="type", tag="thought_signature", forbid_unknown_fields=True, gc=False):
    text: str = field(name="signature")
    kind: str = constant("signature")


class Piece(Struct, tag_field="event_type", tag="step.delta", forbid_unknown_fields=True, gc=False):
    at: int = field(name="index")
    delta: TextPiece | ArgumentsPiece | SignaturePiece
    event_id: Any = None


#: The types of the events between fragments.
BETWEEN = (
    *("interaction.created", "interaction.status_update", "interaction.completed", "step.start", "step.stop"),
    *("interaction.start", "interaction.complete", "content.start", "content.stop"),  # until June 2026
)
decode_event = event_decoder(Piece, *(tagged(EventMembers, kind, "event_type") for kind in BETWEEN))

carry_body = carrier(
    Interaction,
    *("id", "object", "model", "status", "steps", "outputs", "usage", "error"),
    *("output_text", "output_image", "output_audio", "output_video"),
)
carry_call = carrier(FunctionCall, "id", "name", "arguments")
