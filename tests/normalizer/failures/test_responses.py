"""Failures of class responses: items that arrive twice, under changing ids, without deltas, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, feed, ran
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.events import CREATED, added, done, function_call, grow, message_item, sse, terminal
from tests.support.wires import WIRES
from toolparity import normalize
from toolparity.cassettes.scripts import Say, Think
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop
from toolparity.normalizer.model import ApprovalRequest, ServerToolCall, ServerToolResult, Stop

WIRE = "openai.responses"
ITEM = function_call("call_a", "lookup", '{"city":"Turin"}', id="fc_0")
OPENING = {**ITEM, "arguments": "", "status": "in_progress"}
WHOLE = {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"city":"Turin"}'}


def test_RSP_01_a_final_output_without_the_streamed_call_does_not_drop_it() -> None:
    text = message_item("I look.", id="msg_0")
    *frames, _ = emit_stream(WIRE, [Say("I look."), LOOKUP])
    for output, found in (
        ([], ["output-empty"]),
        ([text], ["output-disagrees"]),
        ([text, function_call("call_a", "lookup", '{"city":"Turin"}', id="fc_1")], []),
    ):
        response = decoded(WIRE, [*frames, sse(terminal(output))])
        assert (response.text, [call.id for call in response.calls], ran(response)) == (
            "I look.",
            ["call_a"],
            ["call_a"],
        )
        assert response.choices[0].stop == Stop("tool_calls", "completed")
        assert codes(response) == found


def test_RSP_02_item_ids_that_change_with_every_event_are_one_call() -> None:
    events = [
        CREATED,
        added(0, {**OPENING, "id": "enc-1"}),
        *(grow("function_call_arguments", 0, piece, item_id=f"enc-2{piece}") for piece in LOOKUP.pieces),
        {**WHOLE, "item_id": "enc-4"},
        done(0, {**ITEM, "id": "enc-5"}),
    ]
    response = decoded(WIRE, sse(*events, terminal([{**ITEM, "id": "enc-6"}])))
    assert [(call.id, call.name, call.arguments, call.wire_id) for call in response.calls] == [
        ("call_a", "lookup", {"city": "Turin"}, "enc-6")
    ]
    assert response.findings == ()
    assert [(call.id, call.arguments_text) for call in decoded(WIRE, sse(*events)).calls] == [("call_a", LOOKUP.text)]


DELTAS = [grow("function_call_arguments", 0, piece) for piece in LOOKUP.pieces]
#: The events of a call with less than usual -> the findings.
PARTIAL: dict[str, tuple[list[Any], list[str]]] = {
    "only the end of the arguments": ([added(0, OPENING), WHOLE], ["event-missing", "output-empty"]),
    "another end of the item": ([added(0, OPENING), WHOLE, done(0, OPENING)], ["arguments-disagree", "output-empty"]),
    "only the end of the item": ([done(0, ITEM)], ["event-missing", "output-empty"]),
    "deltas without an item id": ([added(0, OPENING), *DELTAS], ["event-missing", "output-empty"]),
    "deltas without any place": (
        [added(0, OPENING), *({k: v for k, v in delta.items() if k != "output_index"} for delta in DELTAS)],
        ["event-missing", "output-empty"],
    ),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_RSP_03_a_call_sent_with_some_of_its_events_is_complete(name: str) -> None:
    events, found = PARTIAL[name]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert [(call.id, call.arguments, call.status) for call in response.calls] == [
        ("call_a", {"city": "Turin"}, "complete")
    ]
    assert sorted(codes(response)) == found
    assert ran(response) == ["call_a"]


MCP = {"server_label": "deeds", "name": "record"}
LISTING = {"type": "mcp_list_tools", "id": "mcpl_0", "server_label": "deeds", "tools": [{"name": "record"}]}
REQUEST = {"type": "mcp_approval_request", "id": "mcpr_1", "arguments": '{"deed": 7}', **MCP}
SERVED = {"type": "mcp_call", "id": "mcp_0", "arguments": "{}", "output": "done", "error": None, **MCP}
OUTPUT = {"type": "function_call_output", "id": "fco_1", "call_id": "call_a", "output": "sunny"}
#: Items that the caller does not run -> their blocks, stop reason and findings.
SERVER: dict[str, tuple[list[dict[str, Any]], list[Any], str, list[str]]] = {
    "RSP-06 an approval request": (
        [LISTING, REQUEST],
        [ServerToolResult("", "mcp", False, LISTING), ApprovalRequest("mcpr_1", "deeds", "record", '{"deed": 7}')],
        "pause",
        ["needs-approval"],
    ),
    "RSP-06 a call of a server": (
        [SERVED],
        [
            ServerToolCall("mcp_0", "mcp", "record", "{}", None, {"type": "mcp_call", "server_label": "deeds"}),
            ServerToolResult("mcp_0", "mcp", False, {"output": "done"}),
        ],
        "end_turn",
        [],
    ),
    "RSP-07 a call with its output": (
        [ITEM, OUTPUT],
        [
            ServerToolCall("call_a", "function", "lookup", '{"city":"Turin"}', "completed", {"item": ITEM}),
            ServerToolResult("call_a", "function", False, OUTPUT),
        ],
        "end_turn",
        ["answered-call"],
    ),
}


@pytest.mark.parametrize("name", SERVER)
def test_RSP_06_RSP_07_items_that_the_provider_runs_or_answered_are_not_client_calls(name: str) -> None:
    items, blocks, stop, found = SERVER[name]
    events = [event for index, item in enumerate(items) for event in (added(index, item), done(index, item))]
    streamed = decoded(WIRE, sse(CREATED, *events, terminal(items)))
    for response in (normalize(terminal(items)["response"], WIRE), streamed):
        assert response.choices[0].blocks == blocks
        assert response.choices[0].stop == Stop(stop, "completed")  # type: ignore[arg-type]
        assert codes(response) == found
        assert_not_executed(response, calls=0)


@pytest.mark.parametrize("stop", ["tool_calls", "max_tokens", None])
@pytest.mark.parametrize("wire", WIRES)
def test_OBS_01_RSP_05_canonical_events_open_each_block_once_and_show_all_of_it(wire: str, stop: str | None) -> None:
    second = scripted_call(('{"city": "Bari"}',), "call_b", "other", closed=stop == "tool_calls")
    response, events = feed(wire, emit_stream(wire, [Think("Hm."), Say("I look."), LOOKUP, second], stop))
    shown: dict[int, str] = {}
    closed: set[int] = set()
    calls = []
    for event in events:
        if isinstance(event, BlockStart):
            assert event.key not in shown
            shown[event.key] = ""
            calls += [event] if event.block == "tool_call" else []
        elif isinstance(event, (BlockDelta, BlockReset, BlockStop)):
            assert event.key in shown.keys() - closed
            if isinstance(event, BlockStop):
                closed.add(event.key)
            else:
                shown[event.key] = (shown[event.key] if isinstance(event, BlockDelta) else "") + event.text
    assert len(shown) >= 3  # some providers hide their reasoning
    if stop == "tool_calls":  # else, the last call comes with the response
        assert [(call.id, call.name) for call in calls] == [("call_a", "lookup"), ("call_b", "other")]
        assert [shown[call.key] for call in calls] == [call.arguments_text for call in response.calls]
