"""Failures of class refusal: declined answers that looked like calls, or like nothing at all."""

from __future__ import annotations

import pytest

from tests.support.wires import WIRES
from toolparity.normalizer.model import Stop

from .play import LOOKUP, STOPS, assert_not_executed, both, codes

#: Wire -> the stop reason with which it refuses.
REFUSING = {
    wire: "refusal" if wire == "anthropic.messages" else "content_filter"
    for wire in WIRES
    if wire not in ("xai.grpc", "google.interactions", "ollama.chat")
}


@pytest.mark.parametrize("wire", REFUSING)
def test_REF_01_a_refusal_overrides_a_call_of_the_same_answer(wire: str) -> None:
    stop = REFUSING[wire]
    for response in both(wire, [LOOKUP], stop):
        assert response.choices[0].stop == Stop(stop, STOPS[wire][stop])  # type: ignore[arg-type]
        assert [(call.id, call.arguments_text) for call in response.calls] == [("call_a", '{"city": "Turin"}')]
        assert "refused" in codes(response)
        assert_not_executed(response, calls=1)


@pytest.mark.parametrize("wire", ["openai.chat", "openai.responses", "anthropic.messages"])
def test_REF_02_an_empty_refusal_is_reported(wire: str) -> None:
    stop = REFUSING[wire]
    for response in both(wire, [], stop):
        (choice,) = response.choices
        assert (choice.blocks, choice.stop) == ([], Stop(stop, STOPS[wire][stop]))  # type: ignore[arg-type]
        assert (response.complete, codes(response)) == (True, ["refused"])
