"""What the scanner reports, and what it refuses because it cannot decide."""

from __future__ import annotations

import ast
import base64
import gzip
import json
import zlib
from pathlib import Path

import pytest
from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import answer, anthropic_arguments, cassette, grpc_body, pieces
from tests.cassettes.secrets.fakes import env_key, fake, letters
from toolparity.cassettes.errors import SecretsLeft
from toolparity.cassettes.secrets import refuse, scan, scanner
from toolparity.cassettes.secrets.scanner import decodings
from toolparity.normalizer.errors import ToolparityError

SCANNER = Path(scanner.__file__).parent


def test_a_leak_says_what_and_where_and_shows_next_to_nothing() -> None:
    given = cassette(response=answer(f"the key {fake('openai')}"))
    given["requests"] *= 2
    given["responses"] = [cassette()["responses"][0], given["responses"][0]]
    (leak,) = scan(given, {})
    assert (leak.kind, leak.interaction, leak.part) == ("provider key", 2, "response.body")
    assert leak.path == "choices[0].message.content"
    assert leak.excerpt == f"{fake('openai')[:4]}… ({len(fake('openai'))} characters)"
    assert str(leak).startswith("provider key in interaction 2, response.body at choices[0].message.content: ")


def test_pieces_of_a_stream_are_named_by_their_path() -> None:
    text = json.dumps({"note": fake("openai")})
    (leak,) = scan(cassette(response=anthropic_arguments(pieces(text, 9))), {})
    assert leak.path == "delta.partial_json index 1 put together.note"


def test_the_environment_is_named_and_not_quoted() -> None:
    key = env_key()
    with pytest.raises(SecretsLeft) as caught:
        refuse(cassette(response=answer(key)), environ={"SOME_TOKEN": key})
    assert "value of SOME_TOKEN" in str(caught.value)
    assert key[:7] not in str(caught.value)
    assert isinstance(caught.value, ToolparityError)


def test_many_leaks_are_counted_and_the_first_shown() -> None:
    given = cassette(response=answer(" ".join(fake("openai", seed) for seed in range(9))))
    with pytest.raises(SecretsLeft) as caught:
        refuse(given, environ={})
    assert len(caught.value.leaks) == 9
    assert "and 4 more" in str(caught.value)


def test_clean_traffic_is_not_refused() -> None:
    refuse(cassette(response=answer("Nothing but an answer.")), environ={})


@pytest.mark.parametrize("name", ["authorization", "Cookie", "X-Api-Key", "openai-organization", "x-request-id"])
def test_a_header_is_judged_by_its_name(name: str) -> None:
    (leak,) = [leak for leak in scan(cassette(headers={name: ["anything at all"]}), {}) if leak.kind == "header"]
    assert leak.path == name.lower()


@pytest.mark.parametrize("value", ["REDACTED", "Bearer REDACTED"])
def test_a_masked_header_does_not_count_as_a_secret(value: str) -> None:
    assert scan(cassette(headers={"authorization": [value]}), {}) == []


def test_a_repeated_member_is_read_twice() -> None:
    body = f'{{"a": "{fake("openai")}", "a": "harmless"}}'
    assert [leak.kind for leak in scan(cassette(response=body.encode()), {})] == ["provider key"]


@pytest.mark.parametrize("size", [500, 6], ids=["whole", "in pieces"])
def test_serialized_messages_are_read_without_their_readable_halves(size: int) -> None:
    chunks = [
        chat.GetChatCompletionChunk(id="1", outputs=[{"index": 1, "delta": {"content": part}}])
        for part in pieces(f"It is {fake('xai')}!", size)
    ]
    body = json.loads(grpc_body(chunks))
    for entry in body["messages"]:
        del entry["message"]
    leaks = scan(cassette(response=json.dumps(body).encode()), {})
    assert {(leak.kind, leak.excerpt) for leak in leaks} == {("provider key", "xai-… (84 characters)")}
    place = "messages[0].serialized<base64>" if len(chunks) == 1 else "<protobuf 2.1.1"
    assert any(leak.path.startswith(place) for leak in leaks)


def test_what_cannot_be_unpacked_is_refused() -> None:
    headers = {"content-encoding": ["gzip"]}
    cut = gzip.compress(answer(letters(500)))[:60]
    assert [leak.kind for leak in scan(cassette(response=cut, headers=headers), {})] == ["unreadable"]


def test_what_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decodings, "BUDGET", 100_000)
    packed = base64.b64encode(zlib.compress(bytes(1_000_000))).decode()
    assert [leak.kind for leak in scan(cassette(response=answer(packed)), {})] == ["unreadable"]


@pytest.mark.parametrize("path", sorted(SCANNER.glob("*.py")), ids=lambda path: path.stem)
def test_the_scanner_shares_no_module_with_the_scrubber(path: Path) -> None:
    """Neither code nor patterns: a mistake in the one does not hide in the other."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level <= 1, ast.unparse(node)
            assert not (node.module or "").startswith("toolparity.cassettes.secrets"), ast.unparse(node)


def test_detectors_never_ask_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    import requests

    def refused(*args: object, **kwargs: object) -> None:
        raise AssertionError("a secret was about to be sent away for verification")

    monkeypatch.setattr(requests.Session, "request", refused)
    text = " ".join(fake(form) for form in ("aws", "slack", "stripe", "sendgrid", "github"))
    assert len(scan(cassette(response=answer(text)), {})) >= 5
