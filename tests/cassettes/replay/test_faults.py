"""Faults that requests order, over HTTP: what arrives on the socket."""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from urllib.parse import urlsplit

import anthropic
import openai
import pytest

from toolparity.cassettes.errors import InvalidFault
from toolparity.cassettes.replay.faults import parse
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.surfaces import SURFACES

from .conftest import Server, answer_body, running, sent_body

pytestmark = pytest.mark.service("cassettes/replay", "cassettes/emulated")

CHAT = "/v1/chat/completions"


def raw(server: Server, fault: str, body: bytes, path: str = CHAT, wait: float = 10) -> tuple[bytes, str]:
    """Send a request over a plain socket. Return what arrives, and how it ends: eof, reset or open."""
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=wait) as connection:
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\nx-toolparity-fault: {fault}\r\ncontent-length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        arrived = b""
        try:
            while data := connection.recv(65536):
                arrived += data
                if arrived.endswith(b"0\r\n\r\n"):
                    return arrived, "complete"
        except ConnectionResetError:
            return arrived, "reset"
        except TimeoutError:
            return arrived, "open"
        return arrived, "eof"


def content(arrived: bytes) -> bytes:
    return arrived.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("surface", [name for name, at in SURFACES.items() if not at.by_messages])
def test_status_is_the_providers_own_error(server: Server, surface: str) -> None:
    at = SURFACES[surface]
    path = at.base_path + at.spec.path.replace("{model}", at.model)
    for status in (400, 401, 404, 429, 500, 503, 529):
        answer = server.post(path, sent_body(surface, False), x_toolparity_fault=f"status={status}; retry-after=7")
        assert answer.status == status
        assert answer.headers["retry-after"] == "7"
        assert answer.headers["x-toolparity-origin"] == "emulated"
        assert {"error", "message"} & answer.json.keys(), status


def test_the_sdks_raise_the_class_of_the_status(server: Server) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/fault/status=429;retry-after=2/v1", api_key="any", max_retries=0)
    with pytest.raises(openai.RateLimitError) as refused:
        client.chat.completions.create(**json.loads(sent_body("openai.chat", False)))
    assert refused.value.response.headers["retry-after"] == "2"
    overloaded = anthropic.Anthropic(base_url=f"{server.url}/fault/status=529", api_key="any", max_retries=0)
    with pytest.raises(anthropic.APIStatusError) as error:
        overloaded.messages.create(**json.loads(sent_body("anthropic.messages", False)))
    assert error.value.status_code == 529


def test_a_fault_for_a_number_of_times_lets_the_retry_succeed(server: Server) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/fault/reset;times=2/v1", api_key="any", max_retries=2)
    body = json.loads(sent_body("openai.chat", False))
    assert client.chat.completions.create(**body).choices[0].message.tool_calls
    assert [entry.status for entry in server.journal.entries] == [200, None, None]


