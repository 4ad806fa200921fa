"""Item 1: a delta belongs to a block by its index and its type, and no call runs whose arguments were elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import codes, decoded, feed, ran
from tests.support.events import anthropic_stream, block_start, block_stop, json_delta, text_delta, tool_start
from toolparity import Reasoning, Response, ServerToolCall, Text, ToolCall, select
from toolparity.normalizer.events import BlockDelta, BlockStart

WIRE = "anthropic.messages"
TEXT = block_start(0, type="text", text="")
THINKING = block_start(0, type="thinking", thinking="", signature="")


def thinking_delta(index: int, text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "thinking_delta", "thinking": text}}


def signature_delta(index: int, text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "signature_delta", "signature": text}}


def read(*events: dict[str, Any]) -> Response:
    return decoded(WIRE, anthropic_stream(*events))


def assert_nothing_runs(response: Response, calls: int = 1) -> None:
    assert ran(response) == []
    assert len(select(response).rejected) == calls
    assert {"delta-misplaced", "arguments-misplaced"} & set(codes(response))


@pytest.mark.parametrize("other", [TEXT, THINKING], ids=["text", "thinking"])
@pytest.mark.parametrize("stopped", [True, False])
def test_arguments_with_the_index_of_a_text_do_not_become_text_or_run(other: dict[str, Any], stopped: bool) -> None:
    stop = [block_stop(0)] if stopped else []
    start = tool_start(1, "a", "f")
    response = read(other, *stop, start, json_delta(0, '{"x":'), json_delta(0, "1}"), block_stop(1))
    words, call = response.choices[0].blocks
    assert words in (Text(""), Reasoning("", ""))
    assert call == ToolCall("a", "f", None, '{"x":1}', "truncated")
    assert_nothing_runs(response)


def test_a_call_whose_arguments_follow_its_end_with_another_index_does_not_run() -> None:
    response = read(TEXT, tool_start(1, "a", "f"), block_stop(1), json_delta(0, '{"x":1}'))
    assert [(call.arguments_text, call.status) for call in response.calls] == [('{"x":1}', "truncated")]
    assert_nothing_runs(response)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_call_whose_arguments_precede_its_start_does_not_run_empty(index: int) -> None:
    response = read(TEXT, json_delta(index, '{"x":1}'), block_stop(0), tool_start(1, "a", "f"), block_stop(1))
    assert "delta-misplaced" in codes(response)
    assert ran(response) == []
    assert all(call.arguments is None for call in response.calls)
    assert [block for block in response.choices[0].blocks if isinstance(block, Text)] == [Text("")]


def test_arguments_before_the_start_with_the_right_index_belong_to_the_call() -> None:
    response = read(json_delta(0, '{"x":1}'), tool_start(0, "a", "f"), block_stop(0))
    assert response.choices[0].blocks == [ToolCall("a", "f", None, '{"x":1}', "truncated")]
    assert_nothing_runs(response)


def test_a_call_whose_arguments_are_in_a_server_call_does_not_run_empty() -> None:
    """A server that gives every block the index 0 and sends the arguments of the second before its start."""
    server = block_start(0, type="server_tool_use", id="s", name="web_search", input={})
    pieces = [json_delta(0, '{"query":"x"}'), json_delta(0, '{"x":1}')]
    response = read(server, *pieces, tool_start(0, "a", "f"), block_stop(0))
    assert [(call.name, call.status) for call in response.calls] == [("f", "truncated")]
    assert_nothing_runs(response)


def test_text_before_its_start_is_in_one_block() -> None:
    response = read(text_delta(0, "Now "), TEXT, text_delta(0, "then."), block_stop(0))
    assert response.choices[0].blocks == [Text("Now then.")]
    assert "delta-misplaced" in codes(response)


def test_an_empty_delta_before_a_start_is_ignored() -> None:
    response = read(json_delta(0, ""), tool_start(0, "a", "f"), json_delta(0, "{}"), block_stop(0))
    assert response.choices[0].blocks == [ToolCall("a", "f", {}, "{}")]
    assert codes(response) == []


@pytest.mark.parametrize(
    ("foreign", "block"),
    [(text_delta, Text("Found.")), (thinking_delta, Reasoning("Found."))],
    ids=["text", "thinking"],
)
def test_text_with_the_index_of_a_call_does_not_become_arguments(foreign: Any, block: Any) -> None:
    """claude-code-router 1356, 1397: the words continue under the index of the call that is open."""
    response = read(
        tool_start(0, "a", "f"), json_delta(0, '{"x":1}'), foreign(0, "Fou"), foreign(0, "nd."), block_stop(0)
    )
    assert response.choices[0].blocks == [ToolCall("a", "f", {"x": 1}, '{"x":1}'), block]
    assert codes(response) == ["delta-misplaced"]
    assert ran(response) == ["a"]


@pytest.mark.parametrize("foreign", [text_delta, thinking_delta])
@pytest.mark.parametrize("text", ["Found.", '{"x":1}'])
def test_a_call_with_text_deltas_instead_of_arguments_does_not_run_empty(foreign: Any, text: str) -> None:
    response = read(tool_start(0, "a", "f"), foreign(0, text), block_stop(0))
    assert [(call.arguments_text, call.status) for call in response.calls] == [("{}", "truncated")]
    assert_nothing_runs(response)


def test_text_with_the_index_of_an_ended_thinking_block_belongs_to_the_open_text() -> None:
    """llm-rosetta 246: text deltas keep the index of the thinking block before them."""
    response = read(
        *(THINKING, thinking_delta(0, "Hm."), signature_delta(0, "SIG"), block_stop(0)),
        *(block_start(1, type="text", text=""), text_delta(0, "It "), text_delta(0, "is."), block_stop(1)),
    )
    assert response.choices[0].blocks == [Reasoning("Hm.", "SIG"), Text("It is.")]
    assert codes(response) == ["delta-misplaced", "stop-disagrees"]


def test_reasoning_with_the_index_of_an_ended_call_is_kept_with_its_signature() -> None:
    """claude-code-router 1725: a second thought comes without a start, under the last index."""
    response = read(
        *(tool_start(0, "a", "f"), json_delta(0, "{}"), block_stop(0)),
        *(thinking_delta(0, "Hm."), signature_delta(0, "SIG")),
    )
    assert response.choices[0].blocks == [ToolCall("a", "f", {}, "{}"), Reasoning("Hm.", "SIG")]
    assert ran(response) == ["a"]


def test_deltas_of_two_blocks_with_one_index_are_separated_by_type() -> None:
    """CLIProxyAPI 539: blocks of several types begin under one index."""
    response = read(
        *(tool_start(0, "a", "f"), json_delta(0, '{"x":'), THINKING, thinking_delta(0, "Hm.")),
        *(json_delta(0, "1}"), thinking_delta(0, " Yes."), block_stop(0)),
    )
    assert response.choices[0].blocks == [ToolCall("a", "f", {"x": 1}, '{"x":1}'), Reasoning("Hm. Yes.", "")]
    assert codes(response) == ["index-reused"]
    assert ran(response) == ["a"]


def test_a_call_without_arguments_does_not_run_beside_one_with_two_objects() -> None:
    """Type and index agree, and yet one call holds the arguments of the other."""
    events = (json_delta(0, '{"x":1}'), tool_start(1, "b", "g"), json_delta(0, '{"y":2}'), block_stop(1))
    response = read(tool_start(0, "a", "f"), *events)
    assert [(call.id, call.status) for call in response.calls] == [("a", "invalid"), ("b", "truncated")]
    assert ran(response) == []


def test_a_call_without_arguments_does_not_run_beside_mixed_fragments() -> None:
    """Without indexes the pieces of two calls that interleave are all taken for the last one's."""
    pieces = [json_delta(0, text) for text in ('{"x"', '{"y"', ":1}", ":2}")]
    for piece in pieces:
        del piece["index"]
    response = read(tool_start(0, "a", "f"), tool_start(1, "b", "g"), *pieces)
    assert [(call.id, call.status) for call in response.calls] == [("a", "truncated"), ("b", "invalid")]


