"""Failures of class truncation: calls that the token limit cut."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, both, codes, decoded, ran
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.wires import OBJECT_WIRES, TEXT_WIRES, WIRES
from toolparity import Response, select
from toolparity.cassettes.scripts import Say, ScriptedCall

all_wires = pytest.mark.parametrize("wire", WIRES)
OPEN = scripted_call(('{"file":', '"x"'), "call_z", "write", closed=False)
WHOLE = scripted_call(('{"file":', '"x"}'), "call_z", "write", closed=False)
#: A wire with whole calls cannot hold a text that broke off.
CUT = [
    pytest.param(wire, call, id=f"{name}-{wire}")
    for call, name in ((OPEN, "broken text"), (WHOLE, "text that parses"))
    for wire in (TEXT_WIRES if call is OPEN else WIRES)
]
cut_calls = pytest.mark.parametrize(("wire", "call"), CUT)


def played(wire: str, call: ScriptedCall, before: list[Any]) -> list[Response]:
    """Streamed, and plain where the wire can hold the cut text: an input that is JSON cannot break off."""
    if wire in OBJECT_WIRES and call is OPEN:
        return [decoded(wire, emit_stream(wire, [*before, call], "max_tokens"))]
    return both(wire, [*before, call], "max_tokens")


@cut_calls
def test_TRUNC_01_a_call_cut_by_the_token_limit_is_truncated_even_if_its_text_parses(
    wire: str, call: ScriptedCall
) -> None:
    for response in played(wire, call, []):
        (cut,) = response.calls
        assert (cut.id, cut.arguments, "".join(cut.arguments_text.split()), cut.status) == (
            "call_z",
            None,
            call.text,
            "truncated",
        )
        assert response.choices[0].stop.reason == "max_tokens"
        assert response.complete is True
        assert codes(response) == ["arguments-truncated"]
        assert_not_executed(response, calls=1)


@cut_calls
def test_TRUNC_01_calls_finished_before_the_cut_are_kept(wire: str, call: ScriptedCall) -> None:
    for response in played(wire, call, [LOOKUP]):
        assert [(c.id, c.status) for c in response.calls] == [("call_a", "complete"), ("call_z", "truncated")]
        selection = select(response)
        assert [ref.id for ref in selection.kept] == ["call_a"]
        assert [(ref.id, ref.reason) for ref in selection.rejected] == [("call_z", "its arguments were truncated")]


@pytest.mark.parametrize("wire", ["openai.responses", "anthropic.messages"])
def test_TRUNC_01_a_call_completed_before_truncated_text_is_kept(wire: str) -> None:
    for response in both(wire, [LOOKUP, Say("And now I")], "max_tokens"):
        assert ran(response) == ["call_a"]
        assert response.choices[0].stop.reason == "max_tokens"
