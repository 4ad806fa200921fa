"""The scrubber in vcrpy's hands, and what it promises of its placeholders."""

from __future__ import annotations

import base64
import gzip
import http.server
import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import vcr
from google.protobuf.json_format import ParseDict
from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import answer, cassette, chat_stream, grpc_body, pieces, response_body, written
from tests.cassettes.secrets.fakes import FORMS, env_key, fake, letters, private_key
from toolparity.cassettes.secrets import Scrubber, scan
from toolparity.cassettes.secrets.placeholder import is_placeholder, placeholder


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


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_placeholder_is_as_long_and_harmless(form: str) -> None:
    secret = fake(form)
    replacement = placeholder(secret)
    assert len(replacement) == len(secret)
    assert is_placeholder(replacement)
    assert not is_placeholder(secret)
    assert scan(cassette(response=answer(replacement)), {}) == []


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
    clean = Scrubber({}).body(answer(private_key()))
    text = json.loads(clean)["choices"][0]["message"]["content"]
    assert [len(line) for line in text.split("\n")] == [len(line) for line in private_key().split("\n")]
    assert not any(line in text for line in private_key().split("\n"))


def test_pieces_of_a_stream_keep_their_lengths() -> None:
    parts = pieces(f"It is {fake('openai')}!", 7)
    clean = Scrubber({}).body(chat_stream(parts))
    events = [json.loads(line[6:]) for line in clean.decode().splitlines() if line.startswith("data: {")]
    content = [event["choices"][0]["delta"]["content"] for event in events]
    assert [len(piece) for piece in content] == [len(piece) for piece in parts]
    assert "".join(content) == f"It is {placeholder(fake('openai'))}!"


def test_both_halves_of_grpc_messages_say_the_same() -> None:
    text = [f"It is {fake('xai')}!", f"Or {fake('e-mail')}, or the same {fake('e-mail')}."]
    chunks = [
        chat.GetChatCompletionChunk(
            outputs=[{"index": index, "delta": {"content": part}} for index, part in enumerate(parts)]
        )
        for parts in zip(pieces(text[0], 3), pieces(text[1].ljust(len(text[0])), 3), strict=True)
    ]
    clean = json.loads(Scrubber({}).body(grpc_body(chunks)))
    texts = ["", ""]
    for entry, chunk in zip(clean["messages"], chunks, strict=True):
        exact = chat.GetChatCompletionChunk.FromString(base64.b64decode(entry["serialized"]))
        assert exact == ParseDict(entry["message"], chat.GetChatCompletionChunk())
        assert exact.ByteSize() == chunk.ByteSize()
        for output in exact.outputs:
            texts[output.index] += output.delta.content
    assert texts[0] == f"It is {placeholder(fake('xai'))}!"
    assert texts[1].rstrip() == f"Or {placeholder(fake('e-mail'))}, or the same {placeholder(fake('e-mail'))}."


@pytest.mark.parametrize("size", [5, 60], ids=["small pieces", "a piece that looks whole"])
def test_messages_of_an_unknown_type_are_scrubbed_by_their_fields(size: int) -> None:
    parts = pieces(f"It is {fake('xai')}!", size)
    chunks = [chat.GetChatCompletionChunk(outputs=[{"delta": {"content": part}}]) for part in parts]
    body = json.loads(grpc_body(chunks))
    for entry in body["messages"]:
        del entry["message"]
    clean = json.loads(Scrubber({}).body(json.dumps(body).encode()))
    texts = [
        chat.GetChatCompletionChunk.FromString(base64.b64decode(entry["serialized"])).outputs[0].delta.content
        for entry in clean["messages"]
    ]
    assert "".join(texts) == f"It is {placeholder(fake('xai'))}!"


def test_a_packed_body_keeps_its_length_where_gzip_allows_it() -> None:
    body = gzip.compress(answer(f"{fake('openai')} {letters(200)}"))
    headers = {"content-encoding": ["gzip"], "content-length": [str(len(body))]}
    clean = Scrubber({}).cassette(cassette(response=body, headers=headers))
    changed = response_body(clean)
    assert len(changed) == len(body)
    assert fake("openai").encode() not in gzip.decompress(changed)
    assert clean["responses"][0]["headers"]["content-length"] == [str(len(changed))]


def test_content_length_follows_a_body_that_could_not_keep_its_own() -> None:
    import zlib

    body = zlib.compress(answer(f"{fake('openai')} {letters(200)}"))
    headers = {"content-encoding": ["deflate"], "content-length": [str(len(body))]}
    clean = Scrubber({}).cassette(cassette(response=body, headers=headers))
    assert clean["responses"][0]["headers"]["content-length"] == [str(len(response_body(clean)))]
    assert response_body(clean) != body


