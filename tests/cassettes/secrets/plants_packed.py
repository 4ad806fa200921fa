"""Secrets that are packed, encoded or broken into pieces; keys that only the environment knows."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from typing import Any
from urllib.parse import quote, unquote

from tests.cassettes.secrets.cassettes import (
    URL,
    answer,
    anthropic_arguments,
    cassette,
    chat_arguments,
    chat_stream,
    pieces,
    response_body,
    responses_arguments,
    sse,
)
from tests.cassettes.secrets.fakes import env_key, fake, letters
from tests.cassettes.secrets.plant import Plant, Reads, everything, from_leaf, leaf, parsed, streamed, unpacked


def packed() -> list[Plant]:
    key = fake("openai", "packed")
    text = f"the key is {key}, keep it"
    return [
        Plant("base64", key, leaf(base64.b64encode(text.encode()).decode()), from_leaf(base64.b64decode)),
        Plant(
            "base64url",
            key,
            leaf(base64.urlsafe_b64encode(f"\xff\xfe?>{text}".encode()).decode().rstrip("=")),
            from_leaf(lambda leaf: base64.urlsafe_b64decode(leaf + "=" * (-len(leaf) % 4))),
        ),
        Plant(
            "base64-in-base64",
            key,
            leaf(base64.b64encode(base64.b64encode(text.encode())).decode()),
            from_leaf(lambda leaf: base64.b64decode(base64.b64decode(leaf))),
        ),
        Plant(
            "gzip-body",
            key,
            cassette(response=gzip.compress(answer(text)), headers={"content-encoding": ["gzip"]}),
            unpacked(gzip.decompress),
        ),
        Plant(
            "deflate-body",
            key,
            cassette(response=zlib.compress(answer(text)), headers={"content-encoding": ["deflate"]}),
            unpacked(zlib.decompress),
        ),
        Plant(
            "gzip-in-base64",
            key,
            leaf(base64.b64encode(gzip.compress(text.encode())).decode()),
            from_leaf(lambda leaf: gzip.decompress(base64.b64decode(leaf))),
        ),
    ]


def split() -> list[Plant]:
    key, secret, plain = fake("openai", "split"), env_key("split"), letters(24, seed="split")
    text, arguments = f"It is {key}, I think.", json.dumps({"note": f"use\n{key}"})
    log_in, other = json.dumps({"password": plain}), "Nothing of interest stands in this one, as long as it may be."
    content = streamed("choices", 0, "delta", "content")
    called = ("choices", 0, "delta", "tool_calls", 0, "function", "arguments")
    found = [
        Plant(f"stream-content-{size}", key, cassette(response=chat_stream(pieces(text, size))), content)
        for size in (1, 2, 7, 40)
    ]
    environ = {"MY_TOKEN": secret}
    summary = sse(
        {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": p} for p in pieces(text, 4)
    )
    base64_pieces = pieces(base64.b64encode(text.encode()).decode(), 5)
    return [
        *found,
        Plant(
            "stream-two-choices",
            key,
            cassette(response=chat_stream(pieces(text, 3), pieces(other, 4))),
            streamed("choices", 0, "delta", "content", only='"index": 0'),
        ),
        Plant("stream-chat-arguments", key, cassette(response=chat_arguments(pieces(arguments, 5))), streamed(*called)),
        Plant(
            "stream-parallel-arguments",
            key,
            cassette(response=chat_arguments(pieces(other, 3), pieces(arguments, 5))),
            streamed(*called, only="call_1"),
        ),
        Plant(
            "stream-anthropic-arguments",
            key,
            cassette(response=anthropic_arguments(pieces(arguments, 6))),
            streamed("delta", "partial_json"),
        ),
        Plant(
            "stream-responses-arguments",
            key,
            cassette(response=responses_arguments(pieces(arguments, 6))),
            streamed("delta"),
        ),
        Plant("stream-reasoning", key, cassette(response=summary), streamed("delta")),
        Plant(
            "stream-named-secret",
            plain,
            cassette(response=anthropic_arguments(pieces(log_in, 4))),
            streamed("delta", "partial_json"),
        ),
        Plant(
            "stream-e-mail",
            fake("e-mail", "s"),
            cassette(response=chat_stream(pieces(f"to {fake('e-mail', 's')} now", 3))),
            content,
        ),
        Plant(
            "stream-private-key",
            fake("private-key", "s"),
            cassette(response=chat_stream(pieces(f"so:\n{fake('private-key', 's')}\n", 9))),
            content,
        ),
        Plant(
            "stream-base64",
            key,
            cassette(response=chat_stream(base64_pieces)),
            lambda c: base64.b64decode(content(c)).decode("latin-1"),
        ),
        Plant("stream-env-key", secret, cassette(response=chat_stream(pieces(f"x {secret} y", 4))), content, environ),
        Plant(
            "stream-gzip",
            key,
            cassette(response=gzip.compress(chat_stream(pieces(text, 5))), headers={"content-encoding": ["gzip"]}),
            lambda c: content({**c, "responses": [{"body": {"string": gzip.decompress(response_body(c))}}]}),
        ),
    ]


def environment() -> list[Plant]:
    """Keys that have no form, in every spelling."""
    key, wide = env_key(), "p\u00e4ss/w\u00f6rd+=&" + letters(12, seed="wide")
    environ, wide_environ = {"SOME_SECRET": key}, {"SOME_PASSWORD": wide}
    plants = [
        Plant("env-plain", key, leaf(f"{key}"), parsed, environ),
        Plant("env-glued", key, leaf(f"abc{key}def"), parsed, environ),
        Plant("env-hex", key, leaf(key.encode().hex()), from_leaf(binascii.unhexlify), environ),
        Plant("env-url-encoded", wide, leaf(quote(wide, safe="")), lambda c: unquote(parsed(c)), wide_environ),
        Plant("env-not-ascii", wide, leaf(f"a {wide} b"), parsed, wide_environ),
        Plant(
            "env-not-ascii-utf8",
            wide,
            cassette(response=json.dumps({"a": wide}, ensure_ascii=False).encode()),
            parsed,
            wide_environ,
        ),
        Plant("env-in-url-path", key, cassette(url=f"{URL}/{key}/x"), everything, environ),
        Plant(
            "env-in-kept-header", key, cassette(headers={"content-type": [f"text/plain; a={key}"]}), everything, environ
        ),
        Plant("env-in-signature", key, _sealed("signature", key), from_sealed("signature"), environ),
        Plant(
            "env-in-encrypted-content",
            key,
            _sealed("encrypted_content", key),
            from_sealed("encrypted_content"),
            environ,
        ),
    ]
    for offset in range(3):
        packed = base64.b64encode(b"\xfe" * (30 + offset) + key.encode() + b"\xff" * 30).decode()
        plants.append(Plant(f"env-base64-offset-{offset}", key, leaf(packed), from_leaf(base64.b64decode), environ))
        cut = base64.b64encode(b"\xfe" * (3 + offset) + key.encode() + b"\xff" * 6).decode()
        plants.append(
            Plant(
                f"env-base64-glued-{offset}",
                key,
                leaf(f"x{cut}"),
                from_leaf(lambda leaf: base64.b64decode(leaf[1:])),
                environ,
            )
        )
    return plants


def _sealed(name: str, key: str) -> dict[str, Any]:
    seal = base64.b64encode(bytes(range(200, 254)) + key.encode() + bytes(range(128, 200))).decode()
    return cassette(response=json.dumps({"content": [{"type": "thinking", name: seal}]}).encode())


def from_sealed(name: str) -> Reads:
    return lambda c: base64.b64decode(json.loads(response_body(c))["content"][0][name]).decode("latin-1")
