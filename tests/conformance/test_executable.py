"""Programs and clients as subjects: their answers are judged, and one that fails fails its case alone."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import pytest
import xai_sdk
from msgspec.structs import replace
from xai_sdk.chat import user

from tests.support.thoroughness import is_thorough
from toolparity.cassettes.chunking import CHUNKINGS
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import InvalidAnswer, UnknownSubject
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import CallResult, FollowUp, SubjectExchange, loopback, process, subject
from toolparity.conformance.subjects.executable import MOST_FAILURES, PATIENCE, Executable
from toolparity.conformance.subjects.http_client_subject import HttpClientSubject
from toolparity.conformance.subjects.loopback import MOST_REQUESTS

FOLDER = Path(__file__).resolve().parents[2] / "conformance" / "examples"
HELLO = """
import json, sys, time, os, signal
hello = json.loads(sys.stdin.readline())
assert hello == {"op": "hello"}
print(json.dumps({"name": "p", "version": "2", "claims": ["select", "answers"], "wires": ["openai.chat"]}), flush=True)
"""
ASK = SubjectExchange(
    wire="openai.chat", provider="openai", stream=False, pieces=[b'{"choices":[]}'], request={"tools": [1]}
)

Program = Callable[..., Executable]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made: list[Executable] = []

    def make(rest: str, *, timeout: float = 20.0, hello: str = HELLO) -> Executable:
        path = tmp_path / "subject.py"
        path.write_text(hello + rest)
        made.append(Executable([sys.executable, str(path)]))
        made[-1]._timeout = timeout  # a slow machine may take long to start it
        return made[-1]

    yield make  # type: ignore[misc]
    for one in made:
        one.close()


def each_line(answer: str, before: str = "") -> str:
    """Return a program that answers each line with the JSON of an expression."""
    return (
        f"{before}\nfor line in sys.stdin:\n    ask = json.loads(line)\n    print(json.dumps({answer}), flush=True)\n"
    )


def test_a_program_says_hello_and_answers_line_by_line(program: Program) -> None:
    answer = '{"calls": [{"name": ask["wire"], "arguments": ask["tools"]}]}'
    subject = program(each_line(f'{answer} if ask["op"] == "read" else {{"request": [ask["results"], ask["to"]]}}'))
    assert (subject.name, subject.version) == ("p", "2")
    assert ({*subject.claims}, {*(subject.wires or ())}) == ({"select", "answers"}, {"openai.chat"})
    for _ in range(2):
        assert subject.read(ASK) == {"calls": [{"name": "openai.chat", "arguments": [1]}]}
    to = {"to": "anthropic.messages", "provider": "anthropic"}
    request = subject.next_request(FollowUp(exchange=ASK, results=[CallResult("c1", "f", "text")], **to))  # type: ignore[arg-type]
    assert request == [[{"call_id": "c1", "name": "f", "content": "text", "is_error": False}], "anthropic.messages"]


def test_blank_lines_and_carriage_returns_are_not_answers(program: Program) -> None:
    line = r"'\r\n\n' + json.dumps({'calls': []}) + '\r\n\n'"
    subject = program(f"for line in sys.stdin: print({line}, end='', flush=True)")
    assert [subject.read(ASK), subject.read(ASK)] == [{"calls": []}, {"calls": []}]


READ_ONE, WAIT = "sys.stdin.readline(); ", "; time.sleep(60)"
#: What a program does -> the code, and the reason of the failure.
FAILURES = {
    "hangs": ("time.sleep(60)", "no answer within 0.5 s"),
    "exits": (f"{READ_ONE}sys.exit(3)", "ended with code 3"),
    "is killed": (f"{READ_ONE}os.kill(os.getpid(), 9)", "ended with code -9"),
    "prints no JSON": (f"{READ_ONE}print('no json at all', flush=True){WAIT}", "not JSON"),
    "prints a list": (f"{READ_ONE}print('[1, 2]', flush=True){WAIT}", "not a JSON object"),
    "prints bytes that are not text": (
        f"{READ_ONE}sys.stdout.buffer.write(bytes(range(128, 256)) + b'\\n'); sys.stdout.flush()",
        "not JSON",
    ),
    "prints two lines": (f"print('{{}}\\n{{}}', flush=True){WAIT}", "more than one line"),
    "nests without end": (f"{READ_ONE}print('[' * 100_000, flush=True){WAIT}", "nested too deep"),
    "prints a byte at a time": (
        "while True: print(' ', end='', flush=True); time.sleep(0.05)",
        "no answer within 0.5 s",
    ),
    "complains": (f"{READ_ONE}sys.stderr.write('no more'); sys.exit(1)", "no more"),
    "floods standard error": (
        "while True: sys.stderr.write('complaint ' * 10_000)",
        "no answer within 0.5 s; on stderr: .*complaint",
    ),
    "closes its output": (f"{READ_ONE}os.close(1){WAIT}", "closed its output"),
    "ignores SIGTERM": (f"signal.signal(signal.SIGTERM, signal.SIG_IGN){WAIT}", "no answer within 0.5 s"),
    # the child, in another session, holds the pipe open
    "leaves a child": (
        f"os.fork() or (os.setsid(), time.sleep(3), os._exit(0)); {READ_ONE}sys.exit(7)",
        "ended with code 7",
    ),
}


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_program_that_fails_gives_a_bad_answer(program: Program, failure: str) -> None:
    code, reason = FAILURES[failure]
    with pytest.raises(InvalidAnswer, match=reason):
        program(code, timeout=0.5 if "within" in reason else 10).read(ASK)


def test_a_program_that_reads_nothing_or_prints_without_end_does_not_block_the_suite(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MOST_BYTES", 2_000_000)
    with pytest.raises(InvalidAnswer, match="longer than 2,000,000 bytes"):
        program("sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 1_000_000)").read(ASK)
    large = SubjectExchange(wire="openai.chat", provider="openai", stream=False, pieces=[b"x" * 4_000_000])
    with pytest.raises(InvalidAnswer, match=r"no answer within 0.5 s"):
        program("time.sleep(60)", timeout=0.5).read(large)
    bench = Judge(program("time.sleep(60)", timeout=0.3), twice=False)
    (verdict,) = bench.result(Case("single-call", "openai.chat", "plain", "all")).verdicts
    assert (verdict.outcome, verdict.check) == ("fail", "conservation")
    assert "no answer within 0.3 s" in verdict.reason


def test_a_second_line_is_not_the_next_answer(program: Program, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    late = f"; time.sleep(0.1); print(json.dumps({{'calls': ['late']}}), flush=True); open({str(mark)!r}, 'w').close()"
    subject = program(each_line("{'calls': []}").rstrip() + late)
    assert subject.read(ASK) == {"calls": []}
    while not mark.exists():
        time.sleep(0.01)
    with pytest.raises(InvalidAnswer, match="more than one line"):
        subject.read(ASK)


def test_the_processes_that_a_program_started_end_with_it(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    start = f"if (child := os.fork()) == 0: time.sleep(60)\nopen({str(file)!r}, 'w').write(str(child))"
    subject = program(each_line("{'calls': []}", start))
    subject.read(ASK)
    child = int(file.read_text())
    os.kill(child, 0)
    subject.close()
    while _runs(child):
        time.sleep(0.01)


def _runs(process: int) -> bool:
    """Whether a process exists and has not ended: a zombie has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_that_ended_is_started_again_but_not_for_ever(program: Program, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    answer = "{'calls': []} if mark.exists() else mark.touch() or sys.exit(1)"
    subject = program(each_line(answer, f"import pathlib; mark = pathlib.Path({str(mark)!r})"))
    for _ in range(2):
        mark.unlink(missing_ok=True)
        subject._failures = subject._failures and MOST_FAILURES - 1
        with pytest.raises(InvalidAnswer, match="ended with code 1"):
            subject.read(ASK)
        if subject._failures < MOST_FAILURES:
            assert subject.read(ASK) == {"calls": []}
    with pytest.raises(InvalidAnswer, match=f"failed {MOST_FAILURES} times: it is not called again"):
        subject.read(ASK)


def test_a_program_that_fails_several_times_in_a_row_is_not_called_again(program: Program) -> None:
    subject = program("sys.stdin.readline(); sys.exit(1)")
    for _ in range(PATIENCE):
        with pytest.raises(InvalidAnswer, match="ended with code 1"):
            subject.read(ASK)
    with pytest.raises(InvalidAnswer, match="not called again"):
        subject.read(ASK)


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        ({"claims": ["magic"]}, "has unknown claims: magic"),
        ({"claims": [["stream"]]}, "a list of names"),
        ({"wires": "openai.chat"}, "a list of names"),
        ({"input": "telepathy"}, "has an unknown input: 'telepathy'"),
    ],
)
def test_a_program_with_an_invalid_hello_is_refused(program: Program, hello: dict[str, object], reason: str) -> None:
    with pytest.raises(UnknownSubject, match=reason):
        program("", hello=f"input(); print({json.dumps(json.dumps(hello))}, flush=True)")


