"""Emulation of the provider of `toy.chat`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.cassettes.emulated.encoding import event
from toolparity.cassettes.emulated.script_player import Play, ProviderRefusal
from toolparity.cassettes.scripts import Say, ScriptedCall

_STATUSES = {"rate_limit": 429, "overloaded": 529, "server_error": 500, "authentication": 401, "not_found": 404}


def answer(play: Play) -> dict[str, Any]:
    """Return the body of a whole reply."""
    steps = [step for number, part in enumerate(play.parts) if (step := _step(play, number, part)) is not None]
    reply = {"toy_reply": play.id("reply"), "model": play.model, "steps": steps}
    return {**reply, "end": _end(play), "spent": _spent(play)}


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of a streamed reply. Raises ConnectionReset."""
    yield event({"toy_event": "begin", "id": play.id("reply"), "model": play.model})
    for number, part in enumerate(play.streamed_parts):
        step = _step(play, number, part)
        if step is None:
            continue
        if "fn" in step:
            yield event({"toy_event": "call", "fn": step["fn"], "ref": step["ref"]})
        kind, text = ("args", step["args"]) if "fn" in step else ("text", step["text"])
        for piece in play.pieces(text):
            yield event({"toy_event": kind, "add": piece})
    if play.fault is None:
        yield event({"toy_event": "end", "why": _end(play), "spent": _spent(play)})
    elif (refused := play.failure()) is not None:
        yield event(error(refused)[2])


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return status, headers and body of an error."""
    status = refused.status or _STATUSES.get(refused.kind, 400)
    headers = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
    return status, headers, {"error": {"type": refused.kind, "message": refused.message}}


def headers(play: Play) -> dict[str, str]:
    """Return the headers of a reply."""
    return {"toy-reply": play.id("reply")}


def _step(play: Play, number: int, part: Any) -> dict[str, Any] | None:
    if isinstance(part, ScriptedCall):
        return {"fn": part.tool, "ref": part.id or play.id(f"call {number}"), "args": part.text}
    return {"text": part.text} if isinstance(part, Say) else None


def _end(play: Play) -> str:
    return "cut" if play.round.ending == "length" else "calls" if play.calls else "done"


def _spent(play: Play) -> dict[str, int]:
    used = play.usage()
    return {"in": used.input, "out": used.output}
