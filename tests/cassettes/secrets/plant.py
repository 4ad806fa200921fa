"""One planted secret, and how to read it out of a cassette again."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import answer, cassette, response_body

Reads = Callable[[dict[str, Any]], str]


@dataclass(frozen=True)
class Plant:
    """``read`` gets from the cassette the text in which the secret can be read by who wants to."""

    id: str
    secret: str
    cassette: dict[str, Any]
    read: Reads
    environ: dict[str, str] = field(default_factory=dict)


def everything(cassette: dict[str, Any]) -> str:
    """All that is in the cassette as it is, JSON's escapes undone."""
    asked, answer = cassette["requests"][0], cassette["responses"][0]
    body = (asked.body or b"").decode("latin-1")
    texts = [asked.uri, unquote(asked.uri), str(dict(asked.headers)), body, str(answer), str(cassette.get("metadata"))]
    text = response_body(cassette).decode("utf-8", "replace")
    return "\n".join([*texts, text, text.encode().decode("unicode_escape", "replace")])


def json_leaves(value: Any) -> list[str]:
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            return [value]
        return [value, *(json_leaves(inner) if isinstance(inner, dict | list) else [])]
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [leaf for member in members for leaf in json_leaves(member)]


def parsed(cassette: dict[str, Any]) -> str:
    """Every string of the request and the response, JSON in JSON too."""
    bodies = [cassette["requests"][0].body, response_body(cassette)]
    return "\n".join(leaf for body in bodies for leaf in json_leaves(json.loads(body)))


def streamed(*path: str | int, only: str = "") -> Reads:
    """The pieces on one path, put together; ``only`` of the events that hold this."""

    def read(cassette: dict[str, Any]) -> str:
        out = []
        for line in response_body(cassette).decode().splitlines():
            if not line.startswith("data: {"):
                continue
            value = json.loads(line[6:])
            if only not in line:
                continue
            for step in path:
                value = value[step]
            out.append(value)
        return "".join(out)

    return read


def grpc_texts(cassette: dict[str, Any]) -> str:
    """The texts of both halves of a recorded gRPC stream, put together by the index of the output."""
    body = json.loads(response_body(cassette))
    texts: dict[tuple[str, int], str] = {}
    for entry in body["messages"]:
        exact = chat.GetChatCompletionChunk.FromString(base64.b64decode(entry["serialized"]))
        for output in exact.outputs:
            key = ("exact", output.index)
            texts[key] = texts.get(key, "") + output.delta.content
        for each in entry["message"].get("outputs", []):
            key = ("readable", each.get("index", 0))
            texts[key] = texts.get(key, "") + each["delta"].get("content", "")
    return "\n".join(texts.values())


def readable_half(cassette: dict[str, Any]) -> str:
    return "\n".join(json_leaves([entry["message"] for entry in json.loads(response_body(cassette))["messages"]]))


def exact_half(cassette: dict[str, Any]) -> str:
    messages = json.loads(response_body(cassette))["messages"]
    return "\n".join(base64.b64decode(entry["serialized"]).decode("latin-1") for entry in messages)


def unpacked(unpack: Callable[[bytes], bytes]) -> Reads:
    return lambda cassette: unpack(response_body(cassette)).decode("latin-1")


def from_leaf(decode: Callable[[str], bytes]) -> Reads:
    """What the leaf named "it" of the answer holds, decoded."""
    return lambda cassette: decode(json.loads(response_body(cassette))["it"]).decode("latin-1")


def leaf(value: str) -> dict[str, Any]:
    return cassette(response=json.dumps({"id": "chatcmpl-1", "it": value}).encode())


def answering(text: str) -> dict[str, Any]:
    """A cassette whose response has this text."""
    return cassette(response=answer(text))
