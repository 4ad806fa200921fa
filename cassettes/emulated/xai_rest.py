"""Model aliases, response headers and error responses that xAI's wires share.

Sources: recorded responses and error bodies; xAI's REST API reference.
"""

from __future__ import annotations

from typing import Any

from .script_player import Play, ProviderRefusal

#: Alias of a model -> the name in its answers.
MODELS = {
    "grok-4": "grok-4-0709",
    "grok-4-fast": "grok-4-fast-reasoning",
    "grok-4-1-fast": "grok-4-1-fast-reasoning",
    "grok-3-latest": "grok-3",
    "grok-3-mini-latest": "grok-3-mini",
}

_INVALID = "Client specified an invalid argument"
_MISSING = "Some requested entity was not found"
_NO_MODEL = (
    "The model {} does not exist or your team does not have access to it. Please ensure you're using the correct API "
    "key. If you believe this is a mistake, please contact support and quote your team ID and the model name."
)
#: Errors that the request does not cause: kind -> HTTP status, code, message.
_FAULTS = {
    "rate_limit": (
        429,
        "Some resource has been exhausted",
        "Too many requests for this team and model. Your team's rate limit is 1 request per second.",
    ),
    "overloaded": (
        503,
        "The service is currently unavailable",
        "The model is at capacity and currently cannot serve this request. Please try again later.",
    ),
    "server_error": (500, "Internal error", "Internal error while processing the request."),
}


def answering(model: str) -> str:
    """Return the model name that appears in the answer."""
    return MODELS.get(model, model)


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, additional headers and body of an error response."""
    retry = {"retry-after": str(refused.retry_after)} if refused.retry_after is not None else {}
    status, code, words = _told(refused)
    return status, retry, {"code": code, "error": words}


def body(refused: ProviderRefusal) -> dict[str, Any]:
    """Return the error object, which also appears in streams."""
    return error(refused)[2]


def headers(play: Play) -> dict[str, str]:
    """Return the provider's headers of an answer."""
    return {
        "x-metrics-e2e-ms": f"{200 + int(play.hex('took', 3), 16) % 2000}.0",
        "x-ratelimit-limit-requests": "480",
        "x-ratelimit-limit-tokens": "4000000",
        "x-ratelimit-remaining-requests": "479",
        "x-ratelimit-remaining-tokens": str(4_000_000 - play.usage().input),
        "x-request-id": play.uuid("request"),
    }


def _told(refused: ProviderRefusal) -> tuple[int, str, str]:
    if refused.kind in _FAULTS:
        return _FAULTS[refused.kind]
    if refused.kind == "authentication":
        if not refused.value:
            return 401, "Unauthenticated", "No API key was provided. Send one as a bearer token."
        return 400, _INVALID, f"Incorrect API key provided: {refused.value[:2]}***{refused.value[-2:]}."
    if refused.rule == "model-known":
        return 404, _MISSING, _NO_MODEL.format(refused.value)
    if refused.kind == "not_found":
        return refused.status or 404, _MISSING, refused.message
    words = f"{refused.path}: {refused.message}" if refused.path else refused.message
    return refused.status or 400, _INVALID, words