#: Example -> the scenarios of ordinary responses that it is judged on.
EXAMPLES = {
    "subject.mjs": ("single-call", "parallel-three", "two-rounds", "text-only", "refusal"),
    "subject_client.mjs": ("single-call", "parallel-three", "text-only", "overloaded", "breaks-off"),
}


@pytest.mark.skipif(shutil.which("node") is None, reason="the examples are for Node, which is not installed")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_in_another_language_keeps_the_laws_on_ordinary_responses(name: str) -> None:
    tested: Any = subject(f"exec:node {FOLDER / name}")
    try:
        bench = Judge(tested)
        choice = CaseFilter(EXAMPLES[name], policies=() if is_thorough() or name == "subject.mjs" else ("all",))
        verdicts = [verdict for case in choice.cases() for verdict in bench.result(case).verdicts]
    finally:
        tested.close()
    assert [verdict for verdict in verdicts if verdict.outcome in ("fail", "error")] == []
    assert sum(verdict.outcome == "pass" for verdict in verdicts) > 50


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


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_an_official_sdk_reads_a_response_over_grpc_and_an_error_is_that_of_the_call(client: Make, mode: str) -> None:
    def read(exchange: SubjectExchange) -> Any:
        with xai_sdk.Client(api_key="none", api_host=exchange.base_url, use_insecure_channel=True) as sdk:
            chat = sdk.chat.create(model="m", messages=[user("hello")])
            try:
                found = [chunk.proto for _, chunk in chat.stream()] if exchange.stream else chat.sample().proto
            except grpc.RpcError as error:
                found = f"{error.code().name}: {error.details()}"
        texts.append(str(found))
        return {"calls": []}

    texts: list[str] = []
    Judge(client(read), twice=False).result(Case("single-call", "xai.grpc", mode, "all"))
    assert "get_weather" in texts[0]
    ended = b'{"code": "UNAVAILABLE", "details": "at capacity"}'
    busy = SubjectExchange(wire="xai.grpc", provider="xai", stream=mode == "stream", pieces=[b"", ended], status=503)
    client(read).read(busy)
    assert texts[-1] == "UNAVAILABLE: at capacity"


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


def hangs(exchange: SubjectExchange) -> Any:
    fetch(exchange)
    raise InvalidAnswer("no answer within 2 s")


#: A reader that fetches no response, or fails after it -> the reason of the failure.
UNFETCHED: list[tuple[Callable[[SubjectExchange], Any], str]] = [
    (lambda exchange: {"calls": []}, "the subject sent no request"),
    (lambda exchange: {"error": "no client"}, "the subject sent no request; its error: no client"),
    (hangs, "no answer within 2 s; the subject fetched the response (1 request)"),
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
