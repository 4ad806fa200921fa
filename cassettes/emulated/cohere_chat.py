"""Cohere's Chat API, version 2: bodies, events and error responses, in the format of recorded traffic.

A model that reasons writes its thoughts as thinking. Before calls without thoughts it writes a plan, as all models do.
Cohere reports a failure in the middle of a stream in the last event (`cohere.types.ChatMessageEndEventDelta`).
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..scripts import Refuse, Say, ScriptedCall, Think
from .encoding import DONE, Encoding, named_event
from .script_player import Play, ProviderRefusal

ENCODING = Encoding(stream_type="text/event-stream")

_LOWER = "0123456789abcdefghijklmnopqrstuvwxyz"
#: `ProviderRefusal.kind` -> HTTP status.
_STATUS = {
    "invalid_request": 400,
    "authentication": 401,
    "not_found": 404,
    "rate_limit": 429,
    "server_error": 500,
    "overloaded": 503,
}
#: Cohere's messages for errors that the request does not cause (https://docs.cohere.com/reference/errors).
_WORDS = {
    "rate_limit": "You are past the per minute request limit, please wait and try again later.",
    "server_error": "internal server error, this has been reported to our developers.",
    "overloaded": "The service is currently overloaded, please try again later.",
}


class _Content(NamedTuple):
    """A text or thinking of the answer. ``kind``: its type, and the name of the member with its text."""

    kind: str
    text: str


def answer(play: Play) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant"}
    if plan := _plan(play):
        message["tool_plan"] = plan
    contents = [content for part in play.parts if (content := _content(play, part)) is not None and content.text]
    if contents or not play.calls:
        message["content"] = [{"type": kind, kind: text} for kind, text in contents]
    if play.calls:
        message["tool_calls"] = [_call(play, call, call.text) for call in play.calls]
    return {"id": play.uuid("answer"), "message": message, "finish_reason": _finish(play), "usage": _usage(play)}


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of the streamed body. Raises ConnectionReset where the script says so."""
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield named_event({"id": play.uuid("answer"), "type": "message-start", "delta": {"message": message}})
    contents = calls = 0
    if any(isinstance(part, ScriptedCall) for part in play.streamed_parts):
        for piece in play.pieces(_plan(play)):
            yield _event("tool-plan-delta", None, tool_plan=piece)
    for part in play.streamed_parts:
        if isinstance(part, ScriptedCall):
            yield from _call_events(play, part, calls)
            calls += 1
        elif (content := _content(play, part)) is not None and content.text:
            kind, text = content
            yield _event("content-start", contents, content={"type": kind, kind: ""})
            for piece in play.pieces(text):
                yield _event("content-delta", contents, content={kind: piece})
            yield _event("content-end", contents)
            contents += 1
    if play.fault is None:
        yield named_event({"type": "message-end", "delta": {"finish_reason": _finish(play), "usage": _usage(play)}})
        yield DONE
    elif (refused := play.failure()) is not None:
        yield named_event({"type": "message-end", "delta": {"error": _words(refused), "finish_reason": "ERROR"}})
        yield DONE


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, additional headers and body of an error response."""
    status = refused.status or _STATUS.get(refused.kind, 500)
    headers = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
    digest = hashlib.sha256(f"{refused.kind}/{refused.message}".encode()).hexdigest()
    return status, headers, {"id": str(uuid.UUID(digest[:32], version=4)), "message": _words(refused)}


def wrap_error(error: dict[str, Any]) -> dict[str, Any]:
    """Return the body of an error response."""
    return {"message": error.get("message", "")}


def model_entry(model: str, provider: str) -> dict[str, Any]:
    """Return the description of a model."""
    return {"name": model, "endpoints": ["chat"], "finetuned": False}


def model_list(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the list of models."""
    return {"models": entries}


def headers(play: Play) -> dict[str, str]:
    """Return the provider's headers of an answer."""
    used = play.usage()
    return {"num_tokens": str(used.input + used.output), "x-debug-trace-id": play.hex("trace", 32)}


def _words(refused: ProviderRefusal) -> str:
    if refused.kind in _WORDS:
        return _WORDS[refused.kind]
    if refused.kind == "authentication":
        return "invalid api token" if refused.value else "no api key supplied"
    if refused.kind == "not_found" and refused.path == "model":
        return (
            f"model '{refused.value}' not found, make sure the correct model ID was used and that you have access to "
            "the model."
        )
    place = f"{refused.path}: " if refused.path else ""
    return f"invalid request: {place}{refused.message}"


def _content(play: Play, part: Any) -> _Content | None:
    if isinstance(part, (Say, Refuse)):
        return _Content("text", part.text)
    if isinstance(part, Think) and _thinks(play) and not part.withheld:
        return _Content("thinking", part.text)
    return None


def _thinks(play: Play) -> bool:
    """Return whether the model reasons. Models that can do so unless the request says otherwise."""
    asked = play.body.get("thinking")
    return not (isinstance(asked, dict) and asked.get("type") == "disabled")


def _plan(play: Play) -> str:
    """Return the plan before the calls, "" if the model thought about them or makes none."""
    if not play.calls or any(isinstance(part, Think) for part in play.parts):
        return ""
    return f"I will use the {' and '.join(dict.fromkeys(call.tool for call in play.calls))} tool."


def _call(play: Play, call: ScriptedCall, arguments: str) -> dict[str, Any]:
    number = next(number for number, other in enumerate(play.calls) if other is call)
    id = call.id if call.id is not None else f"{call.tool}_{play.id(f'call {number}', 12, alphabet=_LOWER)}"
    return {"id": id, "type": "function", "function": {"name": call.tool, "arguments": arguments}}


def _call_events(play: Play, call: ScriptedCall, index: int) -> Iterator[bytes]:
    yield _event("tool-call-start", index, tool_calls=_call(play, call, ""))
    for piece in play.pieces(call.text):
        yield _event("tool-call-delta", index, tool_calls={"function": {"arguments": piece}})
    if not (play.round.ending == "length" and call is play.parts[-1]):
        yield _event("tool-call-end", index)


def _event(kind: str, index: int | None, **message: Any) -> bytes:
    event: dict[str, Any] = {"type": kind} if index is None else {"type": kind, "index": index}
    return named_event({**event, "delta": {"message": message}} if message else event)


def _finish(play: Play) -> str:
    if play.round.ending == "length":
        return "MAX_TOKENS"
    return "TOOL_CALL" if play.calls else "COMPLETE"


def _usage(play: Play) -> dict[str, Any]:
    used = play.usage(reasons=_thinks(play))
    tokens: dict[str, Any] = {"input_tokens": used.input, "output_tokens": used.output}
    if used.reasoning:
        tokens["reasoning_tokens"] = used.reasoning
    billed = {"input_tokens": used.input, "output_tokens": used.output - used.reasoning}
    return {"billed_units": billed, "tokens": tokens, "cached_tokens": 0}
