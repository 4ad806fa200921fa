"""On openai.chat, no call runs whose arguments were elsewhere, however they were delivered."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import chat, codes, decode_stream, ran, triples
from tests.support.events import chat_body, chat_call, chunk, cut, piece, sse
from tests.support.thoroughness import examples
from toolparity import Response, normalize, select

F, G = '{"a":1}', '{"b":[2,{}]}'
A, B = piece(0, "a", "f", ""), piece(1, "b", "g", "")


def schema(*required: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {}}, "required": list(required)}


def tools(**schemas: Any) -> list[Any]:
    return [{"type": "function", "function": {"name": name, "parameters": given}} for name, given in schemas.items()]


NO_PARAMETERS = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def plain(*calls: Any, content: str | None = None, **options: Any) -> Response:
    return normalize(json.dumps(chat_body(*calls, content=content)).encode(), "openai.chat", **options)


def legacy(name: str | None, text: str) -> dict[str, Any]:
    return chunk(function_call={"arguments": text} | ({} if name is None else {"name": name}))


#: Streams in which nothing shows whose arguments these are: no call runs.
AMBIGUOUS: dict[str, list[dict[str, Any]]] = {
    "before their call, under another index": [piece(7, arguments=F), A],
    "before their call, in pieces": [*(piece(7, arguments=text) for text in F), A],
    "between two calls": [A, piece(1, arguments=F), B],
    "under an index that no call has": [A, B, piece(7, arguments=F)],
    "under a text as an index": [A, B, piece("x", arguments=F)],
    "without an index": [A, B, piece(None, arguments=F)],
    "under an unknown id": [A, B, piece(None, "z", None, F)],
    "mixed pieces of two calls": [A, B, *(piece(arguments=text) for text in ('{"a"', '{"b"', ":1}", ":2}"))],
    "in a function_call": [A, legacy(None, F[:3]), legacy(None, F[3:])],
    "of a function_call": [legacy("f", ""), piece(0, arguments=F)],
}


def test_no_call_runs_without_its_arguments() -> None:
    for case, chunks in AMBIGUOUS.items():
        response = chat(*chunks)
        assert (ran(response), "arguments-misplaced" in codes(response)) == ([], True), case
    assert ran(plain(chat_call("a", "f", "{}"), chat_call("z", None, F))) == []


BOTH = [("a", "f", json.loads(F)), ("b", "g", json.loads(G))]


def test_arguments_that_can_belong_to_only_one_call_let_it_run() -> None:
    for index in (7, "x", None):
        assert triples(chat(A, piece(index, arguments=F))) == BOTH[:1]
        assert triples(chat(A, piece(0, arguments=F), B, piece(index, arguments=G))) == BOTH
        assert triples(chat(A, B, piece(index, arguments=G), piece(0, arguments=F))) == BOTH
        request = tools(f=NO_PARAMETERS, g=schema())
        assert ran(chat(A, B, piece(index, arguments=G), request=request)) == ["a", "b"]
    assert triples(chat(piece(0, arguments=F), A)) == BOTH[:1]
    # IDX-10: heads under index 0, arguments under the place of their call
    again = [piece(0, "a", "f", ""), piece(0, arguments=F), piece(0, "b", "g", ""), piece(1, arguments=G)]
    response = chat(*again, piece(0, "c", "h", ""))
    assert triples(response)[:2] == BOTH
    assert ran(response) == ["a", "b", "c"]


def test_a_function_call_that_repeats_the_name_has_the_arguments() -> None:
    response = chat(A, legacy("f", F[:3]), legacy(None, F[3:]))
    assert [(call.name, call.status) for call in response.calls] == [("f", "truncated"), ("f", "complete")]
    assert [call.arguments for call in response.calls if call.id in ran(response)] == [json.loads(F)]


# as the text of the answer


@pytest.mark.parametrize("empty", ["", "{}"])
def test_a_text_that_is_a_json_object_may_hold_the_arguments(empty: str) -> None:
    def read(request: Any) -> list[tuple[list[str], set[str]]]:
        streamed = chat(piece(0, "a", "f", empty), chunk(content=F[:3]), chunk(content=F[3:] + "\n"), request=request)
        whole = plain(chat_call("a", "f", empty), content=F + "\n", request=request)
        assert streamed.text == whole.text == F + "\n"
        return [(ran(response), {*codes(response)} & MISPLACED) for response in (streamed, whole)]

    assert read(tools(f=schema("a"))) == [([], {"arguments-misplaced"})] * 2
    for request in (None, ["f"], tools(f=schema()), tools(f=schema("a", "b"))):
        assert read(request) == [(["a"], {"arguments-in-text"})] * 2
    assert read(tools(f=NO_PARAMETERS)) == [(["a"], set())] * 2
    two = chat(A, B, chunk(content=F + "\n" + G), request=tools(f=schema("a"), g=schema("b")))
    assert (ran(two), "arguments-misplaced" in codes(two)) == ([], True)


MISPLACED = {"arguments-misplaced", "arguments-in-text"}


def test_any_other_text_does_not_affect_a_call() -> None:
    for text in ("Now.", "{}", '{"a":1} is it', "[1]", "{"):
        streamed = chat(chunk(content=text), A, request=tools(f=schema("a")))
        for response in (streamed, plain(chat_call("a", "f", "{}"), content=text)):
            assert ran(response) == ["a"]
            assert "arguments-in-text" not in codes(response)


@pytest.mark.parametrize("empty", ["", "{}", "null"])
@pytest.mark.parametrize("request_known", [True, False])
def test_calls_that_need_no_arguments_run(empty: str, request_known: bool) -> None:
    request = tools(f=schema(), g=schema()) if request_known else None
    one, other = piece(0, "a", "f", empty), piece(1, "b", "g", empty)
    for response in (
        chat(one, other, request=request),
        chat(one, B, piece(1, arguments=G), request=request),
        chat(B, one, piece(1, arguments=G), request=request),
        chat(chunk(content="Both."), one, other, request=request),
        plain(chat_call("a", "f", empty), chat_call("b", "g", G), content="Both.", request=request),
    ):
        assert sorted(ran(response)) == ["a", "b"]
        assert MISPLACED.isdisjoint(codes(response))
    assert ran(chat(piece(7, arguments=empty or " "), A)) == ["a"]


# several function calls in one choice


@pytest.mark.parametrize("alone", [True, False])
def test_consecutive_function_calls_are_separate_calls(alone: bool) -> None:
    for other, size in product("gf", (1, 4, 100)):
        parts: list[Any] = []
        for name, text in (("f", F), (other, G)):
            pieces = ["", *cut(text, size)] if alone else cut(text, size)
            parts += [legacy(None if n else name, part) for n, part in enumerate(pieces)]
        response = chat(*parts, finish="function_call")
        assert [(c.name, c.arguments) for c in response.calls] == [("f", json.loads(F)), (other, json.loads(G))]
        assert len(set(ran(response))) == 2


# a message after deltas


def ended(*calls: dict[str, Any], **members: Any) -> dict[str, Any]:
    last = chunk(finish="tool_calls")
    last["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": list(calls), **members}
    return last


WHOLE = [piece(0, "a", "f", F), piece(1, "b", "g", G)]


@pytest.mark.parametrize("deltas", [WHOLE[:1], WHOLE[1:], WHOLE, [], [A, B], [piece(0, "a", "f", F[:3])]], ids=len)
def test_a_message_after_deltas_adds_missing_calls(deltas: list[dict[str, Any]]) -> None:
    message = ended(chat_call("a", "f", '{"a": 1}' if WHOLE[0] in deltas else F), chat_call("b", "g", G))
    response = chat(chunk(content="Now."), *deltas, message, finish=None)
    assert sorted(triples(response), key=str) == BOTH
    assert sorted(ran(response)) == ["a", "b"]


def test_a_message_after_deltas_changes_arguments_and_not_ids() -> None:
    response = chat(piece(0, "a", "f", F), ended(chat_call("a", "f", '{"a":2}')), finish=None)
    assert triples(response) == [("a", "f", {"a": 2})]
    assert "arguments-disagree" in codes(response)
    again = piece(1, "b", "f", F)
    response = chat(WHOLE[0], again, ended(chat_call("x", "f", F), chat_call("y", "f", F)), finish=None)
    assert triples(response) == [("a", "f", json.loads(F)), ("b", "f", json.loads(F))]


def test_a_function_call_only_in_the_message_is_a_call() -> None:
    message = ended(function_call={"name": "f", "arguments": F})
    assert [call.name for call in chat(chunk(content="Now."), message).calls] == ["f"]
    for arguments in ("", F[:3], F):
        response = chat(legacy("f", arguments), message, finish=None)
        assert [(call.kind, call.arguments) for call in response.calls] == [("legacy_function", json.loads(F))]


# Any delivery


WAYS = ["under its index", "under its id", "before, elsewhere", "elsewhere", "without a place", "behind another's"]
WAYS += ["as function_call", "as text"]


@examples(500, derandomize=True, database=None)
@given(st.data())
def test_every_call_that_runs_has_its_own_arguments(data: st.DataObject) -> None:
    calls = [(f"id{n}", f"t{n}", json.dumps({"n": n, "v": "x" * n})) for n in range(data.draw(st.integers(1, 4)))]
    ways = [data.draw(st.sampled_from(WAYS)) for _ in calls]
    size = data.draw(st.integers(1, 40))
    full = [n for n, way in enumerate(ways) if way == WAYS[0]]
    heads = [chunk(piece(n, id, name, "")) for n, (id, name, _) in enumerate(calls)]
    early: list[Any] = []
    late: list[list[Any]] = []
    for n, (id, _, text) in enumerate(calls):
        parts = cut(text, size)
        way = ways[n]
        if way == "as text":
            late.append([chunk(content=part) for part in parts])
        elif way == "as function_call":
            late.append([legacy(None, part) for part in parts])
        elif way == "before, elsewhere":
            early += [chunk(piece(n + 20, arguments=part)) for part in parts]
        else:
            places = {WAYS[0]: n, WAYS[1]: None, "elsewhere": n + 10, "without a place": None}
            place = data.draw(st.sampled_from(full)) if way == "behind another's" and full else places.get(way)
            late.append([chunk(piece(place, id if way == WAYS[1] else None, None, part)) for part in parts])
    tail = [part for parts in data.draw(st.permutations(late)) for part in parts]
    request = tools(**{name: {"type": "object", "properties": {"n": {}}, "required": ["n"]} for _, name, _ in calls})
    response = decode_stream(
        "openai.chat", sse(*early, *heads, *tail, chunk(finish="tool_calls"), done=True), request=request
    )
    own = {id: json.loads(text) for id, _, text in calls}
    kept = {ref.id for ref in select(response).kept}
    assert [call for call in response.calls if call.id in kept and call.arguments != own[call.id]] == []
    if set(ways) <= set(WAYS[:2]):
        assert len(kept) == len(calls)
