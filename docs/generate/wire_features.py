"""The tables of the features of each wire.

Nothing here states what a wire can express. Each feature is a request (`PROBES`), which the writer of every wire
encodes; the losses that it reports fill the table. Ids and names are written and compared. The facts about responses
come from the wire specs, the surfaces and the table of stop words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from docs.generate import filled
from toolparity import read_request, write_request
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    MediaPart,
    Message,
    Request,
    System,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Block, Choice, Reasoning, Refusal, Response, Stop, Text, ToolCall, Wire
from toolparity.normalizer.wires.registry import WIRES, spec
from toolparity.normalizer.wires.stop_words import WORDS
from toolparity.normalizer.wires.write_context import LOSSES

#: The wire of the requests. It has no package, so that none of the wires is their origin.
NEUTRAL = "neutral"
#: The source of each wire in the table of stop words.
STOP_SOURCES: dict[Wire, str] = {
    "openai.chat": "openai",
    "openai.responses": "responses",
    "anthropic.messages": "anthropic",
    "xai.grpc": "xai",
    "cohere.chat": "cohere",
    "ollama.chat": "ollama",
    "google.interactions": "interactions",
    "bedrock.converse": "bedrock",
    "google.gemini": "gemini",
}
_IMAGE = MediaPart("image", "image/png", data="iVBORw0KGgo=")
_CLOSED = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
_TOOL = ToolDefinition("f", "does it", _CLOSED)
_FREE_TEXT = replace(_TOOL, kind="custom", parameters=None)
_HI = User([TextPart("hi")])


class Probe(NamedTuple):
    """A feature of a request. ``request``: uses the feature. ``seen``: the part of a request that shows it.

    ``own``: the request comes from the wire to which it goes, and from the same provider.
    """

    request: Request
    seen: Callable[[Request], Any]
    own: bool = False


def _request(*messages: Message, **more: Any) -> Request:
    return Request(NEUTRAL, "m", list(messages) or [_HI], **more)


def _said(*blocks: Block) -> Assistant:
    reason = "tool_calls" if any(isinstance(block, ToolCall) for block in blocks) else "end_turn"
    return Assistant(Response(NEUTRAL, None, None, None, [Choice(0, list(blocks), Stop(reason))]))


def _call(id: str, text: str = "{}", kind: str = "function") -> ToolCall:
    return ToolCall(id, "f", {} if kind == "function" else None, text, kind=kind)


def _round(*calls: ToolCall, result: ToolResult | None = None) -> list[Message]:
    results = [result or ToolResult(call.id, [TextPart("ok")], name="f", kind=call.kind) for call in calls]
    return [_HI, _said(*calls), ToolResults(results)]


def _roles(request: Request) -> list[str]:
    return [type(message).__name__ for message in request.messages]


def _calls(request: Request) -> list[list[str]]:
    return [[c.name for c in m.response.calls] for m in request.messages if isinstance(m, Assistant)]


def _media(request: Request) -> list[str]:
    holders: list[list[Any]] = [m.parts for m in request.messages if isinstance(m, User)]
    holders += [r.parts for m in request.messages if isinstance(m, ToolResults) for r in m.results]
    return [part.kind for parts in holders for part in parts if isinstance(part, MediaPart)]


def _errors(request: Request) -> list[bool]:
    return [r.is_error for m in request.messages if isinstance(m, ToolResults) for r in m.results]


def _texts(request: Request) -> list[list[str]]:
    blocks = [m.response.choices[0].blocks for m in request.messages if isinstance(m, Assistant)]
    return [[type(block).__name__ for block in each] for each in blocks]


def _thoughts(request: Request) -> list[tuple[str | None, ...]]:
    blocks = [b for m in request.messages if isinstance(m, Assistant) for b in m.response.choices[0].blocks]
    return [(b.text, b.signature, b.encrypted) for b in blocks if isinstance(b, Reasoning)]


def _tools(request: Request) -> list[tuple[str, str, bool | None]]:
    return [(tool.name, tool.kind, tool.strict) for tool in request.tools]


def _with_tool(seen: Callable[[Request], Any], tool: ToolDefinition = _TOOL, **more: Any) -> Probe:
    return Probe(_request(tools=[tool], **more), seen)


def _with_param(name: str, value: Any) -> Probe:
    return Probe(_request(params={name: value}), lambda request: bool(request.params))


_SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": _CLOSED, "strict": True}}
#: Name of the feature -> its request.
PROBES: dict[str, Probe] = {
    "system message at the start": Probe(_request(System([TextPart("s")]), _HI), _roles),
    "system message later": Probe(_request(_HI, System([TextPart("s")]), _HI), _roles),
    "image from the user": Probe(_request(User([TextPart("see"), _IMAGE], plain=False)), _media),
    "file from the user": Probe(
        _request(User([TextPart("see"), MediaPart("file", "application/pdf", data="JVBERg==", name="a")], plain=False)),
        _media,
    ),
    "audio from the user": Probe(
        _request(User([TextPart("hear"), MediaPart("audio", "audio/wav", data="UklGRg==")], plain=False)), _media
    ),
    "several calls in one turn": Probe(_request(*_round(_call("call_1"), _call("call_2")), tools=[_TOOL]), _calls),
    "arguments that are not an object": Probe(
        _request(*_round(ToolCall("call_1", "f", None, "[1]", "invalid")), tools=[_TOOL]), _calls
    ),
    "image in a tool result": Probe(
        _request(*_round(_call("call_1"), result=ToolResult("call_1", [_IMAGE], name="f", plain=False)), tools=[_TOOL]),
        _media,
    ),
    "failed tool result": Probe(
        _request(*_round(_call("call_1"), result=ToolResult("call_1", [TextPart("no")], True, "f")), tools=[_TOOL]),
        _errors,
    ),
    "call of a free-text tool": Probe(
        _request(*_round(_call("call_1", "x", "custom")), tools=[_FREE_TEXT]),
        _calls,
    ),
    "refusal": Probe(_request(_HI, _said(Refusal("no")), _HI), _texts),
    "reasoning of another provider": Probe(_request(_HI, _said(Reasoning("hm"), Text("ok")), _HI), _texts),
    "own reasoning, as text": Probe(_request(_HI, _said(Reasoning("hm"), Text("ok")), _HI), _thoughts, own=True),
    "own reasoning, signed": Probe(
        _request(_HI, _said(Reasoning("hm", signature="c2ln"), Text("ok")), _HI), _thoughts, own=True
    ),
    "own reasoning, encrypted": Probe(
        _request(_HI, _said(Reasoning(encrypted="c2ln", redacted=True), Text("ok")), _HI), _thoughts, own=True
    ),
    "strict tool": _with_tool(_tools, replace(_TOOL, strict=True)),
    "free-text tool": _with_tool(_tools, _FREE_TEXT),
    **{
        f"tool choice: {choice.mode}": _with_tool(lambda request: request.tool_choice, tool_choice=choice)
        for choice in (ToolChoice("none"), ToolChoice("required"), ToolChoice("named", "f"))
    },
    "parallel calls turned off": _with_tool(lambda request: request.parallel, parallel=False),
    "several choices": _with_param("n", 2),
    "answer by a JSON schema": _with_param("format", _SCHEMA),
    "limit of tokens": _with_param("max_tokens", 64),
    "temperature": _with_param("temperature", 0.5),
    "top_p": _with_param("top_p", 0.5),
    "top_k": _with_param("top_k", 5),
    "stop sequences": _with_param("stop", ["END"]),
    "seed": _with_param("seed", 1),
    "effort of reasoning": _with_param("effort", "low"),
}


def encoded(probe: Probe, wire: Wire) -> Encoded:
    """The request of a probe, for the owner of a wire."""
    owner = spec(wire).owner
    request = replace(probe.request, provider=owner, **({"wire": wire} if probe.own else {}))
    if probe.own:
        request = replace(request, messages=[_from(message, wire, owner) for message in request.messages])
    return write_request(request, wire, provider=owner)


def _from(message: Message, wire: Wire, provider: str) -> Message:
    if not isinstance(message, Assistant):
        return message
    return replace(message, response=replace(message.response, wire=wire, provider=provider))


@cache
def _usual(wire: Wire) -> frozenset[str]:
    """The losses of a request without any feature."""
    return frozenset(loss.code for loss in encoded(Probe(_request(), _roles), wire).losses)


def cell(name: str, wire: Wire) -> str:
    """What a wire does with a feature."""
    codes = dict.fromkeys(loss.code for loss in encoded(PROBES[name], wire).losses)
    lost = ", ".join(f"`{code}`" for code in codes if code not in _usual(wire))
    return lost or ("no" if PROBES[name].own and not kept(name, wire) else "yes")


def kept(name: str, wire: Wire) -> bool:
    """Whether the wire's reader finds the feature in the encoded request, as it was written."""
    probe = PROBES[name]
    back = read_request(encoded(probe, wire).body, wire, provider=spec(wire).owner)
    return bool(probe.seen(back) == probe.seen(probe.request))


