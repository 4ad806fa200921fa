"""Failures of class terminal: streams that stop without an event that ends them."""

from __future__ import annotations

import json

import pytest

from tests.support.decoding import assert_not_executed, codes, decoded
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.wires import SSE_WIRES, TEXT_WIRES, WIRES
from toolparity.cassettes.scripts import Say, Think
from toolparity.normalizer.model import Reasoning, Stop

all_wires = pytest.mark.parametrize("wire", WIRES)


@all_wires
def test_TERM_01_a_stream_that_breaks_off_at_any_frame_lists_its_calls_and_runs_none(wire: str) -> None:
    second = scripted_call(('{"city": "Bari"}',), "call_b")
    frames = emit_stream(wire, [Say("I look."), LOOKUP, second], None)
    for kept in range(1, len(frames) + 1):
        response = decoded(wire, frames[:kept])
        assert (response.complete, response.error) == (False, None)
        assert "stream-incomplete" in codes(response)
        assert_not_executed(response)
    assert [(call.id, json.loads(call.arguments_text)) for call in response.calls] == [
        ("call_a", {"city": "Turin"}),
        ("call_b", {"city": "Bari"}),
    ]


@pytest.mark.parametrize("wire", TEXT_WIRES)
def test_TERM_03_a_stream_dropped_during_a_call_is_not_reported_as_a_token_limit(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [scripted_call(("{",), closed=False)], None))
    (choice,) = response.choices
    assert choice.stop.reason not in ("max_tokens", "context_window")
    assert [(call.arguments, call.arguments_text, call.status) for call in choice.calls] == [(None, "{", "truncated")]
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
