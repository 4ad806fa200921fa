"""Client for the wire `openai.chat`, over the `openai` SDK: OpenAI and compatible providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from . import http
from .openai_sdk import STATUS_ERROR, OpenAiClient

__all__ = ["Client"]


class Client(OpenAiClient):
    """See `toolparity.normalizer.turns.clients.client`."""

    wire = "openai.chat"

    def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the chunks of its answer, streamed unless the body sets ``stream``.

        The stream ends with the usage unless the body sets ``stream_options``.
        """
        sent = {"stream": True, **body}
        if sent["stream"]:
            sent.setdefault("stream_options", {"include_usage": True})
        return http.response_chunks(self, self._sdk().chat.completions, sent, STATUS_ERROR)
