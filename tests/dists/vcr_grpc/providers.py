"""xAI's Chat service, and an HTTP server that answers as OpenAI and Anthropic do: small, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from xai_sdk.proto import chat_pb2, chat_pb2_grpc, deferred_pb2, sample_pb2

UNKNOWN_FIELD = b"\xfa\x7d\x03new"  # number 2015


class Chat(chat_pb2_grpc.ChatServicer):  # type: ignore[misc]
    """Echoes each message; refuses the model "bad"; a deferred answer is done when asked for the third time."""

    def __init__(self) -> None:
        self._polls = 0

    def GetCompletion(self, request: Any, context: Any) -> Any:
        if request.model == "bad":
            context.set_trailing_metadata((("x-reason", "model"),))
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no such model: bad")
        answer = chat_pb2.GetChatCompletionResponse(id="r", model=request.model)
        for index in range(request.n or 1):
            output = answer.outputs.add(index=index, finish_reason=sample_pb2.REASON_STOP)
            output.message.role = chat_pb2.ROLE_ASSISTANT
            output.message.content = f"you said {request.messages[0].content[0].text}"
        answer.usage.prompt_tokens = 3
        answer.MergeFromString(UNKNOWN_FIELD)
        return answer

    def GetCompletionChunk(self, request: Any, context: Any) -> Iterator[Any]:
        for word in ("you ", "said ", request.messages[0].content[0].text):
            chunk = chat_pb2.GetChatCompletionChunk(id="r", model=request.model)
            output = chunk.outputs.add()
            output.delta.role = chat_pb2.ROLE_ASSISTANT
            output.delta.content = word
            chunk.MergeFromString(UNKNOWN_FIELD)
            yield chunk
        if request.model == "bad":
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "enough")

    def StartDeferredCompletion(self, request: Any, context: Any) -> Any:
        self._polls = 0
        self._deferred = self.GetCompletion(request, context)
        return deferred_pb2.StartDeferredResponse(request_id="d")

    def GetDeferredCompletion(self, request: Any, context: Any) -> Any:
        self._polls += 1
        if self._polls < 3:
            return chat_pb2.GetDeferredCompletionResponse(status=deferred_pb2.PENDING)
        return chat_pb2.GetDeferredCompletionResponse(status=deferred_pb2.DONE, response=self._deferred)


class GrpcServer:
    """xAI's Chat service, running."""

    def __init__(self) -> None:
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        chat_pb2_grpc.add_ChatServicer_to_server(Chat(), self._server)
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self.target = f"127.0.0.1:{self.port}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(0).wait()


_HEAD = {"id": "c", "created": 1, "model": "m"}
_WORDS = {"role": "assistant", "content": "hello"}
_CHAT = _HEAD | {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": _WORDS}]}
_CHAT_CHUNKS = [
    _HEAD | {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
    for delta in ({"role": "assistant", "content": "hel"}, {"content": "lo"})
]
_STOP = {"stop_reason": "end_turn", "stop_sequence": None}
_STARTED: dict[str, Any] = {"id": "a", "type": "message", "role": "assistant", "model": "m", "content": []}
_STARTED |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
_MESSAGE = {**_STARTED, **_STOP, "content": [{"type": "text", "text": "hello"}]}
_MESSAGE_EVENTS = [
    {"type": "message_start", "message": _STARTED},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": _STOP, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        openai = self.path.endswith("/chat/completions")
        if not asked.get("stream"):
            self._answer("application/json", json.dumps(_CHAT if openai else _MESSAGE))
        elif openai:
            lines = [json.dumps(chunk) for chunk in _CHAT_CHUNKS]
            self._answer("text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]))
        else:
            events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _MESSAGE_EVENTS]
            self._answer("text/event-stream", "".join(events))

    def _answer(self, kind: str, body: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        pass


class HttpServer:
    """OpenAI's and Anthropic's endpoints, running."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
