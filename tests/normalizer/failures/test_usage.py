"""Failures of class usage: figures that come alone, late, first, twice, or with the last words."""

from __future__ import annotations

from typing import Any

import pytest
from xai_sdk.proto import chat_pb2, usage_pb2

from toolparity import normalize
from toolparity.normalizer.model import Text, Usage

from .play import (
    DONE,
    LOOKUP,
    MESSAGE_START,
    Say,
    chunk,
    feed,
    fragment,
    grpc_chunk,
    message_delta,
    play,
    ran,
    sse,
    stream,
    terminal,
)

CHAT, CLAUDE, XAI, RESPONSES = "openai.chat", "anthropic.messages", "xai.grpc", "openai.responses"
FIGURES = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
USAGE = Usage(5, 7, None, None, None, FIGURES)
HEAD = {"id": "r1", "object": "chat.completion.chunk", "model": "m", "usage": FIGURES}


@pytest.mark.parametrize(
    "alone", [{**HEAD, "choices": []}, HEAD, {**HEAD, "choices": None}], ids=["[]", "absent", "null"]
)
def test_USE_01_a_chunk_of_only_usage_is_legal_anywhere(alone: dict[str, Any]) -> None:
    frames = stream(CHAT, [Say("I look."), LOOKUP])
    clean = play(CHAT, frames)
    for at in (0, 2, len(frames) - 1, len(frames)):
        response = play(CHAT, [*frames[:at], sse(alone), *frames[at:]])
        assert (response.usage, response.choices) == (USAGE, clean.choices)
        assert (response.complete, response.error, response.findings) == (True, None, ())


def test_USE_01_an_empty_first_chunk_as_azure_sends_it_is_legal() -> None:
    filters = [{"prompt_index": 0, "content_filter_results": {}}]
    first = {"id": "", "object": "", "model": "", "choices": [], "prompt_filter_results": filters}
    frames = stream(CHAT, [LOOKUP])
    response = play(CHAT, [sse(first), *frames])
    assert (response.choices, response.id) == (play(CHAT, frames).choices, "r1")
    assert (response.extra, response.findings) == ({"prompt_filter_results": filters}, ())


def test_USE_01_a_body_without_choices_keeps_its_usage() -> None:
    response = normalize({"id": "r1", "object": "chat.completion", "choices": [], "usage": FIGURES}, CHAT)
    assert (response.choices, response.usage) == ([], USAGE)


def test_USE_01_anthropic_usage_of_start_and_end_is_merged() -> None:
    figures = {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": 1}
    start = {**MESSAGE_START, "message": {**MESSAGE_START["message"], "usage": figures}}  # type: ignore[dict-item]
    _, *frames, _, end = stream(CLAUDE, [LOOKUP])
    ending = [sse(message_delta("tool_use", usage={"output_tokens": 7})), end]
    response = play(CLAUDE, [sse(start), *frames, *ending])
    assert response.usage == Usage(10, 7, None, 3, 2, {**figures, "output_tokens": 7})
    assert ran(response) == ["call_a"]


def test_USE_01_USE_02_usage_of_xai_grpc_alone_or_beside_text_is_kept() -> None:
    figures = usage_pb2.SamplingUsage(**FIGURES)
    alone = chat_pb2.GetChatCompletionChunk(id="r1", model="m", usage=figures).SerializeToString()
    text = [grpc_chunk(content="Sunny.", finish="REASON_STOP")]
    beside = [grpc_chunk(content="Sunny.", finish="REASON_STOP", usage=figures)]
    for frames in ([alone, *text], [*text, alone], beside):
        response = play(XAI, frames)
        assert response.choices == play(XAI, text).choices
        assert response.usage is not None
        assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)


def test_USE_02_usage_in_the_last_chunk_neither_drops_nor_doubles_its_content() -> None:
    frames = [sse(chunk({"content": "It is "})), sse(chunk({"content": "sunny."}, "stop", usage=FIGURES)), DONE]
    response, events = feed(CHAT, frames)
    assert play(CHAT, frames) == response
    assert (response.choices[0].blocks, response.usage) == ([Text("It is sunny.")], USAGE)
    assert [type(event).__name__ for event in events] == [
        *("BlockStart", "BlockDelta", "BlockDelta", "ChoiceStop", "UsageUpdate"),
    ]
    call = fragment('{"city": "Turin"}', 0, "call_a", "lookup")
    packed = play(CHAT, [sse(chunk(call, "tool_calls", usage=FIGURES)), DONE])
    assert (packed.choices, packed.usage) == (play(CHAT, stream(CHAT, [LOOKUP])).choices, USAGE)
    *frames, _ = stream(RESPONSES, [Say("Sunny.")], "end_turn")
    raw = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    ended = play(RESPONSES, [*frames, sse(terminal([], usage=raw))])
    assert (ended.text, ended.usage) == ("Sunny.", Usage(5, 7, None, None, None, raw))
