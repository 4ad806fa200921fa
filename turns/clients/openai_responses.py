"""Client for the wire `openai.responses`, over the `openai` SDK: OpenAI and compatible providers."""

from __future__ import annotations

from typing import Any

from .openai_sdk import OpenAiClient


class Client(OpenAiClient):
    """See `toolparity.turns.clients.client`."""

    wire = "openai.responses"

    def _resource(self) -> Any:
        return self._sdk().responses
