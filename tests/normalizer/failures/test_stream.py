"""Failures of class stream: calls that accumulators lose, halve or double."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.wires import TEXT_WIRES, WIRES
from toolparity.normalizer.errors import DecoderFinished
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop, ChoiceStop
from toolparity.normalizer.model import Text, ToolCall

from .play import (
    DONE,
    LOOKUP,
    Call,
    Say,
    StreamDecoder,
    assert_not_executed,
    block_start,
    block_stop,
    chunk,
    codes,
    feed,
    fragment,
    grpc_chunk,
    play,
    ran,
    sse,
    stream,
    tool_call,
)

all_wires = pytest.mark.parametrize("wire", WIRES)
CHAT, CLAUDE, XAI = "openai.chat", "anthropic.messages", "xai.grpc"
TURIN = ToolCall("call_a", "lookup", {"city": "Turin"}, '{"city": "Turin"}')
FRAMES = stream(CHAT, [LOOKUP])
WHOLE_CALL = fragment('{"city": "Turin"}', 0, "call_a", "lookup")
#: Streams of a call with unusual deltas around it -> the text in them.
AROUND = {
    "STR-01 an empty text first": (CHAT, [sse(chunk({"role": "assistant", "content": ""})), *FRAMES], []),
    "STR-01 a null text first": (CHAT, [sse(chunk({"role": "assistant", "content": None})), *FRAMES], []),
    "STR-01 an empty text on xai_grpc": (XAI, [grpc_chunk(content=""), *stream(XAI, [LOOKUP])], []),
    "STR-02 an empty delta first": (CHAT, [sse(chunk({}), chunk({"role": "assistant"})), *FRAMES], []),
    "STR-02 text after the call": (
        CHAT,
        [sse(chunk(WHOLE_CALL), chunk({"content": "Looking."}), chunk({}, "stop")), DONE],
        [Text("Looking.")],
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_STR_01_STR_02_empty_and_other_deltas_around_a_call_do_not_hide_it(name: str) -> None:
    wire, frames, text = AROUND[name]
    response = play(wire, frames)
    assert response.choices[0].blocks == [*text, TURIN]
    assert ran(response) == ["call_a"]


@all_wires
def test_STR_01_STR_02_text_before_a_call_does_not_hide_it_and_an_empty_one_yields_no_delta(wire: str) -> None:
    response = play(wire, stream(wire, [Say("Let me see."), LOOKUP]))
    assert [type(block) for block in response.choices[0].blocks] == [Text, ToolCall]
    assert response.text == "Let me see."
    assert [(call.id, call.name, call.arguments) for call in response.calls] == [
        ("call_a", "lookup", {"city": "Turin"})
    ]
    assert ran(response) == ["call_a"]
    if wire in TEXT_WIRES:
        _, events = feed(wire, stream(wire, [Say(""), LOOKUP]))
        assert [event.text for event in events if isinstance(event, BlockDelta)] == ['{"city": ', '"Turin"}']


CALL = tool_call('{"city": "Turin"}', "call_a", "lookup")


HEAD = tool_call('{"city": ', "call_a", "lookup")


@pytest.mark.parametrize(
    "calls",
    [
        [CALL, CALL],
        [HEAD, tool_call('"Turin"}')],
        [HEAD, tool_call('"Turin"}', "call_a", "lookup")],
        [HEAD, tool_call('"Turin"}', "call_a")],
        [HEAD, CALL],
        [tool_call("", "call_a", "lookup"), CALL],
        [HEAD, tool_call('"Tu'), tool_call('rin"}'), CALL],
    ],
    ids=[
        "the same twice",
        "no id",
        "the id again",
        "only the id again",
        "a snapshot",
        "the name first",
        "all of it last",
    ],
)
def test_XAI_10_a_call_spread_over_chunks_is_one(calls: list[Any]) -> None:
    for role in ({}, {"role": 0}):
        frames = [grpc_chunk(tool_calls=[call], **role) for call in calls]
        response = play(XAI, [*frames, grpc_chunk(finish="REASON_TOOL_CALLS")])
        assert response.choices[0].blocks == [TURIN]
        assert ran(response) == ["call_a"]


def test_XAI_09_a_failing_grpc_status_becomes_the_error_and_the_call_is_not_run() -> None:
    response = play(XAI, [grpc_chunk(tool_calls=[CALL]), b'{"code": "UNAVAILABLE", "details": "at capacity"}'])
    assert response.error is not None
    assert (response.error.message, response.error.retryable, response.complete) == ("at capacity", True, False)
    assert response.choices[0].stop.reason == "error"
    assert_not_executed(response, calls=1)


@all_wires
def test_OBS_01_a_stream_of_only_calls_yields_events_for_each(wire: str) -> None:
    response, events = feed(wire, stream(wire, [LOOKUP, Call(('{"city": "Bari"}',), "call_b", "other")]))
    started = [event for event in events if isinstance(event, BlockStart)]
    assert [(event.block, event.id, event.name) for event in started] == [
        ("tool_call", "call_a", "lookup"),
        ("tool_call", "call_b", "other"),
    ]
    shown: dict[int, str] = {}
    for event in events:
        if isinstance(event, (BlockDelta, BlockReset)):
            shown[event.key] = (shown.get(event.key, "") if isinstance(event, BlockDelta) else "") + event.text
    assert [shown[event.key] for event in started] == [call.arguments_text for call in response.calls]
    assert response.text == ""


@all_wires
def test_DUP_03_a_retry_is_another_response_and_a_finished_decoder_rejects_it(wire: str) -> None:
    frames = stream(wire, [LOOKUP])
    first, second = play(wire, frames[: len(frames) // 2]), play(wire, frames)
    assert first.complete is False
    assert_not_executed(first)
    assert [(call.id, call.arguments) for call in second.calls] == [("call_a", {"city": "Turin"})]
    assert ran(second) == ["call_a"]
    decoder = StreamDecoder(wire)
    decoder.feed(frames[0])
    decoder.finish()
    with pytest.raises(DecoderFinished, match="new StreamDecoder"):
        decoder.feed(frames[0])


#: Wire -> the positions of events in a stream of a text and a call: the start and end of the call and the ends of the
#: response; the start and end of the text and, at 0, the start of the response; the ends of the two blocks.
ENDS: dict[str, tuple[set[int], set[int], set[int]]] = {
    "openai.chat": ({2, 5}, set(), set()),
    "openai.responses": ({5, 8, 9}, {0, 1, 4}, {4, 8}),
    "anthropic.messages": ({4, 7, 8, 9}, {0, 1, 3}, {3, 7}),
    "xai.grpc": ({3}, set(), set()),
    "google.gemini": ({2}, set(), set()),
    "bedrock.converse": ({3, 6, 7}, {0, 2}, {2, 6}),
    "cohere.chat": ({4, 7, 8}, {0, 1, 3}, {3, 7}),
    "ollama.chat": ({2}, set(), set()),
    "google.interactions": ({4, 7, 8}, {0, 1, 3}, {3, 7}),
}


@all_wires
def test_END_31_a_start_or_end_that_comes_twice_or_never_is_reported_and_counts_once(wire: str) -> None:
    frames = stream(wire, [Say("Hi."), LOOKUP])
    if wire == "google.gemini":  # an end with a part is another response
        frames[-1] = sse({"candidates": [{"index": 0, "finishReason": "STOP"}]})
    of_call, of_text, ends = ENDS[wire]
    for number in sorted(of_call | of_text):
        response, events = feed(wire, [*frames[: number + 1], *frames[number:]])
        assert response == play(wire, frames)
        assert ran(response) == ["call_a"]
        severity = "error" if number in of_call else "warning"
        found = [(finding.code, finding.severity) for finding in response.findings if finding.code != "id-missing"]
        assert found == [("event-repeated", severity)], number
        for kind in (BlockStart, BlockStop):
            keys = [event.key for event in events if isinstance(event, kind)]
            assert len(keys) == len(set(keys)), number
        assert sum(isinstance(event, ChoiceStop) for event in events) <= 1
    for number in ends and {0, *ends}:
        response = play(wire, frames[:number] + frames[number + 1 :])
        assert (codes(response), ran(response)) == (["event-missing"], ["call_a"]), number


def test_a_repeated_end_is_reported_however_its_chunks_are_read() -> None:
    """A chunk with unusual members is read by another type, and after several of them each chunk alone."""
    unusual = sse({"choices": [{"index": 0, "delta": {"content": None, "foo": 1}, "finish_reason": None}]})
    pieces = [*FRAMES[:-2], *[unusual] * 7, FRAMES[-2], unusual, *FRAMES[-2:]]
    for fed in (pieces, [b"".join(pieces)]):
        assert codes(feed(CHAT, fed)[0]).count("event-repeated") == 1


def test_of_a_repeated_start_the_arguments_count_and_other_results_remain() -> None:
    begun, *ending = stream(CLAUDE, [])
    use = {"type": "tool_use", "id": "call_a", "name": "lookup"}
    whole, empty = (sse(block_start(0, {**use, "input": given})) for given in ({"city": "Turin"}, {}))
    for starts in ([empty, whole], [whole, empty], [whole, whole]):
        response = play(CLAUDE, [begun, *starts, sse(block_stop(0)), *ending])
        assert [call.arguments for call in response.calls] == [{"city": "Turin"}]
        assert "event-repeated" in codes(response)
    results = [{"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": url}]} for url in "ab"]
    response = play(CLAUDE, [begun, *(sse(block_start(0, result)) for result in results), *ending])
    assert len(response.choices[0].blocks) == 2


@pytest.mark.parametrize("wire", ["anthropic.messages", "cohere.chat", "google.interactions"])
def test_an_end_without_a_start_is_reported(wire: str) -> None:
    frames = stream(wire, [Say("Hi."), LOOKUP])
    last = max(ENDS[wire][2])
    stray = re.sub(rb'"index": \d', b'"index": 5', frames[last])
    response = play(wire, [*frames[: last + 1], stray, *frames[last + 1 :]])
    assert (codes(response), ran(response)) == (["event-missing"], ["call_a"])
