"""What a scrubber leaves of a secret is found by who saw the whole of it; and what hides in bodies no one can read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests

from tests.cassettes.secrets.cassettes import answer, cassette, chat_stream, pieces
from tests.cassettes.secrets.fakes import env_key, fake
from toolparity.cassettes.errors import SecretsLeft
from toolparity.cassettes.recorder.vcr import recording
from toolparity.cassettes.secrets import Scrubber, scan
from toolparity.cassettes.secrets.scanner import secrets_in


def _put_together(body: bytes) -> str:
    lines = [line[5:] for line in body.decode().replace("\r", "\n").split("\n") if line.startswith("data: {")]
    return "".join(json.loads(line)["choices"][0]["delta"]["content"] for line in lines)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_pieces_of_a_key_are_one_key_whatever_ends_the_lines(end: bytes) -> None:
    body = chat_stream(pieces(f"it is {fake('openai')} !", 22)).replace(b"\n", end)
    clean = Scrubber({}).body(body)
    assert _put_together(body) == f"it is {fake('openai')} !"
    assert fake("openai")[-20:] not in _put_together(clean)
    assert scan(cassette(response=clean), {}) == []
    assert scan(cassette(response=body), {}) != []


def test_pieces_of_a_key_are_one_key_in_a_stream_that_is_an_array() -> None:
    def joined(body: bytes) -> str:
        return "".join(each["candidates"][0]["content"]["parts"][0]["text"] for each in json.loads(body))

    parts = pieces(f"it is {fake('google')} !", 7)
    body = json.dumps([{"candidates": [{"content": {"parts": [{"text": part}]}}]} for part in parts], indent=1).encode()
    clean = Scrubber({}).body(body)
    assert fake("google") in joined(body)
    assert fake("google")[8:] not in joined(clean)
    assert [leak.kind for leak in scan(cassette(response=body), {})] == ["provider key"]
    assert scan(cassette(response=clean), {}) == []


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b"])
def test_only_ends_of_lines_end_an_event(separator: str) -> None:
    key = env_key()
    events = [{"choices": [{"index": 0, "delta": {"content": part, "x": separator}}]} for part in pieces(key, 9)]
    body = "".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events).encode()
    assert [leak.kind for leak in scan(cassette(response=body), {"A_KEY": key})] == ["value of A_KEY"]


def test_the_rest_of_a_secret_that_was_taken_out_in_part_is_found() -> None:
    key = fake("openai")
    raw = cassette(response=answer(f"it is {key}"))
    before = secrets_in(raw, {})
    assert before == {key}
    for rest in (key[:12] + "R" * (len(key) - 12), key.replace(key[8:20], "REDACTEDabcd"), f"x {key[-16:]} y"):
        half = cassette(response=answer(rest.replace("sk-", "xx-")))
        assert scan(half, {}) == []
        kinds = [leak.kind for leak in scan(half, {}, found_before=before)]
        assert kinds == ([] if rest.startswith(key[:12]) and "R" * 20 in rest else ["rest of a secret"])
    assert scan(Scrubber({}).cassette(raw), {}, found_before=before) == []


def test_the_common_prefix_of_keys_does_not_count_as_a_rest() -> None:
    before = secrets_in(cassette(response=answer(f"it is {fake('anthropic')}")), {})
    assert scan(cassette(response=answer("keys begin with sk-ant-api03- there")), {}, found_before=before) == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037"])
def test_a_body_that_no_search_can_read_is_refused(encoding: str) -> None:
    body = answer(f"it is {fake('openai')}").decode().encode(encoding)
    assert "unreadable" in [leak.kind for leak in scan(cassette(response=body), {})]


def test_data_of_a_known_kind_and_cut_text_pass() -> None:
    png, jpeg = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00"
    texts = ["cut in a letter: é".encode()[:-1], "漢字 and 😀".encode()]
    for body in (png, jpeg, b"RIFF\x24\x00\x00\x00WAVEfmt \xff", *texts):
        assert scan(cassette(response=body), {}) == []


class _Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = answer(f"it is {fake('openai')}")
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        return


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_recording_remembers_responses_before_they_were_scrubbed(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recording({}) as made:
        requests.get(address, timeout=10)
    assert len(made.responses) == 1  # no rest is left
    monkeypatch.setattr(Scrubber, "body", lambda self, body: body.replace(b"sk-proj-", b"REDACTED"))
    with pytest.raises(SecretsLeft, match="rest of a secret"), recording({}):
        requests.get(address, timeout=10)
