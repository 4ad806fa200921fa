"""Failures of class stream: calls that accumulators lose, halve or double."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, feed, ran, triples
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.events import (
    DONE,
    TOOL,
    delta_chunk,
    fragment,
    grpc_event,
    grpc_output,
    grpc_response,
    sse,
    tool_call,
)
from tests.support.wires import TEXT_WIRES, WIRES
from toolparity import StreamDecoder, normalize
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.errors import DecoderFinished
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop, ChoiceStop
from toolparity.normalizer.model import ServerToolCall, ServerToolResult, Stop, Text, ToolCall

all_wires = pytest.mark.parametrize("wire", WIRES)
TURIN = ToolCall("call_a", "lookup", {"city": "Turin"}, '{"city":"Turin"}')


@pytest.mark.parametrize("content", ["", None])
def test_STR_01_an_empty_text_before_a_call_adds_no_block(content: str | None) -> None:
    first = {"role": "assistant", "content": content}
    frames = [sse(delta_chunk(first)), *emit_stream("openai.chat", [LOOKUP])]
    response = decoded("openai.chat", frames)
    assert response.choices[0].blocks == [TURIN]
    message = {
        **first,
        "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "lookup", "arguments": '{"city":"Turin"}'}}
        ],
    }
    whole = normalize({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}, "openai.chat")
    assert whole.choices[0].blocks == [TURIN]


def test_STR_01_an_empty_text_beside_an_xai_call_adds_no_block() -> None:
    assert decoded("xai.grpc", [grpc_event(content=""), *emit_stream("xai.grpc", [LOOKUP])]).choices[0].blocks == [
        TURIN
    ]


@pytest.mark.parametrize("wire", TEXT_WIRES)
def test_STR_01_an_empty_text_yields_no_delta(wire: str) -> None:
    _, events = feed(wire, emit_stream(wire, [Say(""), LOOKUP]))
    assert "" not in [event.text for event in events if isinstance(event, BlockDelta)]


@all_wires
def test_STR_02_text_before_a_call_does_not_hide_it(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [Say("Let me see."), LOOKUP]))
    assert "Let me see." in response.text
    assert triples(response) == [("call_a", "lookup", {"city": "Turin"})]
    assert ran(response) == ["call_a"]


def test_STR_02_an_empty_first_delta_does_not_hide_the_call() -> None:
    response = decoded(
        "openai.chat", [sse(delta_chunk({}), delta_chunk({"role": "assistant"})), *emit_stream("openai.chat", [LOOKUP])]
    )
    assert response.choices[0].blocks == [TURIN]
    assert ran(response) == ["call_a"]


def test_XAI_09_a_later_chunk_without_a_role_does_not_remove_the_call() -> None:
    call = tool_call('{"city":"Turin"}', "call_a", "lookup")
    response = decoded("xai.grpc", [grpc_event(tool_calls=[call], finish="REASON_TOOL_CALLS"), grpc_event(role=0)])
    assert response.choices[0].blocks == [TURIN]
    assert response.choices[0].stop == Stop("tool_calls", "REASON_TOOL_CALLS")
    assert (response.complete, response.findings) == (True, ())
    assert ran(response) == ["call_a"]


def test_XAI_09_a_later_chunk_without_a_role_does_not_turn_a_result_into_text() -> None:
    search = tool_call("{}", "srv_1", "web_search", type=2)
    frames = [
        grpc_event(0, tool_calls=[search]),
        grpc_event(1, role=TOOL, tool_calls=[search], content="fo"),
        grpc_event(1, role=0, content="und"),
        grpc_event(2, content="Sunny.", finish="REASON_STOP"),
    ]
    assert decoded("xai.grpc", frames).choices[0].blocks == [
        ServerToolCall("srv_1", "web_search", "web_search", "{}", "in_progress", {"index": 0}),
        ServerToolResult("srv_1", "web_search", False, {"content": "found"}, {"index": 1}),
        Text("Sunny.", [], {"index": 2}),
    ]


CALL = tool_call('{"city":"Turin"}', "call_a", "lookup")


@pytest.mark.parametrize(
    "chunks",
    [
        [[CALL], [CALL]],
        [[tool_call('{"city":', "call_a", "lookup")], [tool_call('"Turin"}')]],
        [[tool_call('{"city":', "call_a", "lookup")], [tool_call('"Turin"}', "call_a", "lookup")]],
        [[tool_call('{"city":', "call_a", "lookup")], [tool_call('"Turin"}', "call_a")]],
        [[tool_call('{"city":', "call_a", "lookup")], [CALL]],
        [[tool_call("", "call_a", "lookup")], [CALL]],
        [[tool_call('{"city":', "call_a", "lookup")], [tool_call('"Tu')], [tool_call('rin"}')], [CALL]],
    ],
    ids=[
        "the same call twice",
        "a continuation without id",
        "the id again",
        "the id alone again",
        "a snapshot",
        "the name first",
        "pieces and then all of it",
    ],
)
def test_XAI_10_a_call_spread_over_two_chunks_is_one(chunks: list[list[Any]]) -> None:
    frames = [grpc_event(tool_calls=calls) for calls in chunks]
    response = decoded("xai.grpc", [*frames, grpc_event(finish="REASON_TOOL_CALLS")])
    assert response.choices[0].blocks == [TURIN]
    assert ran(response) == ["call_a"]


def test_XAI_10_a_fragment_that_looks_like_a_beginning_is_a_fragment() -> None:
    pieces = ["{", '"where": ', "{", '"city": "Turin"', "}", "}"]
    frames = emit_stream("xai.grpc", [scripted_call(pieces)])
    response = decoded("xai.grpc", frames)
    assert [call.arguments_text for call in response.calls] == ['{"where": {"city": "Turin"}}']
    assert [call.arguments for call in response.calls] == [{"where": {"city": "Turin"}}]


def test_XAI_10_a_call_in_a_chunk_without_a_role_is_decoded() -> None:
    response = decoded("xai.grpc", [grpc_event(role=0, tool_calls=[CALL], finish="REASON_TOOL_CALLS")])
    assert response.choices[0].blocks == [TURIN]
    whole = normalize(grpc_response(grpc_output(role=0, tool_calls=[CALL], finish="REASON_TOOL_CALLS")), "xai.grpc")
    assert whole.choices[0].blocks == [TURIN]


def test_XAI_10_two_calls_without_ids_but_with_names_are_two() -> None:
    calls = [tool_call('{"city":"Turin"}', "", "lookup"), tool_call('{"city": "Bari"}', "", "lookup")]
    response = decoded(
        "xai.grpc", [grpc_event(tool_calls=[c]) for c in calls] + [grpc_event(finish="REASON_TOOL_CALLS")]
    )
    assert [call.arguments for call in response.calls] == [{"city": "Turin"}, {"city": "Bari"}]
    assert len({call.id for call in response.calls}) == 2
    assert codes(response) == ["id-missing", "id-missing"]


def test_XAI_09_a_failing_grpc_status_becomes_the_error_and_the_call_is_not_run() -> None:
    ended = b'{"code": "UNAVAILABLE", "details": "at capacity"}'
    response = decoded("xai.grpc", [grpc_event(tool_calls=[CALL]), ended])
    assert response.error is not None
    assert (response.error.message, response.error.retryable, response.complete) == ("at capacity", True, False)
    assert response.choices[0].stop.reason == "error"
    assert_not_executed(response, calls=1)


@all_wires
def test_OBS_01_a_stream_of_only_calls_yields_events_for_each(wire: str) -> None:
    second = scripted_call(('{"city": "Bari"}',), "call_b", "other")
    frames = emit_stream(wire, [LOOKUP, second])
    response, events = feed(wire, frames)
    started = [e for e in events if isinstance(e, BlockStart) and e.block == "tool_call"]
    assert [e.name for e in started] == ["lookup", "other"]
    assert [e.id for e in started] == [call.id for call in response.calls] == ["call_a", "call_b"]
    shown: dict[int, str] = {}
    for event in events:
        if isinstance(event, BlockDelta):
            shown[event.key] = shown.get(event.key, "") + event.text
        elif isinstance(event, BlockReset):
            shown[event.key] = event.text
    assert [shown[e.key] for e in started] == [call.arguments_text for call in response.calls]


@all_wires
def test_DUP_03_a_retry_after_a_partial_answer_is_another_response_and_only_that_runs(wire: str) -> None:
    frames = emit_stream(wire, [LOOKUP])
    first = decoded(wire, frames[: len(frames) // 2])
    second = decoded(wire, frames)
    assert first.complete is False
    assert_not_executed(first)
    assert [(call.id, call.arguments) for call in second.calls] == [("call_a", {"city": "Turin"})]
    assert ran(second) == ["call_a"]


@all_wires
def test_DUP_03_a_finished_decoder_rejects_a_second_attempt(wire: str) -> None:
    frames = emit_stream(wire, [LOOKUP])
    decoder = StreamDecoder(wire)
    decoder.feed(frames[0])
    decoder.finish()
    with pytest.raises(DecoderFinished, match="new StreamDecoder"):
        decoder.feed(frames[0])


def test_STR_02_text_after_a_call_does_not_hide_it() -> None:
    deltas = [fragment('{"city":"Turin"}', 0, "call_a", "lookup"), {"content": "Looking."}]
    response = decoded("openai.chat", [*(sse(delta_chunk(d)) for d in deltas), sse(delta_chunk({}, "stop")), DONE])
    assert response.choices[0].blocks == [Text("Looking."), TURIN]
    assert ran(response) == ["call_a"]


#: Wire -> the positions of events in a stream of a text and a call: the start and end of the call and the ends of the
#: response; the start and end of the text and, at 0, the start of the response; the ends of the two blocks.
ENDS: dict[str, tuple[set[int], set[int], set[int]]] = {
    "openai.chat": ({2, 5}, set(), set()),
    "openai.responses": ({7, 11, 12}, {0, 1, 6}, {6, 11}),
    "anthropic.messages": ({5, 9, 10, 11}, {0, 1, 4}, {4, 9}),
    "xai.grpc": ({2}, set(), set()),
    "google.gemini": ({2}, set(), set()),
    "bedrock.converse": ({3, 6, 7}, {0, 2}, {2, 6}),
    "cohere.chat": ({5, 8, 9}, {0, 2, 4}, {4, 8}),
    "ollama.chat": ({2}, set(), set()),
    "google.interactions": ({5, 8, 9}, {0, 2, 4}, {4, 8}),
}


@all_wires
def test_END_31_a_start_or_end_that_comes_twice_or_never_is_reported_and_counts_once(wire: str) -> None:
    frames = [frame for frame in emit_stream(wire, [Say("Hi."), LOOKUP]) if b"response.in_progress" not in frame]
    if wire == "google.gemini":
        frames[-1] = sse(
            {"candidates": [{"index": 0, "finishReason": "STOP"}]}
        )  # an end with a part is another response
    of_call, of_text, ends = ENDS[wire]
    for number in sorted(of_call | of_text):
        pieces = [*frames[: number + 1], *frames[number:]]
        response, events = feed(wire, pieces)
        assert response == decoded(wire, frames)
        assert ran(response) == ["call_a"]
        severity = "error" if number in of_call else "warning"
        found = [(finding.code, finding.severity) for finding in response.findings if finding.code != "id-missing"]
        assert found == [("event-repeated", severity)], number
        for kind in (BlockStart, BlockStop):
            keys = [event.key for event in events if isinstance(event, kind)]
            assert len(keys) == len(set(keys)), number
        assert sum(isinstance(event, ChoiceStop) for event in events) <= 1
    for number in ends and {0, *ends}:
        response = decoded(wire, frames[:number] + frames[number + 1 :])
        assert (codes(response), ran(response)) == (["event-missing"], ["call_a"]), number


def test_a_repeated_end_is_reported_however_its_chunks_are_read() -> None:
    """A chunk with unusual members is read by another type, and after several of them each chunk alone."""
    frames = emit_stream("openai.chat", [LOOKUP], "tool_calls")
    head, end = frames[:-3], frames[-3]
    unusual = sse({"choices": [{"index": 0, "delta": {"content": None, "foo": 1}, "finish_reason": None}]})
    pieces = [*head, *[unusual] * 7, end, unusual, end, frames[-1]]
    for fed in (pieces, [b"".join(pieces)]):
        response, _ = feed("openai.chat", fed)
        assert codes(response).count("event-repeated") == 1


def test_of_a_repeated_start_the_arguments_count_and_other_results_stay() -> None:
    def start(**block: Any) -> bytes:
        return sse({"type": "content_block_start", "index": 0, "content_block": block})

    end = emit_stream("anthropic.messages", [])
    use = {"type": "tool_use", "id": "call_a", "name": "lookup"}
    whole, hollow = start(**use, input={"city": "Turin"}), start(**use, input={})
    for starts in ([hollow, whole], [whole, hollow], [whole, whole]):
        response = decoded(
            "anthropic.messages", [end[0], *starts, sse({"type": "content_block_stop", "index": 0}), *end[1:]]
        )
        assert [call.arguments for call in response.calls] == [{"city": "Turin"}]
        assert "event-repeated" in codes(response)
    results = [{"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": url}]} for url in "ab"]
    response = decoded("anthropic.messages", [end[0], *(start(**result) for result in results), *end[1:]])
    assert len(response.choices[0].blocks) == 2


@pytest.mark.parametrize("wire", ["anthropic.messages", "cohere.chat", "google.interactions"])
def test_an_end_without_a_start_is_reported(wire: str) -> None:
    frames = emit_stream(wire, [Say("Hi."), LOOKUP])
    last = max(ENDS[wire][2])
    stray = re.sub(rb'"index": ?\d', b'"index": 5', frames[last])
    response = decoded(wire, [*frames[: last + 1], stray, *frames[last + 1 :]])
    assert (codes(response), ran(response)) == (["event-missing"], ["call_a"])
