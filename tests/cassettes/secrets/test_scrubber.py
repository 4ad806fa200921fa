"""The scrubber in vcrpy's hands, and what it promises of its placeholders."""

from __future__ import annotations

import base64
import gzip
import http.server
import json
import threading
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import vcr
from google.protobuf.json_format import ParseDict
from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import answer, cassette, chat_stream, grpc_body, pieces, response_body
from tests.cassettes.secrets.fakes import FORMS, env_key, fake, letters
from toolparity.cassettes.secrets import Scrubber, scan
from toolparity.turns.secrets.placeholder import is_placeholder, placeholder


class _Echo(http.server.BaseHTTPRequestHandler):
    """Returns everything it was sent, as a careless server might."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        body_data = json.dumps({"key": self.headers["authorization"], "asked": body.decode()}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body_data)))
        self.send_header("set-cookie", f"session={letters(30)}")
        self.end_headers()
        self.wfile.write(body_data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def _ask(url: str, key: str, text: str) -> bytes:
    request = urllib.request.Request(
        f"{url}/v1/chat?api_key={key}",
        json.dumps({"input": text}).encode(),
        {"authorization": f"Bearer {key}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        body: bytes = response.read()
    return body


def test_vcrpy_writes_nothing_of_a_key_without_form_and_replays_the_request_that_carries_it(
    server: str, tmp_path: Path
) -> None:
    key = env_key("vcr")
    path = tmp_path / "a.yaml"

    def play(mode: str) -> bytes:
        scrubber = Scrubber({})
        recorder = vcr.VCR(
            before_record_request=scrubber.before_record_request,
            before_record_response=scrubber.before_record_response,
            match_on=("method", "uri", "body"),
        )
        with recorder.use_cassette(path, record_mode=mode):
            return _ask(server, key, f"I am {fake('e-mail')}, key {key}")

    assert key in play("once").decode()  # who asked gets the real answer
    text = path.read_text()
    assert key not in text
    assert fake("e-mail") not in text
    assert base64.b64encode(key.encode()).decode()[:20] not in text
    replayed = json.loads(play("none"))
    assert key not in str(replayed)
    assert json.loads(replayed["asked"])["input"].startswith("I am RE")


def test_a_placeholder_is_as_long_and_harmless() -> None:
    for secret in map(fake, FORMS):
        replacement = placeholder(secret)
        assert len(replacement) == len(secret)
        assert is_placeholder(replacement)
        assert not is_placeholder(secret)
        assert scan(cassette(response=answer(replacement)), {}) == [], secret


def test_the_same_secret_has_the_same_placeholder_in_the_request_the_answer_and_the_next_cassette() -> None:
    secret, other = fake("e-mail", 1), fake("e-mail", 2)
    bodies = []
    for texts in ([secret, other], [other, secret]):
        request = json.dumps({"input": texts[0]}).encode()
        clean = Scrubber({}).cassette(cassette(request=request, response=answer(" ".join([secret, *texts]))))
        content = json.loads(response_body(clean))["choices"][0]["message"]["content"].split()
        bodies.append({secret: content[0], texts[0]: content[1], texts[1]: content[2]})
        assert json.loads(clean["requests"][0].body)["input"] == content[1]
        assert content[0] in content[1:]
    assert bodies[0] == bodies[1]
    assert bodies[0][secret] != bodies[0][other]


def test_a_private_key_keeps_its_lines_and_nothing_else() -> None:
    lines = fake("private-key").split("\n")
    text = json.loads(Scrubber({}).body(answer("\n".join(lines))))["choices"][0]["message"]["content"]
    assert [len(line) for line in text.split("\n")] == [len(line) for line in lines]
    assert not any(line in text for line in lines)


def test_the_report_lists_kinds_and_numbers() -> None:
    scrubber = Scrubber({})
    assert str(scrubber.report) == "nothing"
    scrubber.body(answer(f"{fake('openai', 1)} {fake('openai', 2)} {fake('e-mail')}"))
    assert scrubber.report.counts == {"key": 2, "e-mail address": 1}
    assert str(scrubber.report) == "e-mail address: 1, key: 2"


def test_pieces_of_a_stream_keep_their_lengths() -> None:
    parts = pieces(f"It is {fake('openai')}!", 7)
    clean = Scrubber({}).body(chat_stream(parts))
    events = [json.loads(line[6:]) for line in clean.decode().splitlines() if line.startswith("data: {")]
    content = [event["choices"][0]["delta"]["content"] for event in events]
    assert [len(piece) for piece in content] == [len(piece) for piece in parts]
    assert "".join(content) == f"It is {placeholder(fake('openai'))}!"


@pytest.mark.parametrize("size", [3, 60], ids=["small pieces", "a piece that looks whole"])
@pytest.mark.parametrize("readable", [True, False])
def test_grpc_messages_are_scrubbed_in_both_halves_or_by_their_fields(size: int, readable: bool) -> None:
    key = f"It is {fake('xai')}!"
    address = f"Or {fake('e-mail')} and {fake('e-mail')}.".ljust(len(key))
    chunks = [
        chat.GetChatCompletionChunk(
            outputs=[{"index": at, "delta": {"content": part}} for at, part in enumerate(parts[: 1 + readable])]
        )
        for parts in zip(pieces(key, size), pieces(address, size), strict=True)
    ]
    body = json.loads(grpc_body(chunks))
    if not readable:
        for entry in body["messages"]:
            del entry["message"]
    texts = ["", ""]
    clean = json.loads(Scrubber({}).body(json.dumps(body).encode()))
    for entry, chunk in zip(clean["messages"], chunks, strict=True):
        exact = chat.GetChatCompletionChunk.FromString(base64.b64decode(entry["serialized"]))
        assert exact.ByteSize() == chunk.ByteSize()
        assert not readable or exact == ParseDict(entry["message"], chat.GetChatCompletionChunk())
        for output in exact.outputs:
            texts[output.index] += output.delta.content
    hidden = placeholder(fake("e-mail"))
    assert texts[0] == f"It is {placeholder(fake('xai'))}!"
    assert not readable or texts[1].rstrip() == f"Or {hidden} and {hidden}."


def test_a_packed_body_keeps_its_length_where_gzip_allows_it() -> None:
    body = gzip.compress(answer(f"{fake('openai')} {letters(200)}"))
    headers = {"content-encoding": ["gzip"], "content-length": [str(len(body))]}
    clean = Scrubber({}).cassette(cassette(response=body, headers=headers))
    changed = response_body(clean)
    assert len(changed) == len(body)
    assert fake("openai").encode() not in gzip.decompress(changed)
    assert clean["responses"][0]["headers"]["content-length"] == [str(len(changed))]


def test_content_length_follows_a_body_that_could_not_keep_its_own() -> None:
    body = zlib.compress(answer(f"{fake('openai')} {letters(200)}"))
    headers = {"content-encoding": ["deflate"], "content-length": [str(len(body))]}
    clean = Scrubber({}).cassette(cassette(response=body, headers=headers))
    assert clean["responses"][0]["headers"]["content-length"] == [str(len(response_body(clean)))]
    assert response_body(clean) != body


def test_headers_that_are_not_on_the_list_are_dropped() -> None:
    for name in ("Authorization", "X-Unheard-Of", "Date", "CF-RAY", "User-Agent", "X-Stainless-OS"):
        scrubber = Scrubber({})
        assert scrubber.headers({name: ["a"], "Content-Type": ["text/plain"]}) == {"Content-Type": ["text/plain"]}
        assert scrubber.report.counts == {"header": 1}
    assert Scrubber({}, keep_headers=["Date"]).headers({"date": ["now"]}) == {"date": ["now"]}


def test_the_process_environment_is_searched_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    key = env_key("process")
    monkeypatch.setenv("UNHEARD_OF_API_KEY", key)
    assert key.encode() not in Scrubber().body(answer(key))
    assert key.encode() in Scrubber({}).body(answer(key))
    assert [leak.kind for leak in scan(cassette(response=answer(key)))] == ["value of UNHEARD_OF_API_KEY"]


#: Variables whose values are not secrets.
SETTINGS = {
    "SSH_AUTH_SOCK": "/tmp/ssh-x7/agent.12",
    "AUTH_METHOD": "password",
    "TOKENIZERS_PARALLELISM": "false",
    "API_KEY": "short1",
    "PRIVATE_MODE": "1111111111",
    "EDITOR": "a-very-long-editor-name-1",
    "AUTHOR": "j4ne-d0e-the-third",
    "GIT_AUTHOR_NAME": "Jane Doe 3rd",
    "GIT_CONFIG_KEY_0": "http.https://github.com/.extraheader",
    "TOKENIZER": "cl100k_base_2024",
    "KEYBOARD_LAYOUT": "de-nodeadkeys-105",
    "AUTH_BASE_URL": "https://api.anthropic.com",
    "AUTH_ENDPOINT": "https://login.acme.com/realms/main/protocol",
    "TOKEN_HOST": "login2.acme.com:8443",
    "AUTH_MODEL": "claude-haiku-4-5",
    "AUTH_REALM": "the realm of all our staff",
}


def test_harmless_settings_are_not_searched_for() -> None:
    for name, value in SETTINGS.items():
        body = answer(f"the value {value} is here")
        assert Scrubber({name: value}).body(body) == body, name
        assert scan(cassette(response=body), {name: value}) == [], name


def test_variables_named_as_secrets_in_any_form_are_searched_for() -> None:
    key = env_key("named")
    names = ["OPENAI_APIKEY", "PGPASSWORD", "MY_TOKEN_2", "GIT_TOKEN", "npm_config_authToken", "DB_PASS", "KEY1"]
    for name in [*names, "REDISCLI_AUTH"]:
        assert key.encode() not in Scrubber({name: key}).body(answer(f"it is {key}"))
        assert [leak.kind for leak in scan(cassette(response=answer(key)), {name: key})] == [f"value of {name}"]


def test_the_password_of_an_address_is_searched_for_whatever_its_variable_is_called() -> None:
    password = env_key("database")
    environ = {"DATABASE_URL": f"postgres://app:{password}@db.acme.com/x"}
    assert password.encode() not in Scrubber(environ).body(answer(f"it is {password}"))
    assert [leak.kind for leak in scan(cassette(response=answer(password)), environ)] == ["value of DATABASE_URL"]


def test_the_host_that_is_asked_survives_even_where_it_is_a_key() -> None:
    """Replay would not find it otherwise; the scanner refuses it instead."""
    key = env_key("host").lower()
    given = cassette(url=f"https://{key}:443/v1/{key}")
    clean = Scrubber({"APP_KEY": key}).cassette(given)
    assert clean["requests"][0].uri == f"https://{key}:443/v1/{placeholder(key)}"
    assert [leak.part for leak in scan(clean, {"APP_KEY": key})] == ["request.uri"]


def test_the_file_form_of_a_cassette_is_scrubbed_as_well() -> None:
    headers = {"authorization": [f"Bearer {fake('openai')}"], "accept": ["*/*"]}
    uri, asked = f"https://h/?key={fake('google')}", json.dumps({"input": fake("e-mail")})
    body = {"base64_string": base64.b64encode(answer(fake("openai"))).decode()}
    interaction: dict[str, Any] = {
        "request": {"method": "POST", "uri": uri, "headers": headers, "body": asked},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": body},
    }
    clean = Scrubber({}).cassette({"version": 1, "interactions": [interaction]})
    assert not any(fake(form) in json.dumps(clean) for form in ("google", "openai", "e-mail"))
    (changed,) = clean["interactions"]
    assert fake("openai").encode() not in base64.b64decode(changed["response"]["body"]["base64_string"])
    assert changed["request"]["headers"] == {"accept": ["*/*"]}
    assert scan(clean, {}) == []
    assert interaction["request"]["uri"] == uri  # the given one is left alone
