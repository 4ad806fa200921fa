"""Failures of class refusal: declined answers that looked like calls, or like nothing at all."""

from __future__ import annotations

import pytest

from tests.support.decoding import assert_not_executed, both, codes, triples
from tests.support.emit import LOOKUP, STOP_WORDS
from tests.support.wires import WIRES
from toolparity.normalizer.model import Stop

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
        assert response.choices[0].stop == Stop(stop, STOP_WORDS[wire][stop])  # type: ignore[arg-type]
        assert triples(response) == [
            ("call_a", "lookup", None if response.calls[0].status == "truncated" else {"city": "Turin"})
        ]
        assert "refused" in codes(response)
        assert_not_executed(response, calls=1)


@pytest.mark.parametrize("wire", ["openai.chat", "openai.responses", "anthropic.messages"])
def test_REF_02_an_empty_refusal_is_reported(wire: str) -> None:
    stop = REFUSING[wire]
    for response in both(wire, [], stop):
        (choice,) = response.choices
        assert (choice.blocks, choice.stop) == ([], Stop(stop, STOP_WORDS[wire][stop]))  # type: ignore[arg-type]
        assert (response.complete, codes(response)) == (True, ["refused"])
