"""Generated traffic: one answer with three parallel calls, plain and streamed, as each provider would send it.

The content is invented. Members, their order, whitespace and padding are those of the real servers, because the speed
of a reader depends on them. A stream has 300 events: text first, then the calls with their arguments in fragments (xAI
sends each call complete in one chunk), with the head, tail and usage events of the wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from toolparity import Wire

from . import (
    anthropic_messages,
    bedrock_converse,
    cohere_chat,
    google_gemini,
    google_interactions,
    ollama_chat,
    openai_chat,
    openai_responses,
    xai_grpc,
)
from .calls import EVENTS, Call, expected

__all__ = ["EVENTS", "JSON_WIRES", "Call", "events", "expected", "grpc_body", "grpc_stream", "payloads", "pieces"]

#: The JSON wires: name -> (body, stream).
JSON_WIRES: dict[Wire, tuple[Callable[[], bytes], Callable[[], bytes]]] = {
    "openai.chat": (openai_chat.body, openai_chat.stream),
    "openai.responses": (openai_responses.body, openai_responses.stream),
    "anthropic.messages": (anthropic_messages.body, anthropic_messages.stream),
    "bedrock.converse": (bedrock_converse.body, bedrock_converse.stream),
    "cohere.chat": (cohere_chat.body, cohere_chat.stream),
    "google.gemini": (google_gemini.body, google_gemini.stream),
    "google.interactions": (google_interactions.body, google_interactions.stream),
    "ollama.chat": (ollama_chat.body, ollama_chat.stream),
}
#: Those of xai.grpc: messages in the encoding of protocol buffers.
grpc_body = xai_grpc.body
grpc_stream = xai_grpc.stream


def payloads(stream: bytes) -> list[bytes]:
    """Return the JSON payloads of a stream's events."""
    if stream.startswith(b"{"):
        return stream.splitlines()
    if stream.startswith(b"\0"):
        return [message[12 + int.from_bytes(message[4:8], "big") : -4] for message in events(stream)]
    return re.findall(rb"^data: ?(\{.*?)\r?$", stream, re.MULTILINE)


def pieces(stream: bytes, size: int) -> list[bytes]:
    """Split a stream into pieces of ``size`` bytes."""
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def events(stream: bytes) -> list[bytes]:
    """Split a stream into its events: server-sent events, JSON lines, or messages of an AWS event stream."""
    if stream.startswith(b"{"):
        return stream.splitlines(keepends=True)
    if stream.startswith(b"\0"):
        found, start = [], 0
        while start < len(stream):
            end = start + int.from_bytes(stream[start : start + 4], "big")
            found.append(stream[start:end])
            start = end
        return found
    return re.findall(rb"(?s).+?\n\r?\n", stream)
