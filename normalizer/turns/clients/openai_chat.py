"""Client for the wire `openai.chat`, over the `openai` SDK: OpenAI and compatible providers."""

from __future__ import annotations

from typing import Any

from .openai_sdk import OpenAiClient


class Client(OpenAiClient):
    """See `toolparity.normalizer.turns.clients.client`."""

    wire = "openai.chat"

    def _sent(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body with the default that a stream ends with the usage."""
        sent = super()._sent(body)
        return {"stream_options": {"include_usage": True}, **sent} if sent["stream"] else sent

    def _resource(self) -> Any:
        return self._sdk().chat.completions
