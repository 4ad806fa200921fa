"""The outputs of xAI are steps of one answer: what one of them reports of a call is valid in the others."""

from __future__ import annotations

from typing import Any

import pytest
from xai_sdk.proto import chat_pb2

from tests.support.decoding import codes, feed, ran
from tests.support.events import grpc_event, grpc_output, grpc_response, tool_call
from toolparity import Response, ServerToolCall, ServerToolResult, Text, ToolCall, normalize, select
from toolparity.normalizer.events import BlockDelta, BlockStart, ChoiceStop

ASSISTANT, TOOL = 2, 5
SEARCH = 2
FAILED = 3
OUTPUT = {"finish": "REASON_STOP", "content": "Sunny."}
LOOKUP = [{"type": "function", "function": {"name": "lookup"}}]
TURIN = '{"city": "Turin"}'

either = pytest.mark.parametrize("streamed", [False, True])


def read(streamed: bool, *outputs: dict[str, Any], **options: Any) -> Response:
    """Outputs with the indexes 0, 1, …: whole, or each in its own chunk."""
    if not streamed:
        whole = [grpc_output(index, **output) for index, output in enumerate(outputs)]
        return normalize(grpc_response(*whole), "xai.grpc", **options)
    return feed("xai.grpc", [grpc_event(index, **output) for index, output in enumerate(outputs)], **options)[0]


@either
@pytest.mark.parametrize("request_of", [{}, {"request": ["web_search"]}, {"request": ["lookup"]}])
def test_a_served_call_that_comes_again_without_a_type_is_still_served(streamed: bool, request_of: Any) -> None:
    search, again = tool_call("{}", "s1", "web_search", type=SEARCH), tool_call("{}", "s1", "web_search", type=0)
    steps = [{"tool_calls": [search]}, {"role": TOOL, "tool_calls": [again], "content": "found"}, OUTPUT]
    response = read(streamed, *steps, **request_of)
    assert response.choices[0].blocks == [
        ServerToolCall("s1", "web_search", "web_search", "{}", "in_progress", {"index": 0}),
        ServerToolResult("s1", "web_search", False, {"content": "found"}, {"index": 1}),
        Text("Sunny.", [], {"index": 2}),
    ]
    assert response.findings == ()


@either
@pytest.mark.parametrize("declared", [{}, {"request": ["lookup"]}])
def test_a_call_without_a_type_in_an_output_of_role_tool_is_never_a_new_one_of_the_caller(
    streamed: bool, declared: Any
) -> None:
    again = tool_call("{}", "s1", "lookup", type=0)
    response = read(streamed, {"role": TOOL, "tool_calls": [again], "content": "found"}, OUTPUT, **declared)
    call, result, _ = response.choices[0].blocks
    assert isinstance(call, ServerToolCall)
    assert (call.id, call.name, call.arguments_text) == ("s1", "lookup", "{}")
    assert result == ServerToolResult("s1", "type_0", False, {"content": "found"}, {"index": 0})
    assert codes(response) == ["unknown-block"]


@either
def test_a_call_without_a_type_whose_result_came_was_executed(streamed: bool) -> None:
    made = tool_call("{}", "s1", "lookup", type=0)
    steps = [{"tool_calls": [made]}, {"role": TOOL, "tool_calls": [made], "content": "found"}, OUTPUT]
    blocks = read(streamed, *steps).choices[0].blocks
    assert list(map(type, blocks)) == [ServerToolCall, ServerToolResult, Text]
    assert ran(read(streamed, *steps, request=["lookup"])) == ["s1"]  # declared, and made before: the caller's


@either
@pytest.mark.parametrize("text", ["", TURIN])
@pytest.mark.parametrize("role", [ASSISTANT, TOOL])
def test_a_client_call_that_a_later_output_repeats_is_one_call(streamed: bool, text: str, role: int) -> None:
    made, again = tool_call(TURIN, "c1", "lookup"), tool_call(text, "c1", "lookup")
    response = read(streamed, {"tool_calls": [made]}, {"role": role, "tool_calls": [again], "finish": 4})
    assert response.choices[0].blocks == [ToolCall("c1", "lookup", {"city": "Turin"}, TURIN, extra={"index": 0})]
    assert codes(response) == ["duplicate-call"]
    assert ran(response) == ["c1"]


@either
def test_a_client_call_that_continues_in_the_next_output_is_one_call(streamed: bool) -> None:
    head = tool_call(TURIN[:7], "c1", "lookup")
    for name in ("lookup", ""):
        tail = tool_call(TURIN[7:], "c1", name)
        response = read(streamed, {"tool_calls": [head]}, {"tool_calls": [tail], "finish": 4})
        assert response.choices[0].blocks == [ToolCall("c1", "lookup", {"city": "Turin"}, TURIN, extra={"index": 0})]
        assert codes(response) == ["index-changed"]
    response = read(streamed, {"tool_calls": [head]}, {"tool_calls": [tail], "finish": "REASON_MAX_LEN"})
    assert [(call.arguments_text, call.status) for call in response.calls] == [(TURIN, "truncated")]


@either
def test_of_several_answers_each_has_its_own_ids(streamed: bool) -> None:
    call = tool_call(TURIN, "c1", "lookup")
    response = read(streamed, *[{"tool_calls": [call], "finish": 4}] * 2, request={"n": 2, "tools": LOOKUP})
    assert [[(c.id, c.arguments_text) for c in choice.calls] for choice in response.choices] == [[("c1", TURIN)]] * 2
    assert response.findings == ()
    ended, running = {"content": "A.", "finish": "REASON_STOP"}, {"content": "B."}
    assert read(streamed, ended, ended, request={"n": 2}).complete
    assert not read(streamed, running, ended, request={"n": 2}).complete


