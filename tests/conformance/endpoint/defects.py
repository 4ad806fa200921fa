"""Planted defects: changes of the emulated providers' scripts, of requests or of replies, and endpoints with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from toolparity.cassettes.emulated.http import application
from toolparity.cassettes.emulated.rpc import EmulatedChat
from toolparity.cassettes.emulated.servers import serving
from toolparity.cassettes.scripts import Part, Say, Script, ScriptedCall
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.endpoint.address import Endpoint, endpoint
from toolparity.conformance.endpoint.probes import Probe, default_probes
from toolparity.normalizer import json_codec

CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai.chat", "openai.responses", "anthropic.messages", "google.gemini"
WIRES = (CHAT, RESPONSES, ANTHROPIC, GEMINI)
#: The wires whose argument texts can be anything.
_TEXTS = (CHAT, RESPONSES, ANTHROPIC)


class Exchange(NamedTuple):
    """A reply of the emulated provider. ``parts``: the JSON of the body or of the events, or bytes to send."""

    request: dict[str, Any] | None
    status: int
    stream: bool
    parts: list[Any]


class Defect(NamedTuple):
    """A defect, and the check that must find it.

    ``script``: changes the parts of each round. ``request``: changes a request. ``reply``: changes a reply. ``probe``:
    the probe to play. ``wires``: the wires that can have the defect. ``modes``: the modes in which it must be found.
    """

    check: str
    probe: str
    script: Callable[[list[Part]], list[Part]] | None = None
    request: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    reply: Callable[[Exchange], Exchange] | None = None
    wires: tuple[str, ...] = WIRES
    modes: tuple[str, ...] = ("plain", "stream")
    streams_only: bool = False

    def modes_on(self, wire: str) -> set[str]:
        """Return the modes in which a wire can have the defect: plain bodies of Anthropic hold parsed arguments."""
        return {"stream"} if (self.check, wire) == ("arguments", ANTHROPIC) else set(self.modes)


# Changes of scripts


def _each_call(change: Callable[[ScriptedCall], Part]) -> Callable[[list[Part]], list[Part]]:
    return lambda parts: [change(part) if isinstance(part, ScriptedCall) else part for part in parts]


def _drop_second(parts: list[Part]) -> list[Part]:
    calls = [part for part in parts if isinstance(part, ScriptedCall)]
    return [part for part in parts if len(calls) < 2 or part is not calls[1]]


def _as_text(call: ScriptedCall) -> Part:
    text = json_codec.text({"name": call.tool, "arguments": call.arguments})
    return Say(f"<tool_call>\n{text}\n</tool_call>")


def _text_of(change: Callable[[str], str]) -> Callable[[list[Part]], list[Part]]:
    return _each_call(lambda call: replace(call, arguments=None, arguments_text=change(call.text)))


def _mojibake(call: ScriptedCall) -> Part:
    text = json_codec.text(call.arguments).encode().decode("latin-1")
    return replace(call, arguments=json_codec.decode(text))


def _without_calls(parts: list[Part]) -> list[Part]:
    kept: list[Part] = [part for part in parts if not isinstance(part, ScriptedCall)]
    return kept or [Say("I will do that.")]


# Changes of requests


def _without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {key: value for key, value in body.items() if key not in names}


# Changes of replies


def _each_object(change: Callable[[dict[str, Any]], None]) -> Callable[[Exchange], Exchange]:
    """Apply a change to every JSON object in a reply, inner ones included."""

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            change(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)

    def changed(exchange: Exchange) -> Exchange:
        for part in exchange.parts:
            walk(part)
        return exchange

    return changed


def _end_turn(value: dict[str, Any]) -> None:
    words = {"finish_reason": "stop", "stop_reason": "end_turn", "finishReason": "MAX_TOKENS"}
    value.update({name: word for name, word in words.items() if value.get(name)})


def _no_id(value: dict[str, Any]) -> None:
    is_call = value.get("type") in ("function", "tool_use", "function_call")
    if is_call and ("function" in value or "input" in value or "call_id" in value):
        value.pop("call_id" if value["type"] == "function_call" else "id", None)


def _index_zero(value: dict[str, Any]) -> None:
    if "function" in value or value.get("type") in ("content_block_start", "content_block_delta", "content_block_stop"):
        value["index"] = 0


def _no_usage(value: dict[str, Any]) -> None:
    for name in ("usage", "usageMetadata"):
        value.pop(name, None)


def _of_streams(change: Callable[[list[Any]], list[Any]]) -> Callable[[Exchange], Exchange]:
    def changed(exchange: Exchange) -> Exchange:
        if exchange.stream and exchange.status == 200:
            return exchange._replace(parts=change(exchange.parts))
        return exchange

    return changed


def _cut(parts: list[Any]) -> list[Any]:
    return parts[: len(parts) // 2]


def _with_bytes(data: bytes) -> Callable[[list[Any]], list[Any]]:
    return lambda parts: [*parts[:1], data, *parts[1:]]


def _has_results(body: dict[str, Any]) -> bool:
    text = json_codec.text(body)
    return any(mark in text for mark in ('"role":"tool"', "function_call_output", "tool_result", "functionResponse"))


def _refuse_results(exchange: Exchange) -> Exchange:
    if exchange.request is None or not _has_results(exchange.request):
        return exchange
    return Exchange(exchange.request, 400, False, [{"error": {"message": "no template for tools", "type": "invalid"}}])


def _accept(exchange: Exchange) -> Exchange:
    """Answer a refused request like one that says nothing."""
    if exchange.status == 200:
        return exchange
    return Exchange(exchange.request, 200, False, [{"object": "chat.completion", "choices": []}])


def _fail_streams(exchange: Exchange) -> Exchange:
    if not exchange.stream:
        return exchange
    return Exchange(exchange.request, 500, False, [{"error": {"message": "out of memory", "type": "server_error"}}])


def _stream_as_json(exchange: Exchange) -> Exchange:
    return exchange._replace(stream=False, parts=[b"not a stream"]) if exchange.stream else exchange


_STREAM = ("stream",)
_CHOICE = ("tool_choice", "toolConfig")

DEFECTS: dict[str, Defect] = {
    "drops the second call": Defect("parallel", "three-calls", _drop_second),
    "gives two calls one id": Defect("ids", "three-calls", _each_call(lambda call: replace(call, id="call_1"))),
    "leaves ids out": Defect("ids", "three-calls", reply=_each_object(_no_id), wires=_TEXTS),
    "sends arguments that are not JSON": Defect(
        "arguments", "one-call", _text_of(lambda text: text[:-2]), wires=_TEXTS
    ),
    "breaks the schema": Defect(
        "schema", "one-call", _each_call(lambda call: replace(call, arguments={"room": "cellar", "degrees": "19"}))
    ),
    "alters letters in arguments": Defect("values", "hard-arguments", _each_call(_mojibake)),
    "writes calls as text": Defect("text", "one-call", _each_call(_as_text)),
    "names an undeclared tool": Defect("declared", "one-call", _each_call(lambda c: replace(c, tool=f"x_{c.tool}"))),
    "calls a similar tool": Defect("calls", "similar-tools", _each_call(lambda c: replace(c, tool="get_order"))),
    "makes no call": Defect("triggered", "one-call", _without_calls),
    "calls without a reason": Defect(
        "triggered", "no-call", lambda parts: [ScriptedCall("send_email", {"to": "a", "text": "4"})]
    ),
    "ignores the tool choice none": Defect("choice", "choice-none", request=_without(*_CHOICE)),
    "ignores the tool choice required": Defect("choice", "choice-required", _without_calls),
    "ignores the ban of parallel calls": Defect(
        "parallel",
        "one-at-a-time",
        lambda parts: [*parts, *_each_call(lambda c: replace(c, arguments={"city": "Rome"}))(parts)],
        request=_without("parallel_tool_calls", "tool_choice"),
        wires=_TEXTS,
    ),
    "refuses tool results": Defect("history", "one-call", reply=_refuse_results),
    "accepts malformed requests": Defect("refusal", "one-call", reply=_accept, modes=()),
    "fails in streams": Defect("answered", "one-call", reply=_fail_streams, modes=_STREAM),
    "sends a wrong stop reason": Defect(
        "stop", "one-call", reply=_each_object(_end_turn), wires=(CHAT, ANTHROPIC, GEMINI)
    ),
    "leaves the usage out": Defect("usage", "one-call", reply=_each_object(_no_usage)),
    "numbers all calls 0": Defect(
        "indexes", "three-calls", reply=_each_object(_index_zero), wires=(CHAT, ANTHROPIC), modes=_STREAM
    ),
    "cuts streams": Defect("stream-end", "one-call", reply=_of_streams(_cut), modes=_STREAM),
    "writes an error into a stream": Defect(
        "form", "one-call", reply=_of_streams(_with_bytes(b"Internal Server Error\n\n")), modes=_STREAM
    ),
    "answers a stream with text": Defect("form", "one-call", reply=_stream_as_json, modes=_STREAM),
    "loses a call in streams only": Defect("alike", "three-calls", _drop_second, modes=("both",), streams_only=True),
}

#: Check -> the checks that fail with it, because they are about the same calls or responses.
CONSEQUENCES: dict[str, set[str]] = {
    "parallel": {"calls"},
    "calls": {"parallel"},
    "triggered": {"calls"},
    "arguments": {"calls", "parallel", "schema", "values"},
    "schema": {"values"},
    "text": {"calls", "triggered"},
    "declared": {"calls"},
    "form": {"answered"},
    "stop": {"arguments", "values"},  # on Gemini: a cut answer ends inside its last call
    "stream-end": {"arguments", "calls", "schema", "triggered", "usage", "values", "alike"},
    "alike": {"calls", "parallel"},
}


def _library(change: Callable[[list[Part]], list[Part]] | None) -> dict[str, Script]:
    scripts = {probe.id: probe.script for probe in default_probes()}
    if change is None:
        return scripts
    changed = {}
    for id, script in scripts.items():
        rounds = [
            replace(round, parts=change(list(round.parts)) if _is_tool_round(round.calls, id) else round.parts)
            for round in script.rounds
        ]
        changed[id] = replace(script, rounds=rounds)
    return changed


def _is_tool_round(calls: list[ScriptedCall], id: str) -> bool:
    return bool(calls) or id == "no-call"


class DefectiveServer:
    """An ASGI application: the emulated providers, with a defect in between."""

    def __init__(self, defect: Defect | None) -> None:
        self._defect = defect
        self._changed = application(_library(None if defect is None else defect.script))
        self._plain = application(_library(None))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        data = b""
        while True:
            message = await receive()
            data += message.get("body", b"")
            if not message.get("more_body"):
                break
        body: dict[str, Any] | None
        try:
            body = msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.DecodeError:
            body = None
        defect = self._defect
        asks_stream = "stream" in scope["path"] or bool(body and body.get("stream"))
        if defect is not None and defect.request is not None and body is not None:
            data = json_codec.encode(defect.request(body))
        inner = self._plain if defect is not None and defect.streams_only and not asks_stream else self._changed
        status, headers, reply = await _answer(inner, scope, data)
        if defect is None or defect.reply is None:
            await _send(send, status, headers, reply)
            return
        exchange = defect.reply(Exchange(body, status, asks_stream and status == 200, _parts(reply, headers)))
        kind = b"text/event-stream" if exchange.stream else b"application/json"
        await _send(send, exchange.status, [(b"content-type", kind)], _written(exchange, reply))


async def _answer(app: Any, scope: Any, data: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    sent: list[dict[str, Any]] = []
    requests = iter([{"type": "http.request", "body": data, "more_body": False}])
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]

    async def receive() -> Any:
        return next(requests, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    await app({**scope, "headers": headers}, receive, send)
    kept = [(name, value) for name, value in sent[0]["headers"] if name != b"content-length"]
    return sent[0]["status"], kept, b"".join(message.get("body", b"") for message in sent[1:])


async def _send(send: Any, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


def _parts(reply: bytes, headers: list[tuple[bytes, bytes]]) -> list[Any]:
    if not any(name == b"content-type" and b"event-stream" in value for name, value in headers):
        return [json_codec.decode(reply)] if reply.lstrip().startswith((b"{", b"[")) else [reply]
    parts: list[Any] = []
    for event in reply.replace(b"\r\n", b"\n").split(b"\n\n"):
        data = b"".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
        if data.startswith(b"{"):
            parts.append(json_codec.decode(data))
        elif event:
            parts.append(event + b"\n\n")
    return parts


def _written(exchange: Exchange, reply: bytes) -> bytes:
    if not exchange.stream:
        part = exchange.parts[0]
        return part if isinstance(part, bytes) else json_codec.encode(part)
    return b"".join(part if isinstance(part, bytes) else _event(part) for part in exchange.parts)


def _event(value: dict[str, Any]) -> bytes:
    name = f"event: {value['type']}\n" if isinstance(value.get("type"), str) else ""
    return name.encode() + b"data: " + json_codec.encode(value) + b"\n\n"


@contextmanager
def serving_with(defect: Defect | None) -> Iterator[Callable[[str], Endpoint]]:
    """Serve the emulated providers with a defect. Yields the function from a surface to its endpoint."""
    with serving(DefectiveServer(defect), EmulatedChat({})) as servers:
        yield lambda name: endpoint(
            servers.base(SURFACES[name]) + ("/v1" if name.startswith("google.") else ""), SURFACES[name].wire
        )


def probe(id: str) -> Probe:
    """Return a default probe by its id."""
    return next(probe for probe in default_probes() if probe.id == id)
