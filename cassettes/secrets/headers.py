"""Headers and gRPC metadata that a cassette may keep. Everything else is dropped, whatever it is called.

A new header of a provider is unknown, so it goes: forgetting to list one costs a header, forgetting to forbid one
would cost a secret. Kept is what replay and analysis read; the values that are kept are scrubbed as any text is.

Dropped on purpose, though harmless to some: ``date``, ``cf-ray``, ``request-id`` and their like (they name one request
of one account); ``user-agent`` and most of ``x-stainless-*`` (they tell the machine; the provenance holds the SDK's
version); ``host`` (it stands in the URI).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Exact names, in lower case.
KEPT = frozenset(
    {
        # how to read the body
        "content-type",
        "content-encoding",
        "content-length",
        "transfer-encoding",
        "accept",
        # what the SDKs decide on
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "location",
        "x-stainless-retry-count",
        "x-stainless-helper-method",
        # which interface was asked, and which answered
        "anthropic-version",
        "anthropic-beta",
        "anthropic-dangerous-direct-browser-access",
        "openai-version",
        "openai-beta",
        "openai-model",
        "openai-processing-ms",
        # who answered: our own servers say so (`cassettes.origin`)
        "x-toolparity-origin",
        # gRPC
        "grpc-status",
        "grpc-message",
        "grpc-status-details-bin",
        "grpc-encoding",
        "grpc-accept-encoding",
        "grpc-timeout",
        "te",
    }
)

#: Beginnings of names: limits and what is left of them are counts and times, and back-off is tested with them.
KEPT_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-", "ratelimit-")

#: Request headers whose value is a credential: dropped as all others, and looked for in the bodies afterwards.
CREDENTIALS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "openai-organization"}
)


def is_kept(name: str, extra: frozenset[str] = frozenset()) -> bool:
    """Whether a header or metadata key of this name may be written; ``extra`` are further names, in lower case."""
    name = name.lower()
    return name in KEPT or name.startswith(KEPT_PREFIXES) or name in extra


def credentials_in(headers: Mapping[Any, Any]) -> list[str]:
    """The credentials that request headers carry, without their scheme (``Bearer``, ``Basic``, a cookie's name)."""
    found: list[str] = []
    for name, value in headers.items():
        if str(name).lower() not in CREDENTIALS:
            continue
        for given in value if isinstance(value, list | tuple) else [value]:
            text = given.decode("latin-1") if isinstance(given, bytes) else str(given)
            if str(name).lower() == "cookie":
                found += [part.partition("=")[2] for part in text.split(";")]
            else:
                found.append(text.split(None, 1)[-1] if text.strip() else "")
    return found
