"""Responses through the `openai` SDK, for OpenAI and xAI."""

from __future__ import annotations

from typing import Any

from . import CUT_AT, AsyncSent, RequestSettings, Sent
from .http import REFUSALS, async_client, async_send, client, refused, send

__all__ = ["HOSTED", "REFUSALS", "async_client", "async_sent", "client", "refused", "sent", "settings"]

HOSTED: dict[str, dict[str, Any]] = {
    "openai": {
        "web_search": {"type": "web_search"},
        "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
    },
    "xai": {
        "web_search": {"type": "web_search"},
        "x_search": {"type": "x_search"},
        "code_execution": {"type": "code_interpreter"},
    },
}


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters. Encrypted reasoning travels with the history, so the provider stores nothing."""
    parameters: dict[str, Any] = {}
    if wanted.stream:
        parameters["stream"] = True
    if wanted.thinks:
        parameters |= {"store": False, "include": ["reasoning.encrypted_content"]}
        if wanted.surface.provider == "openai":
            parameters["reasoning"] = {"effort": "low", "summary": "auto"}
    if wanted.cut:
        parameters["max_output_tokens"] = CUT_AT
    return parameters


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Send a body; yields the Response, or its events."""
    return send(client.responses.create, body, stream)


def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    return async_send(client.responses.create, body, stream)