def test_arguments_of_a_server_call_do_not_become_text() -> None:
    start = block_start(1, type="server_tool_use", id="s", name="web_search", input={})
    response = read(TEXT, start, json_delta(0, '{"query":"x"}'), block_stop(1))
    text, call = response.choices[0].blocks
    assert text == Text("")
    assert isinstance(call, ServerToolCall)
    assert call.arguments_text == '{"query":"x"}'


def test_text_with_the_index_of_a_result_is_kept() -> None:
    result = block_start(0, type="web_search_tool_result", tool_use_id="s", content=[])
    response = read(result, text_delta(0, "Found."), block_stop(0))
    assert response.text == "Found."


def test_misplaced_text_is_streamed_in_a_text_block() -> None:
    _, events = feed(WIRE, [anthropic_stream(tool_start(0, "a", "f"), json_delta(0, "{}"), text_delta(0, "Hi."))])
    shown = [event for event in events if isinstance(event, (BlockStart, BlockDelta))]
    assert shown == [
        BlockStart(0, 0, "tool_call", "a", "f"),
        BlockDelta(0, 0, "{}"),
        BlockStart(0, 1, "text"),
        BlockDelta(0, 1, "Hi."),
    ]


# Any block, any delta, any index of another type

_KINDS = ("text", "thinking", "call", "bare")
_WORDS = {"text": text_delta, "thinking": thinking_delta, "call": json_delta}


