"""Failures of classes finish and usage: stop reasons and figures that are wrong, early, late, empty or doubled."""

from __future__ import annotations

import json
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2, usage_pb2

from tests.support.decoding import assert_not_executed, both, codes, decoded, feed, ran, triples
from tests.support.emit import LOOKUP, STOP_WORDS, damage, emit_body, emit_stream, scripted_call
from tests.support.events import (
    DONE,
    MESSAGE_START,
    MESSAGE_STOP,
    delta_chunk,
    fragment,
    grpc_event,
    grpc_output,
    grpc_response,
    message_delta,
    sse,
    terminal,
    tool_call,
)
from toolparity import Response, normalize
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.events import ChoiceStop
from toolparity.normalizer.model import Stop, Text, ToolCall, Usage

CHAT, RESPONSES, CLAUDE, XAI = "openai.chat", "openai.responses", "anthropic.messages", "xai.grpc"
TURIN = ToolCall("call_a", "lookup", {"city": "Turin"}, '{"city":"Turin"}')


@pytest.mark.parametrize("wire", [CHAT, CLAUDE, XAI, RESPONSES])
def test_FIN_02_calls_decide_against_a_contradicting_stop_reason(wire: str) -> None:
    for response in both(wire, [Say("I look."), LOOKUP], "end_turn"):
        assert response.choices[0].stop == Stop("tool_calls", STOP_WORDS[wire]["end_turn"])
        assert codes(response) == ([] if wire == RESPONSES else ["stop-disagrees"])  # there, it has no other status
        assert ran(response) == ["call_a"]
    if wire != RESPONSES:
        for response in both(wire, [Say("Done.")], "tool_calls"):
            assert response.choices[0].stop == Stop("end_turn", STOP_WORDS[wire]["tool_calls"])
            assert codes(response) == ["stop-disagrees"]


@pytest.mark.parametrize(
    ("members", "contradicts"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "lookup"}}}, False),
        ({"function_call": {"name": "lookup"}}, False),
        ({"tool_choice": "required"}, True),
        ({"tool_choice": {"type": "allowed_tools", "allowed_tools": {}}}, True),
    ],
)
def test_FIN_02_with_a_named_tool_stop_does_not_contradict_calls(members: dict[str, Any], contradicts: bool) -> None:
    request = {"tools": [{"type": "function", "function": {"name": "lookup"}}], **members}
    response = normalize(b"".join(emit_stream(CHAT, [LOOKUP], "end_turn")), CHAT, request=request)
    assert response.choices[0].stop == Stop("tool_calls", "stop")
    assert ("stop-disagrees" in codes(response)) is contradicts


def malformed(finish: str, native: str) -> bytes:
    """The last chunk of an answer that Gemini calls malformed, as gateways send it."""
    ending = delta_chunk({}, finish)
    ending["choices"][0]["native_finish_reason"] = native
    return sse(ending) + DONE


@pytest.mark.parametrize("pieces", [LOOKUP.pieces, ('{"city":', '"Tu')])
def test_GEM_02_PEER_03_a_call_in_an_answer_marked_malformed_is_not_run(pieces: tuple[str, ...]) -> None:
    *frames, _, _ = emit_stream(CHAT, [scripted_call(pieces)])
    response = decoded(CHAT, [*frames, malformed("tool_calls", "MALFORMED_FUNCTION_CALL")])
    assert response.choices[0].stop == Stop("malformed_call", "tool_calls")
    assert response.calls[0].arguments_text == "".join(pieces)
    assert response.calls[0].arguments != {}
    assert_not_executed(response, calls=1)


def test_FIN_08_an_empty_finish_reason_counts_as_missing() -> None:
    deltas: list[dict[str, Any]] = [{"content": ""}, fragment('{"city":"Turin"}', 0, "call_a", "lookup")]
    frames = [sse(delta_chunk(delta, "")) for delta in deltas]
    ended = decoded(CHAT, [*frames, sse(delta_chunk({}, "tool_calls")), DONE])
    assert (ended.choices[0].blocks, ended.choices[0].stop) == ([TURIN], Stop("tool_calls", "tool_calls"))
    assert ended.findings == ()
    alone = decoded(CHAT, [*frames, DONE])
    assert (alone.choices[0].stop, codes(alone), ran(alone)) == (Stop("tool_calls", None), ["stop-missing"], ["call_a"])
    *frames, _, _ = emit_stream(CLAUDE, [LOOKUP])
    message = decoded(CLAUDE, [*frames, sse(message_delta(""), message_delta("tool_use"), MESSAGE_STOP)])
    assert (message.choices[0].stop, message.findings) == (Stop("tool_calls", "tool_use"), ())
    unset = decoded(XAI, [*emit_stream(XAI, [LOOKUP]), grpc_event()])
    assert unset.choices[0].stop == Stop("tool_calls", "REASON_TOOL_CALLS")
    assert (unset.complete, unset.findings) == (True, ())


