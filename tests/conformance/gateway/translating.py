"""A correct gateway between two wires, for the tests: Chat Completions for its clients, any wire at its provider.

It passes requests for other models, and requests on other wires, on to the provider as they are.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from xai_sdk.proto import chat_pb2_grpc

from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.model import Choice, Error, Response, Stop
from toolparity.normalizer.requests import read_request, write_request

_CLIENT = "openai.chat"
_STOPS = {"tool_calls": "tool_calls", "max_tokens": "length", "content_filter": "content_filter"}


@contextmanager
def running(servers: Servers, upstream: str, change: Callable[[Any], Any] | None = None) -> Iterator[str]:
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
