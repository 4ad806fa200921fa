"""Failures of the classes args, numbers, unicode and early-finish: what is in a call's arguments."""

from __future__ import annotations

import json

import pytest

from tests.support.decoding import (
    FORMS,
    TEXT_FORMS,
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
    chunk,
    function_call,
    grpc_call,
    grpc_chunk,
    item_events,
    piece,
    responses_body,
    sse,
)
from tests.support.wires import BYTE_WIRES, TEXT_WIRES
from toolparity import Opaque, StreamDecoder, ToolCall, normalize, select
from toolparity.normalizer import json_codec
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStop
from toolparity.normalizer.repair import unwrap_arguments, unwrap_fields
from toolparity.normalizer.wires.registry import spec

EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)
EMPTY = ("", " ", "\n\t ")
WITH_TEXT = pytest.mark.parametrize(("wire", "streamed"), TEXT_FORMS)


def test_GEM_05_an_unknown_block_is_kept_completely_and_reported() -> None:
    new = {"type": "new_thing", "value": [1]}
    for body, wire in ((anthropic_body(new), "anthropic.messages"), (responses_body(new), "openai.responses")):
        response = normalize(body, wire)
        assert response.choices[0].blocks == [Opaque("new_thing", new)]
        assert "unknown-block" in codes(response)


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_ARG_07_UNI_01_fragments_are_concatenated_before_they_are_parsed(wire: str) -> None:
    text = '{"a key": "} and \\"q\\" and \\\\ and \\u00e9 and \\ud83c\\udf78", "n": [1, {"m": null}]}'
    for size in range(1, 14):
        response = respond(wire, True, [("a", "f", text)], size)
        assert only(response).arguments == json.loads(text)
        assert wire not in TEXT_WIRES or only(response).arguments_text == text
        assert codes(response) == []


@WITH_TEXT
def test_ARG_04_double_encoded_arguments_are_reported_and_unwrapped_once_on_request(wire: str, streamed: bool) -> None:
    text = '"{\\"a\\":1}"'
    response = respond(wire, streamed, [("a", "f", text)])
    call = only(response)
    assert (call.arguments, call.arguments_text, call.status) == (None, text, "invalid")
    assert codes(response) == ["arguments-double-encoded"]
    assert select(response).kept == []
    repaired = unwrap_arguments(call).call
    assert (repaired.arguments, repaired.arguments_text, repaired.status) == ({"a": 1}, '{"a":1}', "complete")


@EVERY_FORM
def test_ARG_05_a_field_that_came_as_a_string_is_unwrapped_only_on_request(wire: str, streamed: bool) -> None:
    call = only(respond(wire, streamed, [("a", "f", '{"todos":"[1,2]","text":"[1]"}')]))
    assert (call.arguments, call.status) == ({"todos": "[1,2]", "text": "[1]"}, "complete")
    schema = {"type": "object", "properties": {"todos": {"type": "array"}, "text": {"type": "string"}}}
    assert unwrap_fields(call, schema).call.arguments == {"todos": [1, 2], "text": "[1]"}


def test_SNAP_01_arguments_that_grow_by_repetition_are_a_snapshot() -> None:
    parts = ('{"a"', '{"a":1', '{"a":1}')
    response = chat(piece(0, "a", "f"), *(piece(0, arguments=part) for part in parts))
    assert response.calls == [ToolCall("a", "f", {"a": 1}, '{"a":1}')]
    assert codes(response) == ["arguments-snapshot"]
    chunks = [grpc_chunk(grpc_call("a", "f", part), role=2) for part in parts]
    assert triples(decode_stream("xai.grpc", [*chunks, grpc_chunk(finish=4)])) == [("a", "f", {"a": 1})]
    parsed = chat({"index": 0, "id": "a", "function": {"name": "f", "arguments": {"a": 1}}})
    assert parsed.calls == response.calls
    assert "arguments-respelled" in codes(parsed)
    decoder = StreamDecoder("openai.chat")
    decoder.feed(sse(chunk(piece(0, "a", "f"))))
    events = [event for text in parts[::2] for event in decoder.feed(sse(chunk(piece(0, arguments=text))))]
    assert events == [BlockDelta(0, 0, '{"a"'), BlockReset(0, 0, '{"a":1}')]


def test_SNAP_02_the_end_of_the_arguments_is_not_added_to_them() -> None:
    for delta, done, item, disagreements in (
        ('{"x":1}', '{"x":1}', '{"x":1}', 0),
        ("", '{"x":1}', '{"x":1}', 0),
        ('{"x":12}', '{"x":1}', '{"x":1}', 1),
        ('{"x":2}', '{"x":2}', '{"x":1}', 1),
    ):
        begun, *_, ended = item_events(0, function_call("a", "f", item, id="fc_1"))
        place = {"output_index": 0, "item_id": "fc_1"}
        grown = {"type": "response.function_call_arguments.delta", "delta": delta, **place}
        whole = {"type": "response.function_call_arguments.done", "arguments": done, **place}
        response = responses(begun, *[grown] * bool(delta), whole, ended)
        assert triples(response) == [("a", "f", {"x": 1})]
        assert codes(response).count("arguments-disagree") == disagreements


