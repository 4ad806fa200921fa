"""Reader of llm-rosetta for `benchmarks.peers`. The library converts parsed JSON, which the standard library parses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from llm_rosetta import (
    AnthropicConverter,
    GoogleGenAIConverter,
    OpenAIChatConverter,
    OpenAIResponsesConverter,
    StreamContext,
)

_CONVERTERS = {
    "openai.chat": OpenAIChatConverter(),
    "openai.responses": OpenAIResponsesConverter(),
    "anthropic.messages": AnthropicConverter(),
    "google.gemini": GoogleGenAIConverter(),
}


def read(ask: dict[str, Any], memory: Any) -> None:
    """Convert the response: a body whole, a stream event by event. No response is collected from the events."""
    converter = _CONVERTERS[ask["wire"]]
    pieces = memory.start()
    if not ask["stream"]:
        converter.response_from_provider(json.loads(b"".join(pieces)))
        return
    context = StreamContext()
    for chunk in _chunks(pieces):
        converter.stream_response_from_provider(chunk, context)


def _chunks(received: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    rest = b""
    for piece in received:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data != b"[DONE]":
                yield json.loads(data)
