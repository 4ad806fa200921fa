"""The streamed and the plain form of a recorded answer give one canonical response (law `stream-parity`).

Every member of every block, their order, the usage and the stop are equal; ids, `raw` and the form of argument texts
may differ.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from xai_sdk.proto import chat_pb2

from tests.normalizer.failures.play import feed
from tests.normalizer.recorded.rows import rows
from tests.support.answers import BODIES, GRPC
from tests.support.streaming import AS_STREAM, grpc
from toolparity import Response, ToolCall, normalize

#: Of the recorded bodies, each so-many-th is given as a stream.
EVERY = 3
#: How many are given as a stream, on the wires with fewer recordings.
LEAST = {"bedrock.converse": 90, "cohere.chat": 20, "google.interactions": 0, "ollama.chat": 5}


def skeleton(response: Response) -> dict[str, Any]:
    """The canonical JSON without what parity leaves aside."""
    plain = msgspec.to_builtins(response)
    for choice, entry in zip(response.choices, plain["choices"], strict=True):
        entry["stop"]["raw"] = entry["stop"]["raw"] or None  # "" is not a reason, plain or streamed (failure FIN-08)
        entry["blocks"] = [_comparable(*pair) for pair in zip(choice.blocks, entry["blocks"], strict=True)]
    for figures in (plain["usage"], plain["error"]):
        if figures:
            del figures["raw"]
    return {key: plain[key] for key in ("wire", "model", "choices", "usage", "error", "complete")}


def _comparable(block: Any, entry: dict[str, Any]) -> dict[str, Any]:
    if isinstance(block, ToolCall):
        if block.arguments is not None:
            del entry["arguments_text"]
    elif text := entry.get("arguments_text"):
        with contextlib.suppress(ValueError):
            entry["arguments_text"] = json.loads(text)
    return {key: value for key, value in entry.items() if key not in ("id", "wire_id", "call_id", "raw")}


def streamed(wire: str, body: Any, seed: int) -> Response:
    return feed(wire, grpc(body, Random(seed)) if wire == "xai.grpc" else [AS_STREAM[wire](body, Random(seed))])[0]


@pytest.mark.thorough(keep=8)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("wire", [*BODIES, "xai.grpc"])
def test_an_answer_is_the_same_plain_and_streamed(wire: str, seed: int) -> None:
    answers: dict[str, Any] = {"xai.grpc": GRPC, **BODIES}[wire]
    for name, body in answers.items():
        plain = normalize(body if wire == "xai.grpc" else json.dumps(body).encode(), wire)
        stream = streamed(wire, body, seed)
        assert skeleton(stream) == skeleton(plain), name
        assert [c.id for c in stream.calls] == [c.id for c in plain.calls], name


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("wire", ["xai.grpc", *AS_STREAM])
def test_every_recorded_answer_is_the_same_as_a_stream(wire: str, recordings: Path) -> None:
    compared = 0
    for number, row in enumerate(rows(recordings, wire)):
        if row.stream or row.failed or (number % EVERY and wire != "xai.grpc"):
            continue
        body: Any = None
        if wire == "xai.grpc":
            body = chat_pb2.GetChatCompletionResponse.FromString(row.data)
            body.DiscardUnknownFields()  # fields newer than the SDK cannot be moved into another message
        plain = normalize(row.data if body is None else body, wire)
        if body is None:
            body = json.loads(row.data)
            if plain.error is not None or not plain.complete or not plain.choices or _is_never_streamed(body):
                continue
        assert skeleton(streamed(wire, body, number)) == skeleton(plain), row.id
        compared += 1
    assert compared > LEAST.get(wire, 30 if wire == "xai.grpc" else 300)


def _is_never_streamed(body: Any) -> bool:
    """Whether it is a choice without a message, a compacted conversation, an answer without an end, or of version 1 of
    Cohere's API, whose streams are different.
    """
    return (
        body.get("object") == "response.compaction"
        or "generation_id" in body
        or any(candidate.get("finishReason") is None for candidate in body.get("candidates") or ())
        or any(choice.get("message") is None for choice in body.get("choices") or ())
    )


def test_the_comparison_sees_a_lost_word_a_swapped_call_and_another_stop() -> None:
    body = BODIES["openai.chat"]["three calls"]
    choice = body["choices"][0]
    message, calls = choice["message"], choice["message"]["tool_calls"]
    others = [{"content": "Let me"}, {"tool_calls": calls[::-1]}, {"tool_calls": calls[:2]}]
    for damaged in (*({"message": message | other} for other in others), {"finish_reason": "length"}):
        other = body | {"choices": [choice | damaged]}
        assert skeleton(streamed("openai.chat", other, 1)) != skeleton(normalize(body, "openai.chat"))
