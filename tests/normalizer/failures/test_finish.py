"""Failures of class finish: stop reasons that are wrong, early, late, empty or doubled."""

from __future__ import annotations

from typing import Any

import pytest
from xai_sdk.proto import usage_pb2

from tests.support.decoding import assert_not_executed, both, codes, decoded, feed, ran, triples
from tests.support.emit import LOOKUP, damage, emit_stream, scripted_call
from tests.support.events import (
    DONE,
    MESSAGE_START,
    MESSAGE_STOP,
    delta_chunk,
    fragment,
    grpc_event,
    grpc_output,
    grpc_response,
    message_delta,
    sse,
    terminal,
    tool_call,
)
from tests.support.wires import TEXT_WIRES, WIRES
from toolparity import normalize
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.events import ChoiceStop
from toolparity.normalizer.model import Stop, Usage

all_wires = pytest.mark.parametrize("wire", WIRES)
TURIN = [("call_a", "lookup", {"city": "Turin"})]


@pytest.mark.parametrize(
    ("wire", "raw"), [("openai.chat", "stop"), ("anthropic.messages", "end_turn"), ("xai.grpc", "REASON_STOP")]
)
def test_FIN_02_calls_override_a_contradicting_stop_reason(wire: str, raw: str) -> None:
    for response in both(wire, [Say("I look."), LOOKUP], "end_turn"):
        assert response.choices[0].stop == Stop("tool_calls", raw)
        assert codes(response) == ["stop-disagrees"]
        assert ran(response) == ["call_a"]


@pytest.mark.parametrize(
    ("request_members", "expected"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "lookup"}}}, []),
        ({"function_call": {"name": "lookup"}}, []),
        ({"tool_choice": "required"}, ["stop-disagrees"]),
        ({"tool_choice": {"type": "allowed_tools", "allowed_tools": {}}}, ["stop-disagrees"]),
    ],
)
def test_FIN_02_with_a_named_tool_stop_does_not_contradict_calls(
    request_members: dict[str, Any], expected: list[str]
) -> None:
    request = {"tools": [{"type": "function", "function": {"name": "lookup"}}], **request_members}
    decoded = normalize(b"".join(emit_stream("openai.chat", [LOOKUP], "end_turn")), "openai.chat", request=request)
    assert decoded.choices[0].stop == Stop("tool_calls", "stop")
    assert [code for code in codes(decoded) if code != "stream-body"] == expected


def test_FIN_02_on_responses_the_status_completed_does_not_contradict_calls() -> None:
    for response in both("openai.responses", [LOOKUP], "end_turn"):
        assert response.choices[0].stop == Stop("tool_calls", "completed")
        assert response.findings == ()
        assert ran(response) == ["call_a"]


@pytest.mark.parametrize(
    ("wire", "raw"),
    [("openai.chat", "tool_calls"), ("anthropic.messages", "tool_use"), ("xai.grpc", "REASON_TOOL_CALLS")],
)
def test_FIN_02_a_tool_call_stop_reason_without_calls_is_reported(wire: str, raw: str) -> None:
    for response in both(wire, [Say("Done.")], "tool_calls"):
        assert response.choices[0].stop == Stop("end_turn", raw)
        assert codes(response) == ["stop-disagrees"]


