"""Secrets that are packed, encoded or broken into pieces; keys that only the environment knows; calls of gRPC."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from typing import Any
from urllib.parse import quote, unquote

from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import (
    URL,
    answer,
    anthropic_arguments,
    cassette,
    chat_arguments,
    chat_stream,
    grpc_body,
    pieces,
    response_body,
    responses_arguments,
    sse,
)
from tests.cassettes.secrets.fakes import env_key, fake, letters
from tests.cassettes.secrets.plant import (
    Plant,
    everything,
    exact_half,
    from_leaf,
    grpc_texts,
    json_leaves,
    leaf,
    parsed,
    readable_half,
    streamed,
    unpacked,
)

OTHER = "Nothing of interest is in this one, as long as it may be, or longer."


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def packed() -> list[Plant]:
    key = fake("openai", "packed")
    text = f"the key is {key}, keep it".encode()
    url_safe = base64.urlsafe_b64encode(b"\xc3\xbf\xc3\xbe?>" + text).decode().rstrip("=")
    leaves = {
        "base64": (_base64(text), base64.b64decode),
        "base64url": (url_safe, lambda leaf: base64.urlsafe_b64decode(leaf + "=" * (-len(leaf) % 4))),
        "base64-in-base64": (_base64(_base64(text).encode()), lambda leaf: base64.b64decode(base64.b64decode(leaf))),
        "gzip-in-base64": (_base64(gzip.compress(text)), lambda leaf: gzip.decompress(base64.b64decode(leaf))),
    }
    modules: dict[str, Any] = {"gzip": gzip, "deflate": zlib}
    found = [Plant(name, key, leaf(packed), from_leaf(read)) for name, (packed, read) in leaves.items()]
    for name, module in modules.items():
        made = cassette(response=module.compress(answer(text.decode())), headers={"content-encoding": [name]})
        found.append(Plant(f"{name}-body", key, made, unpacked(module.decompress)))
    return found


def split() -> list[Plant]:
    key, plain, secret = fake("openai", "split"), letters(24, seed="split"), env_key("split")
    text, arguments = f"It is {key}, I think.", json.dumps({"note": f"use\n{key}"})
    content, partial = streamed("choices", 0, "delta", "content"), streamed("delta", "partial_json")
    called = ("choices", 0, "delta", "tool_calls", 0, "function", "arguments")
    thought = {"type": "response.reasoning_summary_text.delta", "summary_index": 0}
    streams = {
        **{f"content-{size}": (chat_stream(pieces(text, size)), content) for size in (1, 2, 7, 40)},
        "two-choices": (
            chat_stream(pieces(text, 3), pieces(OTHER, 4)),
            streamed("choices", 0, "delta", "content", only='"index": 0'),
        ),
        "chat-arguments": (chat_arguments(pieces(arguments, 5)), streamed(*called)),
        "parallel-arguments": (
            chat_arguments(pieces(OTHER, 3), pieces(arguments, 5)),
            streamed(*called, only="call_1"),
        ),
        "anthropic-arguments": (anthropic_arguments(pieces(arguments, 6)), partial),
        "responses-arguments": (responses_arguments(pieces(arguments, 6)), streamed("delta")),
        "reasoning": (sse(thought | {"delta": piece} for piece in pieces(text, 4)), streamed("delta")),
        "base64": (
            chat_stream(pieces(_base64(text.encode()), 5)),
            lambda c: base64.b64decode(content(c)).decode("latin-1"),
        ),
    }
    found = [Plant(f"stream-{name}", key, cassette(response=body), read) for name, (body, read) in streams.items()]
    for form in ("e-mail", "private-key"):
        body = chat_stream(pieces(f"so:\n{fake(form, 's')} now\n", 3))
        found.append(Plant(f"stream-{form}", fake(form, "s"), cassette(response=body), content))
    log_in = anthropic_arguments(pieces(json.dumps({"password": plain}), 4))
    own = cassette(response=chat_stream(pieces(f"x {secret} y", 4)))
    zipped = cassette(response=gzip.compress(chat_stream(pieces(text, 5))), headers={"content-encoding": ["gzip"]})
    return [
        *found,
        Plant("stream-named-secret", plain, cassette(response=log_in), partial),
        Plant("stream-env-key", secret, own, content, {"MY_TOKEN": secret}),
        Plant(
            "stream-gzip",
            key,
            zipped,
            lambda c: content({**c, "responses": [{"body": {"string": gzip.decompress(response_body(c))}}]}),
        ),
    ]


def environment() -> list[Plant]:
    """Keys that have no form, in every spelling."""
    key, wide = env_key(), "p\u00e4ss/w\u00f6rd+=&" + letters(12, seed="wide")
    environ, wide_environ = {"SOME_SECRET": key}, {"SOME_PASSWORD": wide}
    as_utf8 = json.dumps({"a": wide}, ensure_ascii=False).encode()
    in_header = cassette(headers={"content-type": [f"text/plain; a={key}"]})
    found = [
        Plant("env-plain", key, leaf(key), parsed, environ),
        Plant("env-glued", key, leaf(f"abc{key}def"), parsed, environ),
        Plant("env-hex", key, leaf(key.encode().hex()), from_leaf(binascii.unhexlify), environ),
        Plant("env-url-encoded", wide, leaf(quote(wide, safe="")), lambda c: unquote(parsed(c)), wide_environ),
        Plant("env-not-ascii", wide, leaf(f"a {wide} b"), parsed, wide_environ),
        Plant("env-not-ascii-utf8", wide, cassette(response=as_utf8), parsed, wide_environ),
        Plant("env-in-url-path", key, cassette(url=f"{URL}/{key}/x"), everything, environ),
        Plant("env-in-kept-header", key, in_header, everything, environ),
    ]
    for offset in range(3):
        longer = _base64(b"\xfe" * (30 + offset) + key.encode() + b"\xff" * 30)
        touching = "x" + _base64(b"\xfe" * (3 + offset) + key.encode() + b"\xff" * 6)
        after_letter = from_leaf(lambda leaf: base64.b64decode(leaf[1:]))
        found.append(Plant(f"env-base64-offset-{offset}", key, leaf(longer), from_leaf(base64.b64decode), environ))
        found.append(Plant(f"env-base64-glued-{offset}", key, leaf(touching), after_letter, environ))
    for name in ("signature", "encrypted_content"):
        seal = {"type": "thinking", name: _base64(bytes(range(200, 254)) + key.encode() + bytes(range(128, 200)))}
        body = json.dumps({"content": [seal]}).encode()
        found.append(Plant(f"env-in-{name}", key, cassette(response=body), _from_sealed(name), environ))
    return found


def _from_sealed(name: str) -> Any:
    return lambda c: base64.b64decode(json.loads(response_body(c))["content"][0][name]).decode("latin-1")


def _chunks(*texts: list[str]) -> list[Any]:
    """Pieces of content; several texts are outputs whose chunks take turns."""
    return [
        chat.GetChatCompletionChunk(
            id="1", outputs=[chat.CompletionOutputChunk(delta=chat.Delta(content=text[at]), index=index)], model="m"
        )
        for at in range(max(map(len, texts)))
        for index, text in enumerate(texts)
        if at < len(text)
    ]


def _beside(*texts: list[str], numbered: bool) -> list[Any]:
    """Pieces of content; each chunk has a piece of every text, as outputs with or without their index."""
    return [
        chat.GetChatCompletionChunk(
            outputs=[
                chat.CompletionOutputChunk(delta=chat.Delta(content=text[at]), index=index * numbered)
                for index, text in enumerate(texts)
                if at < len(text)
            ]
        )
        for at in range(max(map(len, texts)))
    ]


def _without_readable_half(cassette: dict[str, Any]) -> dict[str, Any]:
    body = json.loads(response_body(cassette))
    for message in body["messages"]:
        del message["message"]
    cassette["responses"][0]["body"]["string"] = json.dumps(body).encode()
    return cassette


def _outputs(cassette: dict[str, Any]) -> str:
    """The text of each output of a stream, in a line."""
    texts: dict[int, str] = {}
    for message in json.loads(response_body(cassette))["messages"]:
        chunk = chat.GetChatCompletionChunk.FromString(base64.b64decode(message["serialized"]))
        for place, output in enumerate(chunk.outputs):
            number = max(place, output.index)
            texts[number] = texts.get(number, "") + output.delta.content
    return "\n".join(texts.values())


def _grpc(messages: list[Any], **further: Any) -> dict[str, Any]:
    ended = {"trailers": {}, "grpc": {"code": "OK", "details": "", "stream": True}} | further
    return cassette(url="grpc://api.x.ai:443/xai_api.Chat/GetCompletionChunk", response=grpc_body(messages), **ended)


def grpc_calls() -> list[Plant]:
    key, address = fake("xai", "grpc"), fake("e-mail", "grpc")
    text, called = f"It is {key}!", "grpc://api.x.ai:443/xai_api.Chat/GetCompletion"
    output = chat.CompletionOutput(message={"content": f"{key} and {address}"})
    whole = [chat.GetChatCompletionResponse(id="1", outputs=[output])]
    request = chat.GetCompletionsRequest(model="grok", messages=[chat.Message(content=[chat.Content(text=text)])])
    entry = json.loads(grpc_body([request]))["messages"][0]
    asked = cassette(url=called, request=json.dumps({**entry, "type": "xai_api.GetCompletionsRequest"}).encode())
    details = _base64(chat.Message(name=key, content=[chat.Content(text="denied")]).SerializeToString())
    refused: dict[str, Any] = {"grpc": {"code": "UNAUTHENTICATED", "details": f"bad key {key}", "stream": False}}
    streams = {
        "stream": _chunks(pieces(text, 6)),
        "stream-letters": _chunks(pieces(text, 1)),
        "stream-two-outputs": _chunks(pieces(text, 6), pieces(OTHER, 4)),
        "stream-second-output": _chunks(pieces(OTHER, 4), pieces(text, 6)),
    }
    authorized = cassette(url=called, request_headers={"authorization": f"Bearer {key}"})
    return [
        *(Plant(f"grpc-{name}", key, _grpc(chunks), grpc_texts) for name, chunks in streams.items()),
        *(
            Plant(
                f"grpc-beside-{'numbered' if numbered else 'unnumbered'}-{size}-{place}",
                key,
                _without_readable_half(
                    _grpc(_beside(*([pieces(text, size), pieces(other, size)][::place]), numbered=numbered))
                ),
                _outputs,
            )
            for other in (f"Or {address}, or the same {address}.",)
            for numbered in (True, False)
            for size in (3, 60)
            for place in ((1, -1) if numbered else (1,))
        ),
        Plant(
            "grpc-request-readable",
            key,
            asked,
            lambda c: "\n".join(json_leaves(json.loads(c["requests"][0].body)["message"])),
        ),
        Plant(
            "grpc-request-exact",
            key,
            asked,
            lambda c: base64.b64decode(json.loads(c["requests"][0].body)["serialized"]).decode("latin-1"),
        ),
        Plant("grpc-answer-readable", key, _grpc(whole), readable_half),
        Plant("grpc-answer-exact", key, _grpc(whole), exact_half),
        Plant("grpc-answer-e-mail", address, _grpc(whole), exact_half),
        Plant("grpc-metadata", key, authorized, everything),
        Plant("grpc-trailers", key, _grpc(whole, trailers={"x-token": [key]}), everything),
        Plant(
            "grpc-trailers-details",
            key,
            cassette(url=called, trailers={"grpc-status-details-bin": [details]}),
            lambda c: base64.b64decode(c["responses"][0]["trailers"]["grpc-status-details-bin"][0]).decode("latin-1"),
        ),
        Plant("grpc-error-details", key, cassette(url=called, **refused), everything),
    ]
