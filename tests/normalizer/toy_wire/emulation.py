"""Emulation of the provider of `toy.chat`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.cassettes.emulated.encoding import event
from toolparity.cassettes.emulated.script_player import Play, ProviderRefusal
from toolparity.cassettes.scripts import Say, ScriptedCall


def answer(play: Play) -> dict[str, Any]:
    return {"toy_reply": play.id("reply"), "model": play.model, "steps": [*_steps(play)], **_end(play)}


def events(play: Play) -> Iterator[bytes]:
    yield event({"toy_event": "begin", "toy_reply": play.id("reply"), "model": play.model})
    for step in _steps(play):
        grows = "args" if "fn" in step else "text"
        yield event({"toy_event": "step", "step": step | {grows: ""}})
        for piece in play.pieces(step[grows]):
            yield event({"toy_event": "add", "text": piece})
    yield event({"toy_event": "end", **_end(play)})


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    return refused.status or 429, {}, {"error": {"type": refused.kind, "message": refused.message}}


def headers(play: Play) -> dict[str, str]:
    return {"toy-reply": play.id("reply")}


def _steps(play: Play) -> Iterator[dict[str, Any]]:
    for number, part in enumerate(play.parts):
        if isinstance(part, ScriptedCall):
            yield {"fn": part.tool, "ref": part.id or play.id(f"call {number}"), "args": part.text}
        elif isinstance(part, Say):
            yield {"text": part.text}


def _end(play: Play) -> dict[str, Any]:
    used = play.usage()
    return {"end": "calls" if play.calls else "done", "spent": {"in": used.input, "out": used.output}}
