"""What the scanner reports, and what it refuses because it cannot decide."""

from __future__ import annotations

import base64
import gzip
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests
from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import answer, anthropic_arguments, cassette, chat_stream, grpc_body, pieces
from tests.cassettes.secrets.fakes import env_key, fake, letters
from toolparity.cassettes.errors import SecretsLeft
from toolparity.cassettes.recorder.vcr import recording
from toolparity.cassettes.secrets import Scrubber, refuse, scan
from toolparity.cassettes.secrets.scanner import decodings, secrets_in
from toolparity.normalizer.errors import ToolparityError


def test_a_leak_says_what_and_where_and_shows_next_to_nothing() -> None:
    given = cassette(response=answer(f"the key {fake('openai')}"))
    given["requests"] *= 2
    given["responses"] = [cassette()["responses"][0], given["responses"][0]]
    (leak,) = scan(given, {})
    assert (leak.kind, leak.interaction, leak.part) == ("key", 2, "response.body")
    assert leak.path == "choices[0].message.content"
    assert leak.excerpt == f"{fake('openai')[:4]}… ({len(fake('openai'))} characters)"
    assert str(leak).startswith("key in interaction 2, response.body at choices[0].message.content: ")


def test_pieces_of_a_stream_are_named_by_their_path() -> None:
    text = json.dumps({"note": fake("openai")})
    (leak,) = scan(cassette(response=anthropic_arguments(pieces(text, 9))), {})
    assert leak.path == "delta.partial_json index 1 put together.note"


def test_serialized_messages_are_read_without_their_readable_halves() -> None:
    for size, place in ((500, "messages[0].serialized<base64>"), (6, "<protobuf 2.1.1")):
        chunks = [
            chat.GetChatCompletionChunk(id="1", outputs=[{"index": 1, "delta": {"content": part}}])
            for part in pieces(f"It is {fake('xai')}!", size)
        ]
        messages = [{"serialized": entry["serialized"]} for entry in json.loads(grpc_body(chunks))["messages"]]
        leaks = scan(cassette(response=json.dumps({"messages": messages}).encode()), {})
        assert {(leak.kind, leak.excerpt) for leak in leaks} == {("xAI key", "xai-… (84 characters)")}
        assert any(leak.path.startswith(place) for leak in leaks)


def test_many_leaks_are_counted_and_the_first_shown() -> None:
    refuse(cassette(response=answer("Nothing but an answer.")), environ={})
    with pytest.raises(SecretsLeft, match="and 4 more") as caught:
        refuse(cassette(response=answer(" ".join(fake("openai", seed) for seed in range(9)))), environ={})
    assert len(caught.value.leaks) == 9


def test_the_environment_is_named_and_not_quoted() -> None:
    key = env_key()
    with pytest.raises(SecretsLeft) as caught:
        refuse(cassette(response=answer(key)), environ={"SOME_TOKEN": key})
    assert "value of SOME_TOKEN" in str(caught.value)
    assert key[:7] not in str(caught.value)
    assert isinstance(caught.value, ToolparityError)


def test_a_header_is_judged_by_its_name_unless_it_is_masked() -> None:
    for name in ("authorization", "Cookie", "X-Api-Key", "openai-organization", "x-request-id"):
        (leak,) = [leak for leak in scan(cassette(headers={name: ["anything at all"]}), {}) if leak.kind == "header"]
        assert leak.path == name.lower()
    for value in ("REDACTED", "Bearer REDACTED"):
        assert scan(cassette(headers={"authorization": [value]}), {}) == []
    harmless = {"set-cookie": "csv=1; Max-Age=63072000; Domain=.h.example", "x-ratelimit-key": "gpt-5.2-chat"}
    harmless |= {"x-mine-token-expiration": "2021-10-22 18:28:46 UTC", "azureml-model-session": "d002-20240220202227"}
    assert scan(cassette(headers=harmless), {}) == []
    scrubber = Scrubber({}, drop_headers=False)
    scrubber.learn("https://h.example/", harmless)
    assert scrubber.headers(harmless) == harmless


def test_a_repeated_member_is_read_twice() -> None:
    body = f'{{"a": "{fake("openai")}", "a": "harmless"}}'
    assert [leak.kind for leak in scan(cassette(response=body.encode()), {})] == ["key"]


def test_what_cannot_be_unpacked_is_refused() -> None:
    headers = {"content-encoding": ["gzip"]}
    cut = gzip.compress(answer(letters(500)))[:60]
    assert [leak.kind for leak in scan(cassette(response=cut, headers=headers), {})] == ["unreadable"]


def test_what_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decodings, "BUDGET", 100_000)
    packed = base64.b64encode(zlib.compress(bytes(1_000_000))).decode()
    assert [leak.kind for leak in scan(cassette(response=answer(packed)), {})] == ["unreadable"]


# What the scrubber does not undo, the scanner refuses; and no name excuses a key


def _wrapped(text: str) -> str:
    packed = base64.b64encode(f"a longer text that comes before it, and then {text}".encode()).decode()
    return "\n".join(packed[at : at + 76] for at in range(0, len(packed), 76))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "hex": lambda key: key.encode().hex(),
    "hex in pairs": lambda key: key.encode().hex(" "),
    "base64 in lines": _wrapped,
    "HTML": lambda key: "".join(f"&#{ord(char)};" for char in key),
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(char):x};" for char in key),
    "unseen letters": lambda key: f"{key[:12]}\u200b{key[12:]}",
}


@pytest.mark.parametrize("form", ["openai", "anthropic", "github"])
def test_an_encoded_key_is_refused(form: str) -> None:
    for name, spell in SPELLINGS.items():
        assert scan(cassette(response=answer(f"see: {spell(fake(form))} there")), {}) != [], name


def test_an_own_key_is_refused_however_it_is_broken() -> None:
    key = env_key()
    for text in (f"{key[:12]}\n{key[12:]}", key.encode().hex(" "), " ".join(key)):
        leaks = scan(cassette(response=answer(f"see {text} there")), {"A_KEY": key})
        assert [leak.kind for leak in leaks] == ["value of A_KEY"]


NAMES = ["data", "signature", "encrypted_content", "page_token", "obfuscation"]


@pytest.mark.parametrize("name", NAMES)
def test_a_key_is_one_under_the_name_of_a_seal_and_in_the_middle_of_it(name: str) -> None:
    for form in ("openai", "anthropic", "xai", "aws", "github", "huggingface"):
        body = json.dumps({"content": [{"type": "thinking", name: fake(form)}]}).encode()
        assert scan(cassette(response=body), {}) != [], form
    body = json.dumps({"type": "thinking", "signature": letters(200) + fake("openai")}).encode()
    assert scan(cassette(response=body), {}) != []


@pytest.mark.parametrize("name", NAMES)
def test_arguments_of_a_call_hold_no_seals(name: str) -> None:
    text = f"key {fake('npm')}"
    for arguments in ({name: text}, {name: base64.b64encode(text.encode()).decode()}):
        chat = {"choices": [{"message": {"tool_calls": [{"function": {"arguments": json.dumps(arguments)}}]}}]}
        anthropic = {"content": [{"type": "tool_use", "name": "f", "input": arguments}]}
        for body in (chat, anthropic):
            assert scan(cassette(response=json.dumps(body).encode()), {}) != []


# What a scrubber leaves of a secret is found with the whole of it; and bodies that no search can read


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
    assert [leak.kind for leak in scan(cassette(response=body), {})] == ["Google key"]
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


@pytest.mark.parametrize("encoding", ["utf-32-le", "cp037"])
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
