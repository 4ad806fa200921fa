"""Failures of classes terminal, truncation, refusal and errors: answers that break off, are cut, or are declined."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, both, codes, decoded, triples
from tests.support.emit import LOOKUP, STOP_WORDS, emit_stream, scripted_call
from tests.support.wires import OBJECT_WIRES, TEXT_WIRES, WIRES
from toolparity import Response, normalize, select
from toolparity.cassettes.scripts import Say, Think
from toolparity.normalizer.model import Reasoning, Stop

CLAUDE = "anthropic.messages"
all_wires = pytest.mark.parametrize("wire", WIRES)


@all_wires
def test_TERM_01_TERM_03_a_stream_that_breaks_off_anywhere_has_no_stop_reason_and_runs_no_call(wire: str) -> None:
    second = scripted_call(('{"city": "Bari"}',), "call_b")
    frames = emit_stream(wire, [Say("I look."), LOOKUP, second], None)
    for kept in range(1, len(frames) + 1):
        response = decoded(wire, frames[:kept])
        assert (response.complete, response.error) == (False, None)
        assert "stream-incomplete" in codes(response)
        assert {choice.stop.reason for choice in response.choices} <= {"unknown", "tool_calls", "end_turn"}
        assert_not_executed(response)
    found = [(call.id, json.loads(call.arguments_text)) for call in response.calls]
    assert found == [("call_a", {"city": "Turin"}), ("call_b", {"city": "Bari"})]


@all_wires
def test_TERM_05_a_stream_that_closes_after_reasoning_is_incomplete(wire: str) -> None:
    response = decoded(wire, emit_stream(wire, [Think("I should look it up.")], None))
    assert (response.complete, response.error) == (False, None)
    (choice,) = response.choices
    (block,) = choice.blocks
    assert isinstance(block, Reasoning)
    assert choice.stop == Stop("unknown", "in_progress" if wire == "openai.responses" else None)
    assert "stream-incomplete" in codes(response)


OPEN = scripted_call(('{"file":', '"x"'), "call_z", "write", closed=False)
WHOLE = scripted_call(('{"file":', '"x"}'), "call_z", "write", closed=False)


def streamed(wire: str, steps: list[Any], stop: str) -> list[Response]:
    """Only the response of the streamed form."""
    return [decoded(wire, emit_stream(wire, steps, stop))]


@pytest.mark.parametrize("wire", WIRES)
def test_TRUNC_01_a_cut_call_is_truncated_even_if_its_text_parses_and_calls_before_it_are_kept(wire: str) -> None:
    for call in (WHOLE, OPEN) if wire in TEXT_WIRES else (WHOLE,):
        # A body whose arguments are JSON cannot hold a text that broke off.
        responses = both if call is WHOLE or wire not in OBJECT_WIRES else streamed
        for response in responses(wire, [call], "max_tokens"):
            (cut,) = response.calls
            assert (cut.id, cut.arguments, "".join(cut.arguments_text.split()), cut.status) == (
                "call_z",
                None,
                call.text,
                "truncated",
            )
            assert (response.choices[0].stop.reason, response.choices[0].stop.raw) == (
                "max_tokens",
                STOP_WORDS[wire]["max_tokens"],
            )
            assert (response.complete, codes(response)) == (True, ["arguments-truncated"])
            assert_not_executed(response, calls=1)
        for response in responses(wire, [LOOKUP, call], "max_tokens"):
            selection = select(response)
            assert [ref.id for ref in selection.kept] == ["call_a"]
            assert [(ref.id, ref.reason) for ref in selection.rejected] == [("call_z", "its arguments were truncated")]


#: Wire -> the stop reason with which it refuses.
REFUSING = {
    wire: "refusal" if wire == "anthropic.messages" else "content_filter"
    for wire in WIRES
    if wire not in ("xai.grpc", "google.interactions", "ollama.chat")
}


@pytest.mark.parametrize("wire", REFUSING)
def test_REF_01_REF_02_a_refusal_overrides_a_call_of_the_same_answer_and_may_be_empty(wire: str) -> None:
    stop = Stop(REFUSING[wire], STOP_WORDS[wire][REFUSING[wire]])  # type: ignore[arg-type]
    for response in both(wire, [LOOKUP], stop.reason):
        assert response.choices[0].stop == stop
        cut = response.calls[0].status == "truncated"
        assert triples(response) == [("call_a", "lookup", None if cut else {"city": "Turin"})]
        assert "refused" in codes(response)
        assert_not_executed(response, calls=1)
    for response in both(wire, [], stop.reason) if wire in ("openai.chat", "openai.responses", CLAUDE) else ():
        assert (response.choices[0].blocks, response.choices[0].stop) == ([], stop)
        assert (response.complete, codes(response)) == (True, ["refused"])


RAW = '<function=lookup {"city": "Turin"</function>'
ERROR = {"message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed"}
BODY: dict[str, Any] = {"error": {**ERROR, "failed_generation": RAW}}


@pytest.mark.parametrize("form", [json.dumps(BODY).encode(), json.dumps(BODY), BODY], ids=["bytes", "text", "parsed"])
def test_GROQ_01_a_call_that_the_provider_could_not_parse_is_an_error_with_its_text(form: Any) -> None:
    response = normalize(form, "openai.chat", provider="groq", status=400)
    assert response.error is not None
    assert (response.error.type, response.error.status) == ("invalid_request_error", 400)
    assert (response.error.message, response.error.retryable) == ("Failed to call a function.", False)
    assert (response.error.raw, response.choices) == (BODY, [])
    assert codes(response) == ["error-response", "provider-rejected-call"]
