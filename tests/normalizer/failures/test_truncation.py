"""Failures of class truncation: calls that the token limit cut."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import assert_not_executed, both, codes, decoded
from tests.support.emit import LOOKUP, STOP_WORDS, emit_stream, scripted_call
from tests.support.wires import OBJECT_WIRES, TEXT_WIRES, WIRES
from toolparity import Response, select

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
