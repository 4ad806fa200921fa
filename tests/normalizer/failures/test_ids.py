"""Failures of class id: missing, repeated, changing or foreign ids; see openai_chat_fragments.toml, too."""

from __future__ import annotations

import pytest

from tests.support.decoding import FORMS, anthropic, codes, respond, triples
from tests.support.events import block_stop, chat_call, chunk, json_delta, piece, sse, tool_start
from toolparity import StreamDecoder, select
from toolparity.normalizer.events import BlockDelta, BlockStart

EVERY_FORM = pytest.mark.parametrize(("wire", "streamed"), FORMS)


@EVERY_FORM
def test_ID_13_ID_15_ID_19_ID_20_GEM_04_the_ids_of_the_provider_are_never_changed(wire: str, streamed: bool) -> None:
    long = ["toolu_" + "x" * 74 + str(number) for number in range(2)]
    ids = ["functions.a:3", "functions.f:0", "call.0", "call:0", "call_0", *long]
    response = respond(wire, streamed, [(id, "f", "{}") for id in ids])
    assert triples(response) == [(id, "f", {}) for id in ids]
    assert codes(response) == []


@EVERY_FORM
def test_ID_10_ID_16_ID_21_a_call_with_an_id_of_an_earlier_round_is_a_new_call(wire: str, streamed: bool) -> None:
    history = [
        {"role": "assistant", "tool_calls": [chat_call("f:0", "f", '{"x":1}')]},
        {"role": "tool", "tool_call_id": "f:0", "content": "done"},
    ]
    request = {"tools": [{"type": "function", "name": "f", "function": {"name": "f"}}], "messages": history}
    response = respond(wire, streamed, [("f:0", "f", '{"x":1}')], request=request)
    assert triples(response) == [("f:0", "f", {"x": 1})]
    assert [ref.id for ref in select(response).kept] == ["f:0"]
    assert codes(response) == []


@EVERY_FORM
def test_ID_09_GEM_03_GEM_04_two_calls_with_one_id_or_none_are_two_calls(wire: str, streamed: bool) -> None:
    for id, texts in (("x", ['{"x":1}', '{"x":2}']), ("", ['{"x":1}', '{"x":2}']), ("", ["{}", "{}"])):
        response = respond(wire, streamed, [(id, "roll", text) for text in texts])
        assert [(call.name, call.arguments_text.replace(" ", "")) for call in response.calls] == [
            ("roll", text) for text in texts
        ]
        ids = [call.id for call in response.calls]
        assert (len(set(ids)), all(ids), "roll" in "".join(ids)) == (2, True, False)
        assert [ref.id for ref in select(response).kept] == ids
        if id:
            assert (ids[0], response.calls[1].extra["id"]) == ("x", "x")
        assert codes(response) == (["id-duplicate"] if id else ["id-missing", "id-missing"])
        # The same input gets the same ids.
        assert [call.id for call in respond(wire, streamed, [(id, "roll", text) for text in texts]).calls] == ids


@EVERY_FORM
def test_ID_12_an_identical_call_in_one_answer_is_merged(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "f", '{"x":1}'), ("a", "f", '{"x":1}'), ("b", "f", '{"x":1}')])
    assert triples(response) == [("a", "f", {"x": 1}), ("b", "f", {"x": 1})]


def test_ID_05_all_events_of_a_call_have_one_id() -> None:
    pieces = [piece(0), piece(0, "a", "f", ""), piece(0, arguments='{"x":1}')]
    decoder = StreamDecoder("openai.chat")
    events = decoder.feed(sse(*(chunk(given) for given in pieces), chunk(finish="tool_calls"), done=True))
    assert [event for event in events if isinstance(event, (BlockStart, BlockDelta))] == [
        BlockStart(0, 0, "tool_call", "a", "f"),
        BlockDelta(0, 0, '{"x":1}'),
    ]


def test_ID_06_the_id_is_that_of_the_content_block() -> None:
    start = tool_start(0, "toolu_1", "f") | {"tool_use_id": "wrong"}
    response = anthropic(start, json_delta(0, '{"x":1}'), block_stop(0))
    assert triples(response) == [("toolu_1", "f", {"x": 1})]
