"""Anthropic Messages through the `anthropic` SDK."""

from __future__ import annotations

from typing import Any

import anthropic

from . import CUT_AT, AsyncSent, Link, ProviderError, RequestSettings, Sent
from .http import async_send, send

REFUSALS = (anthropic.APIError,)

HOSTED: dict[str, dict[str, Any]] = {
    "anthropic": {
        "web_search": {"type": "web_search_20250305", "name": "web_search"},
        "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
    }
}
#: Tool type -> the beta that it requires.
BETAS = {"code_execution_20250825": "code-execution-2025-08-25"}

_LIMIT = 4096
_BUDGET = 1024  # the API's minimum


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters: the required token limit, and thinking if the script contains reasoning."""
    parameters: dict[str, Any] = {"max_tokens": CUT_AT if wanted.cut else _LIMIT}
    if wanted.stream:
        parameters["stream"] = True
    if wanted.thinks:
        parameters["thinking"] = {"type": "enabled", "budget_tokens": _BUDGET}
        parameters["max_tokens"] = _LIMIT  # must exceed the budget
    return parameters


def client(link: Link) -> anthropic.Anthropic:
    """Return a client without retries."""
    return anthropic.Anthropic(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def async_client(link: Link) -> anthropic.AsyncAnthropic:
    """Return an asynchronous client without retries."""
    return anthropic.AsyncAnthropic(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Send a body; yields the Message, or the raw events."""
    return send(client.messages.create, body, stream, **_headers(body))


def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    return async_send(client.messages.create, body, stream, **_headers(body))


def refused(error: BaseException) -> ProviderError | None:
    """Return the provider's error: an error response, or an event during a stream, whose status is then below 400."""
    if not isinstance(error, anthropic.APIStatusError):
        return None
    if error.status_code < 400:
        return ProviderError(error.body)
    return ProviderError(error.response.content, error.status_code)


def _headers(body: dict[str, Any]) -> dict[str, Any]:
    betas = [BETAS[tool["type"]] for tool in body.get("tools", ()) if tool.get("type") in BETAS]
    return {"extra_headers": {"anthropic-beta": ",".join(betas)}} if betas else {}
