"""Failures of class index: which streamed fragment belongs to which call."""

from __future__ import annotations

import json

import pytest

from tests.support.decoding import anthropic, chat, codes, decode_stream, responses, texts, triples
from tests.support.events import (
    anthropic_body,
    block_start,
    block_stop,
    chat_body,
    chat_call,
    chunk,
    function_call,
    gemini_body,
    gemini_call,
    grpc_call,
    grpc_chunk,
    item_events,
    json_delta,
    piece,
    responses_body,
    text_delta,
    tool_start,
)
from toolparity import Response, Text, ToolCall, normalize, select

TWO = [("a", "f", {"x": 1}), ("b", "f", {"x": 2})]


def test_IDX_01_each_anthropic_tool_block_is_one_call_after_any_other_block() -> None:
    response = anthropic(
        block_start(0, type="text", text=""),
        text_delta(0, "Looking."),
        block_stop(0),
        tool_start(1, "A", "f"),
        json_delta(1, '{"x"'),
        json_delta(1, ":1}"),
        block_stop(1),
        tool_start(2, "B", "g"),
        json_delta(2, '{"y":'),
        json_delta(2, "2}"),
        block_stop(2),
    )
    assert response.choices[0].blocks == [
        Text("Looking."),
        ToolCall("A", "f", {"x": 1}, '{"x":1}'),
        ToolCall("B", "g", {"y": 2}, '{"y":2}'),
    ]
    assert codes(response) == []


def test_IDX_02_interleaved_responses_items_are_separated_by_output_index() -> None:
    first = function_call("a", "f", '{"x":1}', id="fc_1")
    second = function_call("b", "g", '{"y":2}', id="fc_2")
    one, two = item_events(0, first), item_events(1, second)
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]
    response = responses(*mixed, end=responses_body(first, second))
    assert triples(response) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]
    assert codes(response) == []


def test_IDX_02_interleaved_responses_deltas_suffice_without_item_ends() -> None:
    first = function_call("a", "f", '{"x":1}', id="fc_1")
    second = function_call("b", "g", '{"y":2}', id="fc_2")
    one, two = item_events(0, first)[:-2], item_events(1, second)[:-2]
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]
    assert triples(responses(*mixed)) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


#: Whole calls without ids, as Gemini's compatible endpoint sends them.
WHOLE = [piece(0, None, name, arguments) for name, arguments in (("f", '{"x":1}'), ("g", "{}"), ("h", '{"z":3}'))]
NAMED = [("f", {"x": 1}), ("g", {}), ("h", {"z": 3})]


@pytest.mark.parametrize("chunks", [WHOLE, [chunk(*WHOLE)]], ids=["three chunks", "one chunk"])
def test_IDX_03_complete_calls_with_a_constant_index_stay_separate(chunks: list[dict[str, object]]) -> None:
    response = chat(*chunks)
    assert [(call.name, call.arguments) for call in response.calls] == NAMED
    assert len({call.id for call in response.calls}) == 3
    assert codes(response).count("id-missing") == 3


def test_IDX_03_complete_calls_of_the_protobuf_wire_are_never_merged_across_chunks() -> None:
    calls = [grpc_call(f"c{number}", name, '{"x":1}') for number, name in enumerate("fgh")]
    expected = [("c0", "f", {"x": 1}), ("c1", "g", {"x": 1}), ("c2", "h", {"x": 1})]
    apart = decode_stream("xai.grpc", [*(grpc_chunk(call, role=2) for call in calls), grpc_chunk(finish=4)])
    together = decode_stream("xai.grpc", [grpc_chunk(*calls, role=2), grpc_chunk(finish=4)])
    assert triples(apart) == triples(together) == expected


def test_IDX_04_a_new_id_with_a_name_on_a_used_index_is_a_new_call() -> None:
    response = chat(piece(0, "a", "f", '{"x":1}'), piece(0, "b", "f", '{"x":2}'))
    assert triples(response) == TWO
    assert codes(response) == ["index-reused"]


def test_IDX_04_a_second_anthropic_block_under_one_index_is_a_new_call() -> None:
    response = anthropic(
        *(tool_start(0, "a", "f"), json_delta(0, '{"x":1}'), block_stop(0)),
        *(tool_start(0, "b", "f"), json_delta(0, '{"x":2}'), block_stop(0)),
    )
    assert triples(response) == TWO
    assert codes(response) == ["index-reused"]


