"""Client for the wire `google.gemini`, over the `google-genai` SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx
from google.genai import Client as SdkOfGoogle
from google.genai._transformers import t_model
from google.genai.errors import APIError
from google.genai.types import HttpOptions

from toolparity.normalizer.decoder import normalize
from toolparity.normalizer.headers import ResponseHeaders
from toolparity.normalizer.model import Response

from ..retry_after import with_retry_after
from .sdk import SdkClient

_PLAIN, _STREAMED = "generateContent", "streamGenerateContent?alt=sse"


class Client(SdkClient):
    """See `toolparity.turns.clients.client`. ``options``: the arguments of `google.genai.Client`, and
    ``base_url``.

    The SDK has no public method for the bytes of an answer, and its objects lack the members that it does not know.
    """

    wire = "google.gemini"

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the chunks of its answer, streamed unless the body sets ``stream``.

        The members ``model`` and ``stream`` are not sent, because the address has them. An HTTP status of 400 or above
        yields one `Response` with the error and its Retry-After delay.
        """
        sdk = self._sdk()._api_client
        rest = {name: value for name, value in body.items() if name not in ("model", "stream")}
        streams = body.get("stream", True)
        method = _STREAMED if streams else _PLAIN
        request = sdk._build_request("post", f"{t_model(sdk, body['model'])}:{method}", rest)
        try:
            answer = (await sdk._async_request(request, stream=True)).response_stream
        except APIError as error:
            yield self._error(error, body)
            return
        try:
            if headers := ResponseHeaders.of(answer.headers):
                yield headers
            if not streams:
                yield b"".join([chunk async for chunk in _chunks(answer)])
                return
            async for chunk in _chunks(answer):
                yield chunk
        finally:
            await _close(answer)

    def address(self) -> str | None:
        """See `SdkClient.address`."""
        return str(self._sdk()._api_client._http_options.base_url)

    def _error(self, error: APIError, body: Any) -> Response:
        canonical = normalize(error.details, self.wire, provider=self.name, request=body, status=error.code)
        return with_retry_after(canonical, error.response.headers)

    def _create(self, options: dict[str, Any]) -> Any:
        rest = {name: value for name, value in options.items() if name not in ("base_url", "http_options")}
        http = HttpOptions.model_validate(options.get("http_options") or {"base_url": options.get("base_url")})
        args = http.async_client_args or {}
        # aiohttp, which the SDK prefers without a transport, warns about the session that the SDK defines.
        transport = args.get("transport") or httpx.AsyncHTTPTransport(verify=args.get("verify", True))
        http.async_client_args = {**args, "transport": transport}
        return SdkOfGoogle(**rest, http_options=http).aio

    async def aclose(self) -> None:
        """See `SdkClient.aclose`. The method has another name on this SDK's client."""
        created = self._created.pop(asyncio.get_running_loop(), None)
        if created is not None:
            await created.aclose()


def _chunks(answer: Any) -> Any:
    """Return the chunks of a response of httpx, or of aiohttp, which a caller's SDK client may use."""
    return answer.aiter_bytes() if hasattr(answer, "aiter_bytes") else answer.content.iter_any()


async def _close(answer: Any) -> None:
    if hasattr(answer, "aclose"):
        await answer.aclose()
    else:
        answer.close()
