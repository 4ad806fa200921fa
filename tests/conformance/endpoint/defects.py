"""Planted defects: changes of the emulated providers' scripts, or of what passes a gateway, and endpoints with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from tests.conformance.gateway import gateways
from tests.conformance.gateway.gateways import Change, Message
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


class Defect(NamedTuple):
    """A defect, and the check that must find it.

    ``script``: changes the parts of each round. ``request``: changes a request. ``reply``: changes a reply. ``probe``:
    the probe to play. ``wires``: the wires that can have the defect. ``modes``: the modes in which it must be found.
    """

    check: str
    probe: str
    script: Callable[[list[Part]], list[Part]] | None = None
    request: Change | None = None
    reply: Change | None = None
    wires: tuple[str, ...] = WIRES
    modes: tuple[str, ...] = ("plain", "stream")

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


def _without(*names: str) -> Change:
    return gateways.with_json(lambda body: {key: value for key, value in body.items() if key not in names})


def _one_call_in_streams(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "parallel_tool_calls": False} if body.get("stream") else body


def _spoil(*marks: bytes) -> Change:
    """Make the provider refuse a request that contains one of the marks."""
    return lambda message: message._replace(body=b"{}") if any(mark in message.body for mark in marks) else message


# Changes of replies


def _each_object(change: Callable[[dict[str, Any]], None]) -> Change:
    """Apply a change to every JSON object in a reply, inner ones included."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            change(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)
        return value

    return gateways.with_json(walk)


def _end_turn(value: dict[str, Any]) -> None:
    words = {"finish_reason": "stop", "stop_reason": "end_turn", "finishReason": "MAX_TOKENS"}
    value.update({name: word for name, word in words.items() if value.get(name)})


def _complete(value: dict[str, Any]) -> None:
    words = {"length": "tool_calls", "max_tokens": "tool_use"}
    value.update(
        {name: words.get(value[name], value[name]) for name in ("finish_reason", "stop_reason") if name in value}
    )


def _no_id(value: dict[str, Any]) -> None:
    is_call = value.get("type") in ("function", "tool_use", "function_call")
    if is_call and ("function" in value or "input" in value or "call_id" in value):
        value.pop("call_id" if value["type"] == "function_call" else "id", None)


def _index_zero(value: dict[str, Any]) -> None:
    if "function" in value or value.get("type") in ("content_block_start", "content_block_delta", "content_block_stop"):
        value["index"] = 0


def _from_one(value: dict[str, Any]) -> None:
    if "function" in value and "index" in value:
        value["index"] += 1


def _repeating(member: str) -> Change:
    """Repeat the first name or id of the calls in all of their fragments."""

    def change(value: dict[str, Any]) -> None:
        if "function" in value and "index" in value:
            holder = value["function"] if member == "name" else value
            holder[member] = "set_temperature" if member == "name" else "call_1"

    return _if_stream(_each_object(change))


def _no_usage(value: dict[str, Any]) -> None:
    for name in ("usage", "usageMetadata"):
        value.pop(name, None)


def _of_streams(change: Callable[[list[bytes]], list[bytes]]) -> Change:
    """Apply a change to the events of a stream."""

    def changed(message: Message) -> Message:
        events = message.body.replace(b"\r\n", b"\n").removesuffix(b"\n\n").split(b"\n\n")
        return message._replace(body=b"".join(event + b"\n\n" for event in change(events)))

    return _if_stream(changed)


def _times(count: int, kind: bytes, events: list[bytes]) -> list[bytes]:
    return [event for event in events for _ in range(count if kind in event.partition(b"\n")[0] else 1)]


def _if_stream(change: Change) -> Change:
    def changed(message: Message) -> Message:
        return change(message) if b"event-stream" in dict(message.headers).get(b"content-type", b"") else message

    return changed


def _as_json(status: bytes, body: bytes) -> Change:
    """Answer with a plain body."""
    return lambda message: Message(b"HTTP/1.1 " + status, [(b"content-type", b"application/json")], body)


def _accept(message: Message) -> Message:
    """Answer a refused request like one that says nothing."""
    empty = _as_json(b"200 OK", b'{"object":"chat.completion","choices":[]}')
    return message if message.status == 200 else empty(message)


def _at(status: int, change: Change) -> Change:
    return lambda message: change(message) if message.status == status else message


def _as_text_plain(message: Message) -> Message:
    headers = [(name, b"text/plain" if name == b"content-type" else value) for name, value in message.headers]
    return message._replace(headers=headers)


