"""Base class of the clients over SDKs whose generated methods have the same shape: `openai`, `anthropic`, …"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, ClassVar

from toolparity.normalizer.decoder import normalize
from toolparity.normalizer.headers import ResponseHeaders
from toolparity.normalizer.model import Response

from ..retry_after import with_retry_after
from .sdk import SdkClient


class HttpClient(SdkClient):
    """A client that yields the bytes of an answer as they arrive, before the SDK parses them.

    The SDK's objects drop members that its version does not know, and its stream raises for errors that a
    StreamDecoder decodes. ``status_error``: the SDK's exception for an HTTP status of 400 or above.
    """

    status_error: ClassVar[type[Exception]]

    async def ask(self, body: Any) -> AsyncGenerator[Any, None]:
        """Send one request and yield the chunks of its answer, streamed unless the body sets ``stream``.

        An HTTP status of 400 or above yields one `Response` with the error and its Retry-After delay.
        """
        sent = self._sent(body)
        resource = self._resource()
        try:
            async with resource.with_streaming_response.create(**sdk_arguments(resource.create, sent)) as response:
                if headers := ResponseHeaders.of(response.headers):
                    yield headers
                if not sent["stream"]:
                    yield await response.read()
                    return
                async with aclosing(response.iter_bytes()) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
        except self.status_error as error:
            canonical = self._error_response(body, error)
        yield canonical

    def _sent(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the members of the request that is sent."""
        return {"stream": True, **body}

    def _resource(self) -> Any:
        """Return the SDK's object that has ``create``."""
        raise NotImplementedError

    def _error_response(self, body: dict[str, Any], error: Any) -> Response:
        http = error.response
        content = self._error_body(error)
        canonical = normalize(content, self.wire, provider=self.name, request=body, status=http.status_code)
        return with_retry_after(canonical, http.headers)

    def _error_body(self, error: Any) -> Any:
        """Return the body of a response that the SDK raised as an exception."""
        return error.response.content


#: The members by which `google-genai`, whose method takes any member as an argument, chooses the type of a request.
_TYPING = frozenset(("model", "agent", "stream"))


def sdk_arguments(create: Callable[..., Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the body as arguments of the SDK's method; members without a parameter go into ``extra_body``."""
    parameters = inspect.signature(create).parameters
    known = set(parameters)
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        known |= _TYPING
    arguments = {name: value for name, value in body.items() if name in known}
    rest = {name: value for name, value in body.items() if name not in known}
    return {**arguments, "extra_body": rest} if rest else arguments