@pytest.mark.parametrize("native", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_GEM_02_a_malformed_call_is_not_an_empty_success(native: str) -> None:
    choice = {"index": 0, "finish_reason": "stop", "native_finish_reason": native, "message": {"role": "assistant"}}
    whole = normalize({"id": "r1", "choices": [choice]}, "openai.chat")
    ending = delta_chunk({}, "stop")
    ending["choices"][0]["native_finish_reason"] = native
    streamed, events = feed("openai.chat", [sse(delta_chunk({"role": "assistant"}), ending) + DONE])
    for response in (whole, streamed):
        (only,) = response.choices
        assert (only.blocks, only.stop) == ([], Stop("malformed_call", "stop"))
        assert only.extra["native_finish_reason"] == native
    assert events == [ChoiceStop(0, Stop("malformed_call", "stop"))]


def test_GEM_02_a_call_in_an_answer_marked_malformed_is_not_run() -> None:
    *frames, _, _ = emit_stream("openai.chat", [LOOKUP])
    ending = delta_chunk({}, "tool_calls")
    ending["choices"][0]["native_finish_reason"] = "MALFORMED_FUNCTION_CALL"
    response = decoded("openai.chat", [*frames, sse(ending), DONE])
    assert response.choices[0].stop == Stop("malformed_call", "tool_calls")
    assert_not_executed(response, calls=1)


def test_PEER_03_a_malformed_call_is_not_run_and_broken_json_does_not_become_empty_arguments() -> None:
    *frames, _, _ = emit_stream("openai.chat", [scripted_call(['{"city":', '"Tu'])])
    ending = delta_chunk({}, "tool_calls")
    ending["choices"][0]["native_finish_reason"] = "MALFORMED_FUNCTION_CALL"
    response = decoded("openai.chat", [*frames, sse(ending), DONE])
    assert response.choices[0].stop.reason == "malformed_call"
    (broken,) = response.calls
    assert (broken.arguments, broken.arguments_text) == (None, '{"city":"Tu')
    assert_not_executed(response, calls=1)


def test_FIN_08_empty_finish_reasons_before_the_real_one_are_ignored() -> None:
    deltas: list[dict[str, Any]] = [{"content": ""}, fragment("", 0, "call_a", "lookup"), fragment('{"city":"Turin"}')]
    frames = [sse(delta_chunk(delta, "")) for delta in deltas]
    response = decoded("openai.chat", [*frames, sse(delta_chunk({}, "tool_calls")), DONE])
    assert triples(response) == TURIN
    assert response.choices[0].stop == Stop("tool_calls", "tool_calls")
    assert response.findings == ()


def test_FIN_08_an_empty_finish_reason_alone_counts_as_missing() -> None:
    response = decoded("openai.chat", [sse(delta_chunk(fragment('{"city":"Turin"}', 0, "call_a", "lookup"), "")), DONE])
    assert response.choices[0].stop == Stop("tool_calls", None)
    assert codes(response) == ["stop-missing"]
    assert ran(response) == ["call_a"]


def test_FIN_08_an_empty_anthropic_stop_reason_is_replaced_by_the_real_one() -> None:
    *frames, _, _ = emit_stream("anthropic.messages", [LOOKUP])
    response = decoded("anthropic.messages", [*frames, sse(message_delta(""), message_delta("tool_use"), MESSAGE_STOP)])
    assert response.choices[0].stop == Stop("tool_calls", "tool_use")
    assert response.findings == ()


def test_FIN_08_an_unset_finish_reason_never_replaces_a_set_one() -> None:
    response = decoded("xai.grpc", [*emit_stream("xai.grpc", [LOOKUP]), grpc_event()])
    assert response.choices[0].stop == Stop("tool_calls", "REASON_TOOL_CALLS")
    assert (response.complete, response.findings) == (True, ())


_EMPTY = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "stop"}
EARLY = {
    "openai.chat": damage(
        "openai.chat", emit_stream("openai.chat", [LOOKUP])[:1], lambda chunk: chunk | {"choices": [_EMPTY]}
    ),
    "anthropic.messages": [sse(MESSAGE_START, message_delta("end_turn"))],
    "xai.grpc": [grpc_event(finish="REASON_STOP")],
}


@pytest.mark.parametrize("wire", EARLY)
def test_FIN_11_an_empty_candidate_that_stops_first_does_not_end_the_stream(wire: str) -> None:
    frames = emit_stream(wire, [Say("I look."), LOOKUP])
    response = decoded(wire, [*EARLY[wire], *frames[wire == "anthropic.messages" :]])
    assert (response.text, triples(response)) == ("I look.", TURIN)
    assert response.choices[0].stop.reason == "tool_calls"
    assert ran(response) == ["call_a"]


def stops(wire: str, frames: list[bytes]) -> list[ChoiceStop]:
    """The stops that the canonical events report."""
    return [event for event in feed(wire, frames)[1] if isinstance(event, ChoiceStop)]


FIGURES = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
CHAT_TWICE = sse(delta_chunk({}, "tool_calls", usage=FIGURES))


@pytest.mark.parametrize("wire", ["openai.chat", "anthropic.messages", "xai.grpc"])
def test_FIN_01_a_repeated_finish_reason_ends_a_call_once(wire: str) -> None:
    duplicate = {
        "openai.chat": CHAT_TWICE,
        "anthropic.messages": sse(message_delta("tool_use")),
        "xai.grpc": grpc_event(finish="REASON_TOOL_CALLS"),
    }
    frames = emit_stream(wire, [LOOKUP])
    at = {"openai.chat": -1, "anthropic.messages": -1, "xai.grpc": len(frames)}[wire]
    frames.insert(at, duplicate[wire])
    response = decoded(wire, frames)
    assert triples(response) == TURIN
    assert codes(response) == (
        ["event-repeated"] if wire == "anthropic.messages" else []
    )  # elsewhere, the usage is new
    assert len(stops(wire, frames)) == 1


