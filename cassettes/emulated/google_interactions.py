"""Gemini's Interactions API: bodies, events and error responses, in the format of recorded traffic.

Sources: recorded responses and streams; https://ai.google.dev/gemini-api/docs/streaming for calls, the provider's tools
and their deltas; `google.genai.interactions` for members that neither shows.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..scripts import Hit, Part, Say, ScriptedCall, ServerCall, Think
from .encoding import DONE, Encoding
from .script_player import Play, ProviderRefusal

ENCODING = Encoding(stream_type="text/event-stream", stores=True)

#: The alphabet of call ids.
_OF_IDS = "abcdefghijklmnopqrstuvwxyz0123456789"
_ENDINGS = {"length": "incomplete"}
#: `ProviderRefusal.kind` -> HTTP status and error code.
_ERRORS = {
    "invalid_request": (400, "invalid_request"),
    "authentication": (401, "authentication_error"),
    "not_found": (404, "not_found"),
    "rate_limit": (429, "rate_limit_exceeded"),
    "server_error": (500, "internal_error"),
    "overloaded": (503, "service_unavailable"),
}
#: Messages for errors that the request does not cause.
_WORDS = {
    "authentication": "API key not valid. Please pass a valid API key.",
    "rate_limit": "You exceeded your current quota, please check your plan and billing details.",
    "server_error": "An internal error has occurred. Please retry.",
    "overloaded": "The model is overloaded. Please try again later.",
}


class Step(NamedTuple):
    """The three forms of a step: complete, at the start of its stream, and its deltas."""

    whole: dict[str, Any]
    start: dict[str, Any]
    deltas: list[dict[str, Any]]


def answer(play: Play) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    steps = [step.whole for step in _steps(play, play.parts)]
    ended = _ended(play)
    return {"id": ended["id"], "status": ended["status"], "usage": ended.pop("usage"), **ended, "steps": steps}


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of the streamed body. Raises ConnectionReset where the script says so."""
    id = _id(play)
    begun = {"id": id, "status": "in_progress", "object": "interaction", "model": play.model}
    yield _event("interaction.created", interaction=begun)
    yield _event("interaction.status_update", interaction_id=id, status="in_progress")
    parts = play.streamed_parts
    cut = play.round.ending == "length" and isinstance(play.parts[-1], ScriptedCall)
    steps = list(_steps(play, parts))
    for index, step in enumerate(steps):
        yield _event("step.start", index=index, step=step.start)
        for delta in step.deltas:
            yield _event("step.delta", index=index, delta=delta)
        if not (cut and step is steps[-1]):
            yield _event("step.stop", index=index)
    if play.fault is None:
        yield _event("interaction.completed", interaction=_ended(play))
        yield b"event: done\n" + DONE
    elif (refused := play.failure()) is not None:
        yield _event("error", error=error(refused)[2]["error"])


def _event(kind: str, **members: Any) -> bytes:
    """Return one event. The API writes its type last."""
    data = json_codec.encode({**members, "event_type": kind})
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, additional headers and body of an error response."""
    status, code = _ERRORS.get(refused.kind, _ERRORS["server_error"])
    message = _WORDS.get(refused.kind) or (f"{refused.path}: {refused.message}" if refused.path else refused.message)
    headers = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
    return refused.status or status, headers, {"error": {"message": message, "code": code}}


def headers(play: Play) -> dict[str, str]:
    """Return the provider's headers of an answer."""
    took = 200 + int(play.hex("took", 3), 16) % 2000
    return {
        "server": "scaffolding on HTTPServer2",
        "server-timing": f"gfet4t7; dur={took}",
        "vary": "Origin, X-Origin, Referer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "SAMEORIGIN",
        "x-xss-protection": "0",
    }


def model_entry(model: str, provider: str) -> dict[str, Any]:
    """Return the description of a model."""
    return {"name": f"models/{model}", "displayName": model, "supportedGenerationMethods": ["createInteraction"]}


