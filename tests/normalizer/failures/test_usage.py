"""Failures of class usage: figures that come alone, late, first, twice, or with the last words."""

from __future__ import annotations

from typing import Any

import pytest
from xai_sdk.proto import chat_pb2, usage_pb2

from tests.support.decoding import decoded, feed, ran
from tests.support.emit import LOOKUP, emit_stream
from tests.support.events import DONE, MESSAGE_START, delta_chunk, grpc_event, message_delta, sse, terminal
from toolparity import normalize
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.model import Text, Usage

FIGURES = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
USAGE = Usage(5, 7, None, None, None, FIGURES)
ALONE: list[dict[str, Any]] = [
    {"id": "r1", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": FIGURES},
    {"id": "r1", "object": "chat.completion.chunk", "model": "m", "usage": FIGURES},
    {"id": "r1", "object": "chat.completion.chunk", "model": "m", "choices": None, "usage": FIGURES},
]


def without_usage(frames: list[bytes]) -> list[bytes]:
    return [frame for frame in frames if b'"prompt_tokens"' not in frame]


@pytest.mark.parametrize("alone", ALONE, ids=["choices empty", "choices absent", "choices null"])
@pytest.mark.parametrize("at", [0, 2, -1, None], ids=["first", "middle", "before [DONE]", "last"])
def test_USE_01_a_chunk_of_only_usage_is_legal_anywhere(alone: dict[str, Any], at: int | None) -> None:
    frames = without_usage(emit_stream("openai.chat", [Say("I look."), LOOKUP]))
    clean = decoded("openai.chat", frames)
    frames.insert(len(frames) if at is None else at, sse(alone))
    response = decoded("openai.chat", frames)
    assert response.usage == USAGE
    assert response.choices == clean.choices
    assert (response.complete, response.error, response.findings) == (True, None, ())


def test_USE_01_an_empty_first_chunk_as_azure_sends_it_is_legal() -> None:
    filters = [{"prompt_index": 0, "content_filter_results": {}}]
    first = {"id": "", "object": "", "model": "", "choices": [], "prompt_filter_results": filters}
    frames = emit_stream("openai.chat", [LOOKUP])
    response = decoded("openai.chat", [sse(first), *frames])
    clean = decoded("openai.chat", frames)
    assert (response.choices, response.id) == (clean.choices, clean.id)
    assert response.extra == clean.extra | {"prompt_filter_results": filters}
    assert response.findings == ()


def test_USE_01_a_body_without_choices_keeps_its_usage() -> None:
    response = normalize({"id": "r1", "object": "chat.completion", "choices": [], "usage": FIGURES}, "openai.chat")
    assert (response.choices, response.usage) == ([], USAGE)


def test_USE_01_anthropic_usage_of_start_and_end_is_merged() -> None:
    start = {
        **MESSAGE_START,
        "message": {
            **MESSAGE_START["message"],
            "usage": {  # type: ignore[dict-item]
                "input_tokens": 5,
                "cache_read_input_tokens": 3,
                "cache_creation_input_tokens": 2,
                "output_tokens": 1,
            },
        },
    }
    _, *frames, _, end = emit_stream("anthropic.messages", [LOOKUP])
    response = decoded(
        "anthropic.messages", [sse(start), *frames, sse(message_delta("tool_use", usage={"output_tokens": 7})), end]
    )
    raw = {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": 7}
    assert response.usage == Usage(10, 7, None, 3, 2, raw)
    assert ran(response) == ["call_a"]


def test_USE_01_xai_usage_in_a_message_without_outputs_is_kept() -> None:
    figures = usage_pb2.SamplingUsage(prompt_tokens=5, completion_tokens=7, total_tokens=12)
    alone = chat_pb2.GetChatCompletionChunk(id="r1", model="m", usage=figures).SerializeToString()
    frames = emit_stream("xai.grpc", [LOOKUP])
    response = decoded("xai.grpc", [*frames, alone])
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)
    assert response.choices == decoded("xai.grpc", frames).choices


def test_USE_02_usage_in_the_last_text_chunk_neither_drops_nor_doubles_the_text() -> None:
    frames = [
        sse(delta_chunk({"content": "It is "})),
        sse(delta_chunk({"content": "sunny."}, "stop", usage=FIGURES)),
        DONE,
    ]
    response, events = feed("openai.chat", frames)
    assert decoded("openai.chat", frames) == response
    assert response.choices[0].blocks == [Text("It is sunny.")]
    assert response.usage == USAGE
    assert [type(event).__name__ for event in events] == [
        "BlockStart",
        "BlockDelta",
        "BlockDelta",
        "ChoiceStop",
        "UsageUpdate",
    ]


def test_USE_02_usage_in_the_last_call_chunk_neither_drops_nor_doubles_the_call() -> None:
    frames = emit_stream("openai.chat", [LOOKUP])
    call = {"index": 0, "id": "call_a", "function": {"name": "lookup", "arguments": '{"city":"Turin"}'}}
    packed = decoded("openai.chat", [sse(delta_chunk({"tool_calls": [call]}, "tool_calls", usage=FIGURES)), DONE])
    assert packed.choices == decoded("openai.chat", frames).choices
    assert packed.usage == USAGE


def test_USE_02_xai_usage_and_text_of_one_chunk_are_both_kept() -> None:
    figures = usage_pb2.SamplingUsage(prompt_tokens=5, completion_tokens=7, total_tokens=12)
    response = decoded("xai.grpc", [grpc_event(content="Sunny.", usage=figures, finish="REASON_STOP")])
    assert response.choices[0].blocks == [Text("Sunny.")]
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)


def test_USE_02_usage_in_the_terminal_responses_event_is_kept() -> None:
    *frames, _ = emit_stream("openai.responses", [Say("Sunny.")], "end_turn")
    raw = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    response = decoded("openai.responses", [*frames, sse(terminal([], usage=raw))])
    assert (response.text, response.usage) == ("Sunny.", Usage(5, 7, None, None, None, raw))
