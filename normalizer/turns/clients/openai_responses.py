"""Client for the wire `openai.responses`, over the `openai` SDK: OpenAI and compatible providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from . import http
from .openai_sdk import STATUS_ERROR, OpenAiClient

__all__ = ["Client"]


class Client(OpenAiClient):
    """See `toolparity.normalizer.turns.clients.client`."""

    wire = "openai.responses"

    def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the chunks of its answer, streamed unless the body sets ``stream``."""
        return http.response_chunks(self, self._sdk().responses, {"stream": True, **body}, STATUS_ERROR)