def test_IDX_04_a_second_responses_item_under_one_output_index_is_a_new_call() -> None:
    first, second = function_call("a", "f", '{"x":1}', id="fc_1"), function_call("b", "f", '{"x":2}', id="fc_2")
    response = responses(*item_events(0, first), *item_events(0, second))
    assert triples(response) == TWO
    assert "index-reused" in codes(response)


def test_BED_05_interleaved_blocks_are_separated_and_text_may_lack_its_start() -> None:
    response = anthropic(
        text_delta(0, "Both "),
        tool_start(1, "a", "f"),
        tool_start(2, "b", "g"),
        json_delta(2, '{"y":'),
        json_delta(1, '{"x":'),
        text_delta(0, "now."),
        json_delta(2, "2}"),
        json_delta(1, "1}"),
        block_stop(1),
        block_stop(2),
    )
    assert response.choices[0].blocks == [
        Text("Both now."),
        ToolCall("a", "f", {"x": 1}, '{"x":1}'),
        ToolCall("b", "g", {"y": 2}, '{"y":2}'),
    ]


def test_IDX_10_a_fragment_with_an_unknown_index_continues_the_unfinished_call() -> None:
    response = chat(
        piece(0, "a", "f", ""), piece(0, arguments='{"x":1}'), piece(0, "b", "g", ""), piece(1, arguments='{"y":2}')
    )
    assert triples(response) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]
    assert codes(response) == ["index-reused", "index-changed"]


def test_GEM_10_two_complete_calls_of_one_tool_are_two_calls() -> None:
    response = chat(piece(0, None, "read_file", '{"path":"a"}'), piece(0, None, "read_file", '{"path":"b"}'))
    assert [(call.name, call.arguments) for call in response.calls] == [
        ("read_file", {"path": "a"}),
        ("read_file", {"path": "b"}),
    ]
    assert response.choices[0].stop.reason == "tool_calls"


def test_GEM_10_two_complete_calls_without_ids_are_two_calls_on_the_protobuf_wire() -> None:
    calls = [grpc_call("", "read_file", '{"path":"a"}'), grpc_call("", "read_file", '{"path":"b"}')]
    response = decode_stream("xai.grpc", [*(grpc_chunk(call, role=2) for call in calls), grpc_chunk(finish=4)])
    assert [call.arguments for call in response.calls] == [{"path": "a"}, {"path": "b"}]


def test_CHOICE_01_calls_belong_to_their_choice() -> None:
    response = chat(
        chunk(piece(0, "a", "f", "")),
        chunk(piece(0, "b", "g", ""), choice=1),
        chunk(piece(0, arguments='{"x":')),
        chunk(piece(0, arguments='{"y":'), choice=1),
        chunk(piece(0, arguments="1}")),
        chunk(piece(0, arguments="2}"), choice=1),
        chunk(finish="tool_calls", choice=1),
    )
    assert [(choice.index, choice.blocks) for choice in response.choices] == [
        (0, [ToolCall("a", "f", {"x": 1}, '{"x":1}')]),
        (1, [ToolCall("b", "g", {"y": 2}, '{"y":2}')]),
    ]
    assert codes(response) == []


def test_CHOICE_01_protobuf_outputs_are_choices_only_if_the_request_sets_n() -> None:
    chunks = [
        grpc_chunk(grpc_call("a", "f", "{}"), index=0, finish=4, role=2),
        grpc_chunk(grpc_call("b", "g", "{}"), index=1, finish=4, role=2),
    ]
    tools = [{"type": "function", "function": {"name": name}} for name in "fg"]
    several = decode_stream("xai.grpc", chunks, request={"n": 2, "tools": tools})
    assert [(choice.index, [call.id for call in choice.calls]) for choice in several.choices] == [
        (0, ["a"]),
        (1, ["b"]),
    ]
    one = decode_stream("xai.grpc", chunks)
    assert [(choice.index, [call.id for call in choice.calls]) for choice in one.choices] == [(0, ["a", "b"])]


def test_IDX_18_fragments_belong_to_the_last_call_that_opened_the_index() -> None:
    response = chat(
        piece(0, "a", "f", '{"x":1}'),
        piece(0, "b", "g", ""),
        piece(0, arguments='{"y":'),
        piece(None, arguments="2}"),
    )
    assert triples(response) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


def _unblended(response: Response) -> None:
    assert {call.id for call in response.calls} <= {"a", "b"}
    assert {call.name for call in response.calls} <= {"weather", "traffic"}


