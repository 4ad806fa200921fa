"""Items 1 and 6 on openai.chat: no call runs whose arguments were elsewhere, however they were delivered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import chat, codes, decode_stream, ran, triples
from tests.support.events import chat_body, chat_call, chunk, piece, sse
from tests.support.thoroughness import examples
from toolparity import Response, normalize, select

F, G = '{"a":1}', '{"b":[2,{}]}'
A, B = piece(0, "a", "f", ""), piece(1, "b", "g", "")


def schema(*required: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {}}, "required": list(required)}


def tools(**schemas: Any) -> list[Any]:
    return [{"type": "function", "function": {"name": name, "parameters": given}} for name, given in schemas.items()]


NO_PARAMETERS = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def states(response: Response) -> list[tuple[str, str]]:
    return [(call.name, call.status) for call in response.calls]


def plain(*calls: Any, **told: Any) -> Response:
    content = told.pop("content", None)
    return normalize(json.dumps(chat_body(*calls, content=content)).encode(), "openai.chat", **told)


def assert_nothing_runs(response: Response) -> None:
    assert ran(response) == []
    assert "arguments-misplaced" in codes(response)


# (a) before their call, under another index


@pytest.mark.parametrize("size", [1, 100])
def test_misplaced_arguments_in_a_nameless_call_let_no_call_run(size: int) -> None:
    parts = [piece(7, arguments=F[at : at + size]) for at in range(0, len(F), size)]
    response = chat(*parts, A)
    assert states(response) == [("", "invalid"), ("f", "truncated")]
    assert_nothing_runs(response)
    assert_nothing_runs(plain(chat_call("a", "f", "{}"), chat_call("z", None, F)))


def test_arguments_before_their_call_start_with_its_index_belong_to_it() -> None:
    assert triples(chat(piece(0, arguments=F), A)) == [("a", "f", json.loads(F))]


def test_a_call_without_a_name_and_arguments_does_not_affect_others() -> None:
    for nothing in ("{}", "null", " "):
        assert ran(chat(piece(7, arguments=nothing), A)) == ["a"]


# (b) under an index that no call has, or none


@pytest.mark.parametrize("index", [7, "x", None], ids=repr)
def test_ambiguous_arguments_of_two_calls_let_neither_run(index: Any) -> None:
    response = chat(A, B, piece(index, arguments=F))
    assert states(response) == [("f", "truncated"), ("g", "truncated")]
    assert_nothing_runs(response)


def test_arguments_with_an_unknown_id_let_no_call_run() -> None:
    assert_nothing_runs(chat(A, B, piece(None, "z", None, F)))


@pytest.mark.parametrize("index", [7, "x", None], ids=repr)
def test_arguments_that_can_belong_to_only_one_call_let_it_run(index: Any) -> None:
    assert triples(chat(A, piece(index, arguments=F))) == [("a", "f", json.loads(F))]
    both = [("a", "f", json.loads(F)), ("b", "g", json.loads(G))]
    assert triples(chat(A, piece(0, arguments=F), B, piece(index, arguments=G))) == both
    assert triples(chat(A, B, piece(index, arguments=G), piece(0, arguments=F))) == both
    request = tools(f=NO_PARAMETERS, g=schema())
    assert ran(chat(A, B, piece(index, arguments=G), request=request)) == ["a", "b"]


def test_arguments_that_may_precede_their_call_let_no_call_run() -> None:
    assert_nothing_runs(chat(A, piece(1, arguments=F), B))


def test_an_index_that_is_the_position_of_a_call_belongs_to_it() -> None:
    """IDX-10: heads under index 0, arguments under the place of their call."""
    again = [piece(0, "a", "f", ""), piece(0, arguments=F), piece(0, "b", "g", ""), piece(1, arguments=G)]
    response = chat(*again, piece(0, "c", "h", ""))
    assert triples(response)[:2] == [("a", "f", json.loads(F)), ("b", "g", json.loads(G))]
    assert ran(response) == ["a", "b", "c"]


# (c) behind those of another call


def test_mixed_fragments_of_two_calls_let_neither_run() -> None:
    assert_nothing_runs(chat(A, B, *(piece(arguments=text) for text in ('{"a"', '{"b"', ":1}", ":2}"))))


# (d) as the text of the answer


@pytest.mark.parametrize("empty", ["", "{}"])
def test_a_text_that_is_a_json_object_may_hold_the_arguments(empty: str) -> None:
    def both(**told: Any) -> list[Response]:
        streamed = [chunk(content=F[:3]), chunk(content=F[3:] + "\n")]
        return [
            chat(piece(0, "a", "f", empty), *streamed, **told),
            plain(chat_call("a", "f", empty), content=F + "\n", **told),
        ]

    for response in both(request=tools(f=schema("a"))):
        assert_nothing_runs(response)
        assert response.text == F + "\n"
    for request in (None, ["f"], tools(f=schema()), tools(f=schema("a", "b"))):
        for response in both(request=request):
            assert ran(response) == ["a"]
            assert "arguments-in-text" in codes(response)
    for response in both(request=tools(f=NO_PARAMETERS)):
        assert ran(response) == ["a"]
        assert {"arguments-in-text", "arguments-misplaced"}.isdisjoint(codes(response))


def test_a_text_of_two_json_objects_may_hold_the_arguments_of_two_calls() -> None:
    assert_nothing_runs(chat(A, B, chunk(content=F + "\n" + G), request=tools(f=schema("a"), g=schema("b"))))


@pytest.mark.parametrize("text", ["Now.", "{}", '{"a":1} is it', "[1]", "{"])
def test_any_other_text_does_not_affect_a_call(text: str) -> None:
    request = tools(f=schema("a"))
    for response in (chat(chunk(content=text), A, request=request), plain(chat_call("a", "f", "{}"), content=text)):
        assert ran(response) == ["a"]
        assert "arguments-in-text" not in codes(response)


# (e) as a `function_call`


def legacy(name: str | None, text: str) -> dict[str, Any]:
    return chunk(
        function_call={key: value for key, value in (("name", name), ("arguments", text)) if value is not None}
    )


@pytest.mark.parametrize("name", [None, "f"])
def test_arguments_in_a_function_call_do_not_let_their_call_run_empty(name: str | None) -> None:
    response = chat(A, legacy(name, F[:3]), legacy(None, F[3:]))
    assert states(response) == [("f", "truncated"), (name or "", "complete" if name else "invalid")]
    assert "arguments-misplaced" in codes(response)
    assert [call.arguments for call in response.calls if call.id in ran(response)] == [json.loads(F)] * bool(name)


def test_arguments_in_tool_calls_do_not_let_a_function_call_run_empty() -> None:
    assert_nothing_runs(chat(legacy("f", ""), piece(0, arguments=F)))


# Calls that need no arguments


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
        plain(chat_call("a", "f", empty), chat_call("b", "g", empty), request=request),
        plain(chat_call("a", "f", empty), chat_call("b", "g", G), content="Both.", request=request),
    ):
        assert sorted(ran(response)) == ["a", "b"]
        assert {"arguments-misplaced", "arguments-in-text"}.isdisjoint(codes(response))


# Item 6: several function calls in one choice


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize("names", [("f", "g"), ("f", "f")], ids="-".join)
@pytest.mark.parametrize("alone", [True, False])
def test_consecutive_function_calls_are_separate_calls(names: tuple[str, str], size: int, alone: bool) -> None:
    parts = []
    for name, text in zip(names, (F, G), strict=True):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        first = "" if alone else pieces.pop(0)
        parts += [legacy(name, first), *(legacy(None, part) for part in pieces)]
    response = chat(*parts, finish="function_call")
    assert [(call.name, call.arguments) for call in response.calls] == [
        (names[0], json.loads(F)),
        (names[1], json.loads(G)),
    ]
    assert len(set(ran(response))) == 2


def test_a_single_function_call_is_read_as_before() -> None:
    for parts in ([legacy("f", F)], [legacy("f", ""), legacy("", F[:2]), legacy("f", F[2:])]):
        (call,) = chat(*parts, finish="function_call").calls
        assert (call.kind, call.name, call.arguments_text) == ("legacy_function", "f", F)


def test_function_calls_that_repeat_tool_calls_are_ignored() -> None:
    mirrored = [piece(0, "a", "f", F), legacy("f", F), piece(1, "b", "g", G), legacy("g", G)]
    assert triples(chat(*mirrored)) == [("a", "f", json.loads(F)), ("b", "g", json.loads(G))]


# Item 6: a message after deltas


def ended(*calls: dict[str, Any], legacy: Any = None) -> dict[str, Any]:
    last = chunk(finish="tool_calls")
    last["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    if legacy is not None:
        last["choices"][0]["message"]["function_call"] = legacy
    return last


WHOLE = [piece(0, "a", "f", F), piece(1, "b", "g", G)]


@pytest.mark.parametrize("deltas", [WHOLE[:1], WHOLE[1:], WHOLE, [], [A, B], [piece(0, "a", "f", F[:3])]], ids=len)
def test_a_message_after_deltas_adds_missing_calls(deltas: list[dict[str, Any]]) -> None:
    message = ended(chat_call("a", "f", '{"a": 1}' if WHOLE[0] in deltas else F), chat_call("b", "g", G))
    response = chat(chunk(content="Now."), *deltas, message, finish=None)
    assert sorted(triples(response), key=str) == [("a", "f", json.loads(F)), ("b", "g", json.loads(G))]
    assert sorted(ran(response)) == ["a", "b"]


def test_the_message_overrides_the_arguments_of_a_streamed_call() -> None:
    response = chat(piece(0, "a", "f", F), ended(chat_call("a", "f", '{"a":2}')), finish=None)
    assert triples(response) == [("a", "f", {"a": 2})]
    assert "arguments-disagree" in codes(response)


def test_different_ids_in_the_message_do_not_add_calls() -> None:
    again = piece(1, "b", "f", F)
    response = chat(WHOLE[0], again, ended(chat_call("x", "f", F), chat_call("y", "f", F)), finish=None)
    assert triples(response) == [("a", "f", json.loads(F)), ("b", "f", json.loads(F))]


def test_growing_messages_beside_deltas_do_not_add_calls() -> None:
    parts, said = [], ""
    for text in (F[:2], F[2:5], F[5:]):
        said += text
        part = chunk(piece(0, "a" if said == text else None, "f" if said == text else None, text))
        part["choices"][0]["message"] = {"role": "assistant", "tool_calls": [chat_call("a", "f", said)]}
        parts.append(part)
    assert triples(chat(*parts)) == [("a", "f", json.loads(F))]


def test_a_function_call_only_in_the_message_is_a_call() -> None:
    assert [c.name for c in chat(chunk(content="Now."), ended(legacy={"name": "f", "arguments": F})).calls] == ["f"]
    for arguments in ("", F[:3], F):
        response = chat(legacy("f", arguments), ended(legacy={"name": "f", "arguments": F}), finish=None)
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
        parts = [text[at : at + size] for at in range(0, len(text), size)]
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
