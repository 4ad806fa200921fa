"""Client for the wire `ollama.chat`, over the `ollama` SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import ollama

from toolparity.normalizer import json_codec
from toolparity.normalizer.decoder import normalize
from toolparity.normalizer.headers import ResponseHeaders
from toolparity.normalizer.wires.registry import spec

from ..retry_after import with_retry_after
from .sdk import SdkClient


class Client(SdkClient):
    """See `toolparity.turns.clients.client`. ``options``: the arguments of `ollama.AsyncClient`.

    The SDK has no public method for the bytes of an answer, and its objects lack the ids of calls. Requests are
    therefore sent with its HTTP client, which has the address, the key and the options of the SDK.
    """

    wire = "ollama.chat"

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the chunks of its answer, streamed unless the body sets ``stream``.

        An HTTP status of 400 or above yields one `Response` with the error and its Retry-After delay.
        """
        sent = {"stream": True, **body}
        http = self._sdk()._client
        async with http.stream("POST", spec(self.wire).path, content=json_codec.encode(sent)) as response:
            if response.status_code >= 400:
                data = await response.aread()
                canonical = normalize(data, self.wire, provider=self.name, request=body, status=response.status_code)
                yield with_retry_after(canonical, response.headers)
                return
            if headers := ResponseHeaders.of(response.headers):
                yield headers
            if not sent["stream"]:
                yield await response.aread()
            else:
                async with aclosing(response.aiter_bytes()) as chunks:
                    async for chunk in chunks:
                        yield chunk

    def address(self) -> str | None:
        """See `SdkClient.address`."""
        return str(self._sdk()._client.base_url)

    def _create(self, options: dict[str, Any]) -> ollama.AsyncClient:
        return ollama.AsyncClient(**options)
