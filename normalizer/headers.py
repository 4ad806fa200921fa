"""The headers of a response that the canonical form keeps: those about rate limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from .model import Response

#: Parts of the names, in lower case: the headers of OpenAI and compatible providers (x-ratelimit-…), of Azure,
#: Anthropic (anthropic-ratelimit-…, and those of its priority tier and fast mode), Mistral (ratelimitbysize-…) and
#: Cohere (x-trial-endpoint-call-limit, …), the draft of the IETF (ratelimit, ratelimit-policy), RFC 9110 (retry-after)
#: and gRPC. Bedrock, Gemini, Interactions and Ollama document none.
_RATE_LIMITS = (
    *("ratelimit", "rate-limit", "retry-after", "grpc-retry-pushback"),
    *("anthropic-priority-", "anthropic-fast-", "-call-limit", "-call-remaining"),
)


class ResponseHeaders(Struct, frozen=True):
    """The headers of a response that are kept, as a chunk that `StreamDecoder.feed` takes beside those of the body.

    ``rate_limit``: by name in lower case. The decoder adds them to ``Response.extra["rate_limit"]``.
    """

    rate_limit: dict[str, str]

    @classmethod
    def of(cls, headers: Any) -> Self | None:
        """Return those that are kept of all headers: a mapping, or pairs. None if there are none."""
        limits = rate_limits(headers)
        return cls(limits) if limits else None


def pairs_of(headers: Any) -> dict[str, str]:
    """Return headers by name in lower case. ``headers``: a mapping, or pairs, of text or bytes."""
    pairs: Iterable[Any] = headers.items() if isinstance(headers, Mapping) else headers or ()
    return {_text(name).lower(): _text(value) for name, value in pairs}


def rate_limits(headers: Any) -> dict[str, str]:
    """Return the headers about rate limits, by name in lower case."""
    return {name: value for name, value in pairs_of(headers).items() if any(part in name for part in _RATE_LIMITS)}


def with_rate_limits(response: Response, limits: Mapping[str, str]) -> Response:
    """Return the response with these headers in its ``extra``, or unchanged if there are none."""
    if not limits:
        return response
    extra = {**response.extra, "rate_limit": {**response.extra.get("rate_limit", {}), **limits}}
    return replace(response, extra=extra).with_findings(list(response.findings))


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
