"""Asking over HTTP through an SDK: the same for both SDKs, for they were made by one generator."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ...decoder import normalize
from ...model import Response
from ..retry_after import with_retry_after
from .sdk import SdkClient


async def pieces(
    client: SdkClient, resource: Any, body: dict[str, Any], refusals: type[Exception]
) -> AsyncGenerator[bytes | Response, None]:
    """The bytes of the answer as they arrive, before the SDK reads them; a refusal is one response that says it.

    ``resource``: the SDK's part that has ``create``. ``refusals``: what it raises for HTTP 400 and above.
    """
    # The raw bytes: the SDK's own objects lose what its version does not know, and raise in mid-stream for errors that
    # a StreamDecoder reads.
    create = resource.with_streaming_response.create
    try:
        async with create(**_arguments(resource.create, body)) as answer:
            if not body.get("stream"):
                yield await answer.read()
                return
            async with aclosing(answer.iter_bytes()) as arriving:
                async for piece in arriving:
                    yield piece
            return
    except refusals as error:
        refusal = _refusal(client, body, error)
    yield refusal


def _refusal(client: SdkClient, body: dict[str, Any], error: Any) -> Response:
    answer = error.response
    refusal = normalize(answer.content, client.wire, provider=client.name, request=body, status=answer.status_code)
    return with_retry_after(refusal, answer.headers)


def _arguments(create: Any, body: dict[str, Any]) -> dict[str, Any]:
    """The body as arguments of the SDK's method; what it has no parameter for goes through ``extra_body``."""
    known = inspect.signature(create).parameters
    arguments = {name: value for name, value in body.items() if name in known}
    rest = {name: value for name, value in body.items() if name not in known}
    return {**arguments, "extra_body": rest} if rest else arguments
