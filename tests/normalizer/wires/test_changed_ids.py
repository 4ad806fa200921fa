"""An item whose ids change between its first and its last event is one call, under the ids of the last."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import codes, decoded, ran, shapes
from tests.support.events import CREATED, added, done, function_call, grow, sse, terminal
from toolparity import Response

WIRE = "openai.responses"
ITEMS: list[dict[str, Any]] = [
    {"type": "tool_search_call", "execution": "client", "arguments": {"query": "x"}},
    {"type": "function_call", "name": "f", "arguments": '{"x":1}'},
    {"type": "custom_tool_call", "name": "f", "input": "go"},
    {"type": "shell_call", "action": {"commands": ["make"]}},
    {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "x"}},
    {"type": "local_shell_call", "action": {"type": "exec"}},
    {"type": "computer_call", "action": {"type": "wait"}},
]
ARGUMENTS = {"arguments", "input", "action", "operation"}
LAST = {"id": "i_last", "call_id": "call_last", "status": "completed"}
FIRST = {"id": "i_first", "call_id": "call_first", "status": "in_progress"}
EVERY_KIND = pytest.mark.parametrize("item", [item | LAST for item in ITEMS], ids=lambda item: item["type"])


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


@EVERY_KIND
def test_a_call_id_that_changes_is_one_call(item: dict[str, Any]) -> None:
    """At the end of the item, with or without indexes, or only in the final output, with or without that end."""
    begin, grown = added(0, begun(item, call_id="call_first")), pieces(item, item_id=item["id"])
    without_index = [
        {name: value for name, value in event.items() if name != "output_index"}
        for event in (begin, *grown, done(0, item))
    ]
    streams = (
        [begin, *grown, done(0, item), terminal([item])],
        [begin, *grown, done(0, item), terminal([])],
        [*without_index, terminal([item])],
        [*without_index, terminal([])],
        [begin, *grown, done(0, {**item, "call_id": "call_first"}), terminal([item])],
        [begin, *grown, terminal([item])],
        [added(0, item | FIRST), done(0, item), terminal([])],  # both ids, and equal arguments
    )
    for events in streams:
        assert_one_call(decoded(WIRE, sse(CREATED, *events)), item)


@pytest.mark.thorough(keep=6)
@EVERY_KIND
@pytest.mark.parametrize("final", [{}, {"id": "i_first", "call_id": "call_first"}, None], ids=["last", "first", "none"])
def test_both_ids_may_change_if_the_start_has_no_arguments(item: dict[str, Any], final: dict[str, Any] | None) -> None:
    """Also where the final output returns to the ids of the start."""
    start = begun(item) | FIRST | dict.fromkeys(ARGUMENTS & item.keys())
    events = [added(0, start), done(0, item), terminal([] if final is None else [{**item, **final}])]
    response = decoded(WIRE, sse(CREATED, *events))
    assert ran(response) == ["call_first" if final else "call_last"]
    assert len(response.calls) == 1
    assert "id-changed" in codes(response)


def test_both_ids_may_change_if_the_end_has_no_arguments_or_equal_ones() -> None:
    item = function_call("call_last", "f", '{"x":1}', id="fc_2")
    start = function_call("call_first", "f", "", id="fc_1", status="in_progress")
    events = [added(0, start), grow("function_call_arguments", 0, '{"x":1}'), done(0, {**item, "arguments": ""})]
    for output in ([item], []):
        response = decoded(WIRE, sse(CREATED, *events, terminal(output)))
        assert shapes(response) == [("f", {"x": 1}, "complete")]
        assert ran(response) == ["call_last"]
    start, item = (
        one | {"arguments": text} for one, text in ((start, '{"x":"é","y":2}'), (item, '{"y":2,"x":"\\u00e9"}'))
    )
    response = decoded(WIRE, sse(CREATED, added(0, start), done(0, item), terminal([])))
    assert (ran(response), len(response.calls)) == (["call_last"], 1)


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
    call = ITEMS[1] | LAST
    words = grow("output_text", 0, "Hi.", item_id="msg_1", content_index=0)
    events = [added(0, message), words, done(0, call)]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert response.text == "Hi."
    assert ran(response) == ["call_last"]
