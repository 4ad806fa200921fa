"""Base class of the `openai` SDK clients: it chooses the address and the API key for the provider."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import openai

from toolparity.normalizer.errors import MissingKey

from .http import HttpClient


class Endpoint(NamedTuple):
    """The address of a provider, and the environment variable that holds its API key."""

    base_url: str
    key_variable: str


#: Providers other than OpenAI whose documentation recommends OpenAI's SDK.
ENDPOINTS = {"xai": Endpoint("https://api.x.ai/v1", "XAI_API_KEY")}


class OpenAiClient(HttpClient):
    """A client over `openai.AsyncOpenAI`.

    ``options``: its arguments (``api_key``, ``base_url``, ``timeout``, ``max_retries``, …). For a provider in
    `ENDPOINTS`, the first request raises MissingKey if there is neither an ``api_key`` nor the provider's environment
    variable.
    """

    status_error = openai.APIStatusError

    def _create(self, options: dict[str, Any]) -> openai.AsyncOpenAI:
        endpoint = ENDPOINTS.get(self.name)
        if endpoint is not None and "api_key" not in options:
            key = os.environ.get(endpoint.key_variable)
            if not key:  # the SDK would send OPENAI_API_KEY to this provider, or fail and ask for that variable
                raise MissingKey(
                    f"the API key of {self.name} is missing", hint=f"set {endpoint.key_variable}, or pass api_key"
                )
            options = {**options, "api_key": key}
        return openai.AsyncOpenAI(**options)

    def _complete(self, options: dict[str, Any]) -> dict[str, Any]:
        endpoint = ENDPOINTS.get(self.name)
        return super()._complete(options if endpoint is None else {"base_url": endpoint.base_url, **options})
