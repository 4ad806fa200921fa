"""The Responses interface through the `openai` SDK: OpenAI's own, and whoever else speaks it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from . import http
from .openai_sdk import REFUSALS, OpenAiClient

__all__ = ["Client"]


class Client(OpenAiClient):
    """See `toolparity.normalizer.turns.clients.client`."""

    wire = "openai.responses"

    def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Streamed, unless the body says otherwise."""
        return http.pieces(self, self._sdk().responses, {"stream": True, **body}, REFUSALS)
