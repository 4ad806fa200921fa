"""The streamed and the plain form of one answer give one canonical response (law `stream-parity`).

Ids, `raw` and the spelling of arguments_text aside: every other member of every block, their order,
the usage and the stop.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from xai_sdk.proto import chat_pb2

from tests.normalizer.recorded.rows import rows
from tests.support.answers import BODIES, GRPC
from tests.support.streaming import AS_STREAM, grpc
from toolparity import Response, StreamDecoder, ToolCall, normalize

CASES = [
    pytest.param(wire, body, id=f"{wire}: {name}") for wire, seeds in BODIES.items() for name, body in seeds.items()
]
#: Of the recorded bodies, each so-many-th is given as a stream.
EVERY = 3
#: How many are given as a stream, on the wires with fewer recordings.
LEAST = {"bedrock.converse": 90, "cohere.chat": 20, "google.interactions": 0, "ollama.chat": 5}


def skeleton(response: Response) -> dict[str, Any]:
    """The canonical JSON without what parity leaves aside."""
    plain = msgspec.to_builtins(response)
    for choice, told in zip(response.choices, plain["choices"], strict=True):
        told["stop"]["raw"] = told["stop"]["raw"] or None  # "" is not a reason, plain or streamed (failure FIN-08)
        told["blocks"] = [_bare(block, entry) for block, entry in zip(choice.blocks, told["blocks"], strict=True)]
    if plain["usage"]:
        del plain["usage"]["raw"]
    if plain["error"]:
        del plain["error"]["raw"]
    return {key: plain[key] for key in ("wire", "model", "choices", "usage", "error", "complete")}


def _bare(block: Any, told: dict[str, Any]) -> dict[str, Any]:
    text = told.get("arguments_text")
    if isinstance(block, ToolCall):
        if block.arguments is not None:
            del told["arguments_text"]
    elif text:
        told["arguments_text"] = _value(text)
    return {key: value for key, value in told.items() if key not in ("id", "wire_id", "call_id", "raw")}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def streamed(wire: str, pieces: list[bytes]) -> Response:
    decoder = StreamDecoder(wire)
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


@pytest.mark.thorough(keep=40)
@pytest.mark.parametrize(("wire", "body"), CASES)
@pytest.mark.parametrize("seed", range(8))
def test_an_answer_is_the_same_plain_and_streamed(wire: str, body: dict[str, Any], seed: int) -> None:
    plain = normalize(json.dumps(body).encode(), wire)
    stream = streamed(wire, [AS_STREAM[wire](body, Random(seed))])
    assert skeleton(stream) == skeleton(plain)
    assert [c.id for c in stream.calls] == [c.id for c in plain.calls]


@pytest.mark.thorough(keep=8)
@pytest.mark.parametrize("name", GRPC)
@pytest.mark.parametrize("seed", range(8))
def test_an_answer_of_xai_is_the_same_plain_and_streamed(name: str, seed: int) -> None:
    plain = normalize(GRPC[name])
    stream = streamed("xai.grpc", grpc(GRPC[name], Random(seed)))
    assert skeleton(stream) == skeleton(plain)
    assert [c.id for c in stream.calls] == [c.id for c in plain.calls]


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("wire", AS_STREAM)
def test_every_recorded_answer_is_the_same_when_it_is_told_as_a_stream(wire: str, recordings: Path) -> None:
    told = 0
    for number, row in enumerate(rows(recordings, wire)):
        if row.stream or row.failed or number % EVERY:
            continue
        plain = normalize(row.data, wire)
        if plain.error is not None or not plain.complete or not plain.choices or _unspeakable(row.data):
            continue
        stream = streamed(wire, [AS_STREAM[wire](json.loads(row.data), Random(number))])
        assert skeleton(stream) == skeleton(plain), row.id
        told += 1
    assert told > LEAST.get(wire, 300)


def _unspeakable(data: bytes) -> bool:
    """Bodies that no endpoint streams: a choice without a message, a compacted conversation, an answer without end."""
    body = json.loads(data)
    if body.get("object") == "response.compaction":
        return True
    if "generation_id" in body:  # of version 1 of Cohere's API, whose streams are different
        return True
    if any(candidate.get("finishReason") is None for candidate in body.get("candidates") or ()):
        return True
    return any(choice.get("message") is None for choice in body.get("choices") or ())


def test_every_recorded_answer_of_xai_is_the_same_when_it_is_told_as_a_stream(recordings: Path) -> None:
    told = 0
    for number, row in enumerate(rows(recordings, "xai.grpc")):
        if not row.stream:
            message = chat_pb2.GetChatCompletionResponse.FromString(row.data)
            message.DiscardUnknownFields()  # fields newer than the SDK cannot be moved into another message
            stream = streamed("xai.grpc", grpc(message, Random(number)))
            assert skeleton(stream) == skeleton(normalize(message)), row.id
            told += 1
    assert told > 30


def test_parity_would_see_a_lost_word_a_swapped_call_and_another_stop() -> None:
    body = BODIES["openai.chat"]["three calls"]
    plain = skeleton(normalize(body, "openai.chat"))
    message = body["choices"][0]["message"]
    for damaged in (
        {**message, "content": "Let me"},
        {**message, "tool_calls": message["tool_calls"][::-1]},
        {**message, "tool_calls": message["tool_calls"][:2]},
    ):
        other = {**body, "choices": [{**body["choices"][0], "message": damaged}]}
        assert skeleton(streamed("openai.chat", [AS_STREAM["openai.chat"](other, Random(1))])) != plain
    cut = {**body, "choices": [{**body["choices"][0], "finish_reason": "length"}]}
    assert skeleton(streamed("openai.chat", [AS_STREAM["openai.chat"](cut, Random(1))])) != plain
