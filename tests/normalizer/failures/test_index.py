"""Failures of class index: which streamed fragment belongs to which call; see openai_chat_fragments.toml, too."""

from __future__ import annotations

import pytest

from tests.support.decoding import anthropic, chat, codes, responses, triples
from tests.support.events import (
    block_start,
    block_stop,
    chat_body,
    chat_call,
    chunk,
    function_call,
    gemini_body,
    gemini_call,
    item_events,
    json_delta,
    piece,
    responses_body,
    text_delta,
    tool_start,
)
from toolparity import Text, ToolCall, normalize, select

TWO = [("a", "f", {"x": 1}), ("b", "f", {"x": 2})]
FG = [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]
FIRST = function_call("a", "f", '{"x":1}', id="fc_1")
SECOND = function_call("b", "g", '{"y":2}', id="fc_2")


def test_IDX_01_BED_05_blocks_are_separated_by_their_index_and_text_may_lack_its_start() -> None:
    calls = [ToolCall("a", "f", {"x": 1}, '{"x":1}'), ToolCall("b", "g", {"y": 2}, '{"y":2}')]
    in_order = anthropic(
        *(block_start(0, type="text", text=""), text_delta(0, "Both "), text_delta(0, "now."), block_stop(0)),
        *(tool_start(1, "a", "f"), json_delta(1, '{"x"'), json_delta(1, ":1}"), block_stop(1)),
        *(tool_start(2, "b", "g"), json_delta(2, '{"y":'), json_delta(2, "2}"), block_stop(2)),
    )
    interleaved = anthropic(
        *(text_delta(0, "Both "), tool_start(1, "a", "f"), tool_start(2, "b", "g"), json_delta(2, '{"y":')),
        *(json_delta(1, '{"x":'), text_delta(0, "now."), json_delta(2, "2}"), json_delta(1, "1}")),
        *(block_stop(1), block_stop(2)),
    )
    assert in_order.choices[0].blocks == interleaved.choices[0].blocks == [Text("Both now."), *calls]
    assert codes(in_order) == []


@pytest.mark.parametrize("ended", [True, False])
def test_IDX_02_interleaved_responses_items_are_separated_by_output_index(ended: bool) -> None:
    one, two = (item_events(index, item)[: None if ended else -2] for index, item in enumerate((FIRST, SECOND)))
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]
    response = responses(*mixed, end=responses_body(FIRST, SECOND) if ended else None)
    assert triples(response) == FG
    assert not ended or codes(response) == []


def test_IDX_04_a_second_block_or_item_under_one_index_is_a_new_call() -> None:
    blocks = anthropic(
        *(tool_start(0, "a", "f"), json_delta(0, '{"x":1}'), block_stop(0)),
        *(tool_start(0, "b", "f"), json_delta(0, '{"x":2}'), block_stop(0)),
    )
    assert (triples(blocks), codes(blocks)) == (TWO, ["index-reused"])
    items = responses(*item_events(0, FIRST), *item_events(0, SECOND))
    assert triples(items) == FG
    assert "index-reused" in codes(items)


def test_CHOICE_01_calls_belong_to_their_choice() -> None:
    response = chat(
        *(chunk(piece(0, "a", "f", "")), chunk(piece(0, "b", "g", ""), choice=1)),
        *(chunk(piece(0, arguments='{"x":')), chunk(piece(0, arguments='{"y":'), choice=1)),
        *(chunk(piece(0, arguments="1}")), chunk(piece(0, arguments="2}"), choice=1)),
        chunk(finish="tool_calls", choice=1),
    )
    assert [(choice.index, choice.blocks) for choice in response.choices] == [
        (0, [ToolCall("a", "f", {"x": 1}, '{"x":1}')]),
        (1, [ToolCall("b", "g", {"y": 2}, '{"y":2}')]),
    ]
    assert codes(response) == []


@pytest.mark.parametrize("name", ["", " ", "\n\t"])
def test_a_call_whose_name_is_white_space_does_not_run(name: str) -> None:
    for response in (
        chat(piece(0, "a", name, "{}")),
        normalize(chat_body(chat_call("a", name, "{}")), "openai.chat"),
        normalize(gemini_body(gemini_call(None, name, "{}")), "google.gemini"),
    ):
        assert select(response).kept == []
        assert "nameless-call" in codes(response)


def test_IDX_15_an_item_whose_id_changes_is_one_call() -> None:
    *begun, _ = item_events(0, function_call("call_1", "f", '{"x":1}', id="fc_1"))
    for id in ("call_1|fc_1", "call_1"):
        ended = function_call("call_1", "f", '{"x":1}', id=id)
        end = {"type": "response.output_item.done", "output_index": 0, "item": ended}
        for events in ([*begun, end], [{k: v for k, v in e.items() if k != "output_index"} for e in (*begun, end)]):
            for output in (None, responses_body(ended)):
                assert triples(responses(*events, end=output)) == [("call_1", "f", {"x": 1})]


def test_IDX_15_a_call_without_a_name_is_reported_and_never_dispatched() -> None:
    response = responses(
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": '{"x":1}'},
    )
    assert [(call.name, call.status, call.arguments_text) for call in response.calls] == [("", "invalid", '{"x":1}')]
    assert "nameless-call" in codes(response)
    assert select(response).kept == []
