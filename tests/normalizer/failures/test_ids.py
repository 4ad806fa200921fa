"""Failures of class id: ids that are missing, empty, repeated, changing, late or of another provider's style."""

from __future__ import annotations

import pytest

from tests.support.decoding import FORMS, anthropic, chat, codes, decode_stream, only, respond, texts, triples
from tests.support.events import (
    block_stop,
    chat_body,
    chat_call,
    chunk,
    function_call,
    grpc_call,
    grpc_chunk,
    json_delta,
    piece,
    responses_body,
    sse,
    tool_start,
)
from toolparity import StreamDecoder, ToolCall, normalize, select
from toolparity.normalizer.events import BlockDelta, BlockStart

EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)


def test_ID_07_the_call_id_is_canonical_and_the_item_id_is_the_wire_id() -> None:
    body = responses_body(function_call("call_1", "f", '{"x":1}', id="fc_1"))
    call = only(normalize(body, "openai.responses"))
    assert (call.id, call.wire_id) == ("call_1", "fc_1")
    streamed = only(respond("openai.responses", True, [("call_1", "f", '{"x":1}')]))
    assert streamed.id == "call_1"
    assert str(streamed.wire_id).startswith("fc_")


@pytest.mark.thorough(keep=1, per="{wire}")
@EVERY_FORM
@pytest.mark.parametrize("id", ["x", ""], ids=["same", "blank"])
def test_ID_09_two_calls_with_the_same_id_are_two_calls(wire: str, streamed: bool, id: str) -> None:
    response = respond(wire, streamed, [(id, "f", '{"x":1}'), (id, "f", '{"x":2}')])
    assert [(call.name, call.arguments) for call in response.calls] == [("f", {"x": 1}), ("f", {"x": 2})]
    ids = [call.id for call in response.calls]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [ref.id for ref in select(response).kept] == ids
    if id:
        assert ids[0] == "x"
        assert response.calls[1].extra["id"] == "x"
        assert codes(response) == ["id-duplicate"]
    else:
        assert codes(response) == ["id-missing", "id-missing"]


@EVERY_FORM
def test_ID_10_ids_of_an_earlier_round_may_be_repeated(wire: str, streamed: bool) -> None:
    rounds = [
        respond(wire, streamed, [("f:0", "f", f'{{"x":{round}}}'), ("f:1", "f", f'{{"y":{round}}}')])
        for round in (1, 2)
    ]
    assert [triples(response) for response in rounds] == [
        [("f:0", "f", {"x": 1}), ("f:1", "f", {"y": 1})],
        [("f:0", "f", {"x": 2}), ("f:1", "f", {"y": 2})],
    ]
    assert [codes(response) for response in rounds] == [[], []]
    assert sum(len(select(response).kept) for response in rounds) == 4


def test_GEM_03_parallel_calls_without_ids_get_distinct_ids() -> None:
    calls = [chat_call(None, "get_weather", f'{{"city":"{city}"}}') for city in ("Oslo", "Rome")]
    response = normalize(chat_body(*calls), "openai.chat")
    assert [(call.name, call.arguments) for call in response.calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rome"}),
    ]
    first, second = response.calls
    assert first.id != second.id
    assert "get_weather" not in first.id + second.id


def test_GEM_03_identical_calls_without_ids_are_not_merged() -> None:
    response = normalize(chat_body(*[chat_call(None, "roll", "{}")] * 2), "openai.chat")
    assert [call.name for call in response.calls] == ["roll", "roll"]
    assert len({call.id for call in response.calls}) == 2


@EVERY_FORM
def test_ID_15_native_ids_are_unchanged(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("functions.a:3", "a", "{}")])
    assert triples(response) == [("functions.a:3", "a", {})]
    assert codes(response) == []


