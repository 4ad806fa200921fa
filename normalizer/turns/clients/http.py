"""HTTP requests through the `openai` and `anthropic` SDKs, whose generated methods have the same shape."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ...decoder import normalize
from ...model import Response
from ..retry_after import with_retry_after
from .sdk import SdkClient


async def response_chunks(
    client: SdkClient, resource: Any, body: dict[str, Any], status_error: type[Exception]
) -> AsyncGenerator[bytes | Response, None]:
    """Send one request and yield the bytes of its answer as they arrive, before the SDK parses them.

    An HTTP status of 400 or above yields one `Response` with the error and its Retry-After delay. ``resource``: the
    SDK's object that has ``create``. ``status_error``: the exception that it raises for such a status.
    """
    # The SDK's objects drop members that its version does not know, and its stream raises for errors that a
    # StreamDecoder decodes. So this function takes the raw bytes.
    create = resource.with_streaming_response.create
    try:
        async with create(**_arguments(resource.create, body)) as response:
            if not body.get("stream"):
                yield await response.read()
                return
            async with aclosing(response.iter_bytes()) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
    except status_error as error:
        canonical = _error_response(client, body, error)
    yield canonical


def _error_response(client: SdkClient, body: dict[str, Any], error: Any) -> Response:
    http = error.response
    canonical = normalize(http.content, client.wire, provider=client.name, request=body, status=http.status_code)
    return with_retry_after(canonical, http.headers)


def _arguments(create: Any, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body as arguments of the SDK's method; members without a parameter go into ``extra_body``."""
    known = inspect.signature(create).parameters
    arguments = {name: value for name, value in body.items() if name in known}
    rest = {name: value for name, value in body.items() if name not in known}
    return {**arguments, "extra_body": rest} if rest else arguments
