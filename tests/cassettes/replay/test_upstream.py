"""Record-through: what the upstream answers is recorded without secrets, and answered from the cassette afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from xai_sdk.proto import chat_pb2_grpc

from toolparity.cassettes.emulated.servers import serving
from toolparity.cassettes.library import find, load
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.replay.upstream import RecordThrough

from .conftest import Server, answer_body, running, sent_body

KEY = "sk-proj-" + "Ab3dEf9hIj2lMn5pQr8tUv1xYz4B" * 2
CHAT = "/v1/chat/completions"


class Provider:
    """An upstream that answers with a recorded body."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.status = 200
        self.cut = 0

    async def respond(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append({"path": request.url.path, "query": request.url.query, "headers": request.headers})
        stream = body.get("stream") is True
        data = answer_body("openai.chat", stream)
        if self.cut:
            data = data[: self.cut]
        headers = {"set-cookie": "session=abcdefghijklmnop", "openai-organization": "org-AbCdEfGhIjKlMnOpQrStUvWx"}
        if not stream:
            await asyncio.sleep(0.2)
            return Response(data, self.status, headers, "application/json")
        return StreamingResponse(_pieces(data), self.status, headers, "text/event-stream")


async def _pieces(data: bytes) -> Any:
    for piece in data.split(b"\n\n"):
        if piece:
            await asyncio.sleep(0)
            yield piece + b"\n\n"


@contextlib.contextmanager
def through(library: Path) -> Iterator[tuple[Server, Provider]]:
    provider = Provider()
    app = Starlette(routes=[Route("/{path:path}", provider.respond, methods=["POST"])])
    with serving(app, chat_pb2_grpc.ChatServicer()) as upstream:
        index = ResponseIndex(library)
        with running(index, upstream=RecordThrough(index, library, {"": upstream.http_url})) as server:
            yield server, provider


def body_with(words: str, stream: bool) -> bytes:
    value = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": words}]}
    return json.dumps({**value, "stream": True} if stream else value).encode()


@pytest.mark.parametrize("stream", [False, True])
def test_the_second_request_is_answered_from_the_cassette(tmp_path: Path, stream: bool) -> None:
    body = body_with("hello", stream)
    with through(tmp_path) as (server, provider):
        first = server.post(f"/openai{CHAT}?beta=1", body, authorization=f"Bearer {KEY}")
        assert "x-toolparity-cassette" not in first.headers
        assert "and recorded" in str(server.journal.entries[0].why)
        second = server.post(CHAT, body)
        assert second.body == first.body == answer_body("openai.chat", stream)
        assert second.headers["x-toolparity-origin"] == "imported"
        assert len(provider.asked) == 1
        assert (provider.asked[0]["path"], provider.asked[0]["query"]) == (CHAT, "beta=1")
        assert provider.asked[0]["headers"]["authorization"] == f"Bearer {KEY}"
    with through(tmp_path) as (server, provider):
        assert server.post(CHAT, body).body == first.body
        assert provider.asked == []


def test_no_secret_is_written_and_the_request_is_found_again(tmp_path: Path) -> None:
    body = body_with(f"my key is {KEY}, and my mail jane.roe@brightwater-mail.com", False)
    with through(tmp_path) as (server, provider):
        server.post(f"{CHAT}?key={KEY}", body, authorization=f"Bearer {KEY}", cookie="session=qwertyuiopasdfgh")
        (file,) = find(tmp_path)
        text = file.path.read_text()
        for secret in (KEY, KEY[:20], KEY[-20:], "jane.roe@", "abcdefghijklmnop", "qwertyuiopasdfgh", "org-AbCd"):
            assert secret not in text
        assert server.post(CHAT, body).status == 200
        assert len(provider.asked) == 1
    provenance = load(file.path).provenance
    assert (provenance.origin, provenance.provider, provenance.wire) == ("imported", "openai", "openai.chat")
    assert str(provenance.source).startswith("toolparity serve --upstream http://127.0.0.1:")


def test_an_error_passes_and_is_not_recorded(tmp_path: Path) -> None:
    with through(tmp_path) as (server, provider):
        provider.status = 429
        for _ in range(2):
            assert server.post(CHAT, body_with("hello", False)).status == 429
        assert len(provider.asked) == 2
        assert "but not recorded: the status is 429" in str(server.journal.entries[0].why)
    assert find(tmp_path) == []


def test_an_incomplete_stream_is_not_recorded(tmp_path: Path) -> None:
    with through(tmp_path) as (server, provider):
        provider.cut = 700
        server.post(CHAT, body_with("hello", True))
        assert "but not recorded" in str(server.journal.entries[0].why)
    assert find(tmp_path) == []


def test_equal_requests_at_once_are_sent_once(tmp_path: Path) -> None:
    with through(tmp_path) as (server, provider), ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: server.post(CHAT, body_with("hello", False)).body, range(4)))
        assert len(set(answers)) == 1
        assert len(provider.asked) == 1


def test_an_emulated_upstream_passes_and_is_not_recorded(tmp_path: Path, server: Server) -> None:
    index = ResponseIndex(tmp_path)
    with running(index, upstream=RecordThrough(index, tmp_path, {"openai": server.url})) as front:
        body = sent_body("openai.chat", False)
        assert front.post(CHAT, body).body == answer_body("openai.chat", False)
        assert "the upstream emulates a provider" in str(front.journal.entries[0].why)
        assert front.post("/v1/messages", sent_body("anthropic.messages", False)).status == 404
    assert find(tmp_path) == []


def test_an_unreachable_upstream_is_a_gateway_error(tmp_path: Path) -> None:
    index = ResponseIndex(tmp_path)
    with running(index, upstream=RecordThrough(index, tmp_path, {"": "http://127.0.0.1:9"})) as server:
        answer = server.post(CHAT, body_with("hello", False))
        assert answer.status == 502
        assert server.journal.entries[0].why == "no response from http://127.0.0.1:9: ConnectError"
        assert server.post(CHAT, body_with("hello", False)).status == 502  # its turn ended
