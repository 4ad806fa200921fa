"""Model snapshots, response headers and error responses that OpenAI's two wires share.

Sources: recorded responses and error bodies; OpenAI's guide on error codes and rate limits.
"""

from __future__ import annotations

from typing import Any

from ..scripts import OfferedTool, ScriptedCall
from .script_player import Play, ProviderRefusal

#: Alias of a model -> its dated snapshot.
SNAPSHOTS = {
    "gpt-4.1": "gpt-4.1-2025-04-14",
    "gpt-4.1-mini": "gpt-4.1-mini-2025-04-14",
    "gpt-4.1-nano": "gpt-4.1-nano-2025-04-14",
    "gpt-4o": "gpt-4o-2024-08-06",
    "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
    "gpt-5": "gpt-5-2025-08-07",
    "gpt-5-mini": "gpt-5-mini-2025-08-07",
    "gpt-5-nano": "gpt-5-nano-2025-08-07",
    "gpt-5.1": "gpt-5.1-2025-11-13",
    "gpt-5.2": "gpt-5.2-2025-12-11",
    "gpt-5.4": "gpt-5.4-2026-03-05",
    "gpt-5.4-mini": "gpt-5.4-mini-2026-03-17",
    "o3": "o3-2025-04-16",
    "o4-mini": "o4-mini-2025-04-16",
}

_LIMITS = "https://platform.openai.com/account/rate-limits"
_KEYS = "https://platform.openai.com/account/api-keys"

#: Errors that the request does not cause: kind -> HTTP status, type, code, message.
_FAULTS: dict[str, tuple[int, str, str | None, str]] = {
    "overloaded": (503, "server_error", None, "The engine is currently overloaded, please try again later."),
    "server_error": (
        500,
        "server_error",
        None,
        "The server had an error while processing your request. Sorry about that!",
    ),
}

#: Request rule -> OpenAI's error code and message template. Rules that are missing here use their own message.
_WORDS: dict[str, tuple[str | None, str]] = {
    "messages-present": ("empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1."),
    "calls-empty": ("empty_array", "Invalid '{path}': empty array. Expected an array with minimum length 1."),
    "tools-count": ("empty_array", "Invalid 'tools': {message}."),
    "id-long": ("string_above_max_length", "Invalid '{path}': string too long. {message}."),
    "name-format": ("invalid_value", "Invalid '{path}': string does not match pattern. {message}."),
    "parameters-object": ("invalid_function_parameters", "Invalid schema for function: {message}."),
    "tool-schema": ("invalid_function_parameters", "Invalid schema for function: {message}."),
    "strict-schema": ("invalid_function_parameters", "Invalid schema for function: {message}."),
    "role-known": ("invalid_value", "Invalid value at '{path}': {message}."),
    "arguments-text": ("invalid_type", "Invalid type for '{path}': expected a string."),
    "member-type": ("invalid_type", "Invalid type for '{path}': {message}."),
    "id-missing": ("missing_required_parameter", "Missing required parameter: '{path}'."),
    "output-present": ("missing_required_parameter", "Missing required parameter: '{path}'."),
    "model-known": ("model_not_found", "{message}"),
    "model-present": ("missing_required_parameter", "Missing required parameter: 'model'."),
    "content-type": ("unsupported_content_type", "{message}"),
    "output-limit": (
        "integer_below_min_value",
        "Invalid '{path}': integer below minimum value. Expected a value >= 16, but got {value} instead.",
    ),
}
#: Request rule and list -> message template. ``param`` of these errors is the list.
_PAIRING = {
    (
        "call-answered",
        "messages",
    ): "An assistant message with 'tool_calls' must be followed by tool messages responding "
    "to each 'tool_call_id'. The following tool_call_ids did not have response messages: {id}",
    ("result-asked-for", "messages"): "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
    "message with 'tool_calls'.",
    ("call-answered", "input"): "No tool output found for function call {id}.",
    ("result-asked-for", "input"): "No tool call found for function call output with call_id {id}.",
}


def snapshot(model: str) -> str:
    """Return the dated snapshot of a model, or ``model`` itself if it has none."""
    return SNAPSHOTS.get(model, model)