def _accepted(wire: Wire, aliases: Callable[[str, Wire], dict[str, str]]) -> str:
    """The characters and the length of an id or a name that a wire accepts unchanged."""
    characters = " ".join(f"`{sign}`" for sign in "_-.:/" if not aliases(f"ab{sign}cdefgh"[:9], wire))
    longest = max((length for length in range(1, 257) if not aliases("a" * length, wire)), default=0)
    return f"{characters or 'nothing else'}; {longest if longest < 256 else 'any length'}"


def _aliased_id(id: str, wire: Wire) -> dict[str, str]:
    return encoded(Probe(_request(*_round(_call(id)), tools=[_TOOL]), _calls), wire).ids


def _aliased_name(name: str, wire: Wire) -> dict[str, str]:
    return encoded(_with_tool(_tools, replace(_TOOL, name=name)), wire).names


#: Row of the table of ids and names -> what a wire accepts.
ACCEPTED: dict[str, Callable[[Wire], str]] = {
    "call ids": lambda wire: _accepted(wire, _aliased_id),
    "names of tools": lambda wire: _accepted(wire, _aliased_name),
}


def _arguments(wire: Wire, *, stream: bool) -> str:
    return "object" if spec(wire).parses_arguments(stream=stream) else "text"


def _server_tools(wire: Wire) -> str:
    able = {need for surface in SURFACES.values() if surface.wire == wire for need in surface.able}
    return (
        ", ".join(f"`{need.removeprefix('server:')}`" for need in sorted(able) if need.startswith("server:")) or "none"
    )


