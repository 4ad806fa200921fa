"""A fragment of openai.responses belongs to an item by its index and its type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, ran
from tests.support.events import CREATED, added, done, function_call, grow, sse, terminal
from toolparity import Response

WIRE = "openai.responses"
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}


def begun(number: int, **more: Any) -> dict[str, Any]:
    return function_call(f"c{number}", "f", "", status="in_progress", id=f"fc_{number}") | more


def arguments(index: int | None, text: str, **more: Any) -> dict[str, Any]:
    return grow("function_call_arguments", index, text, **more)  # type: ignore[arg-type]


def read(*events: dict[str, Any], output: list[Any] | None = None) -> Response:
    return decoded(WIRE, sse(CREATED, *events, terminal(output or [])))


@pytest.mark.parametrize("other", [MESSAGE, THOUGHT], ids=lambda item: item["type"])
@pytest.mark.parametrize("end", [None, {"arguments": ""}, {"arguments": "{}"}], ids=["no end", "missing", "empty"])
def test_arguments_with_the_index_of_a_text_do_not_become_text_or_run(
    other: dict[str, Any], end: dict[str, Any] | None
) -> None:
    ends = [] if end is None else [done(1, {**begun(1), "status": "completed", **end})]
    response = read(added(0, other), added(1, begun(1)), arguments(0, '{"x":'), arguments(0, "1}"), *ends)
    assert response.text == ""
    assert [call.name for call in response.calls] == ["f"]
    assert {"delta-misplaced", "arguments-misplaced"} <= set(codes(response))
    assert_not_executed(response, calls=1)


@pytest.mark.parametrize("output", [True, False])
def test_only_arguments_at_the_end_of_the_call_confirm_misplaced_ones(output: bool) -> None:
    call, empty = (function_call("c1", "f", text, id="fc_1") for text in ('{"x":1}', ""))
    events = [added(0, MESSAGE), added(1, begun(1)), arguments(0, '{"x":1}')]
    response = read(*events, done(1, call), output=[call] if output else [])
    assert response.calls[0].arguments == {"x": 1}
    assert ran(response) == ["c1"]
    assert_not_executed(read(*events, output=[empty]), calls=1)


def test_fragments_for_items_without_deltas_are_reported() -> None:
    search = {"type": "tool_search_call", "id": "ts", "call_id": "t", "execution": "client", "arguments": {"q": "x"}}
    response = read(added(0, {**search, "arguments": {}}), arguments(0, '{"q":"x"}'), done(0, search))
    assert "t" in [call.id for call in response.calls]
    assert "delta-misplaced" in codes(response)


@pytest.mark.parametrize("where", [{}, {"item_id": "fc_0"}, {"item_id": "rotated"}])
def test_arguments_before_the_start_of_their_call_or_without_start_and_end_belong_to_it(where: dict[str, str]) -> None:
    early = [arguments(0, '{"x":1}', **where), added(0, begun(0))]
    assert_not_executed(read(*early), calls=1)
    call = function_call("c0", "f", '{"x":1}', id="fc_0")
    response = read(*early, done(0, call))
    assert [(block.id, block.arguments) for block in response.calls] == [("c0", {"x": 1})]
    assert ran(response) == ["c0"]
    calls = [call | {"arguments": '{"x": 1}'}, function_call("c1", "g", "{}", id="fc_1")]
    response = read(early[0], output=calls)
    assert [(call.id, call.status) for call in response.calls] == [("c0", "complete"), ("c1", "complete")]
    assert set(codes(response)) == {"index-changed", "arguments-disagree"}


@pytest.mark.parametrize(
    ("events", "statuses"),
    [
        ([arguments(None, text) for text in ('{"x"', '{"y"', ":1}", ":2}")], ["truncated", "invalid"]),
        ([arguments(7, '{"x":1}')], ["truncated", "truncated"]),
    ],
    ids=["mixed fragments", "an unknown index"],
)
def test_a_call_without_arguments_does_not_run_beside_arguments_that_may_be_its_own(
    events: list[Any], statuses: list[str]
) -> None:
    ends = [done(n, begun(n, status="completed")) for n in range(2)]
    response = read(added(0, begun(0)), added(1, begun(1)), *events, *ends)
    assert [call.status for call in response.calls][:2] == statuses
    assert ran(response) == []
