"""Ollama's chat API: bodies, JSON lines and error responses.

Sources: recorded responses and streams; `ChatHandler` and `handleScheduleError` in Ollama's `server/routes.go`. Each
call is sent whole, in a separate event, with a drawn id and its position, as newer servers do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from toolparity.normalizer import json_codec

from ..scripts import Say, ScriptedCall, Think
from .encoding import Encoding
from .script_player import Play, ProviderRefusal

__all__ = ("ENCODING", "answer", "error", "events", "headers")

ENCODING = Encoding("application/x-ndjson")

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
#: Errors that the request does not cause: kind -> HTTP status and message.
_FAULTS = {
    "authentication": (401, "unauthorized"),
    "rate_limit": (429, "you've reached your hourly usage limit, please upgrade to continue"),
    "overloaded": (503, "server busy, please try again.  maximum pending requests exceeded"),
    "server_error": (500, "llama runner process has terminated: exit status 2"),
}


def answer(play: Play) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": play.text(Say)}
    if thoughts := "".join(_thoughts(play)):
        message["thinking"] = thoughts
    if calls := [_call(play, call, number) for number, call in enumerate(play.calls)]:
        message["tool_calls"] = calls
    return _event(play, 0, message) | _end(play)


def events(play: Play) -> Iterator[bytes]:
    """Yield the lines of the streamed body. Raises ConnectionReset where the script says so."""
    number = 0
    for number, members in enumerate(_pieces(play), 1):
        yield _line(_event(play, number, {"role": "assistant", "content": "", **members}))
    if play.fault is not None:
        if (refused := play.failure()) is not None:
            yield _line(error(refused)[2])
        return
    yield _line(_event(play, number + 1, {"role": "assistant", "content": ""}) | _end(play))


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, additional headers and body of an error response."""
    status, words = _FAULTS.get(refused.kind) or _told(refused)
    retry = {"retry-after": str(refused.retry_after)} if refused.retry_after is not None else {}
    return status, retry, {"error": words}


def _told(refused: ProviderRefusal) -> tuple[int, str]:
    if refused.kind == "not_found":
        return 404, refused.message
    return refused.status or 400, f"{refused.path}: {refused.message}" if refused.path else refused.message


def model_entry(model: str, provider: str) -> dict[str, Any]:
    """Return the description of a model."""
    digest = hashlib.sha256(model.encode()).hexdigest()
    details = {"parent_model": "", "format": "gguf", "family": "", "families": None}
    sizes = {"parameter_size": "", "quantization_level": ""}
    moment = "1970-01-01T00:00:00Z"
    return {
        "name": model,
        "model": model,
        "modified_at": moment,
        "size": 0,
        "digest": digest,
        "details": {**details, **sizes},
    }


def model_list(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the list of models."""
    return {"models": entries}


def headers(play: Play) -> dict[str, str]:
    """Return the provider's headers of an answer: none besides those of HTTP."""
    return {}


def _pieces(play: Play) -> Iterator[dict[str, Any]]:
    """Yield the members of the message in each event."""
    number = 0
    for part in play.streamed_parts:
        if isinstance(part, Think):
            yield from ({"thinking": piece} for piece in play.pieces(part.text) if _is_shown(play, part))
        elif isinstance(part, Say):
            yield from ({"content": piece} for piece in play.pieces(part.text))
        elif isinstance(part, ScriptedCall):
            yield {"tool_calls": [_call(play, part, number)]}
            number += 1


def _thoughts(play: Play) -> Iterator[str]:
    return (part.text for part in play.parts if isinstance(part, Think) and _is_shown(play, part))


def _is_shown(play: Play, part: Think) -> bool:
    """Return whether the server sends reasoning: unless the request forbids it. A model that can think does."""
    return play.body.get("think") is not False and not part.withheld


def _call(play: Play, call: ScriptedCall, number: int) -> dict[str, Any]:
    id = call.id if call.id is not None else "call_" + play.id(f"call {number}", 8, alphabet=_LETTERS)
    index = number if call.index is None else call.index
    return {"id": id, "function": {"index": index, "name": call.tool, "arguments": json_codec.decode(call.text)}}


def _event(play: Play, number: int, message: dict[str, Any]) -> dict[str, Any]:
    at = datetime.fromtimestamp(play.created, UTC) + timedelta(milliseconds=35 * number, microseconds=417)
    created_at = f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"
    return {"model": play.model, "created_at": created_at, "message": message, "done": False}


def _end(play: Play) -> dict[str, Any]:
    """Return the members of the last event, which a body has, too. The server leaves out a count of zero."""
    used = play.usage()
    spent = 1_000_000 * used.output
    return {
        "done": True,
        "done_reason": "length" if play.round.ending == "length" else "stop",
        "total_duration": 141_000_000 + 26_000_000 + spent,
        "load_duration": 141_000_000,
        "prompt_eval_count": used.input,
        "prompt_eval_duration": 26_000_000,
        "eval_count": used.output,
        "eval_duration": spent,
    }


def _line(event: dict[str, Any]) -> bytes:
    return json_codec.encode(event) + b"\n"
