"""Clean traffic passes both, byte for byte: nothing that replay needs is taken for a secret."""

from __future__ import annotations

import base64
import json
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import answer, cassette, chat_stream, grpc_body, pieces, response_body, sse
from tests.cassettes.secrets.fakes import ALNUM, HEX, letters, uuid
from tests.normalizer.recorded.rows import files
from tests.support.thoroughness import is_thorough
from toolparity import normalize
from toolparity.cassettes.secrets import Scrubber, scan
from toolparity.cassettes.sources import Exchange, read
from toolparity.normalizer.errors import ToolparityError

EXAMPLES = Path(__file__).resolve().parents[3] / "cassettes" / "examples"

#: Ids that replay needs, and other things that look random or secret and are neither.
INNOCENT = {
    "chat-completion-id": "chatcmpl-" + letters(29),
    "anthropic-message-id": "msg_01" + letters(22),
    "response-id": "resp_" + letters(48, HEX),
    "tool-use-id": "toolu_01" + letters(22),
    "server-tool-use-id": "srvtoolu_01" + letters(22),
    "call-id": "call_" + letters(24),
    "item-id": "fc_" + letters(48, HEX),
    "reasoning-item-id": "rs_" + letters(48, HEX),
    "file-id": "file-" + letters(24),
    "container-id": "cntr_" + letters(48, HEX),
    "fingerprint": "fp_" + letters(10, HEX),
    "uuid": uuid(),
    "sha-1": letters(40, HEX),
    "sha-256": letters(64, HEX),
    "fernet-token": "gAAAAAB" + letters(300, ALNUM + "-_") + "==",
    "package-at-version": "left-pad@1.3.0",
    "decorator": "@app.route('/x') and a@b",
    "reserved-address": "someone@example.com, me@mail.example.org, x@y.test",
    "nobodys-address": "git@" + "github.com:a/b.git",
    "words-with-prefix": "sk-learn-estimator-pipeline and task-sk-whatever",
    "placeholder-by-hand": '{"api_key": "<your-api-key>", "password": "${PASSWORD}", "token": "xxxxxxxxxxxx"}',
    "schema": '{"properties": {"password": {"type": "string"}, "api_key": {"description": "The key"}}}',
    "bearer-words": "send a Bearer token, or Basic authentication; bearer <token>",
    "masked-text": "**bold** and a***b",
    "url": "https://host.com/a?token=abc&key=name&page=2#x@y",
    "logprobs": '{"token": "Authorization", "logprob": -0.1}',
    "windows-path": "C:\\new\\test\\users",
}


@pytest.mark.parametrize("shape", ["plain", "streamed"])
def test_harmless_text_stays(shape: str) -> None:
    for text in INNOCENT.values():
        whole = f"It says {text} there"
        body = answer(whole) if shape == "plain" else chat_stream(pieces(whole, 5))
        given = cassette(response=body, request=json.dumps({"input": text}).encode())
        scrubber = Scrubber({})
        clean = scrubber.cassette(given)
        assert (response_body(clean), clean["requests"][0].body) == (body, given["requests"][0].body)
        assert scrubber.report.total == 0, text
        assert scan(given, {}) == [], text


SEALED = ["signature", "encrypted_content", "thoughtSignature", "thought_signature", "encrypted_index", "data"]


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("name", SEALED)
@pytest.mark.parametrize("alphabet", [ALNUM + "+/", ALNUM + "-_"], ids=["base64", "base64url"])
def test_sealed_data_is_not_damaged(name: str, alphabet: str) -> None:
    blocks = [{"type": "thinking", name: letters(4000, alphabet, (name, at)) + "=="} for at in range(40)]
    body = json.dumps({"content": blocks}).encode()
    streamed = sse({"delta": {name: piece}} for block in blocks[:4] for piece in pieces(block[name], 97))
    for each in (body, streamed):
        assert Scrubber({}).body(each) == each
        assert scan(cassette(response=each), {}) == []


