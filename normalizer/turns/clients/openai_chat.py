"""Chat Completions through the `openai` SDK: OpenAI's own, and whoever else speaks it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from . import http
from .openai_sdk import REFUSALS, OpenAiClient

__all__ = ["Client"]


class Client(OpenAiClient):
    """See `toolparity.normalizer.turns.clients.client`."""

    wire = "openai.chat"

    def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Streamed, with the figures of tokens at the end, unless the body says otherwise."""
        sent = {"stream": True, **body}
        if sent["stream"]:
            sent.setdefault("stream_options", {"include_usage": True})
        return http.pieces(self, self._sdk().chat.completions, sent, REFUSALS)
