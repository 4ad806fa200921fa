"""Which fragment of openai.chat belongs to which call, where servers break the protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import anthropic, chat, codes, decode_stream, responses, triples
from tests.support.events import (
    added,
    anthropic_stream,
    block_stop,
    chat_body,
    chunk,
    cohere_end,
    cohere_event,
    cut,
    function_call,
    gemini,
    grow,
    grpc_call,
    grpc_chunk,
    item_events,
    json_delta,
    piece,
    sse,
    terminal,
    tool_start,
)
from tests.support.thoroughness import examples
from toolparity import Response, normalize, select

F, G = '{"a":1}', '{"b":[2,{}]}'
BOTH = [("a", "f", json.loads(F)), ("b", "g", json.loads(G))]


def named(response: Response) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in response.calls]


def fragments(index: Any, name: str, text: str, size: int, id: str | None = None) -> list[dict[str, Any]]:
    """The head of a call alone, then its arguments in pieces."""
    return [piece(index, id, name, ""), *(piece(index, arguments=part) for part in cut(text, size))]


# an index that is used again, without ids


def test_declared_names_distinguish_a_second_tool_from_a_name_fragment() -> None:
    request = ["get", "weather", "get_all"]
    two = chat(piece(0, None, "get", ""), piece(0, None, "weather", F), request=request)
    assert named(two) == [("get", {}), ("weather", json.loads(F))]
    one = chat(piece(0, None, "get", ""), piece(0, None, "_all", ""), piece(0, arguments=F), request=request)
    assert named(one) == [("get_all", json.loads(F))]
    same_id = chat(piece(0, "a", "get_", ""), piece(0, "a", "weather", ""), piece(0, "a", arguments=F))
    assert triples(same_id) == [("a", "get_weather", json.loads(F))]


# heads under one id


# indexes that are texts


def test_text_indexes_separate_blocks_and_items_of_other_wires() -> None:
    deltas = [json_delta(index, text[at : at + 3]) for at in range(0, 12, 3) for index, text in ((0, F), (1, G))]
    events = [tool_start(0, "a", "f"), tool_start(1, "b", "g"), *deltas, block_stop(0), block_stop(1)]
    assert triples(anthropic(*({**event, "index": str(event["index"])} for event in events))) == BOTH
    one, other = (item_events(at, function_call(*call)) for at, call in enumerate([("a", "f", F), ("b", "g", G)]))
    mixed = [event | {"output_index": str(event["output_index"])} for event in (one[0], other[0], *one[1:], *other[1:])]
    assert triples(responses(*({k: v for k, v in event.items() if k != "item_id"} for event in mixed))) == BOTH


# entries without `function`


FLAT: list[dict[str, Any]] = [
    {"id": "a", "type": "function", "name": "f", "arguments": F},
    {"id": "a", "name": "f", "arguments": json.loads(F)},
    {"id": "a", "type": "tool_use", "name": "f", "input": json.loads(F)},
    {"call_id": "a", "type": "function_call", "name": "f", "arguments": F},
    {"id": "a", "function": "f", "arguments": F},
    {"id": "a", "function": None, "name": "f", "arguments": F},
]


def test_a_call_without_the_member_function_is_read_and_reported() -> None:
    for entry in FLAT:
        for response in (chat({"index": 0, **entry}), normalize(json.dumps(chat_body(entry)).encode(), "openai.chat")):
            assert (triples(response), response.calls[0].kind) == (BOTH[:1], "function")
            assert "call-unwrapped" in codes(response)


# All of it at once


@examples(300, derandomize=True, database=None)
@given(st.data())
def test_calls_are_separated_for_any_order_of_their_fragments(data: st.DataObject) -> None:
    """Calls under indexes of any form that interleave, with ids that some share, in any chunks: every call is there."""
    count = data.draw(st.integers(1, 4))
    form = data.draw(st.sampled_from([int, str, lambda n: f"i{n}"]))
    shared = data.draw(st.booleans())
    calls = [("x" if shared else f"id{n}", f"tool_{n}", json.dumps({"n": n, "v": [n] * n})) for n in range(count)]
    size = data.draw(st.integers(1, 20))
    left = [fragments(form(n), name, text, size, id) for n, (id, name, text) in enumerate(calls)]
    parts: list[dict[str, Any]] = [queue.pop(0) for queue in left] if data.draw(st.booleans()) else []
    while any(left):
        queue = data.draw(st.sampled_from([queue for queue in left if queue]))
        parts.append(queue.pop(0))
    chunks = []
    while parts:
        taken = data.draw(st.integers(1, 3))
        chunks.append(chunk(*parts[:taken]))
        parts = parts[taken:]
    response = chat(*chunks)
    assert sorted(named(response), key=str) == sorted(((name, json.loads(text)) for _, name, text in calls), key=str)
    assert len({call.id for call in response.calls}) == count


# a name that comes after the arguments (failure NAME-31), here and on the wires whose events can hold one


def test_a_name_with_arguments_after_a_nameless_call_begins_another() -> None:
    assert named(chat(piece(0, "a", arguments=F), piece(0, None, "g", G))) == [("", None), ("g", json.loads(G))]


def _cohere(kind: str, **function: str) -> dict[str, Any]:
    calls = {"id": "a", "function": function} if kind == "start" else {"function": function}
    return cohere_event(f"tool-call-{kind}", 0, tool_calls=calls)


_COHERE = [_cohere("start", arguments=""), _cohere("delta", arguments=F)]
_GROW = grow("function_call_arguments", 0, F, item_id="fc")
_PARTIAL = {"id": "a", "partialArgs": [{"jsonPath": "$.a", "numberValue": 1}], "willContinue": True}
LATE: dict[str, Any] = {
    "anthropic.messages, a second start": anthropic_stream(
        tool_start(0, "a", ""), json_delta(0, F), tool_start(0, "a", "f"), block_stop(0)
    ),
    "cohere.chat, a second start": sse(*_COHERE, _cohere("start", name="f"), cohere_end("TOOL_CALL")),
    "cohere.chat, a delta": sse(*_COHERE, _cohere("delta", name="f"), cohere_end("TOOL_CALL")),
    "openai.responses, the end of the arguments": sse(
        added(0, function_call("a", "", "", id="fc", status="in_progress")),
        _GROW,
        {**_GROW, "type": "response.function_call_arguments.done", "arguments": F, "name": "f"},
        terminal([]),
    ),
    "google.gemini, the last of the streamed arguments": b"".join(
        b"data: " + gemini({"functionCall": call}, finish=finish).encode() + b"\n\n"
        for call, finish in ((_PARTIAL, None), ({"id": "a", "name": "f"}, "STOP"))
    ),
    "xai.grpc, without the id": [
        grpc_chunk(grpc_call("a", "", F), role=2),
        grpc_chunk(grpc_call("", "f", ""), finish=4),
    ],
}


@pytest.mark.parametrize("case", LATE)
def test_NAME_31_a_name_after_the_arguments_belongs_to_them(case: str) -> None:
    response = decode_stream(case.partition(",")[0], LATE[case])
    assert triples(response) == BOTH[:1]
    assert select(response).kept
