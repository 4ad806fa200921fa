"""Anthropic's Messages API: bodies, events and error responses, in the format of recorded traffic of its newest models.

Sources: recorded responses, streams, headers and error bodies; Anthropic's pages on errors, rate limits and refusals.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any

from toolparity.normalizer import json_codec

from ..scripts import Refuse, ServerCall
from .anthropic_blocks import BASE58, blocks, identity, thinks
from .encoding import named_event
from .script_player import Play, ProviderRefusal, TokenCounts

#: Alias of a model -> its dated snapshot. Newer models have one name only.
SNAPSHOTS = {
    "claude-3-5-haiku-latest": "claude-3-5-haiku-20241022",
    "claude-3-7-sonnet-latest": "claude-3-7-sonnet-20250219",
    "claude-haiku-4-5": "claude-haiku-4-5-20251001",
    "claude-opus-4-0": "claude-opus-4-20250514",
    "claude-opus-4-1": "claude-opus-4-1-20250805",
    "claude-opus-4-5": "claude-opus-4-5-20251101",
    "claude-sonnet-4-0": "claude-sonnet-4-20250514",
    "claude-sonnet-4-5": "claude-sonnet-4-5-20250929",
}
_DATED = re.compile(r"-20\d{6}$")
_ENDINGS = {"length": "max_tokens", "pause": "pause_turn"}

#: `ProviderRefusal.kind` -> HTTP status and Anthropic's error type.
_ERRORS = {
    "invalid_request": (400, "invalid_request_error"),
    "authentication": (401, "authentication_error"),
    "not_found": (404, "not_found_error"),
    "rate_limit": (429, "rate_limit_error"),
    "server_error": (500, "api_error"),
    "overloaded": (529, "overloaded_error"),
}
#: Anthropic's messages for errors that the request does not cause.
_WORDS = {
    "rate_limit": "This request would exceed your organization's rate limit of 50 requests per minute. For details, "
    "refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage. Please "
    "reduce the prompt length or the maximum tokens requested, or try again later.",
    "server_error": "Internal server error",
    "overloaded": "Overloaded",
}
#: Members of usage that a stream reports in its first event and again at its end.
_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def answer(play: Play) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    message = _message(play, [block.whole for block in blocks(play, play.parts)], _stop(play), _stop_details(play))
    return message | {"usage": _usage(play) | _served(play)} | _container(play)


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of the streamed body. Raises ConnectionReset where the script says so."""
    pads = cycle(int(figure, 16) for figure in play.hex("pads", 48))
    start = _usage(play)
    start.pop("output_tokens_details", None)
    start["output_tokens"] = min(start["output_tokens"], 2)
    message = _message(play, [], None, None) | {"usage": start}
    yield _event(next(pads), "message_start", message=message)
    for index, block in enumerate(blocks(play, play.streamed_parts)):
        yield _event(next(pads), "content_block_start", index=index, content_block=block.start)
        if not index:
            yield b'event: ping\ndata: {"type": "ping"}\n\n'
        for delta in block.deltas:
            yield _event(next(pads), "content_block_delta", index=index, delta=delta)
        if not block.cut:
            yield _event(next(pads), "content_block_stop", index=index)
    if play.fault is None:
        delta = {"stop_reason": _stop(play), "stop_sequence": None, "stop_details": _stop_details(play)}
        usage = {name: figure for name, figure in _usage(play).items() if name in (*_COUNTED, "output_tokens_details")}
        yield _event(next(pads), "message_delta", delta=delta | _container(play), usage=usage | _served(play))
        yield _event(next(pads), "message_stop")
    elif (refused := play.failure()) is not None:
        yield named_event(error(refused)[2])


def _event(pad: int, type: str, **members: Any) -> bytes:
    """Return one event, with ``pad`` spaces before the last bracket. Anthropic hides the length of events this way."""
    data = json_codec.encode({"type": type, **members})
    return b"event: " + type.encode() + b"\ndata: " + data[:-1] + b" " * pad + b"}\n\n"


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, additional headers and body of an error response."""
    status, type = _ERRORS.get(refused.kind, _ERRORS["server_error"])
    status = refused.status or status
    request = _request_id(f"{refused.kind}/{refused.message}")
    retry = status == 429 or status >= 500
    headers = {"request-id": request, "x-should-retry": str(retry).lower()}
    if refused.retry_after is not None:
        headers["retry-after"] = str(refused.retry_after)
    error_body = {"type": refused.error_type or type, "message": _words(refused)}
    return status, headers, {"type": "error", "error": error_body, "request_id": request}


def wrap_error(error: dict[str, Any]) -> dict[str, Any]:
    """Return the body of an error response."""
    return {"type": "error", "error": error}


def model_entry(model: str, provider: str) -> dict[str, Any]:
    """Return the description of a model."""
    return {"type": "model", "id": model, "display_name": model, "created_at": "1970-01-01T00:00:00Z"}


def model_list(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the list of models."""
    ids = [entry["id"] for entry in entries]
    ends = {"first_id": ids[0], "last_id": ids[-1]} if ids else {"first_id": None, "last_id": None}
    return {"data": entries, "has_more": False, **ends}


