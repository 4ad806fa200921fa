"""Readers of this environment for `benchmarks.peers`: a JSON parser, the normalizer, and the official SDKs."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from toolparity import StreamDecoder, normalize

_QUESTION: list[Any] = [{"role": "user", "content": "Hello"}]


def parsed(ask: dict[str, Any], memory: Any) -> None:
    """Parse the JSON of the response: a body, or the lines of a stream that have an event."""
    data = b"".join(memory.start())
    for line in data.split(b"\n") if ask["stream"] else [data]:
        if line.startswith(b"data: {"):
            msgspec.json.decode(line[6:])
        elif line.startswith(b"{"):
            msgspec.json.decode(line)


def ours(ask: dict[str, Any], memory: Any) -> None:
    """Decode the response with the normalizer."""
    pieces = memory.start()
    if not ask["stream"]:
        normalize(b"".join(pieces), ask["wire"], provider=ask["provider"])
        return
    decoder = StreamDecoder(ask["wire"], provider=ask["provider"])
    for piece in pieces:
        decoder.feed(piece)
    decoder.finish()


@cache
def _sdk(wire: str, url: str) -> Any:
    if wire == "anthropic.messages":
        from anthropic import Anthropic

        return Anthropic(api_key="none", base_url=url, max_retries=0)
    if wire == "google.gemini":
        from google import genai

        return genai.Client(api_key="none", http_options={"base_url": url})
    from openai import OpenAI

    return OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)


def sdk(ask: dict[str, Any], memory: Any) -> None:
    """Read the response with the official SDK of the wire, a stream with its own accumulation where it has one."""
    client = _sdk(ask["wire"], memory.url)
    asked: dict[str, Any] = {"model": "model"}
    if ask["wire"] == "google.gemini":
        create = client.models.generate_content_stream if ask["stream"] else client.models.generate_content
        read = create(contents="Hello", **asked)
        for _ in read if ask["stream"] else ():
            pass
        return
    if ask["wire"] == "openai.responses":
        if not ask["stream"]:
            client.responses.create(input="Hello", **asked)
            return
        with client.responses.stream(input="Hello", **asked) as events:
            for _ in events:
                pass
        return
    asked["messages"] = _QUESTION
    create = client.chat.completions if ask["wire"] == "openai.chat" else client.messages
    if ask["wire"] == "anthropic.messages":
        asked["max_tokens"] = 1024
    if not ask["stream"]:
        create.create(**asked)
        return
    with create.stream(**asked) as events:
        for _ in events:
            pass
