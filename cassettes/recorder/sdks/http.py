"""Shared code for the HTTP wires: sending through an SDK's method, and the client and errors of the `openai` SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openai

from toolparity.turns.clients.http import sdk_arguments

from . import AsyncSent, Link, ProviderError, Sent

REFUSALS = (openai.APIError,)


def client(link: Link) -> openai.OpenAI:
    """Return a client without retries."""
    return openai.OpenAI(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def async_client(link: Link) -> openai.AsyncOpenAI:
    """Return an asynchronous client without retries."""
    return openai.AsyncOpenAI(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def refused(error: BaseException) -> ProviderError | None:
    """Return the provider's error: the whole body, or an event's ``error``, the only member that the SDK passes on."""
    if isinstance(error, openai.APIStatusError):
        return ProviderError(error.response.content, error.status_code)
    if isinstance(error, openai.APIConnectionError) or not isinstance(error, openai.APIError):
        return None
    return ProviderError({"error": error.body})


def send(create: Callable[..., Any], body: dict[str, Any], stream: bool, **more: Any) -> Sent:
    """Yield what the SDK's method ``create`` returns: the response, or the events of a stream."""
    answer = create(**sdk_arguments(create, body), **more)
    if not stream:
        yield answer
        return
    with answer:
        yield from answer


async def async_send(create: Callable[..., Any], body: dict[str, Any], stream: bool, **more: Any) -> AsyncSent:
    """Asynchronous variant of `send`."""
    answer = await create(**sdk_arguments(create, body), **more)
    if not stream:
        yield answer
        return
    async with answer:
        async for event in answer:
            yield event
