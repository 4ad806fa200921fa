"""Readers of this environment for `benchmarks.peers`: the transport alone, the normalizer, and the official SDKs."""

from __future__ import annotations

from functools import cache
from typing import Any

from http_reader import QUESTION, pieces

from toolparity import StreamDecoder, normalize


def transport(ask: dict[str, Any], server: Any) -> None:
    """Fetch the response and discard it."""
    for _ in pieces(ask, server):
        pass


def ours(ask: dict[str, Any], server: Any) -> None:
    """Fetch the response and decode it with the normalizer."""
    if not ask["stream"]:
        normalize(b"".join(pieces(ask, server)), ask["wire"], provider=ask["provider"])
        return
    decoder = StreamDecoder(ask["wire"], provider=ask["provider"])
    for piece in pieces(ask, server):
        decoder.feed(piece)
    decoder.finish()


@cache
def _sdk(wire: str, url: str) -> Any:
    if wire == "anthropic.messages":
        from anthropic import Anthropic

        return Anthropic(api_key="none", base_url=url, max_retries=0)
    from openai import OpenAI

    return OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)


def sdk(ask: dict[str, Any], server: Any) -> None:
    """Fetch and read the response with the official SDK of the wire, a stream with its own accumulation."""
    client = _sdk(ask["wire"], server.url)
    asked: dict[str, Any] = {"model": "model"}
    if ask["wire"] == "openai.responses":
        if not ask["stream"]:
            client.responses.create(input="Hello", **asked)
            return
        with client.responses.stream(input="Hello", **asked) as events:
            for _ in events:
                pass
        return
    asked["messages"] = QUESTION
    create = client.chat.completions if ask["wire"] == "openai.chat" else client.messages
    if ask["wire"] == "anthropic.messages":
        asked["max_tokens"] = 1024
    if not ask["stream"]:
        create.create(**asked)
        return
    with create.stream(**asked) as events:
        for _ in events:
            pass
