"""Headers and gRPC metadata that a cassette may keep. Everything else is dropped, whatever it is called.

A new header of a provider is unknown, so it goes: forgetting to list one costs a header, forgetting to forbid one
would cost a secret. Kept is what replay and analysis read; the values that are kept are scrubbed as any text is.

Dropped on purpose, though harmless to some: ``date``, ``cf-ray``, ``request-id`` and their like (they name one request
of one account); ``user-agent`` and most of ``x-stainless-*`` (they tell the machine; the provenance holds the SDK's
version); ``host`` (it stands in the URI).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from .names import is_credential_header

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
        # who answered: our own servers say so (`toolparity.cassettes.emulation_marker`)
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

#: What a cookie, or a parameter of an authorization, is set to.
_SET = re.compile(r"=[ \t]*\"?([^\s\",;]+)")


def is_kept(name: str, extra: frozenset[str] = frozenset()) -> bool:
    """Whether a header or metadata key of this name may be written; ``extra`` are further names, in lower case."""
    name = name.lower()
    return name in KEPT or name.startswith(KEPT_PREFIXES) or name in extra


def credentials_in(headers: Mapping[Any, Any], extra: frozenset[str] = frozenset()) -> list[str]:
    """The credentials that headers carry, to be looked for in the bodies once the headers are dropped.

    Of each: the value without its scheme (``Bearer``, ``Basic``), what a cookie or a parameter is set to, and the
    password that Basic encodes.
    """
    found: list[str] = []
    for name, value in headers.items():
        if is_kept(str(name), extra) or not is_credential_header(str(name)):
            continue
        for given in value if isinstance(value, list | tuple) else [value]:
            text = given.decode("latin-1") if isinstance(given, bytes) else str(given)
            credential = text.split(None, 1)[-1] if text.strip() else ""
            found += [credential, *_SET.findall(text)]
            if text[:6].lower() == "basic ":
                found.append(_password(credential))
    return found


def _password(credential: str) -> str:
    try:
        return base64.b64decode(credential).decode().partition(":")[2]
    except ValueError:
        return ""
