"""A small correct gateway, into which a fault can be built: it passes requests on, or translates Chat Completions."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from toolparity.cassettes.emulated.servers import LOOPBACK, Servers
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.events import BlockDelta, BlockStart
from toolparity.normalizer.model import Choice, Response, Stop, Wire
from toolparity.normalizer.requests import read_request, write_request

_CLIENT: Wire = "openai.chat"
_STOPS = {"tool_calls": "tool_calls", "max_tokens": "length", "content_filter": "content_filter", "error": "error"}
#: Header fields that belong to one connection or to the size of a body.
_OF_CONNECTIONS = ("host", "connection", "content-length", "transfer-encoding", "date", "server")
_CHUNK = 1 << 16


@dataclass
class Asked:
    """A request. ``headers``: by their names in lower case. ``opened``: the connections that were opened for it.

    ``body``: None for GET.
    """

    path: str
    headers: dict[str, str]
    body: Any
    opened: list[http.client.HTTPConnection] = field(default_factory=list)


@dataclass
class Event:
    """An event of a stream. ``data``: the parsed JSON, or text."""

    name: str
    data: Any

    def encode(self) -> bytes:
        head = f"event: {self.name}\n" if self.name else ""
        data = self.data if isinstance(self.data, str) else json.dumps(self.data)
        return f"{head}data: {data}\n\n".encode()


@dataclass
class Reply:
    """A reply. ``parts``: its body, in the parts in which it is sent. ``streamed``: whether it has events."""

    status: int
    headers: dict[str, str]
    parts: Iterable[bytes]
    streamed: bool

    def as_json(self) -> Any:
        """Return the body as JSON."""
        self.parts = [b"".join(self.parts)]
        return json.loads(self.parts[0])

    def become(self, body: bytes, kind: str = "application/json", status: int = 200) -> None:
        """Replace the body by a plain one."""
        self.status, self.parts, self.streamed = status, [body], False
        self.headers["content-type"] = kind

    def change_events(self, change: Callable[[Iterator[Event]], Iterator[Event]]) -> None:
        """Change the events of a stream, one by one as they arrive."""
        events = change(parse(self.parts))
        self.parts = (event.encode() for event in events)


class Hooks(NamedTuple):
    """What a gateway changes. ``request(asked)`` and ``reply(reply, asked)`` change in place.

    ``upstream``: the surface into whose wire it translates requests with the surface's model, or "" to pass all on.
    ``repeats``: how often it sends each request.
    """

    request: Callable[[Asked], None] = lambda asked: None
    reply: Callable[[Reply, Asked], None] = lambda reply, asked: None
    upstream: str = ""
    repeats: int = 1


def parse(parts: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a stream when they are complete. As in browsers, the beginning of one is left out."""
    kept = b""
    for part in parts:
        *whole, kept = (kept + part).replace(b"\r\n", b"\n").split(b"\n\n")
        yield from map(_event, whole)


def _event(text: bytes) -> Event:
    lines = [line.partition(":")[::2] for line in text.decode("utf-8", "replace").split("\n")]
    fields = {name: value.removeprefix(" ") for name, value in lines}
    data = "\n".join(value.removeprefix(" ") for name, value in lines if name == "data")
    try:
        return Event(fields.get("event", ""), json.loads(data))
    except ValueError:
        return Event(fields.get("event", ""), data)


@contextmanager
def running(servers: Servers, gateways: Mapping[str, Hooks]) -> Iterator[str]:
    """Run a server with these gateways while the block runs; yields its URL.

    The path begins with the name of a gateway, unless its name is "".
    """

    class Handler(_Handler):
        upstream = servers
        hooks = gateways

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream: Servers
    hooks: Mapping[str, Hooks]

    def do_POST(self) -> None:
        name, _, path = self.path[1:].partition("/") if "" not in self.hooks else ("", "", self.path[1:])
        hooks = self.hooks[name]
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        asked = Asked(f"/{path}", {key.lower(): value for key, value in self.headers.items()}, body)
        client = Asked(asked.path, dict(asked.headers), json.loads(json.dumps(body)))
        hooks.request(asked)
        surface = SURFACES.get(hooks.upstream, SURFACES[_CLIENT])
        translates = (
            hooks.upstream and asked.path.endswith("/chat/completions") and asked.body["model"] == surface.model
        )
        for _ in range(hooks.repeats):
            reply = _translated(self.upstream, surface, asked) if translates else _passed(self.upstream, asked)
        hooks.reply(reply, client)
        self._send(reply)
        for connection in asked.opened:
            connection.close()

    do_GET = do_POST  # noqa: N815 — the name of http.server

    def _send(self, reply: Reply) -> None:
        self.send_response_only(reply.status)
        for name, value in reply.headers.items():
            if name.lower() not in _OF_CONNECTIONS:
                self.send_header(name, value)
        if reply.streamed:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for part in filter(None, reply.parts):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
            return
        body = b"".join(reply.parts)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _passed(servers: Servers, asked: Asked) -> Reply:
    host, _, port = servers.http_url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port))
    asked.opened.append(connection)
    headers = {name: value for name, value in asked.headers.items() if name not in _OF_CONNECTIONS}
    method, data = ("GET", None) if asked.body is None else ("POST", json.dumps(asked.body))
    connection.request(method, asked.path, data, headers)
    response = connection.getresponse()
    passed = {name.lower(): value for name, value in response.headers.items()}
    streamed = passed.get("content-type", "").startswith("text/event-stream")
    return Reply(response.status, passed, iter(lambda: response.read1(_CHUNK), b""), streamed)