def test_FIN_01_a_second_terminal_event_on_responses_does_not_double_the_call() -> None:
    frames = emit_stream("openai.responses", [LOOKUP])
    once = decoded("openai.responses", frames)
    response = decoded("openai.responses", [*frames, frames[-1]])
    assert response == once
    assert codes(response) == ["event-repeated"]


def test_XAI_04_a_usage_chunk_that_repeats_the_finish_reason_only_adds_usage() -> None:
    figures = usage_pb2.SamplingUsage(prompt_tokens=5, completion_tokens=7, total_tokens=12)
    frames = [*emit_stream("xai.grpc", [LOOKUP]), grpc_event(finish="REASON_TOOL_CALLS", usage=figures)]
    response = decoded("xai.grpc", frames)
    assert triples(response) == TURIN
    assert response.choices[0].stop == Stop("tool_calls", "REASON_TOOL_CALLS")
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)
    assert len(stops("xai.grpc", frames)) == 1
    assert ran(response) == ["call_a"]


def test_XAI_04_a_usage_chunk_with_a_finish_reason_only_adds_usage_on_chat() -> None:
    *frames, last = emit_stream("openai.chat", [LOOKUP])
    response = decoded("openai.chat", [*frames, CHAT_TWICE, last])
    assert triples(response) == TURIN
    assert response.usage == Usage(5, 7, None, None, None, FIGURES)
    assert len(stops("openai.chat", [*frames, CHAT_TWICE, last])) == 1
    assert ran(response) == ["call_a"]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("REASON_MAX_LEN", "max_tokens"),
        ("REASON_MAX_CONTEXT", "context_window"),
        ("REASON_TIME_LIMIT", "max_tokens"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_XAI_11_reasons_that_cut_an_answer_withhold_its_last_call(raw: str, reason: str, streamed: bool) -> None:
    calls = [tool_call('{"city":"Turin"}', "call_a", "lookup")]
    if streamed:
        response = decoded("xai.grpc", [grpc_event(tool_calls=calls), grpc_event(finish=raw)])
    else:
        response = normalize(grpc_response(grpc_output(finish=raw, tool_calls=calls)), "xai.grpc")
    assert response.complete is True
    assert (response.choices[0].stop.reason, response.choices[0].stop.raw) == (reason, raw)
    assert [call.status for call in response.calls] == ["truncated"]
    assert ("time-limit" in codes(response)) == (raw == "REASON_TIME_LIMIT")
    assert_not_executed(response, calls=1)


@pytest.mark.parametrize("streamed", [False, True])
def test_XAI_11_an_invalid_finish_reason_does_not_end_the_answer(streamed: bool) -> None:
    calls = [tool_call('{"city":"Turin"}', "call_a", "lookup")]
    if streamed:
        response = decoded("xai.grpc", [grpc_event(tool_calls=calls), grpc_event(finish="REASON_INVALID")])
    else:
        response = normalize(grpc_response(grpc_output(finish="REASON_INVALID", tool_calls=calls)), "xai.grpc")
    assert response.complete is False
    assert response.choices[0].stop == Stop("tool_calls", None)
    assert "stream-incomplete" in codes(response)
    assert_not_executed(response, calls=1)


@pytest.mark.parametrize("wire", TEXT_WIRES)
def test_FIN_10_closed_arguments_that_are_not_json_are_malformed(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [scripted_call(('{"city":', "Turin, not quoted}"))]))
    (call,) = response.calls
    assert (call.arguments, call.status) == (None, "invalid")
    assert call.arguments_text == '{"city":Turin, not quoted}'
    assert response.complete is True
    assert codes(response) == ["arguments-invalid"]
    assert_not_executed(response, calls=1)


@pytest.mark.parametrize("wire", TEXT_WIRES)
def test_FIN_10_arguments_still_open_at_the_end_of_the_stream_are_truncated(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [scripted_call(('{"city":', '"Turin'), closed=False)], None))
    (call,) = response.calls
    assert (call.arguments, call.status) == (None, "truncated")
    assert response.complete is False
    assert "arguments-invalid" not in codes(response)
    assert_not_executed(response, calls=1)


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_FIN_11_a_responses_body_in_progress_is_not_complete(status: str) -> None:
    body = {**terminal([])["response"], "status": status}
    response = normalize(body, "openai.responses")
    assert response.complete is False
    assert ("response-unfinished", "info") in {(found.code, found.severity) for found in response.findings}
