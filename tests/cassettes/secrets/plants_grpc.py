"""Secrets in recorded gRPC calls."""

from __future__ import annotations

import base64
import json
from typing import Any

from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import cassette, grpc_body, pieces
from tests.cassettes.secrets.fakes import fake
from tests.cassettes.secrets.plant import Plant, everything, exact_half, grpc_texts, json_leaves, readable_half


def _chunks(*texts: list[str]) -> list[Any]:
    found = []
    for at in range(max(map(len, texts))):
        for index, of_text in enumerate(texts):
            if at < len(of_text):
                delta = chat.Delta(content=of_text[at])
                found.append(
                    chat.GetChatCompletionChunk(
                        id="1", outputs=[chat.CompletionOutputChunk(delta=delta, index=index)], model="m"
                    )
                )
    return found


def _grpc(messages: list[Any], **further: Any) -> dict[str, Any]:
    ended = {"trailers": {}, "grpc": {"code": "OK", "details": "", "stream": True}}
    return cassette(
        url="grpc://api.x.ai:443/xai_api.Chat/GetCompletionChunk", response=grpc_body(messages), **{**ended, **further}
    )


def grpc_calls() -> list[Plant]:
    key, address = fake("xai", "grpc"), fake("e-mail", "grpc")
    text, other = f"It is {key}!", "Nothing of interest is in this one, as long as it may be, or longer."
    whole = [
        chat.GetChatCompletionResponse(
            id="1", outputs=[chat.CompletionOutput(message={"content": f"{key} and {address}"})]
        )
    ]
    request = chat.GetCompletionsRequest(model="grok", messages=[chat.Message(content=[chat.Content(text=text)])])
    entry = json.loads(grpc_body([request]))["messages"][0]
    asked = json.dumps({**entry, "type": "xai_api.GetCompletionsRequest"}).encode()
    details = base64.b64encode(
        chat.Message(name=key, content=[chat.Content(text="denied")]).SerializeToString()
    ).decode()
    called = "grpc://api.x.ai:443/xai_api.Chat/GetCompletion"
    refused = {"grpc": {"code": "UNAUTHENTICATED", "details": f"bad key {key}", "stream": False}}
    return [
        Plant(
            "grpc-request-readable",
            key,
            cassette(url=called, request=asked),
            lambda c: "\n".join(json_leaves(json.loads(c["requests"][0].body)["message"])),
        ),
        Plant(
            "grpc-request-exact",
            key,
            cassette(url=called, request=asked),
            lambda c: base64.b64decode(json.loads(c["requests"][0].body)["serialized"]).decode("latin-1"),
        ),
        Plant("grpc-answer-readable", key, _grpc(whole), readable_half),
        Plant("grpc-answer-exact", key, _grpc(whole), exact_half),
        Plant("grpc-answer-e-mail", address, _grpc(whole), exact_half),
        Plant("grpc-stream", key, _grpc(_chunks(pieces(text, 6))), grpc_texts),
        Plant("grpc-stream-letters", key, _grpc(_chunks(pieces(text, 1))), grpc_texts),
        Plant("grpc-stream-two-outputs", key, _grpc(_chunks(pieces(text, 6), pieces(other, 4))), grpc_texts),
        Plant("grpc-stream-second-output", key, _grpc(_chunks(pieces(other, 4), pieces(text, 6))), grpc_texts),
        Plant(
            "grpc-metadata", key, cassette(url=called, request_headers={"authorization": f"Bearer {key}"}), everything
        ),
        Plant("grpc-trailers", key, _grpc(whole[:1], trailers={"x-token": [key]}), everything),
        Plant(
            "grpc-trailers-details",
            key,
            cassette(url=called, trailers={"grpc-status-details-bin": [details]}),
            lambda c: base64.b64decode(c["responses"][0]["trailers"]["grpc-status-details-bin"][0]).decode("latin-1"),
        ),
        Plant("grpc-error-details", key, cassette(url=called, **refused), everything),
    ]
