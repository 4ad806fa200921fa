"""Chat Completions through the `openai` SDK, for OpenAI and xAI."""

from __future__ import annotations

from typing import Any

from . import CUT_AT, AsyncSent, RequestSettings, Sent
from .http import REFUSALS, async_client, async_send, client, refused, send

__all__ = ["HOSTED", "REFUSALS", "async_client", "async_sent", "client", "refused", "sent", "settings"]

#: This wire has no hosted tools.
HOSTED: dict[str, dict[str, Any]] = {}


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters: usage in streams, reasoning if the script contains it (xAI's model always reasons)."""
    parameters: dict[str, Any] = {}
    if wanted.stream:
        parameters |= {"stream": True, "stream_options": {"include_usage": True}}
    if wanted.thinks and wanted.surface.provider == "openai":
        parameters["reasoning_effort"] = "low"
    if wanted.cut:
        parameters["max_completion_tokens"] = CUT_AT
    return parameters


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Send a body; yields the ChatCompletion, or its chunks."""
    return send(client.chat.completions.create, body, stream)


def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    return async_send(client.chat.completions.create, body, stream)
