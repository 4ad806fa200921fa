"""Output items of openai.responses: which call a piece belongs to, what the end changes, and which calls may run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, feed, ran
from tests.support.events import CREATED, added, done, function_call, grow, message_item, responses_body, sse, terminal
from toolparity import Reasoning, Response, ServerToolCall, ServerToolResult, Text, ToolCall, normalize
from toolparity.normalizer.errors import TooManyCalls
from toolparity.normalizer.events import BlockDelta, BlockStop
from toolparity.normalizer.model import ApprovalRequest, Stop
from toolparity.normalizer.requests import read_request
from toolparity.normalizer.wires.call_builder import MAX_CALLS

WIRE = "openai.responses"
TEXT = message_item("Hi.", id="msg_0")
CALL = function_call("c1", "f", '{"x":1}', id="fc_1")
SHELL = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["make"]}, "environment": {"type": "local"}}
PATCH = {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file", "path": "x"}}
TOOL_SEARCH = {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {"q": "x"}}
APPROVAL = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}", "server_label": "s"}
BUILT_IN = [
    item | {"id": "i1", "status": "completed"}
    for item in (
        SHELL,
        PATCH,
        {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec"}},
        {"type": "computer_call", "call_id": "c1", "action": {"type": "wait"}},
        TOOL_SEARCH,
    )
]
CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "f", "input": "go", "status": "completed"}
CLIENT_ITEMS = [CALL, CUSTOM, *BUILT_IN]
#: The members that hold arguments as text -> the events that stream them.
TEXTUAL = {"arguments": "function_call_arguments", "input": "custom_tool_call_input"}
EVERY_KIND = pytest.mark.parametrize("item", CLIENT_ITEMS, ids=lambda item: item["type"])


def begun(call_id: str, item_id: str | None) -> dict[str, Any]:
    """A call as it is announced: without arguments."""
    return function_call(call_id, f"f_{call_id}", "", status="in_progress") | {"id": item_id}


def announced(item: dict[str, Any], **ids: str) -> dict[str, Any]:
    """An item as it is announced: without arguments that are text, and under other ids."""
    empty = {part: "" for part in TEXTUAL if isinstance(item.get(part), str)}
    return item | empty | {"status": "in_progress"} | ids


def pieces(index: int, *texts: str, **more: Any) -> list[dict[str, Any]]:
    return [grow("function_call_arguments", index, text, **more) for text in texts]


def states(response: Response) -> list[tuple[str, str, str]]:
    return [(call.id, call.arguments_text, call.status) for call in response.calls]


def whole(*items: dict[str, Any], **more: Any) -> Response:
    return normalize(responses_body(*items, **more), WIRE)


def read(*events: dict[str, Any], output: list[Any] | None = None, stop: str = "completed") -> Response:
    return decoded(WIRE, sse(CREATED, *events, terminal(output or [], stop)))


# Which call a piece belongs to

TWO = [("c1", '{"x":1}', "complete"), ("c2", '{"y":2}', "complete")]
X, Y = ['{"x"', ":1", "}"], ['{"y"', ":2", "}"]


@pytest.mark.parametrize("places", [(1, 2), (0, 1)], ids=["an index that no item has", "the index of the first item"])
@pytest.mark.parametrize("mixed", [True, False])
def test_item_ids_separate_the_pieces_of_two_calls_under_one_index(places: tuple[int, int], mixed: bool) -> None:
    one, other = pieces(0, *X, item_id="a"), pieces(0, *Y, item_id="b")
    events = [event for pair in zip(one, other, strict=True) for event in pair] if mixed else one + other
    response = read(added(places[0], begun("c1", "a")), added(places[1], begun("c2", "b")), *events)
    assert states(response) == TWO
    strayed = ["index-changed"] * (2 if places == (1, 2) else 1)
    assert codes(response) == [*strayed, "event-missing", "event-missing", "output-empty"]
    assert ran(response) == ["c1", "c2"]


@pytest.mark.parametrize(("before", "after"), [(None, "fc_1"), ("fc_1", None), ("one", "other"), (None, None)])
def test_an_item_without_index_ends_where_it_began_whatever_its_item_id(before: str | None, after: str | None) -> None:
    events = []
    for id, text, _ in TWO:
        events.append({"type": "response.output_item.added", "item": begun(id, before)})
        events.append({"type": "response.output_item.done", "item": function_call(id, f"f_{id}", text, id=after)})
    response = read(*events)
    assert states(response) == TWO
    assert codes(response) == ["output-empty"]


def test_an_item_that_gets_its_ids_at_its_end_is_the_last_open_one_of_its_type() -> None:
    events = [
        {"type": "response.output_item.added", "item": {"type": "function_call", "name": "f", "arguments": ""}},
        {"type": "response.output_item.added", "item": {**TEXT, "content": []}},
        {"type": "response.output_item.done", "item": CALL},
        {"type": "response.output_item.done", "item": TEXT},
    ]
    response = read(*events)
    assert (states(response), response.text) == (TWO[:1], "Hi.")
    assert states(read(added(0, begun("c1", "a")), added(0, begun("c1", "a")), done(0, CALL))) == TWO[:1]


def test_more_items_than_any_answer_has_are_an_error() -> None:
    events = [{"type": "response.output_item.added", "item": begun(f"c{n}", None)} for n in range(MAX_CALLS + 1)]
    with pytest.raises(TooManyCalls, match="4096 output items"):
        feed(WIRE, [sse(*events)])
    response, _ = feed(WIRE, [sse(*events[:-1])])
    assert len(response.calls) == MAX_CALLS


# What the end changes, and what it does not


@pytest.mark.parametrize("item", [*CLIENT_ITEMS, APPROVAL], ids=lambda item: item["type"])
def test_an_item_that_the_final_output_lacks_remains_in_its_place(item: dict[str, Any]) -> None:
    items = [TEXT, item, message_item("Done.", id="msg_2")]
    events = [event(n, i) for event in (added, done) for n, i in enumerate(items)]
    complete, lacking = read(*events, output=items), read(*events, output=[items[0], items[2]])
    assert lacking.choices == complete.choices
    assert isinstance(lacking.choices[0].blocks[1], ToolCall | ApprovalRequest)
    assert ran(lacking) == ran(complete)
    assert ["output-disagrees" in codes(response) for response in (lacking, complete)] == [True, False]


ABSENT = {key: value for key, value in CALL.items() if key != "arguments"}
EMPTY = {**CALL, "arguments": ""}
START = [added(0, {**EMPTY, "status": "in_progress"})]
DELTAS = pieces(0, '{"x"', ":1}", item_id="fc_1")
WITHOUT_ARGUMENTS: dict[str, tuple[list[dict[str, Any]], list[Any]]] = {
    "missing at the item's end": ([*START, *DELTAS, done(0, ABSENT)], []),
    "empty at the item's end": ([*START, *DELTAS, done(0, EMPTY)], []),
    "late": ([*START, done(0, EMPTY), *DELTAS], []),
    "half late": ([*START, *DELTAS[:1], done(0, EMPTY), *DELTAS[1:]], []),
    "empty in the final output": ([*START, *DELTAS, done(0, CALL)], [EMPTY]),
    "missing in the final output": ([*START, *DELTAS], [ABSENT]),
    "only at the beginning": ([added(0, CALL), done(0, ABSENT)], []),
}


@pytest.mark.parametrize("case", WITHOUT_ARGUMENTS)
def test_an_end_without_arguments_does_not_remove_streamed_ones(case: str) -> None:
    events, output = WITHOUT_ARGUMENTS[case]
    response = read(*events, output=output)
    assert states(response) == TWO[:1]
    assert "arguments-disagree" in codes(response)
    assert ran(response) == ["c1"]


def test_a_piece_after_an_items_end_is_not_shown_under_its_closed_block() -> None:
    _, events = feed(WIRE, [sse(CREATED, *START, DELTAS[0], done(0, EMPTY), DELTAS[1], done(0, CALL), terminal([]))])
    shown = [event for event in events if isinstance(event, BlockDelta | BlockStop)]
    assert shown == [BlockDelta(0, 0, '{"x"'), BlockStop(0, 0)]


def test_streamed_words_count_if_their_item_ends_without_any() -> None:
    message, thought = {**TEXT, "id": "m", "content": []}, {"type": "reasoning", "id": "m", "summary": []}
    kinds: list[Any] = [
        (message, "output_text", "content", Text),
        (thought, "reasoning_summary_text", "summary", Reasoning),
    ]
    for item, kind, part, block in kinds:
        words = [grow(kind, 0, text, item_id="m", **{f"{part}_index": 0}) for text in ("Hello ", "there.")]
        response = read(added(0, item), *words, done(0, item))
        assert [(type(one), one.text) for one in response.choices[0].blocks] == [(block, "Hello there.")]  # type: ignore[union-attr]
        assert "output-disagrees" in codes(response)


# Which calls may run


@pytest.mark.thorough(keep=15)
@EVERY_KIND
@pytest.mark.parametrize("reason", ["max_output_tokens", None, "max_time"])
@pytest.mark.parametrize("status", ["in_progress", "incomplete", None])
def test_the_last_call_of_an_incomplete_answer_does_not_run(
    item: dict[str, Any], reason: str | None, status: str | None
) -> None:
    cut = {**item, "status": status}
    response = whole(CALL | {"call_id": "c0"}, cut, status="incomplete", incomplete_details={"reason": reason})
    assert [call.status for call in response.calls] == ["complete", "truncated"]
    assert ran(response) == ["c0"]
    stop = "unknown" if reason == "max_time" else "max_tokens"
    assert response.choices[0].stop == Stop(stop, reason or "incomplete")  # type: ignore[arg-type]
    ended = whole(item, status="incomplete", incomplete_details={"reason": reason})
    assert ran(ended) == ["c1"]  # the call was whole before the answer was cut


@pytest.mark.thorough(keep=7)
@EVERY_KIND
@pytest.mark.parametrize("ending", ["completed", "max_output_tokens"])
@pytest.mark.parametrize("final", [[], [TEXT]], ids=["no output", "an output without it"])
def test_a_call_that_only_began_does_not_run(item: dict[str, Any], ending: str, final: list[Any]) -> None:
    response = read(added(0, announced(item)), output=final, stop=ending)
    assert [(call.id, call.status) for call in response.calls] == [("c1", "truncated")]
    assert "arguments-truncated" in codes(response)
    assert_not_executed(response, calls=1)


def test_a_call_without_its_end_runs_only_in_a_finished_answer_and_with_arguments() -> None:
    response = read(
        added(0, begun("c1", "a")), *pieces(0, '{"x":1}', item_id="a"), output=[TEXT], stop="max_output_tokens"
    )
    assert states(response) == [("c1", '{"x":1}', "truncated")]
    assert_not_executed(response, calls=1)
    assert_not_executed(whole({**EMPTY, "status": "in_progress"}), calls=1)
    assert ran(whole({**CALL, "status": "in_progress"})) == ran(whole(EMPTY)) == ["c1"]


@EVERY_KIND
@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_call_that_failed_does_not_run_and_one_that_appears_twice_runs_once(item: Any, status: str) -> None:
    response = whole({**item, "status": status})
    assert [(call.id, call.status, call.arguments) for call in response.calls] == [("c1", "invalid", None)]
    assert codes(response) == ["call-failed"]
    assert_not_executed(response, calls=1)
    twice = whole(item, item)
    assert (twice.choices, codes(twice), ran(twice)) == (whole(item).choices, ["duplicate-call"], ["c1"])


#: Types of outputs, with the canonical tool, of calls whose names differ from those of their outputs.
TOOLS = {"function_call": "function", "custom_tool_call": "custom", "local_shell_call": "shell"}


@EVERY_KIND
@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_whose_output_is_in_the_same_answer_was_run_elsewhere(item: dict[str, Any], streamed: bool) -> None:
    kind = item["type"].removesuffix("_call") if item["type"] == "tool_search_call" else item["type"]
    tool = TOOLS.get(item["type"], item["type"].removesuffix("_call"))
    output = {"type": f"{kind}_output", "id": "out_1", "call_id": "c1", "status": "completed"}
    items = [item, output, item, CALL | {"call_id": "c9", "id": "fc_9"}]
    events = [event(n, i) for n, i in enumerate(items) for event in (added, done)]
    response = read(*events, output=items) if streamed else whole(*items)
    call, result, unanswered = response.choices[0].blocks
    assert isinstance(call, ServerToolCall)
    assert (call.id, call.tool, call.status, call.extra) == ("c1", tool, "completed", {"item": item})
    assert result == ServerToolResult("c1", tool, False, output)
    assert isinstance(unanswered, ToolCall)
    assert ran(response) == ["c9"]
    assert codes(response) == ["answered-call", "duplicate-call"]


def test_an_output_of_another_type_and_an_output_in_a_request_do_not_answer_a_call() -> None:
    assert ran(whole(CALL, {"type": "shell_call_output", "call_id": "c1", "output": []})) == ["c1"]
    output = {"type": "function_call_output", "call_id": "c1", "output": "sunny"}
    assistant, results = read_request({"model": "m", "input": [CALL, output]}, WIRE).messages
    assert [call.id for call in assistant.response.calls] == ["c1"]  # type: ignore[union-attr]
    assert [result.call_id for result in results.results] == ["c1"]  # type: ignore[union-attr]
