"""Failures of class responses: items that arrive twice, under changing ids, without deltas, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, feed, ran, triples
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.events import CREATED, added, done, function_call, grow, message_item, sse, terminal
from tests.support.wires import WIRES
from toolparity import normalize
from toolparity.cassettes.scripts import Say, Think
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop
from toolparity.normalizer.model import ApprovalRequest, ServerToolCall, ServerToolResult, Stop, ToolCall

WIRE = "openai.responses"
ITEM = function_call("call_a", "lookup", '{"city":"Turin"}', id="fc_0")
OPENING = {**ITEM, "arguments": "", "status": "in_progress"}
TURIN = ToolCall(
    "call_a", "lookup", {"city": "Turin"}, '{"city":"Turin"}', wire_id="fc_0", extra={"status": "completed"}
)


def test_RSP_01_an_empty_final_output_does_not_remove_the_streamed_call() -> None:
    *frames, _ = emit_stream(WIRE, [LOOKUP])
    response = decoded(WIRE, [*frames, sse(terminal([]))])
    assert triples(response) == [("call_a", "lookup", {"city": "Turin"})]
    assert response.choices[0].stop == Stop("tool_calls", "completed")
    assert codes(response) == ["output-empty"]
    assert ran(response) == ["call_a"]


def test_RSP_01_a_final_output_without_the_streamed_call_does_not_drop_it() -> None:
    *frames, _ = emit_stream(WIRE, [Say("I look."), LOOKUP])
    response = decoded(WIRE, [*frames, sse(terminal([message_item("I look.", id="msg_0")]))])
    assert [call.id for call in response.calls] == ["call_a"]
    assert response.text == "I look."
    assert codes(response) == ["output-disagrees"]


def test_RSP_01_a_final_output_that_repeats_the_items_adds_nothing() -> None:
    response = decoded(WIRE, emit_stream(WIRE, [LOOKUP]))
    assert triples(response) == [("call_a", "lookup", {"city": "Turin"})]
    assert response.findings == ()


def test_RSP_02_item_ids_that_change_with_every_event_are_one_call() -> None:
    events = [
        CREATED,
        added(0, {**OPENING, "id": "enc-1"}),
        grow("function_call_arguments", 0, '{"city":', item_id="enc-2"),
        grow("function_call_arguments", 0, '"Turin"}', item_id="enc-3"),
        {
            "type": "response.function_call_arguments.done",
            "output_index": 0,
            "item_id": "enc-4",
            "arguments": '{"city":"Turin"}',
        },
        done(0, {**ITEM, "id": "enc-5"}),
    ]
    response = decoded(WIRE, sse(*events, terminal([{**ITEM, "id": "enc-6"}])))
    assert [(c.id, c.name, c.arguments) for c in response.calls] == [("call_a", "lookup", {"city": "Turin"})]
    assert [c.wire_id for c in response.calls] == ["enc-6"]
    assert response.findings == ()
    unfinished = decoded(WIRE, sse(*events))
    assert [(c.id, c.arguments_text) for c in unfinished.calls] == [("call_a", '{"city":"Turin"}')]


def test_RSP_03_arguments_sent_only_in_the_done_event_are_used() -> None:
    whole = {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"city":"Turin"}'}
    endings: list[tuple[list[Any], list[str]]] = [
        ([terminal([])], ["event-missing", "output-empty"]),
        ([done(0, OPENING), terminal([])], ["arguments-disagree", "output-empty"]),
    ]
    for ending, found in endings:
        response = decoded(WIRE, sse(CREATED, added(0, OPENING), whole, *ending))
        assert [(c.id, c.arguments, c.status) for c in response.calls] == [("call_a", {"city": "Turin"}, "complete")]
        assert codes(response) == found
        assert ran(response) == ["call_a"]


@pytest.mark.parametrize("with_index", [True, False])
def test_RSP_03_argument_deltas_without_an_item_id_belong_to_their_call(with_index: bool) -> None:
    deltas = [grow("function_call_arguments", 0, piece) for piece in LOOKUP.pieces]
    if not with_index:
        for delta in deltas:
            del delta["output_index"]
    response = decoded(WIRE, sse(CREATED, added(0, OPENING), *deltas, terminal([])))
    assert [(c.id, c.arguments) for c in response.calls] == [("call_a", {"city": "Turin"})]
    assert ran(response) == ["call_a"]


def test_RSP_03_an_item_sent_only_in_the_done_event_is_a_call() -> None:
    response = decoded(WIRE, sse(CREATED, done(0, ITEM), terminal([])))
    assert triples(response) == [("call_a", "lookup", {"city": "Turin"})]
    assert ran(response) == ["call_a"]


LISTING = {"type": "mcp_list_tools", "id": "mcpl_0", "server_label": "deeds", "tools": [{"name": "record"}]}
REQUEST = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "server_label": "deeds",
    "name": "record",
    "arguments": '{"deed": 7}',
}


def test_RSP_06_an_approval_request_is_reported_and_not_a_client_call() -> None:
    streamed = decoded(
        WIRE,
        sse(CREATED, added(0, LISTING), done(0, LISTING), added(1, REQUEST), done(1, REQUEST))
        + sse(terminal([LISTING, REQUEST])),
    )
    whole = normalize(terminal([LISTING, REQUEST])["response"], WIRE)
    for response in (streamed, whole):
        listing, request = response.choices[0].blocks
        assert listing == ServerToolResult("", "mcp", False, LISTING)
        assert request == ApprovalRequest("mcpr_1", "deeds", "record", '{"deed": 7}')
        assert response.choices[0].stop == Stop("pause", "completed")
        assert codes(response) == ["needs-approval"]
        assert_not_executed(response, calls=0)


def test_RSP_06_an_mcp_call_of_the_provider_is_a_server_call() -> None:
    item = {
        "type": "mcp_call",
        "id": "mcp_0",
        "server_label": "deeds",
        "name": "record",
        "arguments": "{}",
        "output": "done",
        "error": None,
        "status": "completed",
    }
    for response in (
        normalize(terminal([item])["response"], WIRE),
        decoded(WIRE, sse(CREATED, added(0, {**item, "output": None}), done(0, item), terminal([item]))),
    ):
        call, result = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.id, call.tool, call.name, call.arguments_text) == ("mcp_0", "mcp", "record", "{}")
        assert result == ServerToolResult("mcp_0", "mcp", False, {"output": "done"})
        assert_not_executed(response, calls=0)


@pytest.mark.parametrize("streamed", [False, True])
def test_RSP_07_a_call_and_its_output_under_one_call_id_are_both_kept(streamed: bool) -> None:
    output = {"type": "function_call_output", "id": "fco_1", "call_id": "call_a", "output": "sunny"}
    if streamed:
        events = [CREATED, added(0, OPENING), done(0, ITEM), added(1, output), done(1, output), terminal([])]
        response = decoded(WIRE, sse(*events))
    else:
        response = normalize(terminal([ITEM, output])["response"], WIRE)
    assert response.choices[0].blocks == [
        ServerToolCall("call_a", "function", "lookup", '{"city":"Turin"}', "completed", {"item": ITEM}),
        ServerToolResult("call_a", "function", False, output),
    ]
    assert response.choices[0].stop == Stop("end_turn", "completed")
    assert codes(response) == [*["output-empty"] * streamed, "answered-call"]
    assert_not_executed(response, calls=0)


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("stop", ["tool_calls", "max_tokens", None])
@pytest.mark.parametrize("wire", WIRES)
def test_RSP_05_canonical_events_open_each_block_once_and_refer_only_to_open_blocks(
    wire: str, stop: str | None
) -> None:
    steps: list[Any] = [
        Think("Hm."),
        Say("I look."),
        LOOKUP,
        scripted_call(('{"city": "Bari"}',), "call_b", closed=False),
    ]
    _, events = feed(wire, emit_stream(wire, steps, stop))
    opened: set[int] = set()
    closed: set[int] = set()
    for event in events:
        if isinstance(event, BlockStart):
            assert event.key not in opened
            opened.add(event.key)
        elif isinstance(event, (BlockDelta, BlockReset)):
            assert event.key in opened - closed
        elif isinstance(event, BlockStop):
            assert event.key in opened - closed
            closed.add(event.key)
    assert len(opened) >= 3  # some providers hide their reasoning