def _start(kind: str, place: int) -> dict[str, Any]:
    if kind in ("text", "thinking"):
        return block_start(place, type=kind, **{kind: ""})
    return tool_start(place, f"c{place}", "f")


def _pieces(kind: str, place: int) -> list[str]:
    if kind == "call":
        return [f'{{"n{place}":', f"{place}", "}"]
    return [] if kind == "bare" else [f"<{place}a>", f"<{place}b>"]


@st.composite
def displaced(draw: st.DrawFn) -> tuple[list[str], list[dict[str, Any]], bool]:
    """Blocks, their events with some deltas under the index of another type or of no block, and whether any is."""
    kinds = draw(st.lists(st.sampled_from(_KINDS), min_size=1, max_size=5))
    with_stops = draw(st.booleans())
    events: list[dict[str, Any]] = []
    moved = False
    for place, kind in enumerate(kinds):
        own = "call" if kind == "bare" else kind
        others = [n for n, other in enumerate(kinds) if ("call" if other == "bare" else other) != own] + [9]
        deltas = []
        for text in _pieces(kind, place):
            index = draw(st.sampled_from([place, place, *others]))
            moved = moved or index != place
            deltas.append(_WORDS[own](index, text))
        begin = draw(st.integers(0, len(deltas))) if draw(st.booleans()) else 0
        moved = moved or begin > 0
        end = draw(st.integers(begin, len(deltas))) if draw(st.booleans()) else len(deltas)
        stop = [block_stop(place)] if with_stops else []
        events += [*deltas[:begin], _start(kind, place), *deltas[begin:end], *stop, *deltas[end:]]
    return kinds, events, moved


@given(displaced())
def test_no_delta_is_lost_and_each_call_that_runs_has_its_arguments(
    case: tuple[list[str], list[dict[str, Any]], bool],
) -> None:
    kinds, events, moved = case
    response = read(*events)
    blocks = response.choices[0].blocks
    spoken = "".join(block.text for block in blocks if isinstance(block, Text))
    thought = "".join(block.text for block in blocks if isinstance(block, Reasoning))
    for place, kind in enumerate(kinds):
        for text in _pieces(kind, place):
            assert spoken.count(text) == (kind == "text")
            assert thought.count(text) == (kind == "thinking")
    for call in response.calls:
        if call.status == "complete":
            place = int(call.id[1:])
            assert call.arguments == ({f"n{place}": place} if kinds[place] == "call" else {})
    assert {call.id for call in response.calls} >= {f"c{n}" for n, kind in enumerate(kinds) if kind in ("call", "bare")}
    assert ("delta-misplaced" in codes(response)) == moved
