"""Wire schema of Converse: structs for responses and stream events.

Source: the service model `bedrock-runtime` of botocore (ConverseResponse, ConverseStreamOutput). Its unions have no
type member: an object of a union has one member, whose name is the type. A single flat struct, `Event`, represents
every stream event.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, field

from ..schema import Keyed, Wire, carrier

WIRE = "bedrock.converse"
NO_INPUT = Raw(b"")
#: The errors that a stream can contain, as members of its union.
EXCEPTIONS = frozenset(
    (
        "internalServerException",
        "modelStreamErrorException",
        "validationException",
        "throttlingException",
        "serviceUnavailableException",
    )
)
#: The value of ``type`` that some models send for a client call. The service model only has `server_tool_use`.
CLIENT = "tool_use"


class ToolUse(Wire):
    """A call. With the type `server_tool_use`, Bedrock executes it."""

    id: str | None = field(default=None, name="toolUseId")
    name: str | None = None
    input: Raw = NO_INPUT
    type: str | None = None


class ToolResult(Wire):
    """The result of a call that Bedrock executed."""

    id: str | None = field(default=None, name="toolUseId")
    content: Any = None
    status: Any = None
    type: str | None = None


class ReasoningText(Wire):
    text: str = ""
    signature: str | None = None


class ReasoningContent(Keyed):
    """Reasoning. ``redacted``: bytes in base64, which only the provider can read."""

    text: ReasoningText | None = field(default=None, name="reasoningText")
    redacted: str | None = field(default=None, name="redactedContent")


class CitationsContent(Wire):
    """A text with its sources."""

    content: list[Any] | None = None
    citations: list[Any] | None = None


class Block(Keyed):
    """A content block. Only the first members come from models; a history can contain the others, too."""

    text: str | None = None
    tool_use: ToolUse | None = field(default=None, name="toolUse")
    reasoning: ReasoningContent | None = field(default=None, name="reasoningContent")
    citations: CitationsContent | None = field(default=None, name="citationsContent")
    tool_result: ToolResult | None = field(default=None, name="toolResult")
    image: Any = None
    document: Any = None
    video: Any = None
    audio: Any = None
    guard: Any = field(default=None, name="guardContent")
    cache_point: Any = field(default=None, name="cachePoint")
    search_result: Any = field(default=None, name="searchResult")
    tool_addition: Any = field(default=None, name="toolAddition")
    tool_removal: Any = field(default=None, name="toolRemoval")


class Message(Wire):
    role: str | None = None
    content: list[Block] | None = None


class Output(Wire):
    message: Message | None = None


class Body(Wire):
    """A complete response, or an error body."""

    output: Output | None = None
    stop_reason: str | None = field(default=None, name="stopReason")
    usage: dict[str, Any] | None = None
    metrics: Any = None
    trace: Any = None
    fields: Any = field(default=None, name="additionalModelResponseFields")
    performance: Any = field(default=None, name="performanceConfig")
    service_tier: Any = field(default=None, name="serviceTier")
    #: boto3 adds the request id, the HTTP status and the headers
    metadata: Any = field(default=None, name="ResponseMetadata")
    # InvokeModel
    guardrail_action: Any = field(default=None, name="amazon-bedrock-guardrailAction")
    guardrail_trace: Any = field(default=None, name="amazon-bedrock-trace")
    message: Any = None  # of an error


class Start(Keyed):
    """The beginning of a block. Text and reasoning begin without it."""

    tool_use: ToolUse | None = field(default=None, name="toolUse")
    tool_result: ToolResult | None = field(default=None, name="toolResult")
    image: Any = None


class InputPiece(Wire):
    input: str | None = None


class ReasoningPiece(Keyed):
    text: str | None = None
    signature: str | None = None
    redacted: str | None = field(default=None, name="redactedContent")


class Delta(Keyed):
    """A fragment of a block."""

    text: str | None = None
    tool_use: InputPiece | None = field(default=None, name="toolUse")
    reasoning: ReasoningPiece | None = field(default=None, name="reasoningContent")
    citation: Any = None
    tool_result: Any = field(default=None, name="toolResult")
    image: Any = None


class MessageStart(Wire):
    role: str | None = None
    p: Any = None


class BlockStart(Wire):
    index: int | None = field(default=None, name="contentBlockIndex")
    start: Start | None = None
    p: Any = None


class BlockDelta(Wire):
    index: int | None = field(default=None, name="contentBlockIndex")
    delta: Delta | None = None
    p: Any = None


class BlockStop(Wire):
    index: int | None = field(default=None, name="contentBlockIndex")
    p: Any = None


class MessageStop(Wire):
    stop_reason: str | None = field(default=None, name="stopReason")
    fields: Any = field(default=None, name="additionalModelResponseFields")
    p: Any = None


class Metadata(Wire):
    usage: dict[str, Any] | None = None
    metrics: Any = None
    trace: Any = None
    performance: Any = field(default=None, name="performanceConfig")
    service_tier: Any = field(default=None, name="serviceTier")
    p: Any = None


class Event(Wire):
    """One stream event of any type. ``p``, inside of it, is padding that hides the length of the text."""

    delta: BlockDelta | None = field(default=None, name="contentBlockDelta")
    stop: BlockStop | None = field(default=None, name="contentBlockStop")
    start: BlockStart | None = field(default=None, name="contentBlockStart")
    begin: MessageStart | None = field(default=None, name="messageStart")
    end: MessageStop | None = field(default=None, name="messageStop")
    metadata: Metadata | None = None
    internal_error: Any = field(default=None, name="internalServerException")
    model_error: Any = field(default=None, name="modelStreamErrorException")
    validation_error: Any = field(default=None, name="validationException")
    throttling: Any = field(default=None, name="throttlingException")
    unavailable: Any = field(default=None, name="serviceUnavailableException")
    error: Any = None  # an exception of the framing
    message: Any = None  # an error body in place of a stream
    # InvokeModelWithResponseStream
    guardrail_action: Any = field(default=None, name="amazon-bedrock-guardrailAction")
    guardrail_trace: Any = field(default=None, name="amazon-bedrock-trace")
    invocation_metrics: Any = field(default=None, name="amazon-bedrock-invocationMetrics")


carry_body = carrier(Body, "output", "stop_reason", "usage", "metadata", "message")
carry_metadata = carrier(Metadata, "usage", "p")
carry_end = carrier(MessageStop, "stop_reason", "p")
carry_event = carrier(
    Event,
    *("delta", "stop", "start", "begin", "end", "metadata", "error", "message"),
    *("internal_error", "model_error", "validation_error", "throttling", "unavailable"),
)
