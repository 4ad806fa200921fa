"""Allow-list of headers and gRPC metadata that a cassette may keep. All others are dropped.

A provider's new header is unknown and therefore dropped: a missing entry here costs a header, while a missing entry in
a deny-list would cost a secret. Kept headers are those that replay and analysis read; their values are scrubbed like
any text.

Dropped on purpose: ``date``, ``cf-ray``, ``request-id`` and similar (they identify one request of one account),
``user-agent`` and most of ``x-stainless-*`` (they identify the machine; the provenance holds the SDK's version),
``host`` (it is in the URI).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from toolparity.turns.secrets.forms import is_mask
from toolparity.turns.secrets.names import is_credential_header, is_random

#: Exact names, in lower case.
KEPT = frozenset(
    {
        # needed to read the body
        "content-type",
        "content-encoding",
        "content-length",
        "transfer-encoding",
        "accept",
        # decide the SDKs' behaviour
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "location",
        "x-stainless-retry-count",
        "x-stainless-helper-method",
        # version of the interface, requested and used
        "anthropic-version",
        "anthropic-beta",
        "anthropic-dangerous-direct-browser-access",
        "openai-version",
        "openai-beta",
        "openai-model",
        "openai-processing-ms",
        # origin: our own servers send it (`toolparity.cassettes.emulation_marker`)
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

#: Name prefixes of rate limits: counts and times, which tests of backoff need.
KEPT_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-", "ratelimit-")

#: Parts of names of headers whose values identify a request, a session or an account, and carry no credential.
TRACES = re.compile(r"request-?id|cf-ray|trace-?id|traceparent|correlation-?id", re.IGNORECASE)

#: Headers whose names have a word of a credential, but whose values are settings.
_SETTINGS = re.compile(
    r"access-control-|cross-origin-|.*oauth-scopes|.*ratelimit|www-authenticate|proxy-authenticate|x-frame-|x-xss-"
    r"|.*-expiration$|azureml-model-session$",
    re.IGNORECASE,
)
#: Shorter values are settings or words. Our placeholders need this length to be recognizable.
_SHORTEST = 8
#: Words of values that were masked by hand or by another tool's filter: ``DUMMY``, ``<API_KEY>``, ``fake-key``.
_MASKED = re.compile(
    r"redacted|filtered|dummy|fake|mock|masked|scrubbed|sanitized|placeholder|removed|hidden|example|your[-_ ]|x{4,}"
    r"|\*{3,}|^<[^<>]+>$|[-_]x{3,}$|^(?-i:[A-Z]{1,15}(?:[-_][A-Z]{1,15})+)$",
    re.IGNORECASE,
)
_ATTRIBUTES = frozenset(
    {"max-age", "domain", "path", "expires", "secure", "samesite", "httponly", "version", "priority"}
)
#: A part that no hand-made mask has: letters and digits mixed.
_RANDOM = re.compile(r"(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]{16,}")

#: The value of a cookie or of an authorization parameter.
_SET = re.compile(r"=[ \t]*\"?([^\s\",;]+)")


def is_kept(name: str, extra: frozenset[str] = frozenset()) -> bool:
    """Return whether a header or metadata key may be kept. ``extra``: further names, in lower case."""
    name = name.lower()
    return name in KEPT or name.startswith(KEPT_PREFIXES) or name in extra


def is_replaced(name: str) -> bool:
    """Return whether a header that stays in a cassette gets another value: a credential, or an id of the account."""
    if is_kept(name) or _SETTINGS.match(name):
        return False
    return is_credential_header(name) or TRACES.search(name) is not None


def is_judged(name: str) -> bool:
    """Return whether the name of a header decides: it is kept, a setting, or its value is replaced."""
    return is_kept(name) or _SETTINGS.match(name) is not None or is_replaced(name.lower())


def is_masked(value: str, name: str = "") -> bool:
    """Return whether the value of a header is too short for a credential, or was already masked by any tool."""
    if len(value) < _SHORTEST or (name.lower() in ("cookie", "set-cookie") and not _cookies(value)):
        return True
    return is_mask(value) or (_MASKED.search(value) is not None and _RANDOM.search(value) is None)


def _cookies(value: str) -> list[str]:
    """Return the values of cookies that are long enough for a credential."""
    pairs = (part.strip().partition("=") for part in value.split(";"))
    return [text for name, _, text in pairs if name.lower() not in _ATTRIBUTES and len(text or name) >= _SHORTEST]


def credentials_in(headers: Mapping[Any, Any], extra: frozenset[str] = frozenset()) -> list[str]:
    """Return the credentials in headers, so that they can be found in the bodies once the headers are dropped.

    Each header yields its value without the scheme (``Bearer``, ``Basic``), the values of cookies and parameters, and
    the password of Basic authorization.
    """
    credentials: list[str] = []
    for name, value in headers.items():
        if is_kept(str(name), extra) or _SETTINGS.match(str(name)) or not is_credential_header(str(name)):
            continue
        for header_value in value if isinstance(value, list | tuple) else [value]:
            text = header_value.decode("latin-1") if isinstance(header_value, bytes) else str(header_value)
            credential = text.split(None, 1)[-1] if text.strip() else ""
            credentials += [credential, *_SET.findall(text)]
            if text[:6].lower() == "basic ":
                credentials.append(_password(credential))
    return [credential for credential in credentials if not is_masked(credential)]


def unnamed_credentials(headers: Mapping[Any, Any]) -> list[str]:
    """Return random values of a request's other headers: a gateway's key can have any name, and errors echo it."""
    return [
        value
        for name, given in headers.items()
        if not is_kept(str(name)) and not _NO_KEYS.match(str(name)) and not TRACES.search(str(name))
        for value in str(given[0] if isinstance(given, list) and given else given).split()
        if len(value) >= _SHORTEST_UNNAMED and is_random(value)
    ]


_SHORTEST_UNNAMED = 20
#: Headers with random values that are not keys: digests, ids, versions and the machine.
_NO_KEYS = re.compile(
    r"user-agent|host|x-stainless|x-amz-(?!security)|.*(?:digest|md5|sha256|etag|idempotency|range|match|boundary|date)|via$"
    r"|x-(?:goog-api-client|client-|b3|datadog|sentry)|sentry-trace|baggage|referer|origin|accept|sec-|cache-",
    re.IGNORECASE,
)


def _password(credential: str) -> str:
    try:
        return base64.b64decode(credential).decode().partition(":")[2]
    except ValueError:
        return ""
