"""Gemini's generateContent through the `google-genai` SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, closing
from typing import Any

import httpx
from google.genai import Client
from google.genai._api_client import HttpResponse
from google.genai.errors import APIError

from . import CUT_AT, AsyncSent, Link, ProviderError, RequestSettings, Sent
from .google_interactions import client, http_options

__all__ = ("HOSTED", "REFUSALS", "UNKNOWN", "async_client", "async_sent", "client", "refused", "sent", "settings")

REFUSALS = (APIError,)
#: The service sends these members, and the SDK drops them.
UNKNOWN = frozenset(("finishMessage", "serviceTier"))

HOSTED: dict[str, dict[str, Any]] = {
    "google": {"web_search": {"googleSearch": {}}, "code_execution": {"codeExecution": {}}}
}


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters: summaries of thoughts if the script contains reasoning, and the service's own calls."""
    config: dict[str, Any] = {}
    if wanted.thinks:
        config["thinkingConfig"] = {"includeThoughts": True}
    if wanted.cut:
        config["maxOutputTokens"] = CUT_AT
    parameters: dict[str, Any] = {"generationConfig": config} if config else {}
    if "web_search" in wanted.script.hosted:
        parameters["toolConfig"] = {"includeServerSideToolInvocations": True}
    return parameters


@asynccontextmanager
async def async_client(link: Link) -> AsyncIterator[Any]:
    """Yield an asynchronous client without retries, over httpx as the synchronous one."""
    options = http_options(link)
    options.async_client_args = {"transport": httpx.AsyncHTTPTransport()}
    sdk = Client(api_key=link.key, http_options=options, vertexai=False).aio
    try:
        yield sdk
    finally:
        await sdk.aclose()


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Send a body; yields the GenerateContentResponse, or the one of each event."""
    if not stream:
        yield client.models.generate_content(**_arguments(body))
        return
    with closing(client.models.generate_content_stream(**_arguments(body))) as events:
        yield from events


async def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    if not stream:
        yield await client.models.generate_content(**_arguments(body))
        return
    async with aclosing(await client.models.generate_content_stream(**_arguments(body))) as events:
        async for event in events:
            yield event


def refused(error: BaseException) -> ProviderError | None:
    """Return the provider's error. An event of a stream brings one without an HTTP status."""
    if not isinstance(error, APIError):
        return None
    return ProviderError(error.details, None if isinstance(error.response, HttpResponse) else error.code)


def _arguments(body: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the SDK's methods for a body.

    The SDK converts its own types to members of the body, and signatures to another alphabet of Base64. It replaces the
    members in ``extra_body`` with these, unchanged; the contents are only required.
    """
    rest = {name: value for name, value in body.items() if name != "model"}
    return {"model": body["model"], "contents": "replaced", "config": {"http_options": {"extra_body": rest}}}
