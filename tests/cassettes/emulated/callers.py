"""Callers of the emulated providers: OpenAI's official SDK, unpatched, in the conversation that a script asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import openai

from toolparity import Response, StreamDecoder, normalize
from toolparity.cassettes.emulated.script_player import result_text
from toolparity.cassettes.scripts import Refuse, Round, Say, Script, ScriptedCall
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.conversation import (
    Assistant,
    Message,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.requests import write_request

SURFACES_HERE = [SURFACES[name] for name in ("openai.chat", "openai.responses", "xai.chat", "xai.responses")]

_HOSTED: dict[str, dict[str, Any]] = {
    "web_search": {"type": "web_search"},
    "x_search": {"type": "x_search"},
    "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
}


class Heard(NamedTuple):
    """One exchange: the body that was sent, the bytes that came back, and what the normalizer makes of them."""

    body: dict[str, Any]
    data: bytes
    response: Response


def resource(of: Any, surface: Surface) -> Any:
    """Where the SDK asks for an answer."""
    return of.chat.completions if surface.wire == "openai.chat" else of.responses


def heard(of: openai.OpenAI, surface: Surface, body: dict[str, Any]) -> Heard:
    """What comes back, through the SDK. Raises what the SDK raises."""
    raw = resource(of, surface).with_raw_response.create(**body)
    if not body.get("stream"):
        data = raw.http_response.read()
        return Heard(body, data, normalize(data, surface.wire, provider=surface.provider))
    decoder = StreamDecoder(surface.wire, provider=surface.provider)
    data = b""
    for piece in raw.http_response.iter_raw():
        decoder.feed(piece)
        data += piece
    return Heard(body, data, decoder.finish())


def talk(
    of: openai.OpenAI, surface: Surface, script: Script, *, stream: bool, **more: Any
) -> Iterator[tuple[Round, Heard]]:
    """The rounds of a script, each answered on top of those before; ``more`` is in every body."""
    turns: list[Message] = []
    if script.system is not None:
        turns.append(System([TextPart(script.system)]))
    for round in script.rounds:
        if round.ask is not None:
            turns.append(User([TextPart(round.ask)]))
        answer = heard(of, surface, asked(surface, script, turns, stream=stream, **more))
        yield round, answer
        turns.append(Assistant(answer.response))
        if round.calls:
            pairs = zip(answer.response.choices[0].calls, round.calls, strict=True)
            turns.append(ToolResults([_result(call, scripted) for call, scripted in pairs]))


def asked(
    surface: Surface, script: Script, turns: list[Message], *, stream: bool = False, **more: Any
) -> dict[str, Any]:
    """The body of a request."""
    tools = [
        ToolDefinition(offer.name, offer.description, offer.parameters, offer.strict, offer.kind)
        for offer in script.tools
    ]
    tools += [ToolDefinition(name, kind="hosted", wire=surface.wire, raw=_HOSTED[name]) for name in script.hosted]
    request = Request(surface.wire, surface.model, turns, tools, parallel=script.parallel, provider=surface.provider)
    body: dict[str, Any] = {**write_request(request).body, **more}
    if stream:
        body["stream"] = True
        if surface.wire == "openai.chat":
            body["stream_options"] = {"include_usage": True}
    return body


def opening(surface: Surface, script: Script, **more: Any) -> dict[str, Any]:
    """The body with which a script begins."""
    return asked(surface, script, [User([TextPart(script.ask)])], **more)


def spoken(round: Round) -> str:
    """The words of a round."""
    return "".join(part.text for part in round.parts if isinstance(part, Say))


def refused(round: Round) -> str:
    return "".join(part.text for part in round.parts if isinstance(part, Refuse))


def _result(call: Any, scripted: ScriptedCall) -> ToolResult:
    return ToolResult(call.id, [TextPart(result_text(scripted))], scripted.failed, kind=call.kind)