def _translated(servers: Servers, surface: Surface, asked: Asked) -> Reply:
    """Ask an upstream on another wire, and reply on Chat Completions."""
    stream = asked.body.get("stream") is True
    body = write_request(read_request(asked.body, _CLIENT), surface.wire, provider=surface.provider).body
    ask = _over_grpc if surface.by_messages else _over_http
    status, headers, pieces = ask(servers, surface, asked, body, stream=stream)
    if stream and status < 400:
        return Reply(200, {"content-type": "text/event-stream"}, _chunks(surface, pieces), streamed=True)
    response = normalize(b"".join(pieces), surface.wire, provider=surface.provider, status=status)
    status = status if status >= 400 or response.error is None else 502
    text = json.dumps(chat(response, "message")).encode()
    return Reply(status, {"content-type": "application/json", **headers}, [text], streamed=False)


_Exchange = tuple[int, dict[str, str], Iterator[bytes]]


def _over_http(servers: Servers, surface: Surface, asked: Asked, body: Any, *, stream: bool) -> _Exchange:
    path = surface.spec.base_path + surface.spec.path
    reply = _passed(servers, Asked(path, {**asked.headers, "content-type": "application/json"}, body, asked.opened))
    kept = {name: value for name, value in reply.headers.items() if name == "retry-after"}
    return reply.status, kept, iter(reply.parts)


def _over_grpc(servers: Servers, surface: Surface, asked: Asked, body: Any, *, stream: bool) -> _Exchange:
    import grpc
    from xai_sdk.proto import chat_pb2_grpc

    def messages() -> Iterator[bytes]:
        with grpc.insecure_channel(servers.grpc_address) as channel:
            stub, has_begun = chat_pb2_grpc.ChatStub(channel), False
            try:
                for message in stub.GetCompletionChunk(body) if stream else [stub.GetCompletion(body)]:
                    has_begun = True
                    yield message.SerializeToString()
            except grpc.RpcError:
                if not has_begun:
                    raise  # otherwise the stream is broken

    answers = messages()
    try:
        return 200, {}, itertools.chain([next(answers)], answers)
    except grpc.RpcError as error:
        failure = {"error": {"message": str(error.code()), "type": "upstream_error"}}
        return 502, {}, iter([json.dumps(failure).encode()])


def _chunks(surface: Surface, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a stream: the text as it arrives, and the rest at the end."""
    decoder, text, keys = StreamDecoder(surface.wire, provider=surface.provider), "", set()
    for piece in pieces:
        for event in decoder.feed(piece):
            if isinstance(event, BlockStart) and (event.choice, event.block) == (0, "text"):
                keys.add(event.key)
            elif isinstance(event, BlockDelta) and event.choice == 0 and event.key in keys:
                text += event.text
                yield Event("", _body("delta", {"content": event.text}, None, None)).encode()
    response = decoder.finish()
    yield Event("", chat(response, "delta", said=text)).encode()
    if response.complete:
        yield Event("", "[DONE]").encode()


def chat(response: Response, member: str, said: str = "") -> dict[str, Any]:
    """Return a reply, or the last chunk of a stream that has sent the text ``said``."""
    if response.error is not None:
        return {"error": {"message": response.error.message, "type": "upstream_error"}}
    choice = response.choices[0] if response.choices else Choice(0, [], Stop("unknown", None))
    calls = [
        {
            "index": number,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments_text or json.dumps(call.arguments)},
        }
        for number, call in enumerate(choice.calls)
    ]
    usage, stop = response.usage, _STOPS.get(choice.stop.reason, "stop") if response.complete else None
    counts = usage and {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
    message = {"content": choice.text.removeprefix(said) or None, **({"tool_calls": calls} if calls else {})}
    return _body(member, message, stop, counts)


def _body(member: str, message: dict[str, Any], stop: str | None, usage: Any) -> dict[str, Any]:
    kind = "chat.completion" if member == "message" else "chat.completion.chunk"
    choices = [{"index": 0, member: {"role": "assistant", **message}, "finish_reason": stop}]
    return {"id": "r", "object": kind, "created": 1, "model": "m", "choices": choices, "usage": usage}
