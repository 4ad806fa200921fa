"""What both interfaces of the `openai` SDK share, whoever serves them: clients, errors, members that are new to it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import openai

from . import Link, Refusal

REFUSALS = (openai.APIError,)


def client(link: Link) -> openai.OpenAI:
    """A client without retries."""
    return openai.OpenAI(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def async_client(link: Link) -> openai.AsyncOpenAI:
    """The same, asynchronous."""
    return openai.AsyncOpenAI(base_url=link.base, api_key=link.key, timeout=link.timeout, max_retries=0)


def refused(error: BaseException) -> Refusal | None:
    """The provider's error: the whole body, or the member ``error`` of an event, which the SDK hands on alone."""
    if isinstance(error, openai.APIStatusError):
        return Refusal(error.response.content, error.status_code)
    if isinstance(error, openai.APIConnectionError) or not isinstance(error, openai.APIError):
        return None
    return Refusal({"error": error.body})


def members(create: Callable[..., Any], body: dict[str, Any]) -> dict[str, Any]:
    """The body as arguments of the SDK's method; what it has no parameter for goes through ``extra_body``."""
    known = inspect.signature(create).parameters
    arguments = {name: value for name, value in body.items() if name in known}
    rest = {name: value for name, value in body.items() if name not in known}
    return {**arguments, "extra_body": rest} if rest else arguments
