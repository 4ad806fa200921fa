"""xAI's Chat service through `xai-sdk`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import grpc
import xai_sdk

from ... import json_codec
from ...decoder import normalize
from ...model import Response
from ..retry_after import with_retry_after
from .sdk import SdkClient

#: gRPC's statuses in terms of HTTP, by which errors are told to be worth another try (google.rpc.Code).
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
    """See `toolparity.normalizer.turns.clients.client`. ``options``: what `xai_sdk.AsyncClient` takes."""

    wire = "xai.grpc"

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Always streamed: a request of this wire has no member that says so."""
        # The SDK's stub, and not ``chat.create(…).stream()``: that reads the arguments of every call of the history
        # and of the answer as JSON, for its telemetry, and raises for those that are none.
        call = self._sdk().chat._stub.GetCompletionChunk(body)
        begun = False
        try:
            async for message in call:
                begun = True
                yield message
            return
        except grpc.RpcError as error:
            ended = self._ended(error, begun)
        finally:
            call.cancel()  # does nothing to a call that is over
        yield ended

    def _ended(self, error: Any, begun: bool) -> bytes | Response:
        """The status that ended the call: an error inside the stream, or instead of one. Raises ``error`` for none."""
        code = error.code()
        if code is None:
            raise error
        body = json_codec.encode({"code": code.name, "details": error.details() or ""})
        if begun:
            return body
        refusal = normalize(body, self.wire, provider=self.name, status=_HTTP.get(code.name, 500))
        return with_retry_after(refusal, error.trailing_metadata())

    def _make(self, options: dict[str, Any]) -> Any:
        return xai_sdk.AsyncClient(**options)
