"""Failures of class refusal: declined answers that looked like calls, or like nothing at all."""

from __future__ import annotations

import json

import pytest

from tests.support.decoding import assert_not_executed, both, codes, decoded, shapes, texts
from tests.support.emit import LOOKUP
from tests.support.events import DONE, MESSAGE_START, MESSAGE_STOP, delta_chunk, message_delta, sse, terminal
from tests.support.wires import WIRES
from toolparity import normalize
from toolparity.normalizer.model import Stop

REFUSING = [
    ("openai.chat", "content_filter"),
    ("openai.responses", "content_filter"),
    ("anthropic.messages", "refusal"),
    ("bedrock.converse", "content_filter"),
    ("google.gemini", "content_filter"),
    ("cohere.chat", "content_filter"),
]


def test_only_the_wires_without_a_refusal_stop_reason_are_left_out() -> None:
    assert {wire for wire, _ in REFUSING} == set(WIRES) - {"xai.grpc", "google.interactions", "ollama.chat"}


@pytest.mark.parametrize(("wire", "stop"), REFUSING)
def test_REF_01_a_refusal_overrides_a_call_of_the_same_answer(wire: str, stop: str) -> None:
    for response in both(wire, [LOOKUP], stop):
        assert response.choices[0].stop == Stop(stop, response.choices[0].stop.raw)  # type: ignore[arg-type]
        assert [call.id for call in response.calls] == ["call_a"]
        assert "refused" in codes(response)
        assert_not_executed(response, calls=1)


def test_REF_02_an_empty_refusal_is_reported() -> None:
    body = {**MESSAGE_START["message"], "stop_reason": "refusal"}  # type: ignore[dict-item]
    streamed = decoded("anthropic.messages", sse(MESSAGE_START, message_delta("refusal"), MESSAGE_STOP))
    for response in (normalize(body, "anthropic.messages"), streamed):
        (choice,) = response.choices
        assert (choice.blocks, choice.stop) == ([], Stop("refusal", "refusal"))
        assert (response.complete, codes(response)) == (True, ["refused"])


def test_REF_02_an_empty_filtered_chat_answer_is_reported() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}
    streamed = decoded(
        "openai.chat", [sse(delta_chunk({"role": "assistant"}), delta_chunk({}, "content_filter")), DONE]
    )
    for response in (normalize({"id": "r1", "choices": [choice]}, "openai.chat"), streamed):
        assert response.choices[0].blocks == []
        assert response.choices[0].stop == Stop("content_filter", "content_filter")
        assert codes(response) == ["refused"]


def test_REF_02_an_empty_filtered_responses_answer_is_reported() -> None:
    event = terminal([], "content_filter")
    whole = normalize(json.dumps(event["response"]), "openai.responses")
    for response in (whole, decoded("openai.responses", sse(event))):
        assert response.choices[0].blocks == []
        assert response.choices[0].stop == Stop("content_filter", "content_filter")
        assert codes(response) == ["refused"]


def test_REF_01_a_finished_call_before_the_refusal_keeps_its_text_and_is_not_run() -> None:
    response = both("anthropic.messages", [LOOKUP], "refusal")[1]
    assert texts(response) == [("call_a", "lookup", '{"city":"Turin"}')]
    assert shapes(response) == [("lookup", {"city": "Turin"}, "complete")]
