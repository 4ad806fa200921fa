"""Subjects that fetch the response with a client, from an address on the loopback interface."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import grpc
import openai
import pytest
import xai_sdk
from msgspec.structs import replace
from xai_sdk.chat import user
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import InvalidAnswer
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import CallResult, FollowUp, SubjectExchange, loopback
from toolparity.conformance.subjects.http_client_subject import HttpClientSubject
from toolparity.conformance.subjects.loopback import MOST_REQUESTS

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BODY = {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [CALL]}}]}
PLAIN = SubjectExchange(wire="openai.chat", provider="openai", stream=False, pieces=[json.dumps(BODY).encode()])
STREAM = SubjectExchange(
    wire="openai.chat",
    provider="openai",
    stream=True,
    pieces=[b'data: {"choices":[{"delta":{"content":"\xc3', b'\xa4"}}]}\n', b"", b"\n", b"data: [DONE]\n\n"],
)

Make = Callable[[Callable[[SubjectExchange], Any]], HttpClientSubject]


class Client:
    """A subject that reads with a function."""

    name, version = "client", "1"
    claims = frozenset(("stream",))
    wires = None

    def __init__(self, read: Callable[[SubjectExchange], Any]) -> None:
        self.read = read

    def next_request(self, follow_up: FollowUp) -> Any:
        return {"body": fetch(follow_up.exchange).decode(), "results": len(follow_up.results)}


@pytest.fixture
def client() -> Iterator[Make]:
    made: list[HttpClientSubject] = []

    def make(read: Callable[[SubjectExchange], Any]) -> HttpClientSubject:
        made.append(HttpClientSubject(Client(read)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def post(url: str, body: Any = None) -> bytes:
    """The body of a response, also of one that is an error."""
    request = urllib.request.Request(url, json.dumps(body or {}).encode(), {"content-type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request) as reply:
            return bytes(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.read()


def fetch(exchange: SubjectExchange, body: Any = None) -> bytes:
    return post(exchange.base_url + "/chat/completions", body)


def sent(exchange: SubjectExchange) -> socket.socket:
    """A connection on which a request for a stream was sent."""
    url = urlsplit(exchange.base_url)
    head = f"POST {url.path}/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 16\r\nconnection: close\r\n\r\n"
    connection = socket.create_connection((url.hostname, url.port))
    connection.sendall(head.encode() + b'{"stream": true}')
    return connection


def chunks(exchange: SubjectExchange) -> list[bytes]:
    """The body of a streamed response as the network brings it, chunk by chunk."""
    with sent(exchange) as connection, connection.makefile("rb") as reply:
        head = b"".join(iter(reply.readline, b"\r\n")).lower()
        found = []
        while size := int(reply.readline(), 16):
            found.append(reply.read(size + 2)[:-2])
    assert b"transfer-encoding: chunked\r\n" in head
    assert b"content-type: text/event-stream\r\n" in head
    return found


# What is served


def test_the_response_is_served_at_the_address_and_nowhere_else(client: Make) -> None:
    seen: list[SubjectExchange] = []

    def read(exchange: SubjectExchange) -> Any:
        seen.append(exchange)
        return json.loads(fetch(exchange, {"any": "thing"}))

    before = threading.active_count()
    subject = client(read)
    assert subject.read(PLAIN) == BODY
    assert (seen[0].pieces, seen[0].base_url.startswith("http://127.0.0.1:")) == ([], True)
    assert b"no response is served now" in fetch(seen[0])
    follow_up = FollowUp(exchange=PLAIN, results=[CallResult("c", "f", "x")], to="openai.chat", provider="openai")
    assert subject.next_request(follow_up) == {"body": PLAIN.body.decode(), "results": 1}
    subject.close()
    assert threading.active_count() == before


def test_a_stream_arrives_in_the_pieces_of_the_case(client: Make) -> None:
    subject = client(lambda exchange: {"calls": [], "text": [piece.hex() for piece in chunks(exchange)]})
    for name, chunking in CHUNKINGS.items():
        pieces = chunking(STREAM.body)
        assert subject.read(replace(STREAM, pieces=pieces))["text"] == [one.hex() for one in pieces if one], name


def test_an_error_of_the_provider_has_its_status_and_is_served_again(client: Make) -> None:
    def read(exchange: SubjectExchange) -> Any:
        found = []
        for _ in range(3):
            request = urllib.request.Request(exchange.base_url + "/chat/completions", b'{"stream": true}')
            with pytest.raises(urllib.error.HTTPError) as error, urllib.request.urlopen(request):
                pass
            with error.value as reply:
                found.append((reply.code, reply.headers["content-type"], reply.read()))
        assert len(set(found)) == 1
        return {"error": repr(found[0])}

    busy = replace(STREAM, pieces=[b'{"error": {}}'], status=429)
    assert client(read).read(busy) == {"error": repr((429, "application/json", b'{"error": {}}'))}


def ask_openai(exchange: SubjectExchange) -> Any:
    with openai.OpenAI(base_url=exchange.base_url, api_key="none", max_retries=0) as client:
        answer: Any = client.chat.completions.create(model="m", messages=[], stream=exchange.stream)
        return [one.to_json() for one in answer] if exchange.stream else answer.to_json()


def ask_xai(exchange: SubjectExchange) -> Any:
    client = xai_sdk.Client(api_key="none", api_host=exchange.base_url, use_insecure_channel=True)
    try:
        chat = client.chat.create(model="m", messages=[user("hello")])
        if exchange.stream:
            return [str(chunk.proto) for _, chunk in chat.stream()]
        return str(chat.sample().proto)
    finally:
        client.close()


SURFACES = {"openai.chat": ask_openai, "xai.chat": ask_openai, "xai.grpc": ask_xai}


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("mode", ["plain", "stream"])
@pytest.mark.parametrize("surface", SURFACES)
def test_official_sdks_read_it_over_http_and_grpc(client: Make, surface: str, mode: str) -> None:
    texts: list[str] = []

    def fetched(exchange: SubjectExchange) -> Any:
        texts.append(str(SURFACES[surface](exchange)))
        return {"calls": []}

    Judge(client(fetched), twice=False).result(Case("single-call", surface, mode, "all"))
    assert "get_weather" in texts[0]


def test_errors_of_grpc_are_those_of_the_call(client: Make) -> None:
    def read(exchange: SubjectExchange) -> Any:
        with grpc.insecure_channel(exchange.base_url) as channel, pytest.raises(grpc.RpcError) as error:
            list(chat_pb2_grpc.ChatStub(channel).GetCompletionChunk(chat_pb2.GetCompletionsRequest()))
        return {"error": f"{error.value.code().name}: {error.value.details()}"}

    ended = b'{"code": "UNAVAILABLE", "details": "at capacity"}'
    busy = SubjectExchange(wire="xai.grpc", provider="xai", stream=True, pieces=[b"", ended], status=503)
    assert client(read).read(busy) == {"error": "UNAVAILABLE: at capacity"}


# What goes wrong


def fetches(path: str, body: Any = None) -> Callable[[SubjectExchange], Any]:
    """Return a reader that requests a path below its host, in which BASE is that of its base URL."""

    def read(exchange: SubjectExchange) -> Any:
        url = urlsplit(exchange.base_url)
        post(f"http://{url.netloc}{path.replace('BASE', url.path)}", body)
        return {"calls": []}

    return read


def wrong_method(exchange: SubjectExchange) -> Any:
    with (
        pytest.raises(urllib.error.HTTPError) as error,
        urllib.request.urlopen(exchange.base_url + "/chat/completions"),
    ):
        pass
    error.value.close()
    return {"calls": []}


def raises(exchange: SubjectExchange) -> Any:
    raise ConnectionError("no way there")


#: A reader that fetches no response -> the reason of the failure.
UNFETCHED: list[tuple[Callable[[SubjectExchange], Any], str]] = [
    (lambda exchange: {"calls": []}, "the subject sent no request"),
    (lambda exchange: {"error": "no client"}, "the subject sent no request; its error: no client"),
    (raises, "the subject sent no request; its error: ConnectionError: no way there"),
    (
        fetches("BASE/completions"),
        "the subject fetched no response: POST /q1/v1/completions: only POST …/chat/completions is served",
    ),
    (wrong_method, "the subject fetched no response: GET /q1/v1/chat/completions: only POST"),
    (
        fetches("BASE/chat/completions", {"stream": True}),
        "the request asks for a streamed response, but the case has a plain one",
    ),
    (fetches("/q0/v1/chat/completions"), "POST /q0/v1/chat/completions: this is not the base_url of this case"),
]


def test_a_response_that_was_not_fetched_is_a_failure_with_its_reason(client: Make) -> None:
    for read, reason in UNFETCHED:
        with pytest.raises(InvalidAnswer) as error:
            client(read).read(PLAIN)
        assert reason in str(error.value)
    (verdict,) = Judge(client(raises), twice=False).result(Case("single-call", "openai.chat", "plain", "all")).verdicts
    assert (verdict.outcome, verdict.check) == ("fail", "conservation")


def test_too_many_requests_and_one_that_is_too_large_are_reported(
    client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = f"the subject fetched the response \\({MOST_REQUESTS} requests\\), and then too many"
    with pytest.raises(InvalidAnswer, match=fetched):
        client(lambda exchange: [fetch(exchange) for _ in range(MOST_REQUESTS + 1)]).read(PLAIN)
    monkeypatch.setattr(loopback, "_LARGEST", 1 << 20)
    with pytest.raises(InvalidAnswer, match="the request has more than"):
        client(lambda exchange: {"calls": [], "text": str(fetch(exchange, "x" * (2 << 20)))}).read(PLAIN)


def test_a_client_that_closes_its_connection_within_a_response_does_not_disturb_the_next(
    client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    def leave(exchange: SubjectExchange) -> Any:
        with sent(exchange) as connection:
            connection.recv(1)
        return {"calls": []}

    subject, long = client(leave), replace(STREAM, pieces=[b": comment\n\n"] * 100_000)
    assert subject.read(long) == subject.read(long) == {"calls": []}
    subject.close()
    assert caplog.records == []
