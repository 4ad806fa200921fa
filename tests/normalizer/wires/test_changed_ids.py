"""Item 3: an item whose ids change between its first and its last event is one call, under the ids of the last."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import codes, decoded, ran
from tests.support.events import CREATED, added, done, function_call, grow, sse, terminal
from toolparity import Response

WIRE = "openai.responses"
SEARCH = {"type": "tool_search_call", "id": "ts_1", "call_id": "call_last", "execution": "client"}
ITEMS = [
    {**SEARCH, "arguments": {"query": "x"}},
    function_call("call_last", "f", '{"x":1}', id="fc_1"),
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_last", "name": "f", "input": "go"},
    {"type": "shell_call", "id": "sh_1", "call_id": "call_last", "action": {"commands": ["make"]}},
    {
        "type": "apply_patch_call",
        "id": "ap_1",
        "call_id": "call_last",
        "operation": {"type": "delete_file", "path": "x"},
    },
    {"type": "local_shell_call", "id": "ls_1", "call_id": "call_last", "action": {"type": "exec"}},
    {"type": "computer_call", "id": "cu_1", "call_id": "call_last", "action": {"type": "wait"}},
]
ASKED = {"arguments", "input", "action", "operation"}
EVERY_KIND = pytest.mark.parametrize("item", [{**i, "status": "completed"} for i in ITEMS], ids=lambda i: i["type"])


def begun(item: dict[str, Any], **ids: str) -> dict[str, Any]:
    """The item as it is announced, under other ids."""
    empty = {part: "" for part in ("arguments", "input") if isinstance(item.get(part), str)}
    return {**item, **empty, "status": "in_progress", **ids}


def pieces(item: dict[str, Any], **where: Any) -> list[dict[str, Any]]:
    for part, kind in (("arguments", "function_call_arguments"), ("input", "custom_tool_call_input")):
        if isinstance(item.get(part), str):
            return [grow(kind, 0, item[part], **where)]
    return []


def assert_one_call(response: Response, item: dict[str, Any]) -> None:
    expected = decoded(WIRE, sse(CREATED, terminal([item]))).choices[0].blocks
    assert response.choices[0].blocks == expected
    assert ran(response) == ["call_last"]
    assert "id-changed" in codes(response)


@pytest.mark.thorough(keep=7)
@EVERY_KIND
@pytest.mark.parametrize("output", [True, False], ids=["with an output", "without output"])
@pytest.mark.parametrize("index", [0, None], ids=["index", "no index"])
def test_a_call_id_that_changes_is_one_call(item: dict[str, Any], output: bool, index: int | None) -> None:
    events = [added(0, begun(item, call_id="call_first")), *pieces(item, item_id=item["id"]), done(0, item)]
    if index is None:
        for event in events:
            del event["output_index"]
    assert_one_call(decoded(WIRE, sse(CREATED, *events, terminal([item] if output else []))), item)


@EVERY_KIND
def test_a_call_id_that_changes_in_the_final_output_is_one_call(item: dict[str, Any]) -> None:
    first = {**item, "call_id": "call_first"}
    events = [added(0, begun(first)), *pieces(item, item_id=item["id"]), done(0, first)]
    assert_one_call(decoded(WIRE, sse(CREATED, *events, terminal([item]))), item)


@EVERY_KIND
def test_a_call_id_that_changes_in_the_final_output_without_an_item_end_is_one_call(item: dict[str, Any]) -> None:
    events = [added(0, begun(item, call_id="call_first")), *pieces(item, item_id=item["id"])]
    assert_one_call(decoded(WIRE, sse(CREATED, *events, terminal([item]))), item)


@EVERY_KIND
def test_both_ids_may_change_if_index_and_arguments_are_equal(item: dict[str, Any]) -> None:
    start = {**item, "status": "in_progress", "id": "other", "call_id": "call_first"}
    assert_one_call(decoded(WIRE, sse(CREATED, added(0, start), done(0, item), terminal([]))), item)


@pytest.mark.thorough(keep=6)
@EVERY_KIND
@pytest.mark.parametrize("final", [{}, {"id": "other", "call_id": "call_first"}, None], ids=["last", "first", "none"])
def test_both_ids_may_change_if_the_start_has_no_arguments(item: dict[str, Any], final: dict[str, Any] | None) -> None:
    """Also where the final output returns to the ids of the start."""
    start = {**begun(item, id="other", call_id="call_first"), **dict.fromkeys(ASKED & item.keys())}
    events = [added(0, start), done(0, item), terminal([] if final is None else [{**item, **final}])]
    response = decoded(WIRE, sse(CREATED, *events))
    assert ran(response) == ["call_first" if final else "call_last"]
    assert len(response.calls) == 1
    assert "id-changed" in codes(response)


@pytest.mark.parametrize("output", [True, False], ids=["with an output", "without output"])
def test_both_ids_may_change_if_the_end_has_no_arguments(output: bool) -> None:
    item = function_call("call_last", "f", '{"x":1}', id="fc_2")
    start = function_call("call_first", "f", "", id="fc_1", status="in_progress")
    events = [added(0, start), grow("function_call_arguments", 0, '{"x":1}'), done(0, {**item, "arguments": ""})]
    response = decoded(WIRE, sse(CREATED, *events, terminal([item] if output else [])))
    assert [(call.id, call.arguments, call.status) for call in response.calls] == [("call_last", {"x": 1}, "complete")]


def test_both_ids_may_change_if_the_arguments_are_equal_by_value() -> None:
    item = function_call("call_last", "f", '{"y": 2, "x": "\\u00e9"}', id="fc_2")
    start = function_call("call_first", "f", '{"x":"é","y":2}', id="fc_1", status="in_progress")
    response = decoded(WIRE, sse(CREATED, added(0, start), done(0, item), terminal([])))
    assert ran(response) == ["call_last"]
    assert len(response.calls) == 1


def test_two_calls_with_one_constant_item_id_are_two() -> None:
    """A proxy's constant item id does not merge calls that the index or the call id distinguishes."""
    calls = [function_call(f"c{n}", "f", f'{{"x":{n}}}', id="fc") for n in range(2)]
    apart = [event for n, call in enumerate(calls) for event in (added(n, begun(call)), done(n, call))]
    under_one_index = [event for call in calls for event in (added(0, begun(call)), done(0, call))]
    together = [*(added(0, begun(call)) for call in calls), *(done(0, call) for call in calls)]
    ended = [done(0, call) for call in calls]
    for events in (apart, under_one_index, together, ended):
        for output in ([], calls, calls[:1], calls[1:]):
            assert sorted(ran(decoded(WIRE, sse(CREATED, *events, terminal(output))))) == ["c0", "c1"]


def test_an_item_of_another_type_in_the_same_place_is_another_item() -> None:
    """The type is part of an item's identity: a call that ends where a message began does not replace it."""
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    call = ITEMS[1] | {"status": "completed"}
    words = grow("output_text", 0, "Hi.", item_id="msg_1", content_index=0)
    events = [added(0, message), words, done(0, call)]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert response.text == "Hi."
    assert ran(response) == ["call_last"]