_EMPTY = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "stop"}
EARLY = {
    CHAT: damage(CHAT, emit_stream(CHAT, [LOOKUP])[:1], lambda chunk: chunk | {"choices": [_EMPTY]}),
    CLAUDE: [sse(MESSAGE_START, message_delta("end_turn"))],
    XAI: [grpc_event(finish="REASON_STOP")],
}


@pytest.mark.parametrize("wire", EARLY)
def test_FIN_11_an_empty_candidate_that_stops_first_does_not_end_the_stream(wire: str) -> None:
    frames = emit_stream(wire, [Say("I look."), LOOKUP])
    response = decoded(wire, [*EARLY[wire], *frames[wire == CLAUDE :]])
    assert (response.text, triples(response)) == ("I look.", [("call_a", "lookup", {"city": "Turin"})])
    assert response.choices[0].stop.reason == "tool_calls"
    assert ran(response) == ["call_a"]


FIGURES = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
GEMINI_END = sse({"candidates": [{"index": 0, "finishReason": "STOP"}]})
#: Wire -> a second end, its place from the end of the stream, and its finding; one with usage is legal.
AGAIN = {
    CHAT: (sse(delta_chunk({}, "tool_calls", usage=FIGURES)), 1, []),
    CLAUDE: (sse(message_delta("tool_use")), 1, ["event-repeated"]),
    RESPONSES: (emit_stream(RESPONSES, [LOOKUP])[-1], 0, ["event-repeated"]),
    XAI: (grpc_event(finish="REASON_TOOL_CALLS", usage=usage_pb2.SamplingUsage(**FIGURES)), 0, []),
    "google.gemini": (GEMINI_END, 0, ["event-repeated"]),
}


def test_FIN_01_XAI_04_a_repeated_end_ends_a_call_once_and_its_usage_counts() -> None:
    for wire, (again, place, findings) in AGAIN.items():
        frames = emit_stream(wire, [LOOKUP])
        if wire == "google.gemini":  # an end with a part is another response
            frames[-1] = GEMINI_END
        clean = decoded(wire, frames)
        frames.insert(len(frames) - place, again)
        response = decoded(wire, frames)
        assert response.choices == clean.choices
        assert (codes(response), ran(response)) == (findings, ["call_a"])
        assert sum(isinstance(event, ChoiceStop) for event in feed(wire, frames)[1]) == (wire != RESPONSES)
        if not findings:
            assert response.usage is not None
            assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)


def xai_endings(finish: str) -> list[Response]:
    """The streamed and the plain response of xai_grpc with a call and a finish reason."""
    calls = [tool_call('{"city":"Turin"}', "call_a", "lookup")]
    streamed = decoded(XAI, [grpc_event(tool_calls=calls), grpc_event(finish=finish)])
    return [streamed, normalize(grpc_response(grpc_output(finish=finish, tool_calls=calls)), XAI)]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [("REASON_MAX_LEN", "max_tokens"), ("REASON_MAX_CONTEXT", "context_window"), ("REASON_TIME_LIMIT", "max_tokens")],
)
def test_XAI_11_reasons_that_cut_an_answer_withhold_its_last_call(raw: str, reason: str) -> None:
    for response in xai_endings(raw):
        assert response.complete is True
        assert (response.choices[0].stop.reason, response.choices[0].stop.raw) == (reason, raw)
        assert [call.status for call in response.calls] == ["truncated"]
        assert ("time-limit" in codes(response)) == (raw == "REASON_TIME_LIMIT")
        assert_not_executed(response, calls=1)


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


def test_USE_01_figures_without_any_count_do_not_become_usage() -> None:
    body = json.loads(emit_body("cohere.chat", [LOOKUP])) | {"usage": {"cached_tokens": 3}}
    assert normalize(body, "cohere.chat").usage is None


def test_USE_02_usage_in_the_last_chunk_neither_drops_nor_doubles_its_content() -> None:
    ended = delta_chunk({"content": "sunny."}, "stop", usage=FIGURES)
    frames = [sse(delta_chunk({"content": "It is "})), sse(ended), DONE]
    response, events = feed(CHAT, frames)
    assert decoded(CHAT, frames) == response
    assert (response.choices[0].blocks, response.usage) == ([Text("It is sunny.")], USAGE)
    assert [type(event).__name__ for event in events] == [
        *("BlockStart", "BlockDelta", "BlockDelta", "ChoiceStop", "UsageUpdate")
    ]
    call = fragment('{"city":"Turin"}', 0, "call_a", "lookup")
    packed = decoded(CHAT, [sse(delta_chunk(call, "tool_calls", usage=FIGURES)), DONE])
    assert (packed.choices, packed.usage) == (decoded(CHAT, emit_stream(CHAT, [LOOKUP])).choices, USAGE)
    *frames, _ = emit_stream(RESPONSES, [Say("Sunny.")], "end_turn")
    raw = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    whole = decoded(RESPONSES, [*frames, sse(terminal([], usage=raw))])
    assert (whole.text, whole.usage) == ("Sunny.", Usage(5, 7, None, None, None, raw))
