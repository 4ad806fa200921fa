"""Output items of Responses: which call a piece belongs to, what the end takes back, and which calls may run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.decoding import assert_not_executed, codes, decoded, feed, ran
from tests.support.events import (
    CREATED,
    added,
    done,
    function_call,
    grow,
    item_events,
    message_item,
    responses_body,
    sse,
    terminal,
)
from toolparity import Response, ServerToolCall, ServerToolResult, StreamDecoder, ToolCall, normalize, select
from toolparity.normalizer.conversation import Assistant
from toolparity.normalizer.errors import TooManyCalls
from toolparity.normalizer.events import BlockDelta, BlockStop
from toolparity.normalizer.model import ApprovalRequest, Stop
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.call_builder import MAX_CALLS

WIRE = "openai.responses"
SAID = message_item("Hi.", id="msg_0")
SHELL = {
    "type": "shell_call",
    "id": "sh_1",
    "call_id": "s1",
    "action": {"commands": ["make"]},
    "environment": {"type": "local"},
    "status": "completed",
}
PATCH = {
    "type": "apply_patch_call",
    "id": "apc_1",
    "call_id": "p1",
    "operation": {"type": "delete_file", "path": "x"},
    "status": "completed",
}
APPROVAL = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}", "server_label": "s"}
BUILT_IN = [
    SHELL,
    PATCH,
    {"type": "local_shell_call", "id": "ls_1", "call_id": "l1", "action": {"type": "exec"}, "status": "completed"},
    {"type": "computer_call", "id": "cu_1", "call_id": "k1", "action": {"type": "wait"}, "status": "completed"},
    {
        "type": "tool_search_call",
        "id": "ts_1",
        "call_id": "t1",
        "execution": "client",
        "arguments": {"q": "x"},
        "status": "completed",
    },
]
CLIENT_ITEMS = [
    function_call("c1", "f", '{"x":1}', id="fc_1"),
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "f", "input": "go", "status": "completed"},
    *BUILT_IN,
]
EVERY_KIND = pytest.mark.parametrize("item", CLIENT_ITEMS, ids=lambda item: item["type"])
EVERY_BUILT_IN = pytest.mark.parametrize("item", BUILT_IN, ids=lambda item: item["type"])


def begun(call_id: str, item_id: str | None, **more: Any) -> dict[str, Any]:
    """A call as it is announced: without arguments."""
    return {**function_call(call_id, f"f_{call_id}", "", status="in_progress"), "id": item_id, **more}


def pieces(index: int, *texts: str, **more: Any) -> list[dict[str, Any]]:
    return [grow("function_call_arguments", index, text, **more) for text in texts]


def told(response: Response) -> list[tuple[str, str, str]]:
    return [(call.id, call.arguments_text, call.status) for call in response.calls]


def whole(*items: dict[str, Any], **more: Any) -> Response:
    return normalize(responses_body(*items, **more), WIRE)


# Which call a piece belongs to


@pytest.mark.parametrize("places", [(1, 2), (0, 1)], ids=["an index that no item has", "the index of the first item"])
def test_pieces_of_two_calls_under_one_constant_index_are_told_apart_by_their_item_ids(places: tuple[int, int]) -> None:
    first, second = (
        {"x": ['{"x"', ":1", "}"], "id": "a", "call": "c1"},
        {"x": ['{"y"', ":2", "}"], "id": "b", "call": "c2"},
    )
    events = [added(places[0], begun("c1", "a")), added(places[1], begun("c2", "b"))]
    for one, other in zip(first["x"], second["x"], strict=True):
        events += [*pieces(0, one, item_id="a"), *pieces(0, other, item_id="b")]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert told(response) == [("c1", '{"x":1}', "complete"), ("c2", '{"y":2}', "complete")]
    strayed = 2 if places == (1, 2) else 1
    assert codes(response) == ["index-changed"] * strayed + ["event-missing"] * 2 + ["output-empty"]
    assert ran(response) == ["c1", "c2"]


def test_a_second_call_whose_pieces_come_in_a_row_under_the_first_ones_index_is_its_own() -> None:
    events = [
        added(0, begun("c1", "a")),
        added(1, begun("c2", "b")),
        *pieces(0, '{"x"', ":1", "}", item_id="a"),
        *pieces(0, '{"y"', ":2", "}", item_id="b"),
    ]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert told(response) == [("c1", '{"x":1}', "complete"), ("c2", '{"y":2}', "complete")]


def test_a_constant_item_id_does_not_outweigh_the_index_of_a_call_that_is_still_open() -> None:
    events = [
        added(0, begun("c1", "a")),
        *pieces(0, '{"x":', "1}", item_id="a"),
        done(0, function_call("c1", "f_c1", '{"x":1}', id="a")),
        added(1, begun("c2", "b")),
        *pieces(1, '{"y":', "2}", item_id="a"),
    ]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert told(response) == [("c1", '{"x":1}', "complete"), ("c2", '{"y":2}', "complete")]
    assert codes(response) == ["event-missing", "output-empty"]


def test_items_that_end_under_one_constant_index_are_all_kept() -> None:
    ended = [function_call(f"c{n}", "f", f'{{"x":{n}}}', id=f"fc_{n}") for n in range(3)]
    response = decoded(WIRE, sse(CREATED, *(done(0, item) for item in ended), terminal([])))
    assert told(response) == [(f"c{n}", f'{{"x":{n}}}', "complete") for n in range(3)]
    assert set(codes(response)) == {"event-missing", "index-reused", "output-empty"}


@pytest.mark.parametrize(("before", "after"), [(None, "fc_1"), ("fc_1", None), ("one", "other"), (None, None)])
def test_an_item_without_index_ends_where_it_began_whatever_its_item_id(before: str | None, after: str | None) -> None:
    events = [
        {"type": "response.output_item.added", "item": begun("c1", before)},
        {"type": "response.output_item.done", "item": function_call("c1", "f_c1", '{"a":1}', id=after)},
        {"type": "response.output_item.added", "item": begun("c2", before)},
        {"type": "response.output_item.done", "item": function_call("c2", "f_c2", '{"a":2}', id=after)},
    ]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert told(response) == [("c1", '{"a":1}', "complete"), ("c2", '{"a":2}', "complete")]
    assert codes(response) == ["output-empty"]


def test_an_item_that_gets_its_ids_at_its_end_is_the_last_open_one_of_its_type() -> None:
    bare = {"type": "function_call", "name": "f_c1", "arguments": ""}
    events = [
        {"type": "response.output_item.added", "item": bare},
        {"type": "response.output_item.added", "item": {**SAID, "content": []}},
        {"type": "response.output_item.done", "item": function_call("c1", "f_c1", '{"a":1}', id="fc_1")},
        {"type": "response.output_item.done", "item": SAID},
    ]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert told(response) == [("c1", '{"a":1}', "complete")]
    assert response.text == "Hi."


def test_a_call_that_is_announced_twice_is_one_call() -> None:
    events = [
        added(0, begun("c1", "a")),
        added(0, begun("c1", "a")),
        *item_events(0, CLIENT_ITEMS[0] | {"id": "a"})[1:],
    ]
    response = decoded(WIRE, sse(CREATED, *events, terminal([])))
    assert told(response) == [("c1", '{"x":1}', "complete")]


def test_more_items_than_any_answer_has_are_an_error() -> None:
    events = [{"type": "response.output_item.added", "item": begun(f"c{n}", None)} for n in range(MAX_CALLS + 1)]
    with pytest.raises(TooManyCalls, match="4096 output items"):
        feed(WIRE, [sse(*events)])
    response, _ = feed(WIRE, [sse(*events[:-1])])
    assert len(response.calls) == MAX_CALLS


# What the end takes back, and what it does not


@pytest.mark.parametrize("item", [*CLIENT_ITEMS, APPROVAL], ids=lambda item: item["type"])
def test_an_item_that_the_final_output_lacks_stands_where_it_was_streamed(item: dict[str, Any]) -> None:
    after = message_item("Done.", id="msg_2")
    streamed = [added(n, i) for n, i in enumerate([SAID, item, after])]
    ended = [done(n, i) for n, i in enumerate([SAID, item, after])]
    complete = decoded(WIRE, sse(CREATED, *streamed, *ended, terminal([SAID, item, after])))
    lacking = decoded(WIRE, sse(CREATED, *streamed, *ended, terminal([SAID, after])))
    assert lacking.choices == complete.choices
    assert [type(block) for block in lacking.choices[0].blocks][1] in (ToolCall, ApprovalRequest)
    assert ran(lacking) == ran(complete)
    assert "output-disagrees" in codes(lacking)
    assert "output-disagrees" not in codes(complete)


@pytest.mark.parametrize("item", [*BUILT_IN, APPROVAL, SAID], ids=lambda item: item["type"])
def test_an_item_whose_id_changed_in_the_final_output_stands_there_once(item: dict[str, Any]) -> None:
    ending = terminal([{**item, "id": "enc"}])
    response = decoded(WIRE, sse(CREATED, added(0, item), done(0, item), ending))
    assert response.choices == decoded(WIRE, sse(CREATED, ending)).choices
    assert "output-disagrees" not in codes(response)


def test_one_of_two_equal_calls_that_the_final_output_lacks_is_kept() -> None:
    one, other = (function_call(id, "f", "{}", id=f"fc_{id}") for id in ("c1", "c2"))
    events = [*item_events(0, one), *item_events(1, other)]
    response = decoded(WIRE, sse(CREATED, *events, terminal([other])))
    assert told(response) == [("c1", "{}", "complete"), ("c2", "{}", "complete")]
    assert codes(response) == ["output-disagrees"]


def test_a_message_that_began_and_said_nothing_is_nothing_that_the_final_output_lacks() -> None:
    silent = {**SAID, "id": "msg_9", "content": [], "status": "in_progress"}
    response = decoded(
        WIRE, sse(CREATED, added(0, silent), *item_events(1, CLIENT_ITEMS[0]), terminal([CLIENT_ITEMS[0]]))
    )
    assert response.choices == whole(CLIENT_ITEMS[0]).choices
    assert response.findings == ()


CALL = CLIENT_ITEMS[0]
BARE = {key: value for key, value in CALL.items() if key != "arguments"}
EMPTY = {**CALL, "arguments": ""}
START = [added(0, {**EMPTY, "status": "in_progress"})]
DELTAS = pieces(0, '{"x"', ":1}", item_id="fc_1")


@pytest.mark.parametrize(
    "events",
    [
        [*START, *DELTAS, done(0, BARE), terminal([])],
        [*START, *DELTAS, done(0, EMPTY), terminal([])],
        [*START, done(0, EMPTY), *DELTAS, terminal([])],
        [*START, *DELTAS[:1], done(0, EMPTY), *DELTAS[1:], terminal([])],
        [*START, *DELTAS, done(0, CALL), terminal([EMPTY])],
        [*START, *DELTAS, terminal([BARE])],
        [added(0, CALL), done(0, BARE), terminal([])],
    ],
    ids=[
        "missing at the item's end",
        "empty at the item's end",
        "late",
        "half late",
        "empty in the final output",
        "missing in the final output",
        "only at the beginning",
    ],
)
def test_silence_at_the_end_does_not_take_back_streamed_arguments(events: list[dict[str, Any]]) -> None:
    response = decoded(WIRE, sse(CREATED, *events))
    assert told(response) == [("c1", '{"x":1}', "complete")]
    assert "arguments-disagree" in codes(response)
    assert ran(response) == ["c1"]


def test_other_arguments_in_the_final_output_count_and_are_reported() -> None:
    events = [*item_events(0, CALL), terminal([{**CALL, "arguments": '{"x":22}'}])]
    response = decoded(WIRE, sse(CREATED, *events))
    assert told(response) == [("c1", '{"x":22}', "complete")]
    assert codes(response) == ["arguments-disagree"]


def test_what_comes_after_an_items_end_is_not_shown_under_its_closed_block() -> None:
    _, events = feed(
        WIRE, [sse(CREATED, *START, *DELTAS[:1], done(0, EMPTY), *DELTAS[1:], done(0, CALL), terminal([]))]
    )
    assert [event for event in events if isinstance(event, (BlockDelta, BlockStop))] == [
        BlockDelta(0, 0, '{"x"'),
        BlockStop(0, 0),
    ]


# Which calls may run


@pytest.mark.thorough(keep=15)
@EVERY_KIND
@pytest.mark.parametrize("reason", ["max_output_tokens", None, "max_time"])
@pytest.mark.parametrize("status", ["in_progress", "incomplete", None])
def test_the_last_call_of_an_incomplete_answer_does_not_run(
    item: dict[str, Any], reason: str | None, status: str | None
) -> None:
    cut = {**item, "status": status}
    body = responses_body(CALL | {"call_id": "c0"}, cut, status="incomplete", incomplete_details={"reason": reason})
    response = normalize(body, WIRE)
    assert [call.status for call in response.calls] == ["complete", "truncated"]
    assert ran(response) == ["c0"]
    stop = "unknown" if reason == "max_time" else "max_tokens"
    assert response.choices[0].stop == Stop(stop, reason or "incomplete")  # type: ignore[arg-type]


@EVERY_KIND
def test_a_call_that_was_whole_before_the_answer_was_cut_runs(item: dict[str, Any]) -> None:
    details = {"reason": "max_output_tokens"}
    response = whole(item, status="incomplete", incomplete_details=details)
    assert ran(response) == [item["call_id"]]


@pytest.mark.thorough(keep=7)
@EVERY_KIND
@pytest.mark.parametrize("ending", ["completed", "max_output_tokens"])
@pytest.mark.parametrize("final", [[], [SAID]], ids=["no output", "an output without it"])
def test_a_call_that_only_began_does_not_run(item: dict[str, Any], ending: str, final: list[Any]) -> None:
    part = next((name for name in ("arguments", "input") if isinstance(item.get(name), str)), None)
    start = {**item, "status": "in_progress"} | ({part: ""} if part else {})
    response = decoded(WIRE, sse(CREATED, added(0, start), terminal(final, ending)))
    assert [(call.id, call.status) for call in response.calls] == [(item["call_id"], "truncated")]
    assert "arguments-truncated" in codes(response)
    assert_not_executed(response, calls=1)


def test_a_call_with_half_an_answer_streamed_does_not_run_although_its_text_is_whole() -> None:
    events = [added(0, begun("c1", "a")), *pieces(0, '{"x":1}', item_id="a")]
    response = decoded(WIRE, sse(CREATED, *events, terminal([SAID], "max_output_tokens")))
    assert told(response) == [("c1", '{"x":1}', "truncated")]
    assert_not_executed(response, calls=1)


@EVERY_KIND
@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_call_that_failed_does_not_run(item: dict[str, Any], status: str) -> None:
    response = whole({**item, "status": status})
    assert [(call.id, call.status, call.arguments) for call in response.calls] == [(item["call_id"], "invalid", None)]
    assert codes(response) == ["call-failed"]
    assert_not_executed(response, calls=1)


def test_a_call_in_progress_without_arguments_in_a_finished_answer_does_not_run() -> None:
    response = whole({**CALL, "arguments": "", "status": "in_progress"})
    assert told(response) == [("c1", "", "truncated")]
    assert_not_executed(response, calls=1)
    assert ran(whole({**CALL, "status": "in_progress"})) == ["c1"]
    assert ran(whole({**CALL, "arguments": ""})) == ["c1"]


@EVERY_KIND
def test_a_call_that_stands_twice_runs_once(item: dict[str, Any]) -> None:
    response = whole(item, item)
    assert response.choices == whole(item).choices
    assert codes(response) == ["duplicate-call"]
    assert ran(response) == [item["call_id"]]


OUTPUTS = {
    "function_call": ("function_call_output", "function"),
    "custom_tool_call": ("custom_tool_call_output", "custom"),
    "shell_call": ("shell_call_output", "shell"),
    "apply_patch_call": ("apply_patch_call_output", "apply_patch"),
    "local_shell_call": ("local_shell_call_output", "shell"),
    "computer_call": ("computer_call_output", "computer"),
    "tool_search_call": ("tool_search_output", "tool_search"),
}


@EVERY_KIND
@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_whose_output_stands_in_the_same_answer_was_run_elsewhere(item: dict[str, Any], streamed: bool) -> None:
    type, tool = OUTPUTS[item["type"]]
    output = {"type": type, "id": "out_1", "call_id": item["call_id"], "status": "completed"}
    other = CALL | {"call_id": "c9", "id": "fc_9"}
    items = [item, output, item, other]
    if streamed:
        events = [event(n, i) for n, i in enumerate(items) for event in (added, done)]
        response = decoded(WIRE, sse(CREATED, *events, terminal(items)))
    else:
        response = whole(*items)
    call, result, unanswered = response.choices[0].blocks
    assert isinstance(call, ServerToolCall)
    assert (call.id, call.tool, call.status) == (item["call_id"], tool, "completed")
    assert call.extra == {"item": item}
    assert result == ServerToolResult(item["call_id"], tool, False, output)
    assert isinstance(unanswered, ToolCall)
    assert ran(response) == ["c9"]
    assert codes(response) == ["answered-call", "duplicate-call"]


def test_an_output_of_another_type_under_the_calls_id_is_no_answer_to_it() -> None:
    response = whole(CALL, {"type": "shell_call_output", "call_id": "c1", "output": []})
    assert ran(response) == ["c1"]


def test_a_call_and_its_output_in_a_request_stay_a_call_and_its_result() -> None:
    output = {"type": "function_call_output", "call_id": "c1", "output": "sunny"}
    request = read_request({"model": "m", "input": [CALL, output]}, WIRE)
    assistant, results = request.messages
    assert [call.id for call in assistant.response.calls] == ["c1"]  # type: ignore[union-attr]
    assert [result.call_id for result in results.results] == ["c1"]  # type: ignore[union-attr]


# Custom calls of xAI


SEARCH = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "x1",
    "name": "x_keyword_search",
    "input": '{"query":"a"}',
    "status": "completed",
}
#: One whose name xAI does not document.
UNTOLD = {**SEARCH, "name": "edit"}
TOOLS = [{"type": "x_search"}, {"type": "custom", "name": "mine"}]


@pytest.mark.parametrize(
    ("provider", "model"),
    [("xai", "m"), ("other", "grok-4"), ("openrouter", "x-ai/grok-4"), (None, "Grok-4"), ("xai", None)],
)
def test_a_custom_call_of_grok_is_its_own_whoever_serves_it(provider: str | None, model: str | None) -> None:
    body = responses_body(SEARCH, {**SEARCH, "call_id": "x2", "name": "mine"}, model=model, tools=[TOOLS[1]])
    response = normalize(body, WIRE, provider=provider)
    own, mine = response.choices[0].blocks
    assert isinstance(own, ServerToolCall)
    assert (own.id, own.tool, own.name) == ("ctc_1", "x_search", "x_keyword_search")
    assert isinstance(mine, ToolCall)
    assert ran(response) == ["x2"]


@pytest.mark.parametrize("final", [None, {"status": "completed", "output": []}], ids=["no response", "a bare response"])
def test_a_terminal_event_that_says_little_does_not_make_the_beginning_forgotten(final: Any) -> None:
    first = {**CREATED["response"], "model": "grok-4", "tools": TOOLS}  # type: ignore[dict-item]
    end = {"type": "response.completed"} | ({"response": final} if final else {})
    response = decoded(WIRE, sse({**CREATED, "response": first}, added(0, SEARCH), done(0, SEARCH), end))
    assert (response.id, response.model, response.complete) == ("r1", "grok-4", True)
    assert response.extra["tools"] == TOOLS
    (own,) = response.choices[0].blocks
    assert isinstance(own, ServerToolCall)
    assert response.choices[0].stop == Stop("end_turn", "completed")


def test_a_second_terminal_event_that_says_nothing_changes_nothing() -> None:
    response = decoded(WIRE, sse(CREATED, terminal([CALL]), {"type": "response.completed"}))
    assert response.choices == whole(CALL).choices
    assert codes(response) == ["event-repeated"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_custom_call_of_xai_is_neither_run_nor_lost_where_nobody_told_the_tools(streamed: bool) -> None:
    body = responses_body(UNTOLD, model="grok-4")
    response = normalize(body, WIRE)
    if streamed:
        response = decoded(WIRE, sse(CREATED, added(0, UNTOLD), done(0, UNTOLD), terminal([UNTOLD], model="grok-4")))
    (call,) = response.calls
    assert (call.id, call.name, call.arguments_text) == ("x1", "edit", '{"query":"a"}')
    assert (call.kind, call.status, call.arguments) == ("unresolved", "invalid", None)
    assert codes(response) == ["unresolved-call"]
    assert_not_executed(response, calls=1)
    known = normalize(body, WIRE, request={"tools": [{"type": "custom", "name": "edit"}]})
    assert ran(known) == ["x1"]


@pytest.mark.parametrize("selected", ["all", "first", "batch"])
def test_an_unresolved_call_is_rejected_with_a_reason(selected: str) -> None:
    (ref,) = select(normalize(responses_body(UNTOLD, model="grok-4"), WIRE), selected).rejected
    assert (ref.id, bool(ref.reason)) == ("x1", True)


@pytest.mark.parametrize(
    "items",
    [[SEARCH], [UNTOLD], [CALL, {"type": "function_call_output", "id": "out_1", "call_id": "c1", "output": "x"}]],
    ids=["its own", "unresolved", "answered"],
)
def test_calls_that_never_ran_here_go_back_as_they_came(items: list[dict[str, Any]]) -> None:
    request = read_request({"model": "grok-4", "input": "Go."}, WIRE, provider="xai")
    response = normalize(responses_body(*items, model="grok-4"), WIRE, provider="xai")
    turns = [*request.messages, Assistant(response)]
    encoded = write_request(replace(request, messages=turns), WIRE, provider="xai")
    assert encoded.body["input"][1 : 1 + len(items)] == items
    assert encoded.losses == []


@pytest.mark.parametrize(
    ("item", "delta", "words"),
    [
        (
            {"type": "message", "id": "m", "role": "assistant", "content": []},
            {"type": "response.output_text.delta", "content_index": 0},
            "Text",
        ),
        (
            {"type": "reasoning", "id": "m", "summary": []},
            {"type": "response.reasoning_summary_text.delta", "summary_index": 0},
            "Reasoning",
        ),
    ],
)
def test_words_that_were_streamed_count_where_their_item_ends_without_any(
    item: dict[str, Any], delta: dict[str, Any], words: str
) -> None:
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {**delta, "output_index": 0, "item_id": "m", "delta": "Hello "},
        {**delta, "output_index": 0, "item_id": "m", "delta": "there."},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {"id": "r", "object": "response", "status": "completed", "output": []},
        },
    ]
    decoder = StreamDecoder("openai.responses")
    for event in events:
        decoder.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    response = decoder.finish()
    (block,) = response.choices[0].blocks
    assert type(block).__name__ == words
    assert block.text == "Hello there."  # type: ignore[union-attr]
    assert "output-disagrees" in [finding.code for finding in response.findings]
