"""Subjects that fetch the answer with their own client, from an address on the loopback interface."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anthropic
import grpc
import openai
import pytest
import xai_sdk
from msgspec.structs import replace
from xai_sdk.chat import user
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

from tests.support.thoroughness import is_thorough
from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import InvalidAnswer
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import CallResult, FollowUp, SubjectExchange, claims, loopback
from toolparity.conformance.subjects import subject as found
from toolparity.conformance.subjects.http_client_subject import HttpClientSubject
from toolparity.conformance.subjects.loopback import MOST_REQUESTS
from toolparity.conformance.subjects.reference import Reference

EXAMPLE = Path(__file__).resolve().parents[2] / "conformance" / "examples" / "subject_client.mjs"
BODY = {
    "choices": [
        {
            "finish_reason": "tool_calls",
            "message": {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        }
    ]
}
PLAIN = SubjectExchange(wire="openai.chat", provider="openai", stream=False, pieces=[json.dumps(BODY).encode()])
STREAM = SubjectExchange(
    wire="openai.chat",
    provider="openai",
    stream=True,
    pieces=[b'data: {"choices":[{"delta":{"content":"\xc3', b'\xa4"}}]}\n', b"", b"\n", b"data: [DONE]\n\n"],
)

Make = Callable[[Callable[[SubjectExchange], Any]], HttpClientSubject]


class Client:
    """A subject that reads as it is instructed to."""

    name, version = "client", "1"
    claims = frozenset(("stream",))
    wires = None

    def __init__(self, read: Callable[[SubjectExchange], Any]) -> None:
        self.read = read

    def next_request(self, ask: FollowUp) -> Any:
        return {"body": post(ask.exchange.base_url + "/chat/completions").decode(), "results": len(ask.results)}


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
    """The body of an answer, also of one that is an error."""
    request = urllib.request.Request(url, json.dumps(body or {}).encode(), {"content-type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.read()


def chunks(ask: SubjectExchange) -> list[bytes]:
    """The body of a streamed answer as the network brings it, chunk by chunk."""
    url = urlsplit(ask.base_url)
    body = b'{"stream": true}'
    head = f"POST {url.path}/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\nconnection: close"
    with socket.create_connection((url.hostname, url.port)) as wire:
        wire.sendall(head.encode() + b"\r\n\r\n" + body)
        told = b""
        while some := wire.recv(65_536):
            told += some
    head, _, rest = told.partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head.lower()
    assert b"content-type: text/event-stream\r\n" in head.lower() + b"\r\n"
    made = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        made.append(rest[:length])
        rest = rest[length + 2 :]
    assert made[-1] == b""
    return made[:-1]


# --- what is served --------------------------------------------------------------------------------------------------


def test_the_answer_waits_at_the_address_whatever_is_asked(client: Make) -> None:
    given = client(lambda ask: json.loads(post(ask.base_url + "/chat/completions", {"any": "thing"}))).read(PLAIN)
    assert given == BODY


def test_the_bytes_are_told_by_nothing_else(client: Make) -> None:
    seen: list[SubjectExchange] = []

    def read(ask: SubjectExchange) -> Any:
        seen.append(ask)
        post(ask.base_url + "/chat/completions")
        return {"calls": []}

    client(read).read(PLAIN)
    assert seen[0].pieces == []
    assert seen[0].base_url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("how", sorted(CHUNKINGS))
def test_a_stream_arrives_in_the_pieces_of_the_question(client: Make, how: str) -> None:
    pieces = CHUNKINGS[how](STREAM.body)
    told = client(lambda ask: {"calls": [], "text": [piece.hex() for piece in chunks(ask)]})
    assert told.read(SubjectExchange(wire="openai.chat", provider="openai", stream=True, pieces=pieces))["text"] == [
        piece.hex() for piece in pieces if piece
    ]


def test_an_error_of_the_provider_has_its_status_and_may_be_asked_for_again(client: Make) -> None:
    def read(ask: SubjectExchange) -> Any:
        told = []
        for _ in range(3):
            request = urllib.request.Request(ask.base_url + "/chat/completions", b'{"stream": true}')
            with pytest.raises(urllib.error.HTTPError) as error, urllib.request.urlopen(request):
                pass
            with error.value as answer:
                told.append((answer.code, answer.headers["content-type"], answer.read()))
        assert len(set(told)) == 1
        return {"error": repr(told[0])}

    busy = SubjectExchange(wire="openai.chat", provider="openai", stream=True, pieces=[b'{"error": {}}'], status=429)
    assert client(read).read(busy) == {"error": repr((429, "application/json", b'{"error": {}}'))}


SURFACES = ("openai.chat", "openai.responses", "anthropic.messages", "xai.grpc", "xai.chat")


def ask_openai(ask: SubjectExchange) -> Any:
    with openai.OpenAI(base_url=ask.base_url, api_key="none", max_retries=0) as asked:
        if ask.wire == "openai.chat":
            answer: Any = asked.chat.completions.create(model="m", messages=[], stream=ask.stream)
        else:
            answer = asked.responses.create(model="m", input="", stream=ask.stream)
        return [one.to_json() for one in answer] if ask.stream else answer.to_json()


def ask_anthropic(ask: SubjectExchange) -> Any:
    with anthropic.Anthropic(base_url=ask.base_url, api_key="none", max_retries=0) as asked:
        answer: Any = asked.messages.create(model="m", messages=[], max_tokens=1, stream=ask.stream)
        return [one.to_json() for one in answer] if ask.stream else answer.to_json()


def ask_xai(ask: SubjectExchange) -> Any:
    asked = xai_sdk.Client(api_key="none", api_host=ask.base_url, use_insecure_channel=True)
    try:
        chat = asked.chat.create(model="m", messages=[user("hello")])
        if ask.stream:
            return [str(chunk.proto) for _, chunk in chat.stream()]
        return str(chat.sample().proto)
    finally:
        asked.close()


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("mode", ["plain", "stream"])
@pytest.mark.parametrize("surface", SURFACES)
def test_the_official_sdk_of_each_wire_reads_it(client: Make, surface: str, mode: str) -> None:
    read = ask_xai if surface == "xai.grpc" else ask_anthropic if surface == "anthropic.messages" else ask_openai
    told: list[str] = []

    def fetched(ask: SubjectExchange) -> Any:
        told.append(str(read(ask)))
        return {"calls": []}

    Judge(client(fetched), twice=False).result(Case("single-call", surface, mode, "all"))
    assert "get_weather" in told[0]


def test_errors_of_grpc_are_those_of_the_call(client: Make) -> None:
    def read(ask: SubjectExchange) -> Any:
        with grpc.insecure_channel(ask.base_url) as channel:
            chat = chat_pb2_grpc.ChatStub(channel)
            with pytest.raises(grpc.RpcError) as error:
                list(chat.GetCompletionChunk(chat_pb2.GetCompletionsRequest()))
        return {"error": f"{error.value.code().name}: {error.value.details()}"}

    ended = b'{"code": "UNAVAILABLE", "details": "at capacity"}'
    given = client(read).read(
        SubjectExchange(wire="xai.grpc", provider="xai", stream=True, pieces=[b"", ended], status=503)
    )
    assert given == {"error": "UNAVAILABLE: at capacity"}


ENDS = {"openai.chat": "/chat/completions", "openai.responses": "/responses", "anthropic.messages": "/v1/messages"}


class Fetched(Reference):
    """The reference, behind a client of the standard library."""

    name = "fetched"
    input = "base_url"
    wires = frozenset(("openai.chat", "openai.responses", "anthropic.messages"))

    def read(self, ask: SubjectExchange) -> Any:
        return super().read(self.fetched(ask))

    def next_request(self, ask: FollowUp) -> Any:
        return super().next_request(replace(ask, exchange=self.fetched(ask.exchange)))

    def fetched(self, ask: SubjectExchange) -> SubjectExchange:
        body = post(ask.base_url + ENDS[ask.wire], {"stream": ask.stream})
        return replace(ask, pieces=[body])


@pytest.mark.thorough
def test_a_class_that_claims_an_address_keeps_every_law_through_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "Subject", Fetched, raising=False)
    subject = found(f"{__name__}:Subject")
    try:
        choice = CaseFilter(
            scenarios=("parallel-three", "two-rounds", "overloaded", "breaks-off"), wires=tuple(Fetched.wires)
        )
        verdicts = [one for case in choice.cases() for one in Judge(subject).result(case).verdicts]
    finally:
        subject.close()  # type: ignore[attr-defined]
    assert {one.outcome for one in verdicts} == {"pass"}
    assert {"any-split", "answered", "handoff", "stop"} <= {one.check for one in verdicts}


# --- what goes wrong -------------------------------------------------------------------------------------------------


def wrong_end(ask: SubjectExchange) -> Any:
    post(ask.base_url + "/completions")
    return {"calls": []}


def wrong_method(ask: SubjectExchange) -> Any:
    with pytest.raises(urllib.error.HTTPError) as error, urllib.request.urlopen(ask.base_url + "/chat/completions"):
        pass
    error.value.close()
    return {"calls": []}


def streamed(ask: SubjectExchange) -> Any:
    post(ask.base_url + "/chat/completions", {"stream": True})
    return {"calls": []}


def stale(ask: SubjectExchange) -> Any:
    url = urlsplit(ask.base_url)
    post(f"http://{url.netloc}/q0/v1/chat/completions")
    return {"calls": []}


def raises(ask: SubjectExchange) -> Any:
    raise ConnectionError("no way there")


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize(
    ("read", "told"),
    [
        (lambda ask: {"calls": []}, "the subject sent no request"),
        (lambda ask: {"error": "no client"}, "the subject sent no request; its error: no client"),
        (raises, "the subject sent no request; its error: ConnectionError: no way there"),
        (wrong_end, "the subject fetched no response: POST /q1/v1/completions: only POST …/chat/completions is served"),
        (wrong_method, "the subject fetched no response: GET /q1/v1/chat/completions: only POST"),
        (streamed, "the request asks for a streamed response, but the case has a plain one"),
        (stale, "POST /q0/v1/chat/completions: this is not the base_url of this case"),
    ],
    ids=["none", "none and an error", "raises", "another end", "another method", "another mode", "an old address"],
)
def test_an_answer_that_nobody_fetched_is_no_answer(
    client: Make, read: Callable[[SubjectExchange], Any], told: str
) -> None:
    with pytest.raises(InvalidAnswer) as error:
        client(read).read(PLAIN)
    assert told in str(error.value)
    bench = Judge(client(read), twice=False)
    (verdict,) = bench.result(Case("single-call", "openai.chat", "plain", "all")).verdicts
    assert (verdict.outcome, verdict.check) == ("fail", "conservation")


def test_a_request_too_many_is_told(client: Make) -> None:
    def read(ask: SubjectExchange) -> Any:
        for _ in range(MOST_REQUESTS + 1):
            post(ask.base_url + "/chat/completions")
        return {"calls": []}

    fetched = f"the subject fetched the response \\({MOST_REQUESTS} requests\\), and then too many"
    with pytest.raises(InvalidAnswer, match=fetched):
        client(read).read(PLAIN)


def test_a_request_without_end_is_refused(client: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loopback._LARGEST == 20 << 20
    monkeypatch.setattr(loopback, "_LARGEST", 1 << 20)

    def read(ask: SubjectExchange) -> Any:
        return {"calls": [], "text": post(ask.base_url + "/chat/completions", "x" * (2 << 20)).decode()}

    with pytest.raises(InvalidAnswer, match="the request has more than"):
        client(read).read(PLAIN)


def test_a_program_fetches_its_answers_and_one_that_does_not_is_told_so(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    verdicts = {}
    for kind in ("fetches", "guesses", "hangs"):
        subject = found(f"exec:{sys.executable} {program} {kind}", timeout=2.0 if kind == "hangs" else 20.0)
        try:
            bench = Judge(subject, twice=False)
            verdicts[kind] = bench.result(Case("parallel-three", "openai.chat", "plain", "all")).verdicts
        finally:
            subject.close()  # type: ignore[attr-defined]
    assert {one.outcome for one in verdicts["fetches"]} == {"pass", "unsupported"}
    assert "the subject sent no request" in verdicts["guesses"][0].reason
    assert "no answer within 2 s" in verdicts["hangs"][0].reason
    assert "the subject fetched the response (1 request)" in verdicts["hangs"][0].reason


PROGRAM = """
import json, sys, time, urllib.request

