"""Failures of the classes args, numbers, unicode and early-finish: what is in a call's arguments."""

from __future__ import annotations

import json

import pytest

from tests.support.decoding import (
    FORMS,
    TEXT_FORMS,
    anthropic,
    chat,
    codes,
    decode_stream,
    only,
    respond,
    responses,
    shapes,
    traffic,
    triples,
)
from tests.support.events import (
    anthropic_body,
    block_stop,
    chat_body,
    chat_call,
    function_call,
    grpc_call,
    grpc_chunk,
    item_events,
    json_delta,
    piece,
    responses_body,
    tool_start,
)
from tests.support.wires import BYTE_WIRES, TEXT_WIRES
from toolparity import Opaque, StreamDecoder, ToolCall, normalize, select
from toolparity.normalizer import json_codec
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStop, Event
from toolparity.normalizer.repair import unwrap_arguments, unwrap_fields
from toolparity.normalizer.wires.registry import spec

EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)
WITH_TEXT = pytest.mark.parametrize(("wire", "streamed"), TEXT_FORMS)
#: Where even an empty text is distinguished from an absent one.
WITH_EMPTY_TEXT = pytest.mark.parametrize(
    ("wire", "streamed"), [f for f in TEXT_FORMS if not spec(f[0]).parsed_arguments]
)


def test_GEM_05_a_call_without_arguments_has_empty_arguments() -> None:
    expected = [("f", {}, "complete")]
    assert shapes(normalize(chat_body({"id": "a", "function": {"name": "f"}}), "openai.chat")) == expected
    assert shapes(chat(piece(0, "a", "f"))) == expected
    item = {"type": "function_call", "call_id": "a", "name": "f"}
    assert shapes(normalize(responses_body(item), "openai.responses")) == expected
    assert (
        shapes(normalize(anthropic_body({"type": "tool_use", "id": "a", "name": "f"}), "anthropic.messages"))
        == expected
    )
    assert shapes(anthropic(tool_start(0, "a", "f"), block_stop(0))) == expected


def test_GEM_05_a_call_without_an_id_is_kept() -> None:
    block = {"type": "tool_use", "name": "f", "input": {"x": 1}}
    assert shapes(normalize(anthropic_body(block), "anthropic.messages")) == [("f", {"x": 1}, "complete")]
    item = function_call(None, "f", '{"x":1}')
    assert shapes(normalize(responses_body(item), "openai.responses")) == [("f", {"x": 1}, "complete")]


def test_GEM_05_an_unknown_block_is_kept_completely_and_reported() -> None:
    new = {"type": "new_thing", "value": [1]}
    for body, wire in ((anthropic_body(new), "anthropic.messages"), (responses_body(new), "openai.responses")):
        response = normalize(body, wire)
        assert response.choices[0].blocks == [Opaque("new_thing", new)]
        assert "unknown-block" in codes(response)


TRICKY = '{"a key": "brace } and \\"quote\\" and \\\\ and \\u00e9", "n": [1, {"m": null}]}'


@pytest.mark.parametrize("size", range(1, 12))
def test_ARG_07_fragments_are_concatenated_before_they_are_parsed(size: int) -> None:
    for wire in BYTE_WIRES:
        response = respond(wire, True, [("a", "f", TRICKY)], size)
        assert response.calls[0].arguments == json.loads(TRICKY)
        assert wire not in TEXT_WIRES or response.calls[0].arguments_text == TRICKY
        assert codes(response) == []


DOUBLE = '"{\\"a\\":1}"'


@WITH_TEXT
def test_ARG_04_double_encoded_arguments_are_reported_and_unchanged(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "f", DOUBLE)])
    call = only(response)
    assert (call.arguments, call.arguments_text, call.status) == (None, DOUBLE, "invalid")
    assert codes(response) == ["arguments-double-encoded"]
    assert select(response).kept == []