def test_protobuf_messages_are_not_damaged() -> None:
    call = {"id": "call_1", "function": {"name": "get_weather", "arguments": '{"city": "Lisbon"}'}}
    chunks = [
        chat.GetChatCompletionChunk(
            id=uuid(), outputs=[{"index": at % 2, "delta": {"content": piece, "encrypted_content": letters(88)}}]
        )
        for at, piece in enumerate(pieces("Nothing but an answer, in pieces, to a question.", 3))
    ]
    body = grpc_body([*chunks, chat.GetChatCompletionChunk(outputs=[{"delta": {"tool_calls": [call]}}])])
    assert Scrubber({}).body(body) == body
    assert scan(cassette(response=body), {}) == []


def test_headers_that_replay_needs_stay_as_they_are() -> None:
    needed = {
        "Content-Type": ["text/event-stream; charset=utf-8"],
        "transfer-encoding": ["chunked"],
        "retry-after": ["20"],
        "retry-after-ms": ["20000"],
        "x-should-retry": ["true"],
        "x-ratelimit-remaining-tokens": ["149984"],
        "anthropic-ratelimit-tokens-reset": ["2026-01-01T00:00:00Z"],
        "openai-version": ["2020-10-01"],
        "grpc-status": ["0"],
    }
    given = cassette(headers=needed, request_headers={"anthropic-version": "2023-06-01", "anthropic-beta": "x-2025"})
    clean = Scrubber({}).cassette(given)
    assert clean["responses"][0]["headers"] == given["responses"][0]["headers"]
    assert dict(clean["requests"][0].headers) == dict(given["requests"][0].headers)
    assert scan(clean, {}) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_pass_unchanged(path: Path) -> None:
    given: dict[str, Any] = yaml.safe_load(path.read_text())
    scrubber = Scrubber({})
    assert scrubber.cassette(given) == given
    assert scrubber.report.total == 0
    assert scan(given, {}) == []


#: What the scanner reports in recordings because it is there: ids of requests and accounts, addresses, cut keys.
PERSONAL = {"account or request id", "e-mail address", "masked key"}


def _as_cassette(exchange: Exchange) -> dict[str, Any]:
    if exchange.frames is not None:
        entries = [{"serialized": base64.b64encode(frame).decode()} for frame in exchange.frames]
        body = json.dumps({"messages": entries}).encode()
    else:
        body = exchange.body or b""
    return cassette(response=body, request=json.dumps(exchange.request).encode())


@pytest.mark.parametrize(
    ("wire", "step"), [("openai.chat", 40), ("openai.responses", 20), ("anthropic.messages", 20), ("xai.grpc", 2)]
)
def test_recorded_traffic_keeps_its_meaning_and_raises_no_false_alarm(recordings: Path, wire: str, step: int) -> None:
    """A part of the exchanges: what is scrubbed keeps its length and its calls, and what is left is clean."""
    alarms = []
    seen = 0
    step *= 1 if is_thorough() else 6
    for number, found in enumerate(chain(*map(read, files(recordings, wire)))):
        if (
            number % (step if is_thorough() else 6 * step)
            or not isinstance(found, Exchange)
            or len(found.body or b"") > 400_000
        ):
            continue
        seen += 1
        given = _as_cassette(found)
        alarms += [(found.source, leak) for leak in scan(given, {}) if leak.kind not in PERSONAL]
        scrubber = Scrubber({})
        clean = scrubber.cassette(given)
        assert scan(clean, {}) == [], found.source
        before, after = response_body(given), response_body(clean)
        assert len(before) == len(after), found.source
        assert (before == after) or scrubber.report.total, found.source
        if found.frames is None and before != after:
            assert _skeleton(before, found.wire) == _skeleton(after, found.wire), found.source
    assert seen > (10 if is_thorough() else 0)
    assert alarms == []


def _skeleton(body: bytes, wire: str | None) -> Any:
    """The canonical response, every text by its length alone: scrubbing changes letters, and nothing else."""
    try:
        response = msgspec.to_builtins(normalize(body, wire=wire))
    except ToolparityError as error:
        return type(error)
    return _lengths(response)


def _lengths(value: Any) -> Any:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return {key: _lengths(member) for key, member in value.items()}
    return [_lengths(item) for item in value] if isinstance(value, list) else value
