"""The HTTP client that the readers of `own_readers` and `rosetta_reader` share. It needs only httpx2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2

_PATHS = {
    "openai.chat": "/v1/chat/completions",
    "openai.responses": "/v1/responses",
    "anthropic.messages": "/v1/messages",
    "ollama.chat": "/api/chat",
}
QUESTION = [{"role": "user", "content": "Hello"}]
_client = httpx2.Client()


def pieces(ask: dict[str, Any], server: Any) -> Iterator[bytes]:
    """Yield the pieces of the response to read."""
    request = {"model": "model", "stream": ask["stream"], "messages": QUESTION}
    with _client.stream("POST", server.url + _PATHS[ask["wire"]], json=request) as response:
        yield from response.iter_raw()