@EVERY_FORM
def test_ARG_01_ARG_02_empty_arguments_and_the_text_null_are_an_empty_object(wire: str, streamed: bool) -> None:
    # Wires with parsed arguments do not distinguish an empty text from an absent one.
    empty = {"null": "arguments-null"} | (
        {} if spec(wire).parsed_arguments else dict.fromkeys(EMPTY, "arguments-empty")
    )
    for text, code in empty.items():
        response = respond(wire, streamed, [("a", "f", text)])
        assert shapes(response) == [("f", {}, "complete")]
        assert (only(response).arguments_text, codes(response)) == (text, [code])
        assert [ref.id for ref in select(response).kept] == ["a"]


@EVERY_FORM
def test_ARG_03_arguments_that_are_not_an_object_do_not_affect_other_calls(wire: str, streamed: bool) -> None:
    for text in ("[1]", '"x"', "3", "true"):
        response = respond(wire, streamed, [("a", "f", text), ("b", "g", '{"x":1}')])
        assert shapes(response) == [("f", None, "invalid"), ("g", {"x": 1}, "complete")]
        assert response.calls[0].arguments_text == text
        assert codes(response) == ["arguments-not-object"]
        chosen = select(response)
        assert ([ref.id for ref in chosen.kept], [ref.id for ref in chosen.rejected]) == (["b"], ["a"])


#: Arguments that cannot run -> the finding that gives the reason.
INVALID = {
    "FGT-01 a path without quotes": ('{"path": C:\\temp}', "arguments-invalid"),
    "FIN-10 a closed object": ('{"city":Turin, not quoted}', "arguments-invalid"),
    "FGT-01 a comma too many": ('{"x": 1,}', "arguments-invalid"),
    "FGT-01 another language": ("call f(1)", "arguments-invalid"),
    "NUM-02 an integer of 5000 digits": ('{"x": ' + "9" * 5000 + "}", "arguments-number-too-large"),
    "NUM-02 a depth of 100 000": ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "arguments-too-deep"),
}


@pytest.mark.parametrize("case", INVALID)
@WITH_TEXT
def test_FGT_01_FIN_10_NUM_02_arguments_that_cannot_be_parsed_are_kept_as_invalid(
    wire: str, streamed: bool, case: str
) -> None:
    text, code = INVALID[case]
    response = respond(wire, streamed, [("a", "f", text)], max(3, len(text) // 20))
    assert shapes(response) == [("f", None, "invalid")]
    assert response.calls[0].arguments_text == text
    assert codes(response) == [code]
    assert select(response).kept == []


@EVERY_FORM
def test_UNI_02_a_lone_surrogate_is_kept_and_can_be_encoded(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "f", '{"a":"\\ud800"}')])
    call = only(response)
    assert (call.arguments, call.arguments_text, call.status) == ({"a": "\ud800"}, '{"a":"\\ud800"}', "complete")
    assert "arguments-lone-surrogate" in codes(response)
    assert b'"\\ud800"' in json_codec.encode(response)
    assert [ref.id for ref in select(response).kept] == ["a"]


@pytest.mark.parametrize(
    "parts", [["{}", " "], ['{"query":"t"}', " "], ['{"a":1', ',"b":2}'], ['{"a":"1', '2"}'], ['{"a":{}', ',"b":{}}']]
)
def test_EARLY_01_a_call_is_complete_and_runs_only_after_the_wire_ended_it(parts: list[str]) -> None:
    text = "".join(parts)
    for wire, mark in (
        ("openai.chat", b'finish_reason":"tool_calls'),
        ("openai.responses", b"arguments.done"),
        ("anthropic.messages", b"content_block_stop"),
    ):
        body = b"".join(traffic(wire, True, [("a", "f", text)], len(parts[0])))
        before = body[: body.rindex(b"\n\n", 0, body.index(mark)) + 2]
        decoder = StreamDecoder(wire)
        assert [event for event in decoder.feed(before) if isinstance(event, BlockStop)] == []
        decoder.feed(body[len(before) :])
        call = only(decoder.finish())
        assert (call.arguments, call.arguments_text, call.status) == (json.loads(text), text, "complete")
        broken = decode_stream(wire, before)
        assert (broken.complete, [call.name for call in broken.calls]) == (False, ["f"])
        assert select(broken).kept == []
