"""The servers in the scripts: a few lines that send one response to the library, each a function of one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .code import Ask


class Server(NamedTuple):
    """The code of a server: lines with imports, and the lines that start it."""

    imports: Sequence[str]
    lines: Sequence[str]


def http(ask: Ask, file: str, status: dict[str, str]) -> Server:
    """Send the file to every request."""
    imports = ["import json", "from threading import Thread", "from wsgiref.simple_server import make_server"]
    lines = [
        "def provider(request, start):",
        '    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))',
        f'    start("{_status_line(ask)}", [("content-type", "{ask.content_type}")])',
        f'    return [open("{file}", "rb").read()]',
        *_SERVE,
    ]
    return Server(imports, lines)


def agent(ask: Ask, file: str, status: dict[str, str]) -> Server:
    """Send the file to the first request, and keep the bodies of the requests in ``sent``. Later requests fail."""
    imports = ["import json", "from threading import Thread", "from wsgiref.simple_server import make_server"]
    lines = [
        "ran, sent = [], []",
        "def provider(request, start):",
        '    sent.append(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))',
        f'    start("{_status_line(ask)}" if len(sent) == 1 else "400 End", [("content-type", "{ask.content_type}")])',
        f'    return [open("{file}", "rb").read()]',
        *_SERVE,
    ]
    return Server(imports, lines)


_SERVE = (
    'server = make_server("127.0.0.1", 0, provider)',
    "Thread(target=server.serve_forever, daemon=True).start()",
)


def transport(ask: Ask, file: str, status: dict[str, str]) -> Server:
    """Send the file without a connection, to a library that checks more if the address is the provider's own."""
    imports = ["import json", "import httpx2"]
    lines = [
        f'body = open("{file}", "rb").read()',
        "def provider(request):",
        f'    headers = {{"content-type": "{ask.content_type}"}}',
        f"    return httpx2.Response({ask.status}, headers=headers, content=body)",
        "http = httpx2.AsyncClient(transport=httpx2.MockTransport(provider))",
    ]
    return Server(imports, lines)


def agent_transport(ask: Ask, file: str, status: dict[str, str]) -> Server:
    """Send the file to the first request without a connection, and keep the bodies of the requests in ``sent``."""
    imports = ["import json", "import httpx2"]
    lines = [
        f'ran, sent, body = [], [], open("{file}", "rb").read()',
        "def provider(request):",
        "    sent.append(request.content)",
        f'    headers = {{"content-type": "{ask.content_type}"}}',
        f"    return httpx2.Response({ask.status} if len(sent) == 1 else 400, headers=headers, content=body)",
        "http = httpx2.AsyncClient(transport=httpx2.MockTransport(provider))",
    ]
    return Server(imports, lines)


def grpc(ask: Ask, file: str, status: dict[str, str]) -> Server:
    """Send the messages of the file with xAI's own service."""
    imports = [
        "import json",
        "from concurrent.futures import ThreadPoolExecutor",
        "import grpc",
        "from google.protobuf.json_format import Parse",
        "from xai_sdk.proto import chat_pb2, chat_pb2_grpc",
    ]
    method, kind = (
        ("GetCompletionChunk", "GetChatCompletionChunk")
        if ask.stream
        else ("GetCompletion", "GetChatCompletionResponse")
    )
    if ask.stream:
        send = [f'        for line in open("{file}"):', f"            yield Parse(line, chat_pb2.{kind}())"]
    else:
        send = [f'        return Parse(open("{file}").read(), chat_pb2.{kind}())']
    if status:
        fail = f'        context.abort(grpc.StatusCode.{status["code"]}, "{status["details"]}")'
        send = [*send * ask.stream, fail]
    lines = [
        "class Provider(chat_pb2_grpc.ChatServicer):",
        f"    def {method}(self, request, context):",
        *send,
        "server = grpc.server(ThreadPoolExecutor())",
        "chat_pb2_grpc.add_ChatServicer_to_server(Provider(), server)",
        'port = server.add_insecure_port("127.0.0.1:0")',
        "server.start()",
    ]
    return Server(imports, lines)


def node(ask: Ask, file: str, status: dict[str, str]) -> Server:
    """Send the file to every request, in Node.js; ``baseURL`` is the address."""
    imports = ['import { readFileSync } from "node:fs";', 'import { createServer } from "node:http";']
    lines = [
        "const server = createServer((_, response) => {",
        f'  response.writeHead({ask.status}, {{ "content-type": "{ask.content_type}" }});',
        f'  response.end(readFileSync("{file}"));',
        "}).listen(0);",
        "const baseURL = `http://127.0.0.1:${server.address().port}/v1`;",
    ]
    return Server(imports, lines)


def node_agent(ask: Ask, file: str, status: dict[str, str]) -> Server:
    """Send the file to the first request, in Node.js, and keep the bodies of the requests in ``sent``."""
    imports = [
        'import { readFileSync } from "node:fs";',
        'import { createServer } from "node:http";',
        'import { json } from "node:stream/consumers";',
    ]
    lines = [
        "const ran = [], sent = [];",
        "const server = createServer(async (request, response) => {",
        "  sent.push(await json(request));",
        f'  response.writeHead(sent.length === 1 ? {ask.status} : 400, {{ "content-type": "{ask.content_type}" }});',
        f'  response.end(readFileSync("{file}"));',
        "}).listen(0);",
        "const baseURL = `http://127.0.0.1:${server.address().port}/v1`;",
    ]
    return Server(imports, lines)


def _status_line(ask: Ask) -> str:
    return "200 OK" if ask.status == 200 else f"{ask.status} Error"


SERVERS: dict[str, Callable[[Ask, str, dict[str, str]], Server]] = {
    "http": http,
    "agent": agent,
    "transport": transport,
    "agent-transport": agent_transport,
    "grpc": grpc,
    "node": node,
    "node-agent": node_agent,
}
