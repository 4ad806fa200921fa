"""Failures of class terminal: streams that stop without saying that they ended."""

from __future__ import annotations

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded, texts
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.events import block_delta, sse
from tests.support.wires import SSE_WIRES, TEXT_WIRES, WIRES
from toolparity.cassettes.scripts import Say, Think
from toolparity.normalizer.model import Reasoning, Stop

all_wires = pytest.mark.parametrize("wire", WIRES)


@all_wires
def test_TERM_01_a_complete_call_in_a_stream_that_breaks_off_is_listed_and_not_run(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [Say("I look."), LOOKUP], None))
    assert (response.complete, response.error) == (False, None)
    assert "stream-incomplete" in codes(response)
    (call,) = response.calls
    assert (call.id, call.name, call.arguments_text) == ("call_a", "lookup", '{"city":"Turin"}')
    assert_not_executed(response, calls=1)


@all_wires
def test_TERM_01_calls_closed_before_the_break_are_not_run(wire: str) -> None:
    second = scripted_call(('{"city": "Bari"}',), "call_b")
    response = decoded(wire, emit_stream(wire, [LOOKUP, second], None))
    assert [call.id for call in response.calls] == ["call_a", "call_b"]
    assert_not_executed(response, calls=2)


@pytest.mark.thorough(keep=1, per="{wire}")
@all_wires
@pytest.mark.parametrize("kept", range(1, 4))
def test_TERM_01_a_stream_that_breaks_off_at_any_frame_runs_no_calls(wire: str, kept: int) -> None:
    frames = emit_stream(wire, [LOOKUP], None)
    response = decoded(wire, frames[:kept])
    assert response.complete is False
    assert_not_executed(response)


@all_wires
def test_TERM_01_the_same_answer_with_its_terminal_event_is_complete(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [LOOKUP]))
    assert (response.complete, response.findings) == (True, ())
    assert [(call.id, call.arguments, call.status) for call in response.calls] == [
        ("call_a", {"city": "Turin"}, "complete")
    ]


@pytest.mark.parametrize("wire", TEXT_WIRES)
def test_TERM_03_a_stream_dropped_during_a_call_is_not_reported_as_a_token_limit(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [scripted_call(("{",), closed=False)], None))
    assert response.complete is False
    (choice,) = response.choices
    assert choice.stop.reason not in ("max_tokens", "context_window")
    (call,) = choice.calls
    assert (call.arguments, call.arguments_text, call.status) == (None, "{", "truncated")
    assert "stream-incomplete" in codes(response)
    assert_not_executed(response, calls=1)


@pytest.mark.parametrize("wire", [wire for wire in SSE_WIRES if wire in TEXT_WIRES])
def test_TERM_04_a_gateway_that_cuts_inside_an_argument_delta_leaves_an_unfinished_call(wire: str) -> None:
    body = b"".join(emit_stream(wire, [scripted_call(('{"city":', '"Turin"}'), closed=False)], None))
    response = decoded(wire, body[: body.rindex(b"Turin")])
    assert response.complete is False
    (call,) = response.calls
    assert (call.arguments, call.arguments_text, call.status) == (None, '{"city":', "truncated")
    assert {"unterminated-event", "undecodable-event"} <= set(codes(response))
    assert_not_executed(response, calls=1)


@all_wires
def test_TERM_05_a_stream_that_closes_after_reasoning_is_incomplete(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [Think("I should look it up.")], None))
    assert (response.complete, response.error) == (False, None)
    (choice,) = response.choices
    (block,) = choice.blocks
    assert isinstance(block, Reasoning)
    assert choice.stop == Stop("unknown", "in_progress" if wire == "openai.responses" else None)
    assert "stream-incomplete" in codes(response)


def test_TERM_04_an_unclosed_anthropic_block_keeps_its_partial_content() -> None:
    wire = "anthropic.messages"
    frames = emit_stream(wire, [Say("I look."), scripted_call(('{"ci',), closed=False)], None)
    response = decoded(wire, [*frames, sse(block_delta(1, "input_json", 'ty": "Tu'))])
    assert response.text == "I look."
    assert texts(response) == [("call_a", "lookup", '{"city": "Tu')]
    assert_not_executed(response, calls=1)
