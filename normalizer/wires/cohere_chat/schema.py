"""Wire schema of Cohere's Chat API: structs for responses and stream events of versions 2 and 1.

Source: `cohere.v2.types` (V2ChatResponse, V2ChatStreamResponse) and `cohere.types` (NonStreamedChatResponse,
StreamedChatResponse). A single flat struct, `Event`, represents every stream event. Its `type`, or in version 1 its
`event_type`, determines which members are set.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Raw, Struct, field

from ... import json_codec
from ..schema import Unknown, Wire, carrier, event_decoder, tagged
from .spec import EVENTS

WIRE = "cohere.chat"
NO_PARAMETERS = Raw(b"")


class Function(Wire):
    name: str | None = None
    arguments: str | None = None


class Call(Wire):
    id: str | None = None
    type: str | None = None
    function: Function | None = None


class TextContent(Wire, tag_field="type", tag="text"):
    text: str = ""


class ThinkingContent(Wire, tag_field="type", tag="thinking"):
    thinking: str = ""


Content = TextContent | ThinkingContent | Unknown


class Message(Wire):
    """The assistant's message, of a body or of a request, and that of a finished stream."""

    role: str | None = None
    content: list[Content] | str | None = None
    tool_plan: str | None = None
    tool_calls: list[Call] | None = None
    citations: list[Any] | None = None


class CallV1(Wire):
    """A call of version 1, which has no id. Its parameters are a JSON object."""

    name: str | None = None
    parameters: Raw = NO_PARAMETERS


class Body(Wire):
    """A response of version 2 or 1, or an error, whose `message` is a text."""

    id: str | None = None
    message: Message | str | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    logprobs: Any = None
    error_type: Any = None
    # version 1
    response_id: Any = None
    generation_id: str | None = None
    text: str | None = None
    tool_calls: list[CallV1] | None = None
    citations: list[Any] | None = None
    documents: Any = None
    is_search_required: Any = None
    search_queries: Any = None
    search_results: Any = None
    chat_history: Any = None
    meta: dict[str, Any] | None = None
    token_count: Any = None
    tool_inputs: Any = None
    prompt: Any = None


class ContentPiece(Wire):
    """The content of a `content-start` or `content-delta`."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None


class MessagePiece(Wire):
    """The part of the message that an event carries. `message-start` has empty lists where the others have objects."""

    role: str | None = None
    content: ContentPiece | list[ContentPiece] | None = None
    tool_plan: str | None = None
    tool_calls: Call | list[Call] | None = None
    citations: Any = None


class Delta(Wire):
    message: MessagePiece | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


class EventMembers(Wire):
    """The members of a stream event of version 2."""

    type: ClassVar[str | None]
    id: str | None = None
    index: int | None = None
    delta: Delta | None = None
    logprobs: Any = None


class CallDelta(Wire):
    """A fragment of a call of version 1."""

    name: str | None = None
    index: int | float | None = None
    parameters: str | None = None
    text: str | None = None


class Event(EventMembers):
    """One stream event of any type, of version 2 or 1."""

    type: str | None = None  # type: ignore[misc]  # in the other structs, the class determines the type
    prompt: Any = None
    # version 1
    event_type: str | None = None
    is_finished: bool | None = None
    generation_id: str | None = None
    text: str | None = None
    tool_calls: list[CallV1] | None = None
    tool_call_delta: CallDelta | None = None
    citations: list[Any] | None = None
    documents: Any = None
    search_queries: Any = None
    search_results: Any = None
    finish_reason: str | None = None
    response: Body | None = None


# Structs of the fast path: one per event type. Those for fragments have only the members that such an event has. An
# event with other members does not fit, and the stream then parses it as an `Event`.


class ContentText(Struct, forbid_unknown_fields=True, gc=False):
    text: str | None = None
    thinking: str | None = None


class _ContentMessage(Struct, forbid_unknown_fields=True, gc=False):
    content: ContentText


class _ContentDelta(Struct, forbid_unknown_fields=True, gc=False):
    message: _ContentMessage


class ContentFragment(Struct, tag_field="type", tag="content-delta", forbid_unknown_fields=True, gc=False):
    at: int = field(name="index")
    delta: _ContentDelta


class _PlanMessage(Struct, forbid_unknown_fields=True, gc=False):
    tool_plan: str


class _PlanDelta(Struct, forbid_unknown_fields=True, gc=False):
    message: _PlanMessage


class PlanFragment(Struct, tag_field="type", tag="tool-plan-delta", forbid_unknown_fields=True, gc=False):
    delta: _PlanDelta


class _Arguments(Struct, forbid_unknown_fields=True, gc=False):
    arguments: str


class _FunctionOfCall(Struct, forbid_unknown_fields=True, gc=False):
    function: _Arguments


class _CallMessage(Struct, forbid_unknown_fields=True, gc=False):
    tool_calls: _FunctionOfCall


class _CallDelta(Struct, forbid_unknown_fields=True, gc=False):
    message: _CallMessage


class CallFragment(Struct, tag_field="type", tag="tool-call-delta", forbid_unknown_fields=True, gc=False):
    at: int = field(name="index")
    delta: _CallDelta


class TextFragmentV1(Struct, tag_field="event_type", tag="text-generation", forbid_unknown_fields=True, gc=False):
    text: str
    is_finished: bool | None = None


_FRAGMENTS = ("content-delta", "tool-plan-delta", "tool-call-delta")
decode_event = event_decoder(
    ContentFragment,
    PlanFragment,
    CallFragment,
    *(tagged(EventMembers, kind) for kind in sorted(EVENTS.difference(_FRAGMENTS))),
)
decode_event_v1 = json_codec.decoder(TextFragmentV1)

carry_body = carrier(
    Body, "id", "message", "finish_reason", "usage", "generation_id", "text", "tool_calls", "citations", "meta"
)
carry_message = carrier(Message, "role", "content", "tool_plan", "tool_calls", "citations")
carry_piece = carrier(MessagePiece, "role", "content", "tool_plan", "tool_calls", "citations")
carry_delta = carrier(Delta, "message", "finish_reason", "usage", "error")
carry_event = carrier(EventMembers, "id", "index", "delta", "logprobs")