def test_IDX_06_ids_and_names_of_two_calls_are_never_concatenated() -> None:
    response = chat(piece(0, "a", "weather", '{"x":1}'), piece(0, "b", "traffic", '{"x":2}'))
    _unblended(response)
    assert triples(response) == [("a", "weather", {"x": 1}), ("b", "traffic", {"x": 2})]


def test_IDX_06_two_call_starts_before_any_arguments_are_not_merged() -> None:
    response = chat(piece(0, "a", "weather", ""), piece(0, "b", "traffic", ""), piece(0, arguments='{"x":2}'))
    _unblended(response)
    assert texts(response) == [("a", "weather", ""), ("b", "traffic", '{"x":2}')]


def test_IDX_07_interleaved_fragments_are_routed_by_index() -> None:
    response = chat(
        piece(0, "a", "f", ""),
        piece(1, "b", "g", ""),
        piece(0, arguments='{"x"'),
        piece(1, arguments='{"y":2}'),
        piece(0, arguments=":1}"),
    )
    assert triples(response) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]
    assert codes(response) == []


@pytest.mark.parametrize("index", ["1", -1, "zero", None, {}], ids=repr)
def test_IDX_09_an_index_that_is_not_a_number_is_a_key_or_missing(index: object) -> None:
    response = chat(piece(0, "a", "f", '{"x":1}'), piece(index, "b", "f", '{"x":2}'))
    assert triples(response) == TWO
    assert ("index-missing" in codes(response)) is not isinstance(index, str)
    assert ("wrong-type" in codes(response)) == (isinstance(index, (str, dict)))


def test_IDX_09_a_fractional_index_collides_with_none() -> None:
    response = chat(
        piece(0, "a", "f", '{"x":1}'),
        piece(1.0, "b", "f", ""),
        piece(1.0, arguments='{"x"'),
        piece(1.0, arguments=":2}"),
    )
    assert triples(response) == TWO


def test_IDX_09_one_index_in_two_choices_does_not_collide() -> None:
    response = chat(
        chunk(piece("1", "a", "f", '{"x":1}')),
        chunk(piece("1", "b", "f", '{"x":2}'), choice=1),
        chunk(finish="tool_calls", choice=1),
    )
    assert [[(call.id, call.arguments) for call in choice.calls] for choice in response.choices] == [
        [("a", {"x": 1})],
        [("b", {"x": 2})],
    ]


def test_IDX_12_indexes_are_keys_and_calls_are_in_order_of_appearance() -> None:
    response = chat(
        piece(3, "a", "f", ""), piece(3, arguments='{"x":1}'), piece(1, "b", "f", ""), piece(1, arguments='{"x":2}')
    )
    assert triples(response) == TWO
    assert codes(response) == []


def test_IDX_17_one_id_with_two_indexes_is_one_call() -> None:
    response = chat(piece(0, "a", "f", '{"x":1}'), piece(1, "a", "f", '{"x":1}'))
    assert triples(response) == [("a", "f", {"x": 1})]
    assert "index-changed" in codes(response)


def test_IDX_17_different_arguments_with_one_id_are_kept_and_reported() -> None:
    response = chat(piece(0, "a", "f", '{"x":1}'), piece(1, "a", "f", '{"x":2}'))
    assert [(call.name, call.arguments) for call in response.calls] == [("f", {"x": 1}), ("f", {"x": 2})]
    assert len({call.id for call in response.calls}) == 2
    assert "id-duplicate" in codes(response)


def test_IDX_05_calls_without_an_index_are_distinguished_by_their_ids() -> None:
    response = chat(
        piece(None, "a", "f", ""),
        piece(None, None, None, '{"x":1}'),
        piece(None, "b", "f", ""),
        piece(None, None, None, '{"x":2}'),
    )
    assert triples(response) == TWO
    assert codes(response) == ["index-missing"]


def test_IDX_05_without_an_index_and_an_id_a_new_name_begins_a_call() -> None:
    response = chat(
        piece(None, None, "f", '{"x":'),
        piece(None, None, None, "1}"),
        piece(None, None, "g", '{"y":'),
        piece(None, None, None, "2}"),
    )
    assert [(call.name, call.arguments) for call in response.calls] == [("f", {"x": 1}), ("g", {"y": 2})]


def test_CHUNK_01_fragments_that_repeat_the_id_are_one_call() -> None:
    response = chat(
        chunk(piece(0, "a", "f", "", type="function")),
        chunk(piece(0, "a", "", '{"city":', type="function")),
        chunk(piece(0, "a", "", ' "Paris"}', type="function")),
    )
    assert triples(response) == [("a", "f", {"city": "Paris"})]
    assert codes(response) == []


