"""Responses through the `openai` SDK, for OpenAI and xAI."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer.turns.clients.http import sdk_arguments

from . import CUT_AT, Asking, AsyncSent, Sent
from .openai_common import REFUSALS, async_client, client, refused

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


def settings(asking: Asking) -> dict[str, Any]:
    """Return the parameters. Encrypted reasoning travels with the history, so the provider stores nothing."""
    made: dict[str, Any] = {}
    if asking.stream:
        made["stream"] = True
    if asking.thinks:
        made |= {"store": False, "include": ["reasoning.encrypted_content"]}
        if asking.surface.provider == "openai":
            made["reasoning"] = {"effort": "low", "summary": "auto"}
    if asking.cut:
        made["max_output_tokens"] = CUT_AT
    return made


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Yield the Response, or its events."""
    answer = client.responses.create(**sdk_arguments(client.responses.create, body))
    if not stream:
        yield answer
        return
    with answer:
        yield from answer


async def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    answer = await client.responses.create(**sdk_arguments(client.responses.create, body))
    if not stream:
        yield answer
        return
    async with answer:
        async for event in answer:
            yield event
