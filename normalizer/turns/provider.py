"""What a turn needs of a provider: one request, and the pieces of its answer as they arrive.

A client over an official SDK is a few lines: it sends the body, yields what comes, and keeps to these rules.

- Each piece is what `normalizer.StreamDecoder.feed` takes: bytes of the body (SSE, plain JSON) or the SDK's own event
  objects; on `xai.grpc` one message each.
- An answer that is not streamed is one piece: the body's bytes, or a canonical `Response`. A refusal of the provider
  (HTTP 400 and above) is best given as ``normalize(body, wire=…, status=…)``, which is a Response with an error.
- Whoever has no bytes of the wire gives canonical events (`normalizer.events`) as they come, and a `Response` of all
  that was said: the last one holds, and while it is not ``complete`` nothing of it is acted on.
- What goes wrong otherwise (no connection, a broken stream) is raised, as any exception: the turn ends as
  `provider_failed`, and what had arrived is kept but not acted on.
- A refusal says how long to wait, where its headers do: `retry_after.with_retry_after(response, headers)`, or an
  exception that holds them as ``error.response.headers``. The turn waits, and asks again (`backoff.Backoff`). Retries
  of the SDK come before that; ``max_retries=0`` leaves all of them to the turn, which reports each as an event.
- Closing the iterator (`aclose`) closes the connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Provider(Protocol):
    """``wire`` and ``name`` as the normalizer calls them ("openai.chat", "openai")."""

    @property
    def wire(self) -> str:
        """The format that requests and answers have."""

    @property
    def name(self) -> str | None:
        """Who answers, where dialects differ."""

    @property
    def model(self) -> str | None:
        """Whom to ask where the request names nobody."""

    def ask(self, body: Any) -> AsyncIterator[Any]:
        """Send one request and yield the pieces of its answer.

        ``body``: parsed JSON, or a protobuf message on `xai.grpc`; legal by `normalizer.requests.check_request`. It is
        shared with the bodies before and after it: add members to a copy (``stream``, for one).
        """
