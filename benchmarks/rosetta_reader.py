"""Reader of llm-rosetta for `benchmarks.peers`. The library converts parsed JSON and has no client.

It gets each response from `http_reader`, and the JSON from the standard library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from http_reader import pieces
from llm_rosetta import (
    AnthropicConverter,
    OpenAIChatConverter,
    OpenAIResponsesConverter,
    StreamContext,
)

_CONVERTERS = {
    "openai.chat": OpenAIChatConverter(),
    "openai.responses": OpenAIResponsesConverter(),
    "anthropic.messages": AnthropicConverter(),
}


def read(ask: dict[str, Any], server: Any) -> None:
    """Fetch and convert the response: a body whole, a stream event by event."""
    converter = _CONVERTERS[ask["wire"]]
    if not ask["stream"]:
        converter.response_from_provider(json.loads(b"".join(pieces(ask, server))))
        return
    context = StreamContext()
    for chunk in _chunks(pieces(ask, server)):
        converter.stream_response_from_provider(chunk, context)


def _chunks(received: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    rest = b""
    for piece in received:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data != b"[DONE]":
                yield json.loads(data)
