"""Shared code for both wires of the `openai` SDK: clients, errors, parameters that the SDK does not know."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

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


def members(create: Callable[..., Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the body as arguments of the SDK's method. Members without a parameter go into ``extra_body``."""
    known = inspect.signature(create).parameters
    arguments = {name: value for name, value in body.items() if name in known}
    rest = {name: value for name, value in body.items() if name not in known}
    return {**arguments, "extra_body": rest} if rest else arguments
