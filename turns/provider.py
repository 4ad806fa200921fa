"""The provider interface of a turn: send one request and yield the chunks of its answer as they arrive.

A client over an official SDK needs a few lines. It sends the body, yields what arrives, and follows these rules.

- Each chunk is a valid argument of `normalizer.StreamDecoder.feed`: bytes of the body (SSE, plain JSON) or an event
  object of the SDK. On `xai.grpc` it is one message.
- An answer that is not streamed is one chunk: the bytes of the body, or a canonical `Response`. For an HTTP error
  (status 400 and above) yield ``normalize(body, wire=…, status=…)``, which is a Response with an error.
- A provider without bytes of the wire yields canonical events (`normalizer.events`) as they come, and a `Response` of
  the whole answer. The last Response counts, and its calls are acted on only if it is ``complete``.
- For any other failure (no connection, a broken stream) raise any exception. The turn then ends as `provider_failed`,
  and keeps the partial answer without acting on it. An answer that was whole before the failure counts
  (`answer_reader`).
- Pass on the wait that the headers of an error demand: with `retry_after.with_retry_after(response, headers)`, or with
  an exception that has ``error.response.headers``. The turn waits and asks again (`backoff.Backoff`). Retries of the
  SDK come first. With ``max_retries=0`` the turn makes all retries, and emits an event for each.
- Pass on what other headers say about rate limits: yield `ResponseHeaders.of(headers)`, if it is not None, with the
  chunks of the body. The turn keeps them (`Outcome.rate_limit`).
- Closing the iterator (`aclose`) closes the connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Provider(Protocol):
    """A model's API. ``wire`` and ``name``: as in the normalizer ("openai.chat", "openai")."""

    @property
    def wire(self) -> str:
        """The wire of requests and answers."""

    @property
    def name(self) -> str | None:
        """The provider's name, which selects the dialect of the wire. None for the default."""

    @property
    def model(self) -> str | None:
        """The model to use if the request names none."""

    def ask(self, body: Any) -> AsyncIterator[Any]:
        """Send one request and yield the chunks of its answer.

        ``body``: parsed JSON, or a protobuf message on `xai.grpc`. It passes `normalizer.requests.check_request`. It
        shares objects with earlier and later bodies, so add fields such as ``stream`` to a copy.
        """
