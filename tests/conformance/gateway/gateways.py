"""Gateways for the tests: one that passes everything on, the same with one fault each, and one between wires."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import grpc
from xai_sdk.proto import chat_pb2_grpc

from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Choice, Error, Response, Stop
from toolparity.normalizer.requests import read_request, write_request


class Message(NamedTuple):
    """A request or reply: its first line, its headers and its body (decoded, if it was sent in chunks)."""

    first: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def status(self) -> int:
        return int(self.first.split()[1])

    def encode(self) -> bytes:
        own = (b"content-length", b"transfer-encoding", b"connection")
        kept = [b"%s: %s" % header for header in self.headers if header[0] not in own]
        lines = [self.first, *kept, b"content-length: %d" % len(self.body), b"connection: close"]
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.body


Change = Callable[[Message], Message]
#: A change of a reply. None closes the connection without a reply.
Reply = Callable[[Message], Message | None]
#: After how many bytes of a reply the connection is reset, or None.
Cut = Callable[[Message], int | None]


class Halt(Exception):
    """A change of a reply raises it to stop the gateway."""


def with_json(change: Callable[[Any], Any]) -> Change:
    """Change a body as JSON; each event of a stream separately. None removes an event."""

    def changed(message: Message) -> Message:
        if not message.body.startswith((b"data:", b"event:", b":")):
            try:
                value = json.loads(message.body)
            except ValueError:
                return message
            return message._replace(body=json.dumps(change(value)).encode())
        events = []
        for event in message.body.replace(b"\r\n", b"\n").split(b"\n\n"):
            head, _, data = event.partition(b"data: ")
            if data[:1] == b"{":
                value = change(json.loads(data))
                events.append(head + b"data: " + json.dumps(value).encode() if value is not None else b": removed")
            else:
                events.append(event)
        return message._replace(body=b"\n\n".join(events))

    return changed


@contextmanager
def running(upstream: str, **faults: Any) -> Iterator[str]:
    """Run a gateway in a thread while the block runs. Yields its URL. ``faults``: members of `_Gateway`."""
    gateway = _Gateway(upstream, **faults)
    thread = threading.Thread(target=asyncio.run, args=(gateway.main(),), daemon=True)
    thread.start()
    assert gateway.started.wait(10)
    try:
        yield f"http://127.0.0.1:{gateway.port}"
    finally:
        gateway.stop()
        thread.join(10)


@dataclass
class _Gateway:
    """``request``, ``reply``: what they do with what passes. ``again``: each request is sent twice."""

    upstream: str
    request: Change | None = None
    reply: Reply | None = None
    again: bool = False
    cut: Cut = lambda reply: None

    def __post_init__(self) -> None:
        self._host, _, self._port = self.upstream.removeprefix("http://").partition(":")
        self._tasks: set[asyncio.Task[None]] = set()
        self.started = threading.Event()
        self.port = 0

    def stop(self) -> None:
        with suppress(RuntimeError):  # a reply may have stopped it already
            self._loop.call_soon_threadsafe(self._over.set)

    async def main(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 26)
        self.port = server.sockets[0].getsockname()[1]
        self.started.set()
        await self._over.wait()
        server.close()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)  # the loop has only weak references
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await _read(reader)
            if self.request is not None:
                asked = self.request(asked)
            for _ in range(1 + self.again):
                back, out = await asyncio.open_connection(self._host, self._port, limit=1 << 26)
                out.write(asked.encode())
                reply = await _read(back)
                out.close()
            if self.reply is not None:
                changed = await asyncio.to_thread(self.reply, reply)
                if changed is None:
                    return
                reply = changed
            end = self.cut(reply)
            writer.write(reply.encode() if end is None else reply.encode()[: end - len(reply.body)])
            await writer.drain()
            if end is not None:
                writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except Halt:
            self._over.set()
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Message:
    head = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    headers = []
    for line in head[1:]:
        name, _, value = line.partition(b": ")
        headers.append((name.lower(), value))
    named = dict(headers)
    if b"content-length" in named:
        body = await reader.readexactly(int(named[b"content-length"]))
    elif named.get(b"transfer-encoding") == b"chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
    else:
        body = b""
    return Message(head[0], headers, body)


_CLIENT = "openai.chat"
_STOPS = {"tool_calls": "tool_calls", "max_tokens": "length", "content_filter": "content_filter"}


@contextmanager
def translating(servers: Servers, upstream: str, change: Callable[[Any], Any] | None = None) -> Iterator[str]:
    """Run the gateway in a thread while the block runs; gives its URL.

    ``upstream``: a surface. ``change``: a fault, which changes the client's request before it is translated.
    """
    surface = SURFACES[upstream]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            asked = json.loads(body)
            if not self.path.endswith("/chat/completions") or asked["model"] != surface.model:
                status, kind, passed = _passed_on(servers, self.path, body)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.end_headers()
                self.wfile.write(passed)
                return
            try:
                response = _ask(servers, surface, asked if change is None else change(asked))
            except grpc.RpcError as error:
                response = Response(
                    surface.wire, None, None, None, [], error=Error("upstream_error", str(error.code())), complete=False
                )
            stream = asked.get("stream") is True
            body = _streamed(response) if stream else json.dumps(_reply(response, "message")).encode()
            self.send_response(200 if response.error is None or stream else 502)
            self.send_header("content-type", "text/event-stream" if stream else "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _passed_on(servers: Servers, path: str, body: bytes) -> tuple[int, str, bytes]:
    """The provider's status, content type and body."""
    sent = urllib.request.Request(servers.http_url + path, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(sent) as reply:
            return reply.status, reply.headers["content-type"], reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["content-type"], error.read()


def _ask(servers: Servers, surface: Surface, asked: Any) -> Response:
    request = read_request(asked, _CLIENT)
    body = write_request(request, surface.wire, provider=surface.provider).body
    if surface.by_messages:
        return _ask_grpc(servers, surface, body, stream=asked.get("stream") is True)
    sent = urllib.request.Request(
        servers.http_url + surface.spec.path, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(sent) as reply:
            data, status = reply.read(), reply.status
    except urllib.error.HTTPError as error:
        data, status = error.read(), error.code
    if asked.get("stream") is True and status < 400:
        return _decoded(surface, [data])
    return normalize(data, surface.wire, provider=surface.provider, status=status)


def _ask_grpc(servers: Servers, surface: Surface, body: Any, *, stream: bool) -> Response:
    with grpc.insecure_channel(servers.grpc_address) as channel:
        stub = chat_pb2_grpc.ChatStub(channel)
        if stream:
            return _decoded(surface, [chunk.SerializeToString() for chunk in stub.GetCompletionChunk(body)])
        return normalize(stub.GetCompletion(body), surface.wire, provider=surface.provider)


def _decoded(surface: Surface, pieces: list[bytes]) -> Response:
    decoder = StreamDecoder(surface.wire, provider=surface.provider)
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


def _reply(response: Response, member: str) -> dict[str, Any]:
    """The reply; ``member``: "message", or "delta" for the only chunk of a stream."""
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
    message = {"role": "assistant", "content": choice.text or None, **({"tool_calls": calls} if calls else {})}
    stop = _STOPS.get(choice.stop.reason, "stop") if response.complete else None
    usage = response.usage
    counts = (
        {}
        if usage is None
        else {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
            "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        }
    )
    kind = "chat.completion" if member == "message" else "chat.completion.chunk"
    choices = [{"index": 0, member: message, "finish_reason": stop}]
    return {"id": "r", "object": kind, "created": 1, "model": "m", "choices": choices, "usage": counts}


def _streamed(response: Response) -> bytes:
    end = "data: [DONE]\n\n" if response.complete else ""
    return f"data: {json.dumps(_reply(response, 'delta'))}\n\n{end}".encode()
