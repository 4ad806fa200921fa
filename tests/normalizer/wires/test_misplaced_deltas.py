"""A delta belongs to a block by its index and its type, and no call runs whose arguments were elsewhere."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import codes, decoded, feed, ran, respond
from tests.support.emit import ScriptedCall, emit_body, emit_stream, scripted_call
from tests.support.events import (
    CREATED,
    added,
    anthropic_stream,
    block_delta,
    block_start,
    block_stop,
    done,
    function_call,
    grow,
    json_delta,
    sse,
    terminal,
    text_delta,
    tool_start,
)
from toolparity import Reasoning, Response, Text, ToolCall, Wire, normalize, select
from toolparity.normalizer.events import BlockDelta, BlockStart

WIRE: Wire = "anthropic.messages"
A, B = tool_start(0, "a", "f"), tool_start(1, "b", "g")
X = '{"x":1}'
SERVER = block_start(0, type="server_tool_use", id="s", name="web_search", input={})


def thinking_delta(index: int, text: str) -> dict[str, Any]:
    return block_delta(index, "thinking", text)


def read(*events: dict[str, Any]) -> Response:
    return decoded(WIRE, anthropic_stream(*events))


def test_a_thought_under_the_index_of_a_call_is_kept_with_its_signature() -> None:
    """CLIProxyAPI 539: two blocks begin under one index. claude-code-router 1725: a thought has no start."""
    thinking, signature = block_start(0, type="thinking", thinking="", signature=""), block_delta(0, "signature", "SIG")
    arguments, rest = json_delta(0, '{"x":'), json_delta(0, "1}")
    begun = read(A, arguments, thinking, thinking_delta(0, "Hm."), rest, signature, block_stop(0))
    implied = read(A, arguments, rest, block_stop(0), thinking_delta(0, "Hm."), signature)
    for response, finding in ((begun, "index-reused"), (implied, "delta-misplaced")):
        assert response.choices[0].blocks == [ToolCall("a", "f", {"x": 1}, X), Reasoning("Hm.", "SIG")]
        assert (finding in codes(response), ran(response)) == (True, ["a"])


#: Streams whose calls must not run, with the texts and statuses of their calls.
STOPPED: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    # A server that gives every block the index 0 and sends the arguments of the second before its start.
    "arguments in a server call": (
        [SERVER, json_delta(0, '{"query":"x"}'), json_delta(0, X), A, block_stop(0)],
        [("{}", "truncated")],
    ),
    "text instead of arguments": ([A, text_delta(0, X), block_stop(0)], [("{}", "truncated")]),
    "thinking instead of arguments": ([A, thinking_delta(0, "Found."), block_stop(0)], [("{}", "truncated")]),
    # Without indexes the pieces of two calls that interleave are all taken for the last one's.
    "mixed pieces without indexes": (
        [A, B, *({**json_delta(0, t), "index": None} for t in ('{"x"', '{"y"', ":1}", ":2}"))],
        [("{}", "truncated"), ('{"x"{"y":1}:2}', "invalid")],
    ),
}


@pytest.mark.parametrize(
    ("call", "stop"),
    [(scripted_call(X * 2), ""), (scripted_call(X * 2), "max_tokens"), (scripted_call(X, name=" "), "")],
)
def test_a_call_without_arguments_does_not_run_if_another_may_have_them(call: ScriptedCall, stop: str) -> None:
    calls = [scripted_call("", "call_b", "other"), call]
    texts: tuple[Wire, ...] = ("openai.chat", "openai.responses", "cohere.chat", "xai.grpc")
    objects: tuple[Wire, ...] = (WIRE, "google.interactions", "bedrock.converse")  # texts only in streams
    answers = {(wire, "body"): normalize(emit_body(wire, calls, stop), wire) for wire in texts}
    answers |= {(wire, "stream"): feed(wire, emit_stream(wire, calls, stop))[0] for wire in (*texts, *objects)}
    assert {key: ran(answer) for key, answer in answers.items()} == {key: [] for key in answers}


def test_a_call_without_arguments_runs_beside_the_text_of_a_custom_tool_that_was_cut() -> None:
    text = {"type": "custom_tool_call", "call_id": "c", "name": "write", "input": X + '\n{"x"', "status": "incomplete"}
    output = [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "status": "completed"}, text]
    details = {"reason": "max_output_tokens"}
    body = {"object": "response", "status": "incomplete", "incomplete_details": details, "output": output}
    assert ran(normalize(body, "openai.responses")) == ["a"]


@pytest.mark.parametrize("case", STOPPED)
def test_a_call_whose_arguments_were_elsewhere_does_not_run(case: str) -> None:
    events, calls = STOPPED[case]
    response = read(*events)
    assert [(call.arguments_text, call.status) for call in response.calls] == calls
    assert len(select(response).rejected) == len(calls)
    assert {"delta-misplaced", "arguments-misplaced"} & set(codes(response))


def test_misplaced_text_is_streamed_in_a_text_block() -> None:
    _, events = feed(WIRE, [anthropic_stream(A, json_delta(0, "{}"), text_delta(0, "Hi."))])
    shown = [event for event in events if isinstance(event, (BlockStart, BlockDelta))]
    call = [BlockStart(0, 0, "tool_call", "a", "f"), BlockDelta(0, 0, "{}")]
    assert shown == [*call, BlockStart(0, 1, "text"), BlockDelta(0, 1, "Hi.")]


# Any block, any delta, any index of another type

KINDS = ("text", "thinking", "call", "empty")


def family(kind: str) -> str:
    return "call" if kind == "empty" else kind


ITEMS: dict[str, dict[str, Any]] = {
    "text": {"type": "message", "role": "assistant", "content": []},
    "thinking": {"type": "reasoning", "summary": []},
}
DELTAS: dict[str, tuple[Any, str, dict[str, int]]] = {
    "text": (text_delta, "output_text", {"content_index": 0}),
    "thinking": (thinking_delta, "reasoning_summary_text", {"summary_index": 0}),
    "call": (json_delta, "function_call_arguments", {}),
}


def start(wire: str, kind: str, place: int) -> dict[str, Any]:
    if wire != WIRE:
        call = function_call(f"c{place}", "f", "", status="in_progress")
        return added(place, ITEMS.get(kind, call) | {"id": f"i{place}"})
    if kind in ITEMS:
        return block_start(place, type=kind, **{kind: ""})
    return tool_start(place, f"c{place}", "f")


def delta(wire: str, kind: str, place: int, text: str) -> dict[str, Any]:
    make, name, more = DELTAS[kind]
    made: dict[str, Any] = make(place, text) if wire == WIRE else grow(name, place, text, **more)
    return made


def stop(wire: str, kind: str, place: int) -> dict[str, Any]:
    if wire == WIRE:
        return block_stop(place)
    return done(place, start(wire, kind, place)["item"] | {"status": "completed"})


def pieces(kind: str, place: int) -> list[str]:
    if kind == "call":
        return [f'{{"n{place}":', f"{place}", "}"]
    return [] if kind == "empty" else [f"<{place}a>", f"<{place}b>"]


@pytest.mark.parametrize("wire", [WIRE, "openai.responses"])
@given(data=st.data(), kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=5), with_stops=st.booleans())
def test_no_delta_is_lost_and_each_call_that_runs_has_its_arguments(
    wire: str, data: st.DataObject, kinds: list[str], with_stops: bool
) -> None:
    """Some deltas have the index of another type; those of Anthropic also that of no block, or precede their start."""
    events: list[dict[str, Any]] = []
    moved = False
    for place, kind in enumerate(kinds):
        known = kinds if wire == WIRE else kinds[:place]
        others = [n for n, other in enumerate(known) if family(other) != family(kind)] + [9] * (wire == WIRE)
        deltas = []
        for text in pieces(kind, place):
            index = data.draw(st.sampled_from([place, place, *others]))
            moved = moved or index != place
            deltas.append(delta(wire, family(kind), index, text))
        early = data.draw(st.integers(0, len(deltas))) if wire == WIRE and data.draw(st.booleans()) else 0
        moved = moved or early > 0
        end = data.draw(st.integers(early, len(deltas))) if wire == WIRE and data.draw(st.booleans()) else len(deltas)
        stops = [stop(wire, kind, place)] if with_stops else []
        events += [*deltas[:early], start(wire, kind, place), *deltas[early:end], *stops, *deltas[end:]]
    response = read(*events) if wire == WIRE else decoded(wire, sse(CREATED, *events, terminal([])))
    blocks = response.choices[0].blocks
    texts = "".join(block.text for block in blocks if isinstance(block, Text))
    thoughts = "".join(block.text for block in blocks if isinstance(block, Reasoning))
    for place, kind in enumerate(kinds):
        for text in pieces(kind, place):
            assert (texts.count(text), thoughts.count(text)) == (kind == "text", kind == "thinking")
    for call in response.calls:
        if call.status == "complete":
            place = int(call.id[1:])
            assert call.arguments == ({f"n{place}": place} if kinds[place] == "call" else {})
    began = {f"c{n}" for n, kind in enumerate(kinds) if family(kind) == "call"}
    assert {call.id for call in response.calls} >= began
    assert ("delta-misplaced" in codes(response)) == moved


#: The wires, plain and streamed, whose calls without arguments are compared with the others.
COMPARED = [
    *((wire, streamed) for wire in ("openai.chat", "xai.grpc") for streamed in (False, True)),
    *((wire, True) for wire in ("openai.responses", "anthropic.messages")),
]


@pytest.mark.parametrize(("wire", "streamed"), COMPARED)
def test_a_call_without_arguments_does_not_run_beside_one_with_two_objects(wire: str, streamed: bool) -> None:
    """Type and index agree, and yet one call holds the arguments of the other."""
    texts = ("",) if wire == "anthropic.messages" else ("", "{}")
    for empty, between in product(texts, ("", "\n")):
        response = respond(wire, streamed, [("a", "f", empty), ("b", "g", f'{{"y":2}}{between}{X}')])
        assert [(call.id, call.status) for call in response.calls] == [("a", "truncated"), ("b", "invalid")]
        assert "arguments-misplaced" in codes(response)