@WITH_TEXT
def test_ARG_04_double_encoded_arguments_are_unwrapped_once_on_request(wire: str, streamed: bool) -> None:
    call = only(respond(wire, streamed, [("a", "f", DOUBLE)]))
    repaired = unwrap_arguments(call)
    assert (repaired.call.arguments, repaired.call.arguments_text, repaired.call.status) == (
        {"a": 1},
        '{"a":1}',
        "complete",
    )
    assert repaired.did
    assert json.loads(repaired.call.arguments_text) == {"a": 1}


SCHEMA = {"type": "object", "properties": {"todos": {"type": "array"}, "text": {"type": "string"}}}


@EVERY_FORM
def test_ARG_05_a_field_that_came_as_a_string_stays_one_unless_asked(wire: str, streamed: bool) -> None:
    text = '{"todos":"[1,2]","text":"[1]"}'
    call = only(respond(wire, streamed, [("a", "f", text)]))
    assert (call.arguments, call.status) == ({"todos": "[1,2]", "text": "[1]"}, "complete")
    repaired = unwrap_fields(call, SCHEMA)
    assert repaired.call.arguments == {"todos": [1, 2], "text": "[1]"}
    assert repaired.did


def test_SNAP_01_arguments_that_grow_by_repetition_are_a_snapshot() -> None:
    response = chat(piece(0, "a", "f", '{"a"'), piece(0, arguments='{"a":1'), piece(0, arguments='{"a":1}'))
    assert response.calls == [ToolCall("a", "f", {"a": 1}, '{"a":1}')]
    assert codes(response) == ["arguments-snapshot"]


def test_SNAP_01_a_snapshot_resets_the_block_in_the_events() -> None:
    decoder = StreamDecoder("openai.chat")
    decoder.feed(b"".join(traffic("openai.chat", True, [("a", "f", "")])[:-1]))
    events: list[Event] = []
    for text in ('{"a"', '{"a":1}'):
        delta = {"tool_calls": [piece(0, arguments=text)]}
        events += decoder.feed(b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n")
    assert events == [BlockDelta(0, 0, '{"a"'), BlockReset(0, 0, '{"a":1}')]


def test_SNAP_01_arguments_as_objects_are_spelled_as_text_and_reported() -> None:
    given = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"a": 1}}}
    response = chat(given)
    assert response.calls == [ToolCall("a", "f", {"a": 1}, '{"a":1}')]
    assert "arguments-respelled" in codes(response)


def test_SNAP_01_cumulative_calls_are_one_call_on_the_protobuf_wire() -> None:
    parts = ('{"a"', '{"a":1', '{"a":1}')
    chunks = [grpc_chunk(grpc_call("a", "f", part), role=2) for part in parts]
    response = decode_stream("xai.grpc", [*chunks, grpc_chunk(finish=4)])
    assert triples(response) == [("a", "f", {"a": 1})]


def _snap(deltas: str, done: str, item: str) -> list[dict[str, object]]:
    whole = function_call("a", "f", item, id="fc_1")
    begun, *_ = item_events(0, whole)
    where = {"output_index": 0, "item_id": "fc_1"}
    events: list[dict[str, object]] = [begun]
    if deltas:
        events.append({"type": "response.function_call_arguments.delta", "delta": deltas, **where})
    events.append({"type": "response.function_call_arguments.done", "arguments": done, **where})
    return [*events, {"type": "response.output_item.done", "output_index": 0, "item": whole}]


@pytest.mark.parametrize("deltas", ['{"x":1}', ""], ids=["deltas and done", "done only"])
def test_SNAP_02_the_end_of_the_arguments_is_not_added_to_its_deltas(deltas: str) -> None:
    response = responses(*_snap(deltas, '{"x":1}', '{"x":1}'))
    assert triples(response) == [("a", "f", {"x": 1})]
    assert "arguments-disagree" not in codes(response)


