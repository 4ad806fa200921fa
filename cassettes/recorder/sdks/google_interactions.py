"""Gemini's Interactions API through the `google-genai` SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from google.genai import Client
from google.genai._interactions_errors import APIError, APIStatusError
from google.genai.types import HttpOptions, HttpRetryOptions

from . import CUT_AT, AsyncSent, Link, ProviderError, RequestSettings, Sent
from .http import async_send, send

REFUSALS = (APIError,)

HOSTED: dict[str, dict[str, Any]] = {
    "google": {"web_search": {"type": "google_search"}, "code_execution": {"type": "code_execution"}}
}


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters: the histories of scripts are sent whole, so nothing is stored."""
    parameters: dict[str, Any] = {"store": False}
    if wanted.stream:
        parameters["stream"] = True
    if wanted.thinks:
        parameters["thinking_summaries"] = "auto"
    if wanted.cut:
        parameters["max_output_tokens"] = CUT_AT
    return parameters


def http_options(link: Link) -> HttpOptions:
    """Return the SDK's options for a link, without retries."""
    return HttpOptions(
        base_url=link.base, timeout=round(link.timeout * 1000), retry_options=HttpRetryOptions(attempts=1)
    )


@contextmanager
def client(link: Link) -> Iterator[Any]:
    """Yield a client without retries."""
    sdk = Client(api_key=link.key, http_options=http_options(link), vertexai=False)
    try:
        yield sdk
    finally:
        sdk.close()


@asynccontextmanager
async def async_client(link: Link) -> AsyncIterator[Any]:
    """Yield an asynchronous client without retries."""
    sdk = Client(api_key=link.key, http_options=http_options(link), vertexai=False).aio
    try:
        yield sdk
    finally:
        await sdk.aclose()


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Send a body; yields the Interaction, or the events."""
    return send(client.interactions.create, body, stream)


def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    return async_send(client.interactions.create, body, stream)


def refused(error: BaseException) -> ProviderError | None:
    """Return the provider's error, or None for an error of the connection. A stream brings errors as events."""
    # The response to a request for a stream cannot be read again.
    return ProviderError(error.body, error.response.status_code) if isinstance(error, APIStatusError) else None
