"""Client for the wire `bedrock.converse`, over `boto3`, which has no asynchronous client: its calls run in threads."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import boto3
from botocore.exceptions import ClientError

from toolparity.normalizer import json_codec
from toolparity.normalizer.decoder import normalize
from toolparity.normalizer.headers import ResponseHeaders
from toolparity.normalizer.model import Response

from ..retry_after import with_retry_after
from .sdk import SdkClient


class Client(SdkClient):
    """See `toolparity.turns.clients.client`. ``options``: the arguments of `boto3.client`."""

    wire = "bedrock.converse"

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the bytes of its answer.

        The answer is always streamed, because a request of this wire has no member for streaming.
        """
        sdk = self._sdk()
        try:
            answer = await asyncio.to_thread(sdk.converse_stream, **sdk_arguments(sdk, body))
        except ClientError as error:
            yield self._error(error)
            return
        if headers := ResponseHeaders.of(answer["ResponseMetadata"]["HTTPHeaders"]):
            yield headers
        stream = answer["stream"]
        # The SDK's own events lack the members and the types that it does not know.
        chunks = stream._raw_stream.stream()
        try:
            while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
                yield chunk
        finally:
            with suppress(Exception):  # the answer was read to its end
                stream._raw_stream.shutdown()  # ends a read in a thread, for whose end `close` waits
            stream.close()

    def address(self) -> str | None:
        """See `SdkClient.address`."""
        return str(self._sdk().meta.endpoint_url)

    async def aclose(self) -> None:
        """Close the SDK client of this event loop. An SDK client that the caller passed stays open."""
        created = self._created.pop(asyncio.get_running_loop(), None)
        if created is not None:
            created.close()

    def _error(self, error: ClientError) -> Response:
        answered = error.response["ResponseMetadata"]
        canonical = normalize(error_body(error), self.wire, provider=self.name, status=answered["HTTPStatusCode"])
        return with_retry_after(canonical, answered["HTTPHeaders"])

    def _create(self, options: dict[str, Any]) -> Any:
        return boto3.client("bedrock-runtime", **options)


def sdk_arguments(sdk: Any, body: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of boto3's ``converse`` for a body: bytes where its JSON has base64."""
    arguments: dict[str, Any] = _with_bytes(body, sdk.meta.service_model.operation_model("Converse").input_shape)
    return arguments


def _with_bytes(value: Any, shape: Any) -> Any:
    """``shape``: the shape of the value in botocore's service model."""
    if shape.type_name == "blob" and isinstance(value, str):
        return b64decode(value)
    if shape.type_name == "list" and isinstance(value, list):
        return [_with_bytes(item, shape.member) for item in value]
    if shape.type_name == "structure" and isinstance(value, dict):
        members = shape.members
        return {name: _with_bytes(item, members[name]) if name in members else item for name, item in value.items()}
    return value


def error_body(error: ClientError) -> bytes:
    """Return the body of an error response. The SDK keeps its message, and the name of the exception as a code."""
    told = error.response["Error"]
    return json_codec.encode({"message": told.get("Message", ""), "code": told.get("Code", "")})
