"""Endpoints with one planted defect each: the emulated providers behind a server that changes what passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from toolparity.cassettes.emulated.http import application
from toolparity.cassettes.emulated.rpc import EmulatedChat
from toolparity.cassettes.emulated.servers import serving
from toolparity.cassettes.scripts import Part, Script, ScriptedCall
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.endpoint.address import Endpoint, endpoint
from toolparity.conformance.endpoint.probes import Probe, default_probes
from toolparity.normalizer import json_codec

from .defects import Defect, Exchange


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
