"""Terminal events of proxies on openai.responses, and deltas that name their call by `call_id` alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, ran
from tests.support.events import CREATED, added, done, function_call, sse, terminal
from toolparity import Response, ServerToolCall, Stop

WIRE = "openai.responses"
CALL = function_call("c1", "f", '{"x":1}', id="fc_1")
STREAMED = [added(0, {**CALL, "arguments": "", "status": "in_progress"}), done(0, CALL)]


def ending(kind: str, response: dict[str, Any] | None) -> dict[str, Any]:
    return {"type": f"response.{kind}"} | ({} if response is None else {"response": response})


def read(*events: dict[str, Any]) -> Response:
    return decoded(WIRE, sse(CREATED, *events))


def test_response_done_ends_an_answer() -> None:
    done = {"status": "completed"}
    responses: list[Any] = [None, {}, {"output": [CALL]}, {"output": [CALL]} | done, {"output": []} | done]
    for response in responses:
        answer = read(*STREAMED, ending("done", response and {"id": "r1", **response}))
        assert answer.complete
        assert ran(answer) == ["c1"]
        assert answer.choices == read(*STREAMED, terminal([CALL])).choices
        assert not {"unknown-event", "stream-incomplete"} & set(codes(answer))


def test_the_status_inside_response_done_counts_and_a_cancelled_answer_is_not_executed() -> None:
    for status in ("incomplete", "failed", "cancelled", "in_progress", "queued"):
        running = status in ("in_progress", "queued")
        events = STREAMED if running else STREAMED[:1]
        answer = read(*events, ending("done", {"id": "r1", "status": status, "output": [CALL] if running else []}))
        assert_not_executed(answer, calls=1)
        assert not (answer.complete and running)
    for kind, response in product(("cancelled", "canceled"), (None, {"id": "r1", "output": [CALL]})):
        answer = read(*STREAMED, ending(kind, response))
        assert answer.choices[0].stop.reason == "error"
        assert_not_executed(answer, calls=1)


def test_a_terminal_event_with_few_members_keeps_those_of_the_beginning() -> None:
    first = CREATED["response"] | {"model": "grok-4", "tools": [{"type": "x_search"}]}  # type: ignore[operator]
    call = {"type": "custom_tool_call", "call_id": "x1", "name": "x_keyword_search", "input": "{}"}
    for final in ({}, {"response": {"status": "completed", "output": []}}):
        end = {"type": "response.completed"} | final
        answer = decoded(WIRE, sse({**CREATED, "response": first}, added(0, call), done(0, call), end))
        assert (answer.id, answer.model, answer.complete) == ("r1", "grok-4", True)
        assert answer.extra["tools"] == [{"type": "x_search"}]
        assert [type(block) for block in answer.choices[0].blocks] == [ServerToolCall]
        assert answer.choices[0].stop == Stop("end_turn", "completed")
    # nothing is kept of a beginning that is not an object
    answer = decoded(WIRE, sse({**CREATED, "response": "late"}, *STREAMED, ending("completed", None)))
    assert (answer.id, answer.complete, ran(answer)) == (None, True, ["c1"])


def test_response_error_is_an_error() -> None:
    answer = read(*STREAMED, {"type": "response.error", "error": {"type": "server_error", "message": "Down."}})
    assert answer.error is not None
    assert answer.error.message == "Down."
    assert_not_executed(answer, calls=1)


def test_a_second_terminal_event_without_members_removes_nothing() -> None:
    figures = {"input_tokens": 3, "output_tokens": 4}
    first = terminal([CALL], usage=figures, metadata={"a": "b"})
    for second in (ending("done", None), ending("done", {"id": "r1"}), terminal([])):
        answer = read(*STREAMED, first, second)
        assert answer.choices == read(*STREAMED, first).choices
        assert answer.usage == read(*STREAMED, first).usage
        assert answer.extra["metadata"] == {"a": "b"}
        assert codes(answer) == ["event-repeated"]


@pytest.mark.parametrize("first", ["incomplete", "failed", "cancelled"])
def test_a_later_success_does_not_replace_a_failure(first: str) -> None:
    failed = ending(first, {"id": "r1", "status": first, "output": [{**CALL, "status": "incomplete"}]})
    for second in (ending("done", None), ending("done", {"id": "r1"}), terminal([CALL])):
        answer = read(STREAMED[0], failed, second)
        assert answer.choices[0].stop.raw in (first, "incomplete")
        assert answer.choices[0].stop.reason != "tool_calls"


# Deltas that name their call by call_id alone

CALLS = [function_call(f"c{n}", "f", f'{{"x":{n}}}', id=f"fc_{n}") for n in range(2)]
BEGUN = [added(n, {**call, "arguments": "", "status": "in_progress"}) for n, call in enumerate(CALLS)]


def by_call_id(kind: str, call: dict[str, Any], **members: str) -> dict[str, Any]:
    return {"type": f"response.function_call_arguments.{kind}", "call_id": call["call_id"], **members}


def interleaved() -> list[dict[str, Any]]:
    """The arguments of both calls, a piece of each in turn."""
    halves = slice(None, 3), slice(3, None)
    return [by_call_id("delta", call, delta=call["arguments"][half]) for half in halves for call in CALLS]


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("sent", ["deltas", "done", "both"])
def test_fragments_with_only_a_call_id_belong_to_that_call(announced: bool, sent: str) -> None:
    pieces = interleaved() if sent != "done" else []
    if sent != "deltas":
        pieces += [by_call_id("done", call, arguments=call["arguments"]) for call in CALLS]
    empty = [done(n, {**call, "arguments": ""}) for n, call in enumerate(CALLS)]
    answer = read(*(BEGUN if announced else []), *pieces, *(empty if announced else []), terminal([]))
    assert [(call.id, call.arguments_text) for call in answer.calls] == [("c0", '{"x":0}'), ("c1", '{"x":1}')]
    assert ran(answer) == (["c0", "c1"] if announced else [])  # without a start nothing names them


def test_a_call_id_overrides_a_constant_item_id_and_assigns_fragments_of_custom_calls() -> None:
    events = [{**event, "item_id": "fc_0"} for event in interleaved()]
    answer = read(*BEGUN, *events, terminal([]))
    assert (ran(answer), [call.arguments for call in answer.calls]) == (["c0", "c1"], [{"x": 0}, {"x": 1}])
    call = {"type": "custom_tool_call", "name": "f", "input": ""}
    begun = [added(n, {**call, "id": f"i{n}", "call_id": f"c{n}"}) for n in range(2)]
    texts = [("c0", "a"), ("c1", "b"), ("c0", "a"), ("c1", "b")]
    kind = "response.custom_tool_call_input.delta"
    answer = read(*begun, *({"type": kind, "call_id": id, "delta": text} for id, text in texts), terminal([]))
    assert [(call.id, call.arguments_text) for call in answer.calls] == [("c0", "aa"), ("c1", "bb")]