for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "hello":
        given = {"name": "client", "input": "base_url", "wires": ["openai.chat"]}
    else:
        assert "pieces" not in asked
        calls = []
        if sys.argv[1] != "guesses":
            body = json.dumps(asked["request"]).encode()
            with urllib.request.urlopen(asked["base_url"] + "/chat/completions", body) as answer:
                message = json.load(answer)["choices"][0]["message"]
            calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls") or []]
        if sys.argv[1] == "hangs":
            time.sleep(60)
        given = {"calls": calls}
    print(json.dumps(given), flush=True)
"""


def test_a_client_that_goes_away_in_the_midst_of_an_answer_disturbs_nobody(
    client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    long = SubjectExchange(wire="openai.chat", provider="openai", stream=True, pieces=[b": comment\n\n"] * 100_000)

    def leaves(ask: SubjectExchange) -> Any:
        url = urlsplit(ask.base_url)
        with socket.create_connection((url.hostname, url.port)) as wire:
            wire.sendall(f"POST {url.path}/chat/completions HTTP/1.1\r\nhost: x\r\n".encode())
            wire.sendall(b'content-length: 16\r\n\r\n{"stream": true}')
            wire.recv(1)
        return {"calls": []}

    subject = client(leaves)
    assert subject.read(long) == subject.read(long) == {"calls": []}
    subject.close()
    assert caplog.records == []


def test_the_next_request_may_be_made_from_the_answer_fetched_again(client: Make) -> None:
    subject = client(lambda ask: {})
    asked = FollowUp(exchange=PLAIN, results=[CallResult("c", "f", "x")], to="openai.chat", provider="openai")
    assert subject.next_request(asked) == {"body": PLAIN.body.decode(), "results": 1}


def test_whoever_asks_between_the_questions_gets_nothing(client: Make) -> None:
    bases: list[str] = []

    def read(ask: SubjectExchange) -> Any:
        bases.append(ask.base_url)
        post(ask.base_url + "/chat/completions")
        return {"calls": []}

    subject = client(read)
    subject.read(PLAIN)
    assert b"no response is served now" in post(bases[0] + "/chat/completions")


def test_the_servers_end_with_the_subject(client: Make) -> None:
    before = threading.active_count()
    subject = client(lambda ask: json.loads(post(ask.base_url + "/chat/completions")))
    subject.read(PLAIN)
    subject.close()
    assert threading.active_count() == before


def test_there_are_two_ways_to_be_fed() -> None:
    assert claims.INPUTS.keys() == {"pieces", "base_url"}


@pytest.mark.skipif(shutil.which("node") is None, reason="the example is for Node, which is not installed")
def test_the_example_with_a_client_of_its_own_keeps_the_laws_on_ordinary_answers() -> None:
    subject = found(f"exec:node {EXAMPLE}")
    try:
        bench = Judge(subject)
        scenarios = ("single-call", "parallel-three", "text-only", "overloaded", "breaks-off")
        choice = CaseFilter(scenarios, policies=() if is_thorough() else ("all",))
        verdicts = [one for case in choice.cases() for one in bench.result(case).verdicts]
    finally:
        subject.close()  # type: ignore[attr-defined]
    assert [one for one in verdicts if one.outcome in ("fail", "error")] == []
    assert sum(one.outcome == "pass" for one in verdicts) > 50