def test_html_is_the_page_of_a_gateway(server: Server) -> None:
    answer = server.post(CHAT, sent_body("openai.chat", False), x_toolparity_fault="html=503")
    assert (answer.status, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert b"<h1>503 Service Unavailable</h1>" in answer.body


@pytest.mark.parametrize("stream", [False, True])
def test_empty_is_a_success_without_a_body(server: Server, stream: bool) -> None:
    answer = server.post(CHAT, sent_body("openai.chat", stream), x_toolparity_fault="empty")
    assert (answer.status, answer.body) == (200, b"")


def test_malformed_damages_one_byte_of_one_event(server: Server) -> None:
    answer = server.post(CHAT, sent_body("openai.chat", True), x_toolparity_fault="malformed=3")
    whole = answer_body("openai.chat", True)
    different = [at for at, (one, other) in enumerate(zip(answer.body, whole, strict=True)) if one != other]
    assert len(different) == 1
    assert whole[: different[0]].count(b"\n\n") == 2
    with pytest.raises(json.JSONDecodeError):
        json.loads(answer.body.split(b"\n\n")[2].removeprefix(b"data: "))


@pytest.mark.parametrize("stream", [False, True])
def test_a_broken_transfer_ends_after_the_bytes(server: Server, stream: bool) -> None:
    body, whole = sent_body("openai.chat", stream), answer_body("openai.chat", stream)
    for fault, end in (("cut=40", "eof"), ("reset=40", "reset"), ("hang=40", "open")):
        arrived, ended = raw(server, fault, body, wait=1.5)
        assert ended == end
        assert (b"28\r\n" + whole[:40] in content(arrived)) if stream else content(arrived) == whole[:40]
        assert not arrived.endswith(b"0\r\n\r\n")
    arrived, ended = raw(server, "end=40", body)
    assert ended == "complete"
    assert content(arrived) == b"28\r\n" + whole[:40] + b"\r\n0\r\n\r\n"
    for fault, end in (("reset", "reset"), ("hang", "open")):
        assert raw(server, fault, body, wait=1) == (b"", end)


def test_an_invalid_fault_is_refused(server: Server) -> None:
    for text, message in {
        "bogus": "unknown fault: 'bogus' (one of status, html",
        "status": "the fault status needs a value: status=N",
        "status=99": "must be a number from 400 to 599, got '99'",
        "cut=nan": "must be a number from 0",
        "cut=1.5": "must be a whole number",
        "cut=1;reset=2": "a fault has one failure: got cut and reset",
        "cut=1;cut=2": "the option cut is duplicated",
        ";": "the fault is empty",
    }.items():
        with pytest.raises(InvalidFault, match=re.escape(message)) as error:
            parse(text)
        answer = server.post(CHAT, sent_body("openai.chat", False), x_toolparity_fault=text)
        assert (answer.status, answer.json["error"]["message"]) == (400, str(error.value))


def test_the_server_takes_further_requests_after_every_fault(server: Server) -> None:
    body = sent_body("openai.chat", True)
    for name in ("status=500", "html", "empty", "malformed", "end=9", "cut=9", "reset=9", "hang=9"):
        raw(server, name, body, wait=0.3)
    assert server.post(CHAT, body).body == answer_body("openai.chat", True)


def test_delays_wait_before_the_response_and_between_its_pieces(server: Server) -> None:
    body = sent_body("openai.chat", True)
    for fault, least in (("delay=0.4", 0.4), ("slow=0.02", 0.02 * answer_body("openai.chat", True).count(b"\n\n"))):
        begun = time.monotonic()
        assert server.post(CHAT, body, x_toolparity_fault=fault).body == answer_body("openai.chat", True)
        assert time.monotonic() - begun >= least


def test_a_fault_of_the_server_is_that_of_requests_that_order_none(index: ResponseIndex) -> None:
    body = sent_body("openai.chat", False)
    with running(index, fault=parse("status=503")) as server:
        assert server.post(CHAT, body).status == 503
        assert server.post(CHAT, body, x_toolparity_fault="status=500").status == 500


def test_scenario_and_fault_are_prefixes_in_any_order(server: Server) -> None:
    body = b'{"model": "m", "messages": [{"role": "user", "content": "any words"}]}'
    for prefix in ("/scenario/text-only/fault/cut=9", "/fault/cut=9/scenario/text-only"):
        with pytest.raises(http.client.IncompleteRead) as broken:
            server.post(f"{prefix}{CHAT}", body)
        assert broken.value.partial == answer_body("openai.chat", False, "text-only")[:9]


@pytest.mark.parametrize(
    "path", ["/", "/v1/unknown", "/v1/models", "/v1beta/models", "/api/tags", "/foundation-models"]
)
def test_faults_apply_to_the_page_and_to_unknown_addresses(server: Server, path: str) -> None:
    usual = server.request("GET", path)
    answer = server.request("GET", path, x_toolparity_fault="status=429; retry-after=2")
    assert (answer.status, answer.headers["retry-after"]) == (429, "2")
    assert server.request("GET", path, x_toolparity_fault="empty").body == b""
    damaged = server.request("GET", path, x_toolparity_fault="malformed=1")
    assert len(damaged.body) == len(usual.body) or path == "/"  # the page lists the last request
    with pytest.raises(json.JSONDecodeError):
        _ = damaged.json
    page = server.request("GET", "/fault/html=503" + path)
    assert (page.status, page.body[:5]) == (503, b"<html")
    assert server.request("GET", path, x_toolparity_fault="delay=0").json


def test_the_page_stays_readable_if_the_server_has_a_fault_for_every_request(index: ResponseIndex) -> None:
    with running(index, fault=parse("status=500")) as server:
        assert server.request("GET", "/v1/unknown").status == 500
        assert "requests" in server.request("GET", "/").json
