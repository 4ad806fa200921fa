"""Shared code for both wires of the `openai` SDK: clients and errors."""

from __future__ import annotations

import openai

from . import Link, Refusal

REFUSALS = (openai.APIError,)


def client(link: Link) -> openai.OpenAI:
    """Return a client without retries."""
    return openai.OpenAI(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def async_client(link: Link) -> openai.AsyncOpenAI:
    """Return an asynchronous client without retries."""
    return openai.AsyncOpenAI(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def refused(error: BaseException) -> Refusal | None:
    """Return the provider's error: the whole body, or an event's ``error``, the only member that the SDK passes on."""
    if isinstance(error, openai.APIStatusError):
        return Refusal(error.response.content, error.status_code)
    if isinstance(error, openai.APIConnectionError) or not isinstance(error, openai.APIError):
        return None
    return Refusal({"error": error.body})
