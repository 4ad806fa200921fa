"""Client for the wire `openai.chat`, over the `openai` SDK: OpenAI and compatible providers."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.wires.openai_chat.dialects import dialect_of

from .openai_sdk import OpenAiClient


class Client(OpenAiClient):
    """See `toolparity.turns.clients.client`."""

    wire = "openai.chat"

    def _sent(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body with the default that a stream ends with the usage, if the provider accepts the option.

        Other options of the body stay beside it, and ``include_usage`` false turns it off.
        """
        sent = super()._sent(body)
        accepted = dialect_of(self.name).members
        if not sent["stream"] or (accepted is not None and "stream_options" not in accepted):
            return sent
        return {**sent, "stream_options": {"include_usage": True, **(sent.get("stream_options") or {})}}

    def _resource(self) -> Any:
        return self._sdk().chat.completions