def test_IDX_13_names_with_a_constant_index_are_not_concatenated() -> None:
    response = chat(
        piece(0, "a", "weather_info", ""),
        piece(0, "a", None, '{"x":1}'),
        piece(0, "b", "query_flow", ""),
        piece(0, "b", None, '{"y":2}'),
    )
    assert triples(response) == [("a", "weather_info", {"x": 1}), ("b", "query_flow", {"y": 2})]


def test_IDX_13_names_without_an_index_are_not_concatenated() -> None:
    response = chat(piece(None, "a", "weather_info", '{"x":1}'), piece(None, "b", "query_flow", '{"y":2}'))
    assert triples(response) == [("a", "weather_info", {"x": 1}), ("b", "query_flow", {"y": 2})]


def test_IDX_14_gaps_in_indexes_are_not_calls() -> None:
    response = chat(piece(1, "a", "f", ""), piece(1, arguments='{"x":1}'))
    assert triples(response) == [("a", "f", {"x": 1})]
    assert codes(response) == []


@pytest.mark.parametrize("empty", [piece(0), piece(0, "", "", ""), piece(0, "phantom", "", "")], ids=["bare", "", "id"])
def test_IDX_14_a_slot_without_a_name_and_arguments_is_not_a_call(empty: dict[str, object]) -> None:
    response = chat(empty, piece(1, "a", "f", '{"x":1}'))
    assert triples(response) == [("a", "f", {"x": 1})]
    assert codes(response) == ["nameless-call"]


@pytest.mark.parametrize("name", ["", " ", "\n\t"])
def test_a_call_whose_name_is_white_space_does_not_run(name: str) -> None:
    bodies = {
        "openai.chat": json.dumps(chat_body(chat_call("a", name, "{}"))),
        "google.gemini": gemini_body(gemini_call(None, name, "{}")),
    }
    for response in (chat(piece(0, "a", name, "{}")), *(normalize(body, wire) for wire, body in bodies.items())):
        assert select(response).kept == []
        assert "nameless-call" in codes(response)


def test_IDX_14_anthropic_blocks_may_begin_at_any_index() -> None:
    response = anthropic(tool_start(4, "a", "f"), json_delta(4, '{"x":1}'), block_stop(4))
    assert triples(response) == [("a", "f", {"x": 1})]


def test_IDX_14_responses_items_may_begin_at_any_index() -> None:
    item = function_call("a", "f", '{"x":1}', id="fc_1")
    assert triples(responses(*item_events(3, item))) == [("a", "f", {"x": 1})]


def test_IDX_15_an_item_that_ends_under_another_id_is_one_call() -> None:
    begun = item_events(0, function_call("call_1", "f", '{"x":1}', id="fc_1"))[:-1]
    ended = function_call("call_1", "f", '{"x":1}', id="call_1|fc_1")
    end = {"type": "response.output_item.done", "output_index": 0, "item": ended}
    assert triples(responses(*begun, end)) == [("call_1", "f", {"x": 1})]
    assert triples(responses(*begun, end, end=responses_body(ended))) == [("call_1", "f", {"x": 1})]


def test_IDX_15_deltas_under_the_item_id_and_an_end_under_the_call_id_are_one_call() -> None:
    response = responses(
        {
            "type": "response.output_item.added",
            "item": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": ""},
        },
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": '{"x":1}'},
        {"type": "response.function_call_arguments.done", "item_id": "fc_1", "arguments": '{"x":1}'},
        {"type": "response.output_item.done", "item": function_call("call_1", "f", '{"x":1}', id="call_1")},
    )
    assert triples(response) == [("call_1", "f", {"x": 1})]


def test_IDX_15_a_nameless_leftover_is_reported_and_never_dispatched() -> None:
    response = responses(
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": '{"x":1}'},
    )
    assert [(call.name, call.status, call.arguments_text) for call in response.calls] == [("", "invalid", '{"x":1}')]
    assert "nameless-call" in codes(response)
    assert select(response).kept == []


def test_IDX_12_a_whole_anthropic_message_keeps_the_order_of_its_content() -> None:
    blocks = [{"type": "tool_use", "id": id, "name": "f", "input": {"x": x}} for id, x in (("a", 1), ("b", 2))]
    assert triples(normalize(anthropic_body(*blocks), "anthropic.messages")) == TWO
