"""Wire schema of Ollama's chat API: structs for responses, which are also the events of a stream.

Source: `ChatResponse`, `Message`, `ToolCall` and `Metrics` in Ollama's `api/types.go`, and `ollama.ChatResponse` of the
SDK. Older servers lack the members ``id``, ``index``, ``thinking`` and ``done_reason``.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from ... import json_codec
from ..schema import Wire, carrier

WIRE = "ollama.chat"
NO_ARGUMENTS = Raw(b"")


class Function(Wire):
    """``index``: position of the call among all calls of the response."""

    index: int | None = None
    name: str | None = None
    arguments: Raw = NO_ARGUMENTS


class Call(Wire):
    id: str | None = None
    type: Any = None
    function: Function | None = None


class Message(Wire):
    """The message of a response or of one event. ``images``, ``tool_name``, ``tool_call_id``: those of requests."""

    role: str | None = None
    content: str | None = None
    thinking: str | None = None
    images: Any = None
    tool_calls: list[Call] | None = None
    tool_name: Any = None
    tool_call_id: Any = None


class Body(Wire):
    """A response, an event of a stream, or an error (``error``, ``status``, ``signin_url``)."""

    model: str | None = None
    remote_model: Any = None
    remote_host: Any = None
    created_at: Any = None
    message: Message | None = None
    done: bool | None = None
    done_reason: str | None = None
    debug_info: Any = field(default=None, name="_debug_info")
    logprobs: list[Any] | None = None
    total_duration: Any = None
    load_duration: Any = None
    prompt_eval_count: int | None = None
    prompt_eval_duration: Any = None
    eval_count: int | None = None
    eval_duration: Any = None
    error: Any = None
    status: Any = None
    signin_url: Any = None


# Strict structs of the fast path, for an event that only appends text. An event with other members is read as a `Body`.


class MessagePiece(Struct, forbid_unknown_fields=True, gc=False):
    role: str | None = None
    content: str = ""
    thinking: str = ""


class Piece(Struct, forbid_unknown_fields=True, gc=False):
    model: str
    message: MessagePiece
    done: bool
    created_at: Any = None


decode_piece = json_codec.decoder(Piece)

carry_body = carrier(
    Body,
    "model",
    "message",
    "done",
    "done_reason",
    "logprobs",
    "prompt_eval_count",
    "eval_count",
    "error",
    "status",
    "signin_url",
)
carry_message = carrier(Message, "role", "content", "thinking", "tool_calls")
