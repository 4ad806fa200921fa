"""Client for the wire `google.interactions`, over the `google-genai` SDK."""

from __future__ import annotations

import asyncio
from typing import Any

from google.genai import Client as SdkOfGoogle
from google.genai._interactions_errors import APIStatusError
from google.genai.types import HttpOptions

from .http import HttpClient


class Client(HttpClient):
    """See `toolparity.turns.clients.client`. ``options``: the arguments of `google.genai.Client`, and
    ``base_url``."""

    wire = "google.interactions"
    status_error = APIStatusError

    def address(self) -> str | None:
        """See `SdkClient.address`."""
        return str(self._sdk()._api_client._http_options.base_url)

    def _resource(self) -> Any:
        return self._sdk().interactions

    def _create(self, options: dict[str, Any]) -> Any:
        rest = {name: value for name, value in options.items() if name != "base_url"}
        if (base := options.get("base_url")) is not None:
            rest.setdefault("http_options", HttpOptions(base_url=base))
        return SdkOfGoogle(**rest).aio

    def _error_body(self, error: Any) -> Any:
        """Return the body as the SDK parsed it, because the response to a request for a stream cannot be read again."""
        return error.body

    async def aclose(self) -> None:
        """See `SdkClient.aclose`. The method has another name on this SDK's client."""
        created = self._created.pop(asyncio.get_running_loop(), None)
        if created is not None:
            await created.aclose()