def _words(refused: ProviderRefusal) -> str:
    if refused.kind in _WORDS:
        return _WORDS[refused.kind]
    if refused.kind == "authentication":
        return "invalid x-api-key" if refused.value else "x-api-key header is required"
    if refused.kind == "not_found" and refused.path == "model":
        return f"model: {refused.value}"
    path = re.sub(r"\[(\d+)\]", r".\1", refused.path or "")
    return f"{path}: {refused.message}" if path and path != "$" else refused.message


def headers(play: Play) -> dict[str, str]:
    """Return the provider's headers of an answer."""
    input_tokens = _used(play).input // 1000 * 1000
    limits = {"input-tokens": 2_000_000, "output-tokens": 400_000, "requests": 4_000, "tokens": 2_400_000}
    spent = {"input-tokens": input_tokens, "output-tokens": 0, "requests": 1, "tokens": input_tokens}
    limits_headers = {}
    for name, limit in limits.items():
        limits_headers[f"anthropic-ratelimit-{name}-limit"] = str(limit)
        limits_headers[f"anthropic-ratelimit-{name}-remaining"] = str(limit - spent[name])
        limits_headers[f"anthropic-ratelimit-{name}-reset"] = _time(play)
    return {
        **limits_headers,
        "anthropic-organization-id": play.uuid("organization"),
        "request-id": "req_011C" + play.id("request", 20, alphabet=BASE58),
        "strict-transport-security": "max-age=31536000; includeSubDomains; preload",
    }


def _message(play: Play, content: list[Any], stop: str | None, details: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "model": SNAPSHOTS.get(play.model, play.model),
        "id": identity(play, "msg_", "answer"),
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": details,
    }


def _stop(play: Play) -> str:
    if play.round.ending in _ENDINGS:
        return _ENDINGS[play.round.ending]
    if play.calls:
        return "tool_use"
    return "refusal" if _refuses(play) else "end_turn"


def _stop_details(play: Play) -> dict[str, Any] | None:
    return {"type": "refusal", "category": None, "explanation": None} if _stop(play) == "refusal" else None


def _refuses(play: Play) -> bool:
    return any(isinstance(part, Refuse) for part in play.parts)


def _used(play: Play) -> TokenCounts:
    server_calls = [json_codec.text(part.arguments) for part in play.parts if isinstance(part, ServerCall)]
    return play.usage(server_calls, reasons=thinks(play))


def _usage(play: Play) -> dict[str, Any]:
    used = _used(play)
    dated = _DATED.search(SNAPSHOTS.get(play.model, play.model)) is not None
    usage: dict[str, Any] = {
        "input_tokens": used.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": used.output,
    }
    if thinks(play) or not dated:
        usage["output_tokens_details"] = {"thinking_tokens": used.reasoning}
    return usage | {"service_tier": "standard", "inference_geo": "not_available" if dated else "global"}


def _served(play: Play) -> dict[str, Any]:
    """Return the counts of server tool calls, an empty dict if there were none."""
    calls = [part.tool for part in play.parts if isinstance(part, ServerCall)]
    counts = {"web_search_requests": calls.count("web_search"), "web_fetch_requests": calls.count("web_fetch")}
    return {"server_tool_use": counts} if calls else {}


def _container(play: Play) -> dict[str, Any]:
    """Return the container of the code executions, an empty dict if there were none."""
    if all(not isinstance(part, ServerCall) or part.tool != "code_execution" for part in play.parts):
        return {}
    known = play.body.get("container")
    id = known if isinstance(known, str) else identity(play, "container_", "container")
    return {"container": {"id": id, "expires_at": _time(play, minutes=5).replace("Z", ".498202Z")}}


def _time(play: Play, minutes: int = 0) -> str:
    moment = datetime.fromtimestamp(play.created, UTC) + timedelta(minutes=minutes)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _request_id(what: str) -> str:
    number = int(hashlib.sha256(what.encode()).hexdigest(), 16)
    letters = ""
    for _ in range(20):
        number, rest = divmod(number, len(BASE58))
        letters += BASE58[rest]
    return f"req_011C{letters}"
