"""Ollama's chat API through the `ollama` SDK, whose types leave out the ids of calls and results."""

from __future__ import annotations

import contextlib
from typing import Any

import ollama

from . import CUT_AT, AsyncSent, Link, ProviderError, RequestSettings, Sent

REFUSALS = (ollama.ResponseError,)
DROPS_CALL_IDS = True

#: This wire has no hosted tools.
HOSTED: dict[str, dict[str, Any]] = {}


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters: thinking if the script contains reasoning, and the limit of a cut response."""
    parameters: dict[str, Any] = {"stream": wanted.stream}
    if wanted.thinks:
        parameters["think"] = True
    if wanted.cut:
        parameters["options"] = {"num_predict": CUT_AT}
    return parameters


def client(link: Link) -> ollama.Client:
    """Return a client. The SDK never retries."""
    return ollama.Client(link.base, timeout=link.timeout, headers=_key(link))


def async_client(link: Link) -> ollama.AsyncClient:
    """Return an asynchronous client. The SDK never retries."""
    return ollama.AsyncClient(link.base, timeout=link.timeout, headers=_key(link))


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Send a body; yields the ChatResponse, or the one of each event."""
    received = client.chat(**body)
    if not stream:
        yield received
        return
    with contextlib.closing(received):
        yield from received


async def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    received = await client.chat(**body)
    if not stream:
        yield received
        return
    async with contextlib.aclosing(received):
        async for event in received:
            yield event


def refused(error: BaseException) -> ProviderError | None:
    """Return the provider's error: its message, which is all that the SDK keeps, and the status.

    The SDK raises the error of an event with the status -1.
    """
    if not isinstance(error, ollama.ResponseError):
        return None
    return ProviderError({"error": error.error}, error.status_code if error.status_code > 0 else None)


def _key(link: Link) -> dict[str, str]:
    return {"authorization": f"Bearer {link.key}"}