def model_list(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the list of models."""
    return {"models": entries}


def _id(play: Play) -> str:
    return "v1_" + base64.b64encode(play.noise("answer", 48)).decode()


def _ended(play: Play) -> dict[str, Any]:
    """Return the interaction without its steps, as the last event has it."""
    moment = datetime.fromtimestamp(play.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "id": _id(play),
        "status": _ENDINGS.get(play.round.ending or "") or ("requires_action" if play.calls else "completed"),
        "usage": _usage(play),
        "created": moment,
        "updated": moment,
        "service_tier": "standard",
        "object": "interaction",
        "model": play.model,
    }


def _usage(play: Play) -> dict[str, Any]:
    calls = [json_codec.text(part.arguments) for part in play.parts if isinstance(part, ServerCall)]
    used = play.usage(calls)
    return {
        "total_tokens": used.input + used.output,
        "total_input_tokens": used.input,
        "input_tokens_by_modality": [{"modality": "text", "tokens": used.input}],
        "total_cached_tokens": 0,
        "total_output_tokens": used.output - used.reasoning,
        "total_tool_use_tokens": 0,
        "total_thought_tokens": used.reasoning,
    }


def _steps(play: Play, parts: list[Part]) -> Iterator[Step]:
    """Yield the steps of ``parts``, the first parts of the answer in ``play``."""
    hits: list[Hit] = []
    for number, part in enumerate(parts):
        if isinstance(part, Think):
            yield _thought(play, part, number)
        elif isinstance(part, ServerCall):
            hits = [*hits, *part.hits] if part.tool == "web_search" else hits
            yield from _SERVED[part.tool](play, part, number)
        elif isinstance(part, ScriptedCall):
            yield _call(play, part, number)
        else:
            yield _output(play, part.text, hits if isinstance(part, Say) else [])
            hits = []


def _thought(play: Play, part: Think, number: int) -> Step:
    """Return a thought. Its summary is only sent if the request asks for summaries."""
    config = play.body.get("generation_config")
    shown = isinstance(config, dict) and config.get("thinking_summaries") == "auto" and not part.withheld
    signature = _sealed(play, f"signature {number}", 280)
    whole: dict[str, Any] = {"signature": signature, "type": "thought"}
    deltas: list[dict[str, Any]] = []
    if shown:
        whole["summary"] = [{"text": part.text, "type": "text"}]
        deltas = [
            {"content": {"text": piece, "type": "text"}, "type": "thought_summary"} for piece in play.pieces(part.text)
        ]
    return Step(whole, {"type": "thought"}, [*deltas, {"signature": signature, "type": "thought_signature"}])


def _output(play: Play, text: str, hits: list[Hit]) -> Step:
    """Return an output of text. ``hits``: the hits of the searches before it, of which it cites the first one."""
    content: dict[str, Any] = {"text": text, "type": "text"}
    deltas: list[dict[str, Any]] = [{"text": piece, "type": "text"} for piece in play.pieces(text)]
    if hits:
        citation = {
            "start_index": 0,
            "end_index": len(text.encode()),
            "url": hits[0].url,
            "title": hits[0].title,
            "type": "url_citation",
        }
        content["annotations"] = [citation]
        deltas.append({"annotations": [citation], "type": "text_annotation_delta"})
    return Step({"content": [content], "type": "model_output"}, {"type": "model_output"}, deltas)


def _call(play: Play, part: ScriptedCall, number: int) -> Step:
    id = (
        part.id
        if part.id is not None
        else play.id(f"call {number}", 8, alphabet="abcdefghijklmnopqrstuvwxyz0123456789")
    )
    whole = {"id": id, "type": "function_call", "name": part.tool, "arguments": _value(part.text)}
    deltas = [{"arguments": piece, "type": "arguments_delta"} for piece in play.pieces(part.text)]
    return Step(whole, whole | {"arguments": {}}, deltas)


def _value(text: str) -> Any:
    """Return the arguments as a JSON value. A plain body has no place for invalid text, so that becomes ``{}``."""
    try:
        return json_codec.decode(text) if text else {}
    except ValueError:
        return {}


def _searched(play: Play, part: ServerCall, number: int) -> Iterator[Step]:
    arguments = {"queries": [str(part.arguments.get("query", ""))]}
    suggestions = [{"search_suggestions": f'<a href="{hit.url}">{hit.title}</a>'} for hit in part.hits]
    return _served(play, part, number, "google_search", arguments, suggestions)


def _executed(play: Play, part: ServerCall, number: int) -> Iterator[Step]:
    arguments = {"language": "python", "code": str(part.arguments.get("code", ""))}
    return _served(play, part, number, "code_execution", arguments, part.output or "")


def _served(
    play: Play, part: ServerCall, number: int, tool: str, arguments: dict[str, Any], result: Any
) -> Iterator[Step]:
    """Yield a call that the provider ran, and its result. Their deltas bring the whole arguments, result and state."""
    id = play.id(f"server {number}", 8, alphabet=_OF_IDS)
    kind = f"{tool}_call"
    brought: dict[str, Any] = {
        "arguments": arguments,
        "signature": _sealed(play, f"call signature {number}", 90),
        "type": kind,
    }
    start: dict[str, Any] = {"id": id, "signature": "", "type": kind, "arguments": {}}
    yield Step({**start, **brought}, start, [brought])
    kind = f"{tool}_result"
    signature = _sealed(play, f"result signature {number}", 90)
    given = {"result": part.failed if part.failed is not None and isinstance(result, str) else result}
    brought = {**given, "is_error": part.failed is not None, "signature": signature, "type": kind}
    start = {"call_id": id, "signature": "", "type": kind}
    yield Step({**start, **brought}, start, [brought])


def _sealed(play: Play, what: str, size: int) -> str:
    """Return ``size`` bytes in Base64, as a signature has them."""
    return base64.b64encode(play.noise(what, size)).decode()


#: Canonical server tool -> function that builds the steps of its calls and results.
_SERVED: dict[str, Callable[[Play, ServerCall, int], Iterator[Step]]] = {
    "code_execution": _executed,
    "web_search": _searched,
}