_RESULTS = (b'"role":"tool"', b"function_call_output", b"tool_result", b"functionResponse")
_OPTIONAL = (b'"user-1"', b'"seed"')
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
    "ignores the allowed tools": Defect(
        "choice", "choice-allowed", request=_without(*_CHOICE), wires=(CHAT, RESPONSES, GEMINI)
    ),
    "ignores the tool choice required": Defect("choice", "choice-required", _without_calls),
    "ignores the ban of parallel calls": Defect(
        "parallel",
        "one-at-a-time",
        lambda parts: [*parts, *_each_call(lambda c: replace(c, arguments={"city": "Rome"}))(parts)],
        request=_without("parallel_tool_calls", "tool_choice"),
        wires=_TEXTS,
    ),
    "refuses tool results": Defect("history", "one-call", request=_spoil(*_RESULTS)),
    "accepts malformed requests": Defect("refusal", "one-call", reply=_accept, modes=()),
    "refuses in another format": Defect(
        "refusal", "one-call", reply=_at(400, _as_json(b"400 No", b'{"detail": "bad"}')), modes=()
    ),
    "refuses optional parameters": Defect("parameters", "one-call", request=_spoil(*_OPTIONAL), modes=("plain",)),
    "lists models in another form": Defect(
        "models", "one-call", reply=_at(404, _as_json(b"200 OK", b'["m"]')), wires=_TEXTS, modes=("plain",)
    ),
    "reports a cut call as complete": Defect(
        "limit", "cut-call", reply=_each_object(_complete), wires=(CHAT, ANTHROPIC)
    ),
    "ignores the schema": Defect("structured", "structured-answer", lambda parts: [Say("Lisbon")]),
    "leaves the model out": Defect(
        "form", "one-call", reply=_each_object(lambda value: value.pop("model", None)), wires=_TEXTS
    ),
    "sends JSON as text": Defect("form", "one-call", reply=_as_text_plain),
    "fails in streams": Defect(
        "answered",
        "one-call",
        reply=_if_stream(_as_json(b"500 Oh", b'{"error": {"message": "out of memory", "type": "server_error"}}')),
        modes=_STREAM,
    ),
    "sends a wrong stop reason": Defect(
        "stop", "one-call", reply=_each_object(_end_turn), wires=(CHAT, ANTHROPIC, GEMINI)
    ),
    "leaves the usage out": Defect("usage", "one-call", reply=_each_object(_no_usage)),
    "numbers all calls 0": Defect(
        "indexes", "three-calls", reply=_each_object(_index_zero), wires=(CHAT, ANTHROPIC), modes=_STREAM
    ),
    "repeats the name in each fragment": Defect(
        "sdk", "one-call", reply=_repeating("name"), wires=(CHAT,), modes=_STREAM
    ),
    "repeats the id in each fragment": Defect("form", "one-call", reply=_repeating("id"), wires=(CHAT,), modes=_STREAM),
    "numbers calls from 1": Defect("indexes", "one-call", reply=_each_object(_from_one), wires=(CHAT,), modes=_STREAM),
    "writes empty arguments": Defect("arguments", "no-parameters", _text_of(lambda text: ""), wires=(CHAT, RESPONSES)),
    "cuts streams": Defect(
        "stream-end", "one-call", reply=_of_streams(lambda events: events[: len(events) // 2]), modes=_STREAM
    ),
    "writes an error into a stream": Defect(
        "form",
        "one-call",
        reply=_of_streams(lambda events: [*events[:1], b"Internal Server Error", *events[1:]]),
        modes=_STREAM,
    ),
    "ends each block twice": Defect(
        "form", "one-call", reply=_of_streams(partial(_times, 2, b"_stop")), wires=(ANTHROPIC,), modes=_STREAM
    ),
    "announces no part": Defect(
        "form", "one-call", reply=_of_streams(partial(_times, 0, b"part.added")), wires=(RESPONSES,), modes=_STREAM
    ),
    "answers a stream with text": Defect(
        "form", "one-call", reply=_if_stream(_as_json(b"200 OK", b"not a stream")), modes=_STREAM
    ),
    "loses a call in streams only": Defect(
        "alike",
        "three-calls",
        request=gateways.with_json(_one_call_in_streams),
        wires=(CHAT, RESPONSES),
        modes=("both",),
    ),
}

#: Check -> the checks that fail with it, because they are about the same calls or responses.
CONSEQUENCES: dict[str, set[str]] = {
    "parallel": {"calls"},
    "calls": {"parallel"},
    "triggered": {"calls"},
    "arguments": {"calls", "parallel", "schema", "values"},
    "schema": {"values"},
    "usage": {"form"},  # on Messages: the delta of a message has a usage
    "limit": {"form"},  # on Messages: a block without an end is allowed only where a limit cut it
    "refusal": {"models"},  # the emulated providers have no list of models: a 404 that the change accepts, too
    "text": {"calls", "triggered"},
    "declared": {"calls"},
    "form": {"answered"},
    "stop": {"arguments", "values"},  # on Gemini: a cut answer ends inside its last call
    "stream-end": {"arguments", "calls", "schema", "triggered", "usage", "values", "alike"},
    "alike": {"calls", "parallel"},
}


def _library(change: Callable[[list[Part]], list[Part]] | None) -> dict[str, Script]:
    """The scripts of the probes, with a change of the rounds that have calls, or of those of the probe without one."""
    scripts = {}
    for probe in default_probes():
        rounds = [
            replace(round, parts=change(list(round.parts)))
            if change is not None and (round.calls or probe.id in ("no-call", "structured-answer"))
            else round
            for round in probe.script.rounds
        ]
        scripts[probe.id] = replace(probe.script, rounds=rounds)
    return scripts


@contextmanager
def serving_with(defect: Defect | None) -> Iterator[Callable[[str], Endpoint]]:
    """Serve the emulated providers with a defect. Yields the function from a surface to its endpoint."""
    script, request, reply = (None, None, None) if defect is None else (defect.script, defect.request, defect.reply)
    with (
        serving(application(_library(script)), EmulatedChat({})) as servers,
        gateways.running(servers.http_url, request=request, reply=reply) as url,
    ):
        yield lambda name: endpoint(
            url + SURFACES[name].base_path + ("/v1" if name.startswith("google.") else ""), SURFACES[name].wire
        )


def probe(id: str) -> Probe:
    """Return a default probe by its id."""
    return next(probe for probe in default_probes() if probe.id == id)