def test_SNAP_02_an_end_that_differs_from_its_deltas_counts_and_is_reported() -> None:
    response = responses(*_snap('{"x":1}', '{"x":2}', '{"x":3}'))
    assert triples(response) == [("a", "f", {"x": 3})]
    assert "arguments-disagree" in codes(response)


def test_SNAP_02_deltas_that_differ_from_all_that_follows_are_reported() -> None:
    response = responses(*_snap('{"x":12}', '{"x":1}', '{"x":1}'))
    assert triples(response) == [("a", "f", {"x": 1})]
    assert codes(response).count("arguments-disagree") == 1


@pytest.mark.thorough(keep=1, per="{wire}")
@WITH_EMPTY_TEXT
@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_ARG_01_empty_arguments_are_an_empty_object(wire: str, streamed: bool, text: str) -> None:
    response = respond(wire, streamed, [("a", "f", text)])
    call = only(response)
    assert (call.arguments, call.arguments_text, call.status) == ({}, text, "complete")
    assert codes(response) == ["arguments-empty"]
    assert [ref.id for ref in select(response).kept] == ["a"]


@pytest.mark.parametrize("deltas", [[], [""], [" "]], ids=["none", "empty", "space"])
def test_ARG_01_an_anthropic_call_without_input_deltas_is_complete(deltas: list[str]) -> None:
    response = anthropic(tool_start(0, "a", "f"), *(json_delta(0, text) for text in deltas), block_stop(0))
    assert shapes(response) == [("f", {}, "complete")]
    assert [ref.id for ref in select(response).kept] == ["a"]


@EVERY_FORM
def test_ARG_02_the_text_null_is_an_empty_object(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "f", "null")])
    assert shapes(response) == [("f", {}, "complete")]
    assert response.calls[0].arguments_text == "null"
    assert codes(response) == ["arguments-null"]


@pytest.mark.parametrize(("given", "arguments"), [(None, {}), ({}, {}), ({"x": 1}, {"x": 1})], ids=repr)
def test_ARG_02_arguments_that_are_not_text_are_used_unchanged(given: object, arguments: object) -> None:
    response = normalize(chat_body(chat_call("a", "f", given)), "openai.chat")
    assert shapes(response) == [("f", arguments, "complete")]
    item = function_call("a", "f", "") | {"arguments": given}
    assert shapes(normalize(responses_body(item), "openai.responses")) == [("f", arguments, "complete")]
    block = {"type": "tool_use", "id": "a", "name": "f", "input": given}
    assert shapes(normalize(anthropic_body(block), "anthropic.messages")) == [("f", arguments, "complete")]


@pytest.mark.thorough(keep=2, per="{wire}")
@EVERY_FORM
@pytest.mark.parametrize("text", ["[1]", '"x"', "3", "true"])
def test_ARG_03_arguments_that_are_not_an_object_do_not_affect_other_calls(
    wire: str, streamed: bool, text: str
) -> None:
    response = respond(wire, streamed, [("a", "f", text), ("b", "g", '{"x":1}')])
    assert shapes(response) == [("f", None, "invalid"), ("g", {"x": 1}, "complete")]
    assert response.calls[0].arguments_text == text
    assert codes(response) == ["arguments-not-object"]
    chosen = select(response)
    assert ([ref.id for ref in chosen.kept], [ref.id for ref in chosen.rejected]) == (["b"], ["a"])


@pytest.mark.thorough(keep=1, per="{wire}")
@WITH_TEXT
@pytest.mark.parametrize("text", ['{"path": C:\\temp}', "{x: 1}", '{"x": 1,}', "call f(1)"])
def test_FGT_01_arguments_that_are_not_json_are_kept_as_invalid(wire: str, streamed: bool, text: str) -> None:
    response = respond(wire, streamed, [("a", "f", text)])
    assert shapes(response) == [("f", None, "invalid")]
    assert response.calls[0].arguments_text == text
    assert codes(response) == ["arguments-invalid"]
    assert select(response).kept == []