def _reasons(wire: Wire) -> str:
    rows = WORDS.values()
    return ", ".join(dict.fromkeys(f"`{row.reason}`" for row in rows if STOP_SOURCES[wire] in row.sources.split()))


#: Row of the table of responses -> the fact about a wire.
FACTS: dict[str, Callable[[Wire], str]] = {
    "arrives as": lambda wire: "gRPC messages" if spec(wire).framing == "messages" else "JSON and a stream of events",
    "streams by default": lambda wire: "yes" if spec(wire).streams_by_default else "no",
    "arguments in a body": lambda wire: _arguments(wire, stream=False),
    "arguments in a stream": lambda wire: _arguments(wire, stream=True),
    "server calls in the suite": _server_tools,
    "providers besides the owner": lambda wire: "yes" if spec(wire).many_providers else "no",
    "stop reasons": _reasons,
}


def _table(corner: str, rows: dict[str, Callable[[Wire], str]]) -> Iterator[str]:
    yield f"| {corner} | " + " | ".join(WIRES) + " |\n"
    yield "|---" * (1 + len(WIRES)) + "|\n"
    for name, fact in rows.items():
        yield f"| {name} | " + " | ".join(map(fact, WIRES)) + " |\n"


def files() -> dict[Path, str]:
    """Return the page."""
    cells = {name: {wire: cell(name, wire) for wire in WIRES} for name in PROBES}
    shown = {code for row in cells.values() for words in row.values() for code in LOSSES if f"`{code}`" in words}
    codes = (f"| `{code}` | {meaning} |\n" for code, meaning in LOSSES.items() if code in shown)
    blocks = {
        "requests": "".join(_table("feature", {name: row.__getitem__ for name, row in cells.items()})),
        "names": "".join(_table("accepted", ACCEPTED)),
        "responses": "".join(_table("fact", FACTS)),
        "losses": "| code | meaning |\n|---|---|\n" + "".join(codes),
    }
    return filled("wire-features.md", blocks)
