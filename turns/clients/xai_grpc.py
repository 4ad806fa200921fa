"""Client for the wire `xai.grpc`, over `xai-sdk`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import grpc
import xai_sdk

from toolparity.normalizer import json_codec
from toolparity.normalizer.decoder import normalize
from toolparity.normalizer.headers import ResponseHeaders
from toolparity.normalizer.model import Response

from ..retry_after import with_retry_after
from .sdk import SdkClient

#: gRPC status -> HTTP status, which decides whether an error is retryable. Source: the comments of google.rpc.Code.
_HTTP = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


class Client(SdkClient):
    """See `toolparity.turns.clients.client`. ``options``: the arguments of `xai_sdk.AsyncClient`."""

    wire = "xai.grpc"

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the messages of its answer.

        The answer is always streamed, because a request of this wire has no member for streaming.
        """
        # ``chat.create(…).stream()`` parses the arguments of every call as JSON for its telemetry, those of the history
        # included, and raises if they are not JSON. So this method calls the SDK's stub.
        call = self._sdk().chat._stub.GetCompletionChunk(body)
        answered = False
        try:
            async for message in call:
                if not answered and (headers := ResponseHeaders.of(await call.initial_metadata())):
                    yield headers
                answered = True
                yield message
            return
        except grpc.RpcError as error:
            failure = self._error(error, answered)
        finally:
            call.cancel()  # no effect on a finished call
        yield failure

    def _error(self, error: Any, answered: bool) -> bytes | Response:
        """Return the error that ended the call: as bytes if messages came before it (``answered``), else as a Response.

        Raises ``error`` itself if it has no status.
        """
        code = error.code()
        if code is None:
            raise error
        body = json_codec.encode({"code": code.name, "details": error.details() or ""})
        if answered:
            return body
        canonical = normalize(body, self.wire, provider=self.name, status=_HTTP.get(code.name, 500))
        return with_retry_after(canonical, error.trailing_metadata())

    def address(self) -> str | None:
        """See `SdkClient.address`. The SDK sends requests to api.x.ai unless it gets the option `api_host`."""
        return None if self._callers_sdk is not None else str(self._options.get("api_host", "api.x.ai"))

    def _create(self, options: dict[str, Any]) -> Any:
        return xai_sdk.AsyncClient(**options)
