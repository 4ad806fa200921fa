"""Cohere's Chat API, version 2, through the `cohere` SDK."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import cohere
from cohere.core.api_error import ApiError
from cohere.v2.client import V2Client

from toolparity.normalizer import json_codec
from toolparity.turns.clients.http import sdk_arguments

from . import CUT_AT, AsyncSent, Link, ProviderError, RequestSettings, Sent

REFUSALS = (ApiError,)

#: This wire has no hosted tools.
HOSTED: dict[str, dict[str, Any]] = {}


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters. The default model thinks; the scripts without reasoning turn that off."""
    parameters: dict[str, Any] = {"stream": True} if wanted.stream else {}
    parameters["thinking"] = {"type": "enabled" if wanted.thinks else "disabled"}
    if wanted.cut:
        parameters["max_tokens"] = CUT_AT
    return parameters


def client(link: Link) -> cohere.ClientV2:
    """Return a client without retries."""
    return cohere.ClientV2(link.key, base_url=link.base, timeout=link.timeout, max_retries=0)


def async_client(link: Link) -> cohere.AsyncClientV2:
    """Return an asynchronous client without retries."""
    return cohere.AsyncClientV2(link.key, base_url=link.base, timeout=link.timeout, max_retries=0)


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Send a body; yields the V2ChatResponse, or the events."""
    if not stream:
        yield client.chat(**_arguments(V2Client.chat, body))
        return
    yield from client.chat_stream(**_arguments(V2Client.chat_stream, body))


async def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    if not stream:
        yield await client.chat(**_arguments(V2Client.chat, body))
        return
    async with aclosing(client.chat_stream(**_arguments(V2Client.chat_stream, body))) as events:
        async for event in events:
            yield event


def refused(error: Any) -> ProviderError | None:
    """Return the provider's error response; the SDK passes on its parsed body."""
    if error.status_code is None or error.status_code < 400:
        return None
    return ProviderError(json_codec.encode(error.body), error.status_code)


def _arguments(create: Callable[..., Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the body as arguments of the SDK's method, which sets ``stream`` itself.

    The methods of a client are wrapped and have no signature, so ``create`` is one of the class.
    """
    arguments = sdk_arguments(create, {name: value for name, value in body.items() if name != "stream"})
    if rest := arguments.pop("extra_body", None):
        arguments["request_options"] = {"additional_body_parameters": rest}
    return arguments