@pytest.mark.parametrize("name", ["Authorization", "X-Unheard-Of", "Date", "CF-RAY", "User-Agent", "X-Stainless-OS"])
def test_headers_that_are_not_on_the_list_are_dropped(name: str) -> None:
    scrubber = Scrubber({})
    clean = scrubber.headers({name: ["a"], "Content-Type": ["text/plain"]})
    assert clean == {"Content-Type": ["text/plain"]}
    assert scrubber.report.counts == {"header": 1}


def test_the_list_can_be_longer() -> None:
    assert Scrubber({}, keep_headers=["Date"]).headers({"date": ["now"]}) == {"date": ["now"]}


def test_what_a_request_sends_as_its_credential_is_looked_for_in_the_answer() -> None:
    key = env_key("sent")
    given = cassette(request_headers={"authorization": f"Bearer {key}"}, response=answer(f"You sent {key}"))
    scrubber = Scrubber({})
    clean = scrubber.cassette(given)
    assert key not in written(clean)
    assert scrubber.report.counts["credential of the request"] == 1


def test_the_process_environment_is_searched_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    key = env_key("process")
    monkeypatch.setenv("UNHEARD_OF_API_KEY", key)
    assert key.encode() not in Scrubber().body(answer(key))
    assert key.encode() in Scrubber({}).body(answer(key))
    assert [leak.kind for leak in scan(cassette(response=answer(key)))] == ["value of UNHEARD_OF_API_KEY"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSH_AUTH_SOCK", "/tmp/ssh-x7/agent.12"),
        ("AUTH_METHOD", "password"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("API_KEY", "short1"),
        ("PRIVATE_MODE", "1111111111"),
        ("EDITOR", "a-very-long-editor-name-1"),
        ("AUTHOR", "j4ne-d0e-the-third"),
        ("GIT_AUTHOR_NAME", "Jane Doe 3rd"),
        ("GIT_CONFIG_KEY_0", "http.https://github.com/.extraheader"),
        ("TOKENIZER", "cl100k_base_2024"),
        ("KEYBOARD_LAYOUT", "de-nodeadkeys-105"),
        ("AUTH_BASE_URL", "https://api.anthropic.com"),
        ("AUTH_ENDPOINT", "https://login.acme.com/realms/main/protocol"),
        ("TOKEN_HOST", "login2.acme.com:8443"),
        ("AUTH_MODEL", "claude-haiku-4-5"),
        ("AUTH_REALM", "the realm of all our staff"),
    ],
)
def test_harmless_settings_are_not_searched_for(name: str, value: str) -> None:
    body = answer(f"the value {value} stands here")
    assert Scrubber({name: value}).body(body) == body
    assert scan(cassette(response=body), {name: value}) == []


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_APIKEY",
        "PGPASSWORD",
        "MY_TOKEN_2",
        "GIT_TOKEN",
        "npm_config_authToken",
        "DB_PASS",
        "REDISCLI_AUTH",
        "KEY1",
    ],
)
def test_variables_named_as_secrets_in_any_spelling_are_searched_for(name: str) -> None:
    key = env_key("named")
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
    interaction = {
        "request": {
            "method": "POST",
            "uri": f"https://h/?key={fake('google')}",
            "headers": {"authorization": [f"Bearer {fake('openai')}"], "accept": ["*/*"]},
            "body": json.dumps({"input": fake("e-mail")}),
        },
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "body": {"base64_string": base64.b64encode(answer(fake("openai"))).decode()},
        },
    }
    given = {"version": 1, "interactions": [interaction]}
    clean = Scrubber({}).cassette(given)
    text = json.dumps(clean)
    assert not any(fake(form) in text for form in ("google", "openai", "e-mail"))
    assert fake("openai").encode() not in base64.b64decode(
        clean["interactions"][0]["response"]["body"]["base64_string"]
    )
    assert clean["interactions"][0]["request"]["headers"] == {"accept": ["*/*"]}
    assert scan(clean, {}) == []
    assert given["interactions"][0]["request"]["uri"].endswith(fake("google"))  # the given one is left alone


def test_the_report_lists_kinds_and_numbers() -> None:
    scrubber = Scrubber({})
    scrubber.body(answer(f"{fake('openai', 1)} {fake('openai', 2)} {fake('e-mail')}"))
    assert scrubber.report.counts == {"key": 2, "e-mail address": 1}
    assert str(scrubber.report) == "e-mail address: 1, key: 2"
    assert str(Scrubber({}).report) == "nothing"
