"""Failures of class usage: figures that come alone, late, first, twice, or with the last words."""

from __future__ import annotations

from typing import Any

import pytest
from xai_sdk.proto import chat_pb2, usage_pb2

from tests.support.decoding import decoded, feed
from tests.support.emit import LOOKUP, emit_stream
from tests.support.events import DONE, delta_chunk, fragment, grpc_event, sse, terminal
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.model import Text, Usage

CHAT, CLAUDE, XAI, RESPONSES = "openai.chat", "anthropic.messages", "xai.grpc", "openai.responses"
FIGURES = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
USAGE = Usage(5, 7, None, None, None, FIGURES)
HEAD = {"id": "r1", "object": "chat.completion.chunk", "model": "m", "usage": FIGURES}


@pytest.mark.parametrize(
    "alone", [{**HEAD, "choices": []}, HEAD, {**HEAD, "choices": None}], ids=["[]", "absent", "null"]
)
def test_USE_01_a_chunk_of_only_usage_is_legal_anywhere(alone: dict[str, Any]) -> None:
    frames = [frame for frame in emit_stream(CHAT, [Say("I look."), LOOKUP]) if b'"prompt_tokens"' not in frame]
    clean = decoded(CHAT, frames)
    for at in (0, 2, len(frames) - 1, len(frames)):
        response = decoded(CHAT, [*frames[:at], sse(alone), *frames[at:]])
        assert (response.usage, response.choices) == (USAGE, clean.choices)
        assert (response.complete, response.error, response.findings) == (True, None, ())


def test_USE_01_USE_02_usage_of_xai_grpc_alone_or_beside_text_is_kept() -> None:
    figures = usage_pb2.SamplingUsage(**FIGURES)
    alone = chat_pb2.GetChatCompletionChunk(id="r1", model="m", usage=figures).SerializeToString()
    text = [grpc_event(content="Sunny.", finish="REASON_STOP")]
    beside = [grpc_event(content="Sunny.", finish="REASON_STOP", usage=figures)]
    for frames in ([alone, *text], [*text, alone], beside):
        response = decoded(XAI, frames)
        assert response.choices == decoded(XAI, text).choices
        assert response.usage is not None
        assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)


def test_USE_02_usage_in_the_last_chunk_neither_drops_nor_doubles_its_content() -> None:
    frames = [
        sse(delta_chunk({"content": "It is "})),
        sse(delta_chunk({"content": "sunny."}, "stop", usage=FIGURES)),
        DONE,
    ]
    response, events = feed(CHAT, frames)
    assert decoded(CHAT, frames) == response
    assert (response.choices[0].blocks, response.usage) == ([Text("It is sunny.")], USAGE)
    assert [type(event).__name__ for event in events] == [
        *("BlockStart", "BlockDelta", "BlockDelta", "ChoiceStop", "UsageUpdate"),
    ]
    call = fragment('{"city":"Turin"}', 0, "call_a", "lookup")
    packed = decoded(CHAT, [sse(delta_chunk(call, "tool_calls", usage=FIGURES)), DONE])
    assert (packed.choices, packed.usage) == (decoded(CHAT, emit_stream(CHAT, [LOOKUP])).choices, USAGE)
    *frames, _ = emit_stream(RESPONSES, [Say("Sunny.")], "end_turn")
    raw = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    ended = decoded(RESPONSES, [*frames, sse(terminal([], usage=raw))])
    assert (ended.text, ended.usage) == ("Sunny.", Usage(5, 7, None, None, None, raw))
