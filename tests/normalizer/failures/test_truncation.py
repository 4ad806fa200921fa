"""Failures of class truncation: calls that the token limit cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.wires import OBJECT_WIRES, TEXT_WIRES, WIRES
from toolparity import Response, normalize, select
from toolparity.normalizer import json_codec

from .play import LOOKUP, STOPS, Call, Say, Think, assert_not_executed, both, codes, plain, play, stream

OPEN = Call(('{"file": ', '"x"'), "call_z", "write", closed=False)
WHOLE = Call(('{"file": ', '"x"}'), "call_z", "write", closed=False)


def streamed(wire: str, steps: list[Any], stop: str) -> list[Response]:
    """Only the response of the streamed form."""
    return [play(wire, stream(wire, steps, stop))]


@pytest.mark.parametrize("wire", WIRES)
def test_TRUNC_01_a_cut_call_is_truncated_even_if_its_text_parses_and_calls_before_it_are_kept(wire: str) -> None:
    for call in (WHOLE, OPEN) if wire in TEXT_WIRES else (WHOLE,):
        # A body whose arguments are JSON cannot hold a text that broke off.
        responses = both if call is WHOLE or wire not in OBJECT_WIRES else streamed
        for response in responses(wire, [call], "max_tokens"):
            (cut,) = response.calls
            assert (cut.id, cut.arguments, cut.arguments_text, cut.status) == ("call_z", None, call.text, "truncated")
            assert (response.choices[0].stop.reason, response.choices[0].stop.raw) == (
                "max_tokens",
                STOPS[wire]["max_tokens"],
            )
            assert (response.complete, codes(response)) == (True, ["arguments-truncated"])
            assert_not_executed(response, calls=1)
        for response in responses(wire, [LOOKUP, call], "max_tokens"):
            selection = select(response)
            assert [ref.id for ref in selection.kept] == ["call_a"]
            assert [(ref.id, ref.reason) for ref in selection.rejected] == [("call_z", "its arguments were truncated")]


def canonical(response: Response) -> Any:
    """The canonical JSON, without the members that the law `stream-parity` does not compare."""
    form = json.loads(json_codec.encode(response))
    for choice in form["choices"]:
        for block in choice["blocks"]:
            if block["type"] == "tool_call" and block["arguments"] is not None:
                del block["arguments_text"]
    return form


ANSWERS: list[tuple[list[Any], str]] = [
    ([Think("Hm."), Say("I look."), LOOKUP], "tool_calls"),
    ([LOOKUP, Call(("{}",), "call_b", "other")], "tool_calls"),
    ([Say("That is all.")], "end_turn"),
    ([Say("That is")], "max_tokens"),
    ([LOOKUP, WHOLE], "max_tokens"),
]


@pytest.mark.parametrize("wire", WIRES)
def test_TRUNC_03_the_body_and_the_stream_of_an_answer_have_the_same_canonical_form(wire: str) -> None:
    for steps, stop in ANSWERS:
        whole, parts = normalize(plain(wire, steps, stop), wire), play(wire, stream(wire, steps, stop))
        assert canonical(whole) == canonical(parts)
        assert codes(whole) == codes(parts)