def offered(play: Play, call: ScriptedCall) -> OfferedTool:
    """Return the tool definition of a call. For a tool that the script does not offer, return a plain function."""
    return next((tool for tool in play.script.tools if tool.name == call.tool), OfferedTool(call.tool, ""))


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, additional headers and body of an error response."""
    return _status(refused), _retry(refused), {"error": body(refused)}


def body(refused: ProviderRefusal) -> dict[str, Any]:
    """Return the error object, which also appears in streams."""
    if refused.kind in _FAULTS:
        _, error_type, code, message = _FAULTS[refused.kind]
        return _error(message, error_type, None, code)
    if refused.kind == "rate_limit":
        wait = f" Please try again in {refused.retry_after}s." if refused.retry_after is not None else ""
        message = f"Rate limit reached on requests per min (RPM): Limit 500, Used 500, Requested 1.{wait}"
        return _error(f"{message} Visit {_LIMITS} to learn more.", "requests", None, "rate_limit_exceeded")
    if refused.kind == "authentication":
        return _unknown_caller(refused.value)
    entries = (refused.path or "").partition("[")[0]
    if (refused.rule, entries) in _PAIRING:
        message = _PAIRING[refused.rule or "", entries].format(id=_id(refused.value))
        return _error(message, refused.error_type or "invalid_request_error", entries, None)
    if refused.rule in _WORDS:
        code, words = _WORDS[refused.rule]
        message = words.format(path=refused.path, message=refused.message, value=refused.value)
        param = None if refused.rule == "model-known" else refused.path
        return _error(message, refused.error_type or "invalid_request_error", param, code)
    if refused.kind == "not_found" and refused.path == "previous_response_id":
        return _error(refused.message, "invalid_request_error", refused.path, "previous_response_not_found")
    message = f"Invalid '{refused.path}': {refused.message}." if refused.path else refused.message
    return _error(message, refused.error_type or "invalid_request_error", refused.path, None)


def headers(play: Play) -> dict[str, str]:
    """Return the provider's headers of an answer."""
    took = str(200 + int(play.hex("took", 3), 16) % 2000)
    return {
        "openai-organization": "emulated-org",
        "openai-processing-ms": took,
        "openai-project": "proj_" + play.id("project"),
        "openai-version": "2020-10-01",
        "x-envoy-upstream-service-time": took,
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-limit-tokens": "500000",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-remaining-tokens": str(500_000 - play.usage().input),
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-reset-tokens": "30ms",
        "x-request-id": "req_" + play.hex("request", 32),
    }


def _error(message: str, error_type: str, param: str | None, code: str | None) -> dict[str, Any]:
    return {"message": message, "type": error_type, "param": param, "code": code}


def _unknown_caller(key: str | None) -> dict[str, Any]:
    if not key:
        words = "You didn't provide an API key. You need to provide your API key in an Authorization header."
        return _error(words, "invalid_request_error", None, None)
    shown = key if len(key) < 13 else f"{key[:8]}{'*' * (len(key) - 12)}{key[-4:]}"
    words = f"Incorrect API key provided: {shown}. You can find your API key at {_KEYS}."
    return _error(words, "invalid_request_error", None, "invalid_api_key")


def _status(refused: ProviderRefusal) -> int:
    if refused.status is not None:
        return refused.status
    if refused.kind in _FAULTS:
        return _FAULTS[refused.kind][0]
    return {"rate_limit": 429, "authentication": 401, "not_found": 400 if refused.path else 404}.get(refused.kind, 400)


def _retry(refused: ProviderRefusal) -> dict[str, str]:
    """Return the headers from which OpenAI's SDK reads its retry delay."""
    if refused.retry_after is None:
        return {}
    return {"retry-after": str(refused.retry_after), "retry-after-ms": str(1000 * refused.retry_after)}


def _id(value: Any) -> Any:
    """Return the call id in the value that a violation refers to, or the value itself if it is not an object."""
    if isinstance(value, dict):
        return value.get("call_id") or value.get("id")
    return value