@WITH_TEXT
def test_NUM_02_an_integer_of_5000_digits_is_reported(wire: str, streamed: bool) -> None:
    text = '{"x": ' + "9" * 5000 + "}"
    response = respond(wire, streamed, [("a", "f", text)], 500)
    assert shapes(response) == [("f", None, "invalid")]
    assert response.calls[0].arguments_text == text
    assert codes(response) == ["arguments-number-too-large"]


@WITH_TEXT
def test_NUM_02_a_nesting_depth_of_100_000_is_reported(wire: str, streamed: bool) -> None:
    text = '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}"
    response = respond(wire, streamed, [("a", "f", text)], 10_000)
    assert shapes(response) == [("f", None, "invalid")]
    assert response.calls[0].arguments_text == text
    assert codes(response) == ["arguments-too-deep"]


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_UNI_01_a_surrogate_pair_that_is_split_over_deltas_is_one_character(wire: str) -> None:
    for size in range(1, 14):
        call = only(respond(wire, True, [("a", "f", '{"s":"\\ud83c\\udf78"}')], size))
        assert call.arguments == {"s": "\N{COCKTAIL GLASS}"}


@EVERY_FORM
def test_UNI_02_a_lone_surrogate_is_kept_and_can_be_encoded(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "f", '{"a":"\\ud800"}')])
    call = only(response)
    assert (call.arguments, call.arguments_text, call.status) == ({"a": "\ud800"}, '{"a":"\\ud800"}', "complete")
    assert "arguments-lone-surrogate" in codes(response)
    assert b'"\\ud800"' in json_codec.encode(response)
    assert [ref.id for ref in select(response).kept] == ["a"]


GROWING = [
    ["{}", " "],
    ['{"query":"t"}', " "],
    ['{"a":1', ',"b":2}'],
    ['{"a":"1', '2"}'],
    ['{"a":{}', ',"b":{}}'],
]


@pytest.mark.parametrize("parts", GROWING, ids="".join)
def test_EARLY_01_a_call_is_not_complete_before_the_wire_ends_it(parts: list[str]) -> None:
    text = "".join(parts)
    size = len(parts[0])
    for wire, mark in (
        ("openai.chat", b'finish_reason":"tool_calls'),
        ("openai.responses", b"arguments.done"),
        ("anthropic.messages", b"content_block_stop"),
    ):
        body = b"".join(traffic(wire, True, [("a", "f", text)], size))
        before = body[: body.rindex(b"\n\n", 0, body.index(mark)) + 2]
        decoder = StreamDecoder(wire)
        events = decoder.feed(before)
        assert [event for event in events if isinstance(event, BlockStop)] == []
        decoder.feed(body[len(before) :])
        call = only(decoder.finish())
        assert (call.arguments, call.arguments_text, call.status) == (json.loads(text), text, "complete")


@pytest.mark.parametrize("parts", GROWING[:2], ids="".join)
def test_EARLY_01_a_call_with_valid_arguments_is_not_run_if_the_stream_breaks_off(parts: list[str]) -> None:
    for wire, mark in (
        ("openai.chat", b'finish_reason":"tool_calls'),
        ("openai.responses", b"arguments.done"),
        ("anthropic.messages", b"content_block_stop"),
    ):
        body = b"".join(traffic(wire, True, [("a", "f", parts[0])], 99))
        response = decode_stream(wire, body[: body.rindex(b"\n\n", 0, body.index(mark)) + 2])
        assert response.complete is False
        assert [call.name for call in response.calls] == ["f"]
        assert select(response).kept == []


def test_EARLY_01_a_number_split_over_fragments_is_one_text() -> None:
    response = chat(piece(0, "a", "f", "1"), piece(0, arguments="2"))
    assert [(call.arguments_text, call.status) for call in response.calls] == [("12", "invalid")]
