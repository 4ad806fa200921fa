"""Base class of the `openai` SDK clients: it chooses the address and the API key for the provider."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import openai

from ...errors import MissingKey
from .sdk import SdkClient


class Place(NamedTuple):
    """The address of a provider (``base``) and the environment variable that holds its API key (``key``)."""

    base: str
    key: str


#: Providers other than OpenAI whose documentation recommends OpenAI's SDK.
PLACES = {"xai": Place("https://api.x.ai/v1", "XAI_API_KEY")}

REFUSALS = openai.APIStatusError


class OpenAiClient(SdkClient):
    """A client over `openai.AsyncOpenAI`.

    ``options``: its arguments (``api_key``, ``base_url``, ``timeout``, ``max_retries``, …). For a provider in `PLACES`,
    the first request raises MissingKey if there is neither an ``api_key`` nor the provider's environment variable.
    """

    def _make(self, options: dict[str, Any]) -> openai.AsyncOpenAI:
        place = PLACES.get(self.name)
        if place is not None and "api_key" not in options:
            key = os.environ.get(place.key)
            if not key:  # the SDK would send OPENAI_API_KEY to this provider, or fail and ask for that variable
                raise MissingKey(f"{self.name} wants a key", hint=f"put it into {place.key}, or pass api_key")
            options = {**options, "api_key": key}
        return openai.AsyncOpenAI(**options)

    def _reach(self, options: dict[str, Any]) -> dict[str, Any]:
        place = PLACES.get(self.name)
        return super()._reach(options if place is None else {"base_url": place.base, **options})
