"""Item 8: the terminal events of proxies, and deltas of Responses that name their call by call_id alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.building import codes, function_call
from tests.failures.play import CREATED, added, assert_not_executed, done, grow, play, ran, sse, terminal
from toolparity import Response

WIRE = "openai.responses"
CALL = function_call("c1", "f", '{"x":1}', id="fc_1")
STREAMED = [added(0, {**CALL, "arguments": "", "status": "in_progress"}), done(0, CALL)]


def ending(kind: str, response: dict[str, Any] | None) -> dict[str, Any]:
    return {"type": f"response.{kind}"} | ({} if response is None else {"response": response})


def read(*events: dict[str, Any]) -> Response:
    return play(WIRE, sse(CREATED, *events))


@pytest.mark.parametrize(
    "response",
    [
        None,
        {"id": "r1"},
        {"id": "r1", "output": [CALL]},
        {"id": "r1", "status": "completed", "output": [CALL]},
        {"id": "r1", "status": "completed", "output": []},
    ],
    ids=["bare", "an id", "an output", "whole", "hollow"],
)
def test_response_done_ends_an_answer(response: dict[str, Any] | None) -> None:
    found = read(*STREAMED, ending("done", response))
    assert found.complete
    assert ran(found) == ["c1"]
    assert found.choices == read(*STREAMED, terminal([CALL])).choices
    assert not {"unknown-event", "stream-incomplete"} & set(codes(found))


@pytest.mark.parametrize("status", ["incomplete", "failed", "cancelled"])
def test_the_status_inside_response_done_counts(status: str) -> None:
    found = read(STREAMED[0], ending("done", {"id": "r1", "status": status, "output": []}))
    assert_not_executed(found, calls=1)


@pytest.mark.parametrize("status", ["in_progress", "queued"])
def test_response_done_of_a_response_that_goes_on_ends_nothing(status: str) -> None:
    found = read(*STREAMED, ending("done", {"id": "r1", "status": status, "output": [CALL]}))
    assert not found.complete
    assert_not_executed(found, calls=1)


@pytest.mark.parametrize("kind", ["cancelled", "canceled"])
@pytest.mark.parametrize("response", [None, {"id": "r1", "output": [CALL]}], ids=["bare", "whole"])
def test_a_cancelled_answer_is_complete_and_not_executed(kind: str, response: dict[str, Any] | None) -> None:
    found = read(*STREAMED, ending(kind, response))
    assert found.choices[0].stop.reason == "error"
    assert_not_executed(found, calls=1)


def test_response_error_is_an_error() -> None:
    found = read(*STREAMED, {"type": "response.error", "error": {"type": "server_error", "message": "Down."}})
    assert found.error is not None
    assert found.error.message == "Down."
    assert_not_executed(found, calls=1)


def test_a_second_terminal_event_takes_nothing_back_by_silence() -> None:
    figures = {"input_tokens": 3, "output_tokens": 4}
    first = terminal([CALL], usage=figures, metadata={"a": "b"})
    for second in (ending("done", None), ending("done", {"id": "r1"}), terminal([])):
        found = read(*STREAMED, first, second)
        assert found.choices == read(*STREAMED, first).choices
        assert found.usage == read(*STREAMED, first).usage
        assert found.extra["metadata"] == {"a": "b"}
        assert codes(found) == ["event-after-end"]


@pytest.mark.parametrize("second", [ending("done", None), ending("done", {"id": "r1"}), terminal([CALL])])
@pytest.mark.parametrize("first", ["incomplete", "failed", "cancelled"])
def test_success_takes_no_failure_back(first: str, second: dict[str, Any]) -> None:
    failed = ending(first, {"id": "r1", "status": first, "output": [{**CALL, "status": "incomplete"}]})
    found = read(STREAMED[0], failed, second)
    assert found.choices[0].stop.raw in (first, "incomplete")
    assert found.choices[0].stop.reason != "tool_calls"


# Deltas that name their call by call_id alone

CALLS = [function_call(f"c{n}", "f", f'{{"x":{n}}}', id=f"fc_{n}") for n in range(2)]
BEGUN = [added(n, {**call, "arguments": "", "status": "in_progress"}) for n, call in enumerate(CALLS)]


def by_call_id(kind: str, call: dict[str, Any], **members: str) -> dict[str, Any]:
    return {"type": f"response.function_call_arguments.{kind}", "call_id": call["call_id"], **members}


def interleaved() -> list[dict[str, Any]]:
    """The arguments of both calls, a piece of each in turn."""
    texts = [call["arguments"] for call in CALLS]
    return [
        by_call_id("delta", call, delta=piece)
        for pieces in zip(*([text[:3], text[3:]] for text in texts), strict=True)
        for call, piece in zip(CALLS, pieces, strict=True)
    ]


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("ends", ["deltas", "done", "both"])
def test_pieces_with_a_call_id_alone_belong_to_that_call(announced: bool, ends: str) -> None:
    pieces = interleaved() if ends != "done" else []
    if ends != "deltas":
        pieces += [by_call_id("done", call, arguments=call["arguments"]) for call in CALLS]
    silent = [done(n, {**call, "arguments": ""}) for n, call in enumerate(CALLS)]
    found = read(*(BEGUN if announced else []), *pieces, *(silent if announced else []), terminal([]))
    assert [(call.id, call.arguments_text) for call in found.calls] == [("c0", '{"x":0}'), ("c1", '{"x":1}')]
    assert ran(found) == (["c0", "c1"] if announced else [])  # without a start nothing names them


def test_a_call_id_says_more_than_an_item_id_that_is_constant() -> None:
    events = [{**event, "item_id": "fc_0"} for event in interleaved()]
    found = read(*BEGUN, *events, terminal([]))
    assert ran(found) == ["c0", "c1"]
    assert [call.arguments for call in found.calls] == [{"x": 0}, {"x": 1}]


def test_pieces_of_a_custom_call_by_call_id() -> None:
    calls = [
        {"type": "custom_tool_call", "id": f"i{n}", "call_id": f"c{n}", "name": "f", "input": ""} for n in range(2)
    ]
    pieces = [
        {**grow("custom_tool_call_input", 0, text), "call_id": id}
        for id, text in (("c0", "a"), ("c1", "b"), ("c0", "a"), ("c1", "b"))
    ]
    for piece in pieces:
        del piece["output_index"]
    found = read(*(added(n, call) for n, call in enumerate(calls)), *pieces, terminal([]))
    assert [(call.id, call.arguments_text) for call in found.calls] == [("c0", "aa"), ("c1", "bb")]