@EVERY_FORM
def test_ID_16_a_call_with_an_id_of_the_history_is_a_new_call(wire: str, streamed: bool) -> None:
    request = {
        "tools": [{"type": "function", "name": "f", "function": {"name": "f"}}],
        "messages": [
            {"role": "assistant", "tool_calls": [chat_call("f:0", "f", '{"x":1}')]},
            {"role": "tool", "tool_call_id": "f:0", "content": "done"},
        ],
    }
    response = respond(wire, streamed, [("f:0", "f", '{"x":1}')], request=request)
    assert triples(response) == [("f:0", "f", {"x": 1})]
    assert [ref.id for ref in select(response).kept] == ["f:0"]
    assert codes(response) == []


@EVERY_FORM
def test_ID_20_an_id_that_contains_the_name_is_kept_unchanged(wire: str, streamed: bool) -> None:
    call = only(respond(wire, streamed, [("functions.f:0", "f", '{"x":1}')]))
    assert (call.id, call.name) == ("functions.f:0", "f")


@EVERY_FORM
def test_ID_21_the_same_native_id_in_two_rounds_means_two_calls(wire: str, streamed: bool) -> None:
    rounds = [respond(wire, streamed, [("search:0", "search", f'{{"q":"{q}"}}')]) for q in ("one", "two")]
    assert [only(response).arguments for response in rounds] == [{"q": "one"}, {"q": "two"}]
    assert [only(response).id for response in rounds] == ["search:0", "search:0"]
    assert all(len(select(response).kept) == 1 for response in rounds)


def test_ID_01_an_id_that_changes_within_a_call_is_one_call() -> None:
    response = chat(piece(0, "a", "f", '{"x":'), piece(0, "b", None, "1}"))
    assert triples(response) == [("a", "f", {"x": 1})]
    assert codes(response) == ["id-changed"]


def test_ID_01_fragments_with_different_ids_are_one_call() -> None:
    response = chat(piece(0, "a", "f", ""), *(piece(0, f"b{n}", None, part) for n, part in enumerate('{"x":1}')))
    assert triples(response) == [("a", "f", {"x": 1})]


def test_ID_02_a_repeated_id_and_name_continue_the_call() -> None:
    response = chat(*(chunk(piece(0, "a", "f", part, type="function")) for part in ('{"x"', ":", "1}")))
    assert response.calls == [ToolCall("a", "f", {"x": 1}, '{"x":1}')]
    assert codes(response) == []


def test_ID_02_a_repeated_id_and_name_continue_the_call_without_an_index() -> None:
    response = chat(*(chunk(piece(None, "a", "f", part)) for part in ('{"x"', ":", "1}")))
    assert triples(response) == [("a", "f", {"x": 1})]


def test_ID_05_all_events_of_a_call_have_one_id() -> None:
    decoder = StreamDecoder("openai.chat")
    pieces = [piece(0), piece(0, "a", "f", ""), piece(0, arguments='{"x":1}')]
    events = decoder.feed(sse(*(chunk(given) for given in pieces), chunk(finish="tool_calls"), done=True))
    assert [event for event in events if isinstance(event, (BlockStart, BlockDelta))] == [
        BlockStart(0, 0, "tool_call", "a", "f"),
        BlockDelta(0, 0, '{"x":1}'),
    ]
    assert triples(decoder.finish()) == [("a", "f", {"x": 1})]


def test_ID_06_the_id_is_that_of_the_content_block() -> None:
    start = tool_start(0, "toolu_1", "f")
    start["tool_use_id"] = "wrong"
    response = anthropic(start, json_delta(0, '{"x":1}'), block_stop(0))
    assert triples(response) == [("toolu_1", "f", {"x": 1})]


def test_ID_12_a_stream_of_growing_lists_counts_each_call_once() -> None:
    calls = [piece(n, f"c{n}", "f", f'{{"x":{n}}}') for n in range(3)]
    response = chat(*(chunk(*calls[: n + 1]) for n in range(3)))
    assert triples(response) == [("c0", "f", {"x": 0}), ("c1", "f", {"x": 1}), ("c2", "f", {"x": 2})]
    assert "arguments-snapshot" in codes(response)


