"""Client for the wire `cohere.chat`, over the `cohere` SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import cohere

from toolparity.normalizer.decoder import normalize
from toolparity.normalizer.headers import ResponseHeaders

from ..retry_after import with_retry_after
from .sdk import SdkClient


class Client(SdkClient):
    """See `toolparity.turns.clients.client`. ``options``: the arguments of `cohere.AsyncClientV2`."""

    wire = "cohere.chat"

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the chunks of its answer, streamed unless the body sets ``stream``.

        An HTTP status of 400 or above yields one `Response` with the error and its Retry-After delay. The SDK does not
        repeat streamed requests.
        """
        # ``chat_stream`` skips events that its version cannot parse, so this method calls the SDK's HTTP client.
        http = self._sdk()._client_wrapper.httpx_client
        sent = {"stream": True, **body}
        headers = {"content-type": "application/json"}
        async with http.stream("v2/chat", method="POST", json=sent, headers=headers) as response:
            if response.status_code < 400:
                if limits := ResponseHeaders.of(response.headers):
                    yield limits
                async with aclosing(response.aiter_bytes()) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            content = await response.aread()
        status = response.status_code
        canonical = normalize(content, self.wire, provider=self.name, request=body, status=status)
        yield with_retry_after(canonical, response.headers)

    def address(self) -> str | None:
        """See `SdkClient.address`."""
        return str(self._sdk()._client_wrapper.get_base_url())

    def _create(self, options: dict[str, Any]) -> cohere.AsyncClientV2:
        return cohere.AsyncClientV2(**options)

    async def _close(self, created: Any) -> None:
        await created.__aexit__(None, None, None)
