"""Failures of classes index, id and name: which fragment belongs to which call, and what the call is named."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tests.support.decoding import FORMS, anthropic, chat, codes, only, respond, responses, triples
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
    grpc_body,
    grpc_call,
    item_events,
    json_delta,
    piece,
    responses_body,
    sse,
    text_delta,
    tool_start,
)
from toolparity import ServerToolCall, StreamDecoder, Text, ToolCall, normalize, select
from toolparity.normalizer.events import BlockDelta, BlockStart
from toolparity.normalizer.repair import strip_name, unwrap_parallel

CASES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("openai_chat_fragments.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", CASES)
def test_fragments_become_the_calls_that_the_model_made(name: str, proves: Callable[[str], None]) -> None:
    case = CASES[name]
    fragments = [[None if member == "-" else member for member in fragment] for fragment in case["fragments"]]
    response = chat(*(piece(*fragment) for fragment in fragments), request=case.get("declared"))
    expected = [(ANY if id == "?" else id, name, text) for id, name, text in case["calls"]]
    assert triples(response) == [(*call, None if text == "-" else json.loads(text)) for *call, text in expected]
    assert len({call.id for call in response.calls} - {""}) == len(expected)
    assert codes(response) == case.get("findings", [])
    proves(name.partition(" ")[0])


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


def test_IDX_15_an_item_whose_id_changes_is_one_call() -> None:
    *begun, _ = item_events(0, function_call("call_1", "f", '{"x":1}', id="fc_1"))
    for id in ("call_1|fc_1", "call_1"):
        ended = function_call("call_1", "f", '{"x":1}', id=id)
        end = {"type": "response.output_item.done", "output_index": 0, "item": ended}
        for events in ([*begun, end], [{k: v for k, v in e.items() if k != "output_index"} for e in (*begun, end)]):
            for output in (None, responses_body(ended)):
                assert triples(responses(*events, end=output)) == [("call_1", "f", {"x": 1})]


def test_IDX_15_a_call_whose_name_is_missing_or_white_space_is_reported_and_never_dispatched() -> None:
    response = responses(
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": '{"x":1}'}
    )
    assert [(call.name, call.status, call.arguments_text) for call in response.calls] == [("", "invalid", '{"x":1}')]
    blank = [chat(piece(0, "a", name, "{}")) for name in ("", " ", "\n\t")]
    bodies = (
        (chat_body(chat_call("a", " ", "{}")), "openai.chat"),
        (gemini_body(gemini_call(None, " ", "{}")), "google.gemini"),
    )
    for nameless in (response, *blank, *(normalize(body, wire) for body, wire in bodies)):
        assert "nameless-call" in codes(nameless)
        assert select(nameless).kept == []


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


def test_a_call_of_an_unknown_type_keeps_it() -> None:
    assert [call.kind for call in chat(piece(0, "a", "f", "{}") | {"type": "novel"}).calls] == ["novel"]


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


PARALLEL = (
    '{"tool_uses": [{"recipient_name": "functions.f", "parameters": {"x": 1}},'
    ' {"recipient_name": "functions.g", "parameters": {"y": 2}}]}'
)


@EVERY_FORM
def test_NAME_04_the_pseudo_tool_is_one_call_whose_calls_are_unwrapped_on_request(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "multi_tool_use.parallel", PARALLEL)], request=["f", "g"])
    call = only(response)
    assert (call.name, call.arguments, call.status) == ("multi_tool_use.parallel", json.loads(PARALLEL), "complete")
    assert codes(response) == ["pseudo-parallel"]
    assert len(select(response).kept) == 1
    unwrapped = unwrap_parallel(call, ["f", "g"]).calls
    assert [(inner.id, inner.name, inner.arguments, inner.status) for inner in unwrapped] == [
        ("a_0", "f", {"x": 1}, "complete"),
        ("a_1", "g", {"y": 2}, "complete"),
    ]


HOSTED = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
USE = {"type": "tool_use", "id": "a", "name": "web_search", "input": {"q": 1}}
EXECUTED = [{"index": 0, "type": "search", "name": "web_search", "arguments": '{"q":0}', "output": "found"}]
#: A call of a client tool beside one of a hosted tool with the same name.
NAMESAKES = {
    "openai.responses": responses_body(function_call("a", "web_search", '{"q":1}'), HOSTED),
    "anthropic.messages": anthropic_body({**USE, "type": "server_tool_use", "id": "srvtoolu_1"}, USE),
    "xai.grpc": grpc_body(
        grpc_call("s", "web_search", '{"q":0}', kind=2), grpc_call("a", "web_search", '{"q":1}', kind=1)
    ),
    "openai.chat": chat_body(chat_call("a", "web_search", '{"q":1}'), executed_tools=EXECUTED),
}


@pytest.mark.parametrize("wire", NAMESAKES)
def test_NAME_07_the_type_and_not_the_name_of_a_call_decides_which_side_runs_it(wire: str) -> None:
    # On xai_grpc, a call whose function is declared is the caller's, whatever its type.
    declared = None if wire == "xai.grpc" else ["web_search"]
    response = normalize(NAMESAKES[wire], wire, request=declared)
    assert triples(response) == [("a", "web_search", {"q": 1})]
    assert [block.tool for block in response.choices[0].blocks if isinstance(block, ServerToolCall)] == ["web_search"]
    assert [ref.id for ref in select(response).kept] == ["a"]


@EVERY_FORM
def test_NAME_05_a_name_with_control_tokens_is_unknown_and_stripped_on_request(wire: str, streamed: bool) -> None:
    leaked = "ls<|channel|>commentary"
    response = respond(wire, streamed, [("a", leaked, "{}")], request=["ls"])
    assert triples(response) == [("a", leaked, {})]
    assert codes(response) == ["unknown-tool"]
    repaired = strip_name(only(response), ["ls"])
    assert (repaired.call.id, repaired.call.name, repaired.call.arguments) == ("a", "ls", {})