def test_ID_12_growing_lists_count_each_call_once_on_the_protobuf_wire() -> None:
    calls = [grpc_call(f"c{n}", "f", f'{{"x":{n}}}') for n in range(3)]
    response = decode_stream(
        "xai.grpc", [*(grpc_chunk(*calls[: n + 1], role=2) for n in range(3)), grpc_chunk(finish=4)]
    )
    assert triples(response) == [("c0", "f", {"x": 0}), ("c1", "f", {"x": 1}), ("c2", "f", {"x": 2})]


@EVERY_FORM
def test_ID_12_an_identical_call_in_one_answer_is_merged(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "f", '{"x":1}'), ("a", "f", '{"x":1}'), ("b", "f", '{"x":1}')])
    assert triples(response) == [("a", "f", {"x": 1}), ("b", "f", {"x": 1})]


def test_ID_04_id_and_name_may_arrive_separately_in_any_order() -> None:
    expected = [("a", "f", {"x": 1})]
    name_first = [piece(0, None, "f"), piece(0, "a"), piece(0, arguments='{"x":1}')]
    id_first = [piece(0, "a"), piece(0, None, "f"), piece(0, arguments='{"x":1}')]
    id_last = [piece(0, None, "f", '{"x":'), piece(0, None, None, "1}"), piece(0, "a")]
    bare_first = [piece(0), piece(0, None, "f", ""), piece(0, "a", None, ""), piece(0, None, None, '{"x":1}')]
    for pieces in (name_first, id_first, id_last, bare_first):
        response = chat(*pieces)
        assert triples(response) == expected
        assert codes(response) == []


def test_ID_14_an_empty_id_is_replaced_by_a_synthetic_one_and_reported() -> None:
    response = chat(piece(0, "", "f", ""), piece(0, "", None, '{"x":1}'))
    call = only(response)
    assert (bool(call.id), call.name, call.arguments) == (True, "f", {"x": 1})
    assert codes(response) == ["id-missing"]
    assert [(ref.id, ref.name) for ref in select(response).kept] == [(call.id, "f")]


@EVERY_FORM
def test_GEM_04_the_same_input_gives_the_same_synthetic_ids(wire: str, streamed: bool) -> None:
    calls = [("", "f", '{"x":1}'), ("", "f", '{"x":2}')]
    first, second = respond(wire, streamed, calls), respond(wire, streamed, calls)
    assert texts(first) == texts(second)
    assert len({call.id for call in first.calls}) == 2


@EVERY_FORM
def test_GEM_04_an_id_that_the_provider_gave_is_never_replaced(wire: str, streamed: bool) -> None:
    assert only(respond(wire, streamed, [("given", "f", "{}")])).id == "given"


def test_ID_18_a_call_without_an_item_id_has_no_wire_id() -> None:
    call = only(normalize(responses_body(function_call("call_x", "f", "{}")), "openai.responses"))
    assert (call.id, call.wire_id) == ("call_x", None)


@EVERY_FORM
def test_ID_19_ids_that_differ_in_one_character_stay_distinct(wire: str, streamed: bool) -> None:
    ids = ["call.0", "call:0", "call_0"]
    response = respond(wire, streamed, [(id, "f", "{}") for id in ids])
    assert [call.id for call in response.calls] == ids
    assert codes(response) == []


@EVERY_FORM
def test_ID_13_long_foreign_ids_are_never_shortened(wire: str, streamed: bool) -> None:
    ids = ["toolu_" + "x" * 74 + str(number) for number in range(2)]
    response = respond(wire, streamed, [(id, "f", "{}") for id in ids])
    assert [call.id for call in response.calls] == ids


def test_ID_09_a_repeated_call_start_without_arguments_under_another_index_is_ignored() -> None:
    response = chat(piece(0, "a", "f", ""), piece(0, arguments='{"x":1}'), piece(1, "a", "f", ""))
    assert triples(response) == [("a", "f", {"x": 1})]
    assert codes(response) == ["duplicate-call"]