def test_a_call_that_continues_elsewhere_grows_where_it_is_shown_and_an_end_names_its_choice() -> None:
    parts = (TURIN[:7], TURIN[7:])
    pieces = [grpc_event(at, tool_calls=[tool_call(text, "c1", "lookup")]) for at, text in enumerate(parts)]
    _, events = feed("xai.grpc", pieces)
    events = [event for event in events if isinstance(event, BlockStart | BlockDelta)]
    assert [type(event).__name__ for event in events] == ["BlockStart", "BlockDelta", "BlockDelta"]
    assert {event.key for event in events} == {0}  # type: ignore[union-attr]
    _, events = feed("xai.grpc", [grpc_event(index, finish="REASON_STOP") for index in (1, 0)], request={"n": 2})
    assert [event.choice for event in events if isinstance(event, ChoiceStop)] == [1, 0]


@either
def test_what_breaks_off_after_an_earlier_outputs_reason_is_not_complete(streamed: bool) -> None:
    steps = [{"content": "I look.", "finish": "REASON_STOP"}, {"tool_calls": [tool_call(TURIN, "c1", "lookup")]}]
    response = read(streamed, *steps)
    assert (response.complete, codes(response)[0]) == (False, "stream-incomplete")
    assert ran(response) == []
    assert [ref.id for ref in select(response).rejected] == ["c1"]
    assert read(streamed, *reversed(steps)).complete  # the last step of an answer decides


@either
def test_a_client_call_that_failed_cannot_run(streamed: bool) -> None:
    failed = tool_call(TURIN, "c1", "lookup", status=FAILED, error_message="No such tool.")
    response = read(streamed, {"tool_calls": [failed], "finish": 4})
    extra = {"error_message": "No such tool.", "status": "failed"}
    assert response.calls == [ToolCall("c1", "lookup", None, TURIN, "invalid", extra=extra)]
    assert [(f.code, f.message) for f in response.findings] == [("call-failed", "lookup: No such tool.")]
    (ref,) = select(response).rejected
    assert ref.reason == "the provider marked it as failed"


@either
@pytest.mark.parametrize("kind", [4, 99])
def test_SRV_31_what_the_request_declares_decides_who_runs_a_call_of_a_hosted_type(streamed: bool, kind: int) -> None:
    """Failure SRV-31, and the hosted tool and its result, which show that xAI ran the call."""
    own: dict[str, Any] = {"function": {"name": "code_execution"}}
    call = tool_call(TURIN, "c1", "code_execution", type=kind)
    calls = {"tool_calls": [call, tool_call(TURIN, "c2", "lookup")], "finish": "REASON_TOOL_CALLS"}
    requests: list[Any] = [{"tools": [own, {"xSearch": {}}, *LOOKUP]}, ["code_execution", "lookup"]]
    for request in requests:
        response = read(streamed, calls, request=request)
        assert ran(response) == ["c1", "c2"]
        assert codes(response) == ["call-type-disagrees"]
    served = {"role": TOOL, "tool_calls": [call], "content": "Turin"}
    cases: list[tuple[list[Any], Any]] = [
        ([calls], {"tools": [own, {"codeExecution": {}}, *LOOKUP]}),
        ([calls], {"tools": [{"code_execution": {}}, *LOOKUP]}),
        ([{"tool_calls": [call]}, served, calls], {"tools": [own, *LOOKUP]}),
        ([calls], None),
    ]
    for steps, request in cases:
        assert ran(read(streamed, *steps, request=request)) == ["c2"]
    for reason in ("REASON_STOP", "REASON_MAX_LEN"):  # without a call that is silently left out
        ended = read(streamed, {**calls, "finish": reason}, request=requests[0])
        assert [call.id for call in ended.calls] == ["c1", "c2"]
        assert "call-type-disagrees" in codes(ended)


@either
def test_fields_that_the_sdk_does_not_know_are_kept_inside_calls_too(streamed: bool) -> None:
    call = tool_call(TURIN, "c1", "lookup")
    call.MergeFromString(b"\xf2\x06\x03new")
    call.function.MergeFromString(b"\xf8\x06\x07")
    search = tool_call("{}", "s1", "web_search", type=SEARCH)
    search.MergeFromString(b"\xf8\x06\x01")
    response = read(streamed, {"tool_calls": [search, call], "finish": 4})
    server, client = response.choices[0].blocks
    assert server.extra == {"unknown_fields": [{"field": 111, "data": 1}]}
    unknown = [{"field": 110, "data": b"new".hex()}, {"field": 111, "data": 7}]
    assert client.extra == {"unknown_fields": unknown}
    assert [(f.code, f.message) for f in response.findings] == [
        ("unknown-member", "fields [111] of ToolCall"),
        ("unknown-member", "fields [110] of ToolCall"),
        ("unknown-member", "fields [111] of FunctionCall"),
    ]


@either
def test_what_an_output_of_role_tool_contains_beside_calls_and_citations_without_words_are_kept(streamed: bool) -> None:
    for member in ("reasoning_content", "encrypted_content"):
        result, _ = read(streamed, {"role": TOOL, member: "kept"}, OUTPUT).choices[0].blocks
        assert result == ServerToolResult("", "", False, {"content": "", member: "kept"}, {"index": 0})
    response = read(streamed, {"citations": [chat_pb2.InlineCitation(id="1", start_index=0)]}, OUTPUT)
    assert response.choices[0].extra == {"outputs": {"0": {"citations": [{"id": "1"}]}}}
    assert response.choices[0].blocks == [Text("Sunny.", [], {"index": 1})]
