"""Readers to measure: a JSON parser, the normalizer, and the members of a body through the SDK of xAI."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from toolparity import Response, StreamDecoder, Wire, normalize

Read = Callable[[Any], Response]


def msgspec_each(payloads: Iterable[bytes]) -> Any:
    """Parse each payload of a stream with msgspec and return the last value."""
    decode = msgspec.json.decode
    value = None
    for payload in payloads:
        value = decode(payload)
    return value


def ours(wire: Wire) -> Read:
    """Return the normalizer as a reader of bodies."""

    def read(body: bytes) -> Response:
        return normalize(body, wire)

    return read


def ours_streamed(wire: Wire, *, events: bool = True) -> Read:
    """Return the normalizer as a reader of the pieces of a stream. ``events``: see `StreamDecoder`."""

    def read(pieces: Iterable[bytes]) -> Response:
        decoder = StreamDecoder(wire, events=events)
        for piece in pieces:
            decoder.feed(piece)
        return decoder.finish()

    return read


def xai_members(body: bytes) -> Any:
    """Read a body of `xai.grpc` with the official SDK, and return the members that a canonical response has.

    The SDK's object converts a member only when it is used.
    """
    from xai_sdk.chat import Response as XaiResponse
    from xai_sdk.proto import chat_pb2

    return _members(XaiResponse(chat_pb2.GetChatCompletionResponse.FromString(body), None))


def _members(response: Any) -> Any:
    calls = [
        (call.id, call.function.name, call.function.arguments, call.type, call.status) for call in response.tool_calls
    ]
    texts = response.id, response.content, response.reasoning_content, response.finish_reason
    return texts, calls, response.usage.prompt_tokens, response.usage.completion_tokens


def xai_streamed(messages: Iterable[bytes]) -> Any:
    """Read the messages of a stream of `xai.grpc` with the official SDK, and return the members of the whole response.

    The text and the calls of each chunk are read, which is what an application does with them.
    """
    from xai_sdk.chat import Chunk
    from xai_sdk.chat import Response as XaiResponse
    from xai_sdk.proto import chat_pb2

    response = XaiResponse(chat_pb2.GetChatCompletionResponse(), None)
    for message in messages:
        proto = chat_pb2.GetChatCompletionChunk.FromString(message)
        response.process_chunk(proto)
        chunk = Chunk(proto, None)
        _ = chunk.content, chunk.tool_calls
    return _members(response)
