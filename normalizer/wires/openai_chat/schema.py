"""Structs for Chat Completions responses, including the members that compatible servers add.

Source: `openai.types.chat` (ChatCompletion, ChatCompletionChunk). Dialect members come from recorded traffic of xAI,
Groq, DeepSeek, Mistral, OpenRouter, Perplexity, Azure, vLLM, Together and others. Bodies and chunks share one schema,
because servers mix them (a chunk with `message`, a body with `delta`).
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import fields as struct_fields

from ... import json_codec
from ..schema import Wire, carrier

WIRE = "openai.chat"


class Function(Wire):
    name: str | None = None
    arguments: str | None = None
    call_id: Any = None


class Custom(Wire):
    name: str | None = None
    input: str | None = None


class Call(Wire):
    id: str | None = None
    index: int | None = None
    type: str | None = None
    function: Function | None = None
    custom: Custom | None = None


class ChatMessage(Wire):
    """`message` of a body or `delta` of a chunk; also the message of a finished stream."""

    role: str | None = None
    content: str | list[Any] | dict[str, Any] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[Call] | None = None
    function_call: Function | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    executed_tools: list[Any] | None = None
    audio: Any = None
    channel: Any = None
    name: Any = None
    parsed: Any = None
    token_id: Any = None


class Choice(Wire):
    index: int | None = None
    message: ChatMessage | None = None
    delta: ChatMessage | None = None
    logprobs: Any = None
    finish_reason: str | None = None
    native_finish_reason: Any = None
    error: Any = None
    content_filter_results: Any = None
    content_filter_result: Any = None
    finish_details: Any = None
    matched_stop: Any = None
    routed_experts: Any = None
    seed: Any = None
    stop_reason: Any = None
    text: Any = None
    token_ids: Any = None
    usage: Any = None


class Body(Wire):
    """A ChatCompletion or a ChatCompletionChunk. `obfuscation` and `p` are padding against length attacks."""

    id: str | None = None
    provider: Any = None
    object: str | None = None
    created: Any = None
    model: str | None = None
    service_tier: Any = None
    system_fingerprint: Any = None
    choices: list[Choice] | None = None
    usage: dict[str, Any] | None = None
    obfuscation: Any = None
    error: Any = None
    type: Any = None
    p: Any = None
    citations: Any = None
    search_results: Any = None
    x_groq: Any = None
    usage_breakdown: Any = None
    metadata: Any = None
    moderation: Any = None
    prompt_filter_results: Any = None
    request_id: Any = None
    time_info: Any = None
    metrics: Any = None
    kv_transfer_params: Any = None
    prompt: Any = None
    prompt_logprobs: Any = None
    prompt_text: Any = None
    prompt_token_ids: Any = None
    user_id: Any = None
    stream_options: Any = None
    latency_checkpoint: Any = None
    # Bedrock: metrics of the invocation
    invocation_metrics: Any = field(default=None, name="amazon-bedrock-invocationMetrics")


# Strict structs for most chunks of a stream, in OpenAI's form and with the members that dialects often add. All other
# chunks are read as a Body.


class FunctionPiece(Struct, forbid_unknown_fields=True, gc=False):
    name: str | None = None
    arguments: str | None = None


class CallPiece(Struct, forbid_unknown_fields=True, gc=False):
    index: int
    id: str | None = None
    type: str | None = None
    function: FunctionPiece | None = None

    def call(self) -> Call:
        """Return the same call as a struct of the full schema."""
        function = self.function
        named = None if function is None else Function(name=function.name, arguments=function.arguments)
        return Call(id=self.id, index=self.index, type=self.type, function=named)


class DeltaPiece(Struct, forbid_unknown_fields=True, gc=False):
    role: str | None = None
    content: str | list[Any] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[CallPiece] | None = None
    refusal: Literal[""] | None = None
    channel: Any = None


class ChoicePiece(Struct, forbid_unknown_fields=True, gc=False):
    index: int
    delta: DeltaPiece
    logprobs: Any = None
    finish_reason: str | None = None
    native_finish_reason: Any = None
    content_filter_results: Any = None
    matched_stop: Any = None


class Piece(Struct, forbid_unknown_fields=True, gc=False):
    choices: list[ChoicePiece]
    id: str | None = None
    provider: Any = None
    object: str | None = None
    created: Any = None
    model: str | None = None
    service_tier: Any = None
    system_fingerprint: Any = None
    usage: dict[str, Any] | None = None
    obfuscation: Any = None
    p: Any = None


decode_piece = json_codec.decoder(Piece)
#: Members of a `Piece` that the response keeps in ``extra``, as `carry_body` does for a `Body`.
CARRIED = ("provider", "created", "service_tier", "system_fingerprint")

carry_piece = carrier(Piece, *(name for name in Piece.__struct_fields__ if name not in CARRIED))
carry_choice_piece = carrier(ChoicePiece, "index", "delta", "finish_reason")
carry_body = carrier(Body, "id", "object", "model", "choices", "usage", "error", "type", "obfuscation", "p")
carry_choice = carrier(Choice, "index", "message", "delta", "finish_reason", "error")
carry_message = carrier(
    ChatMessage,
    "role",
    "content",
    "tool_calls",
    "refusal",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "function_call",
    "executed_tools",
    "annotations",
)
_ORDER = tuple(member.encode_name for member in struct_fields(Body))


def in_order(extra: dict[str, Any]) -> dict[str, Any]:
    """Return members in the order of `Body`, then unknown ones, so that their order does not depend on the pieces."""
    return {name: extra[name] for name in _ORDER if name in extra} | extra


def merged_extra(*members: dict[str, Any] | None) -> dict[str, Any]:
    """Merge the given extra members of a call and of its function, without those that are None."""
    return {key: value for extra in members if extra for key, value in extra.items() if value is not None}
