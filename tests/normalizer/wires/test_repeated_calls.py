"""Calls are compared by value, so that a call whose arguments are only encoded differently does not run twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import FORMS, Given, codes, decoded, respond, triples
from tests.support.events import (
    anthropic_body,
    anthropic_stream,
    block_start,
    block_stop,
    chat_body,
    json_delta,
    tool_start,
)
from tests.support.thoroughness import examples
from toolparity import normalize, select
from toolparity.normalizer.arguments import by_value

FIRST = '{"a":1,"b":"é/","c":[true,null]}'
#: The same value: spaces, key order, escapes, number spelling.
ENCODINGS = [
    '{"a": 1, "b": "é/", "c": [true, null]}',
    '{"c":[true,null],"b":"é/","a":1}',
    '{"a":1,"b":"\\u00e9\\/","c":[true,null]}',
    '{"a":1.0,"b":"é/","c":[true,null]}',
    '{"a":1e0,"b":"é/","c":[true,null]}',
    ' {"a":1,"b":"é/","c":[true,null]}\n',
]
OTHERS = ['{"a":2,"b":"é/","c":[true,null]}', '{"a":true,"b":"é/","c":[true,null]}', '{"a":1,"b":"é/","c":[1,null]}']
#: The wires on which arguments are text, so that a call may have none.
TEXTUAL = ("openai.chat", "openai.responses", "xai.grpc", "cohere.chat")
VALUES = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


def encoded(value: Any, data: st.DataObject) -> str:
    """A drawn form of the JSON of a value."""
    if isinstance(value, dict):
        items = data.draw(st.permutations(list(value.items())))
        inside = ",".join(f"{encoded(key, data)}:{encoded(item, data)}" for key, item in items)
        text = f"{{{inside}}}"
    elif isinstance(value, list):
        text = f"[{','.join(encoded(item, data) for item in value)}]"
    elif isinstance(value, str):
        text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**50:
        text = data.draw(st.sampled_from([str(value), f"{value}.0", f"{value}e0", f"{value}.00E+0"]))
    else:
        text = json.dumps(value)
    space = data.draw(st.sampled_from(["", " ", "\n", "\t"]))
    return f"{space}{text}{space}"


@pytest.mark.parametrize(("wire", "streamed"), FORMS)
def test_DUP_31_a_copy_without_arguments_is_not_a_second_call(wire: str, streamed: bool) -> None:
    """Failure DUP-31, whichever copy comes first. Calls without arguments under other ids, or other names, stay."""
    full = json.loads(FIRST)
    for empty in ("{}", "") if wire in TEXTUAL else ("{}",):
        given: list[Given] = [("b", "f", empty), ("a", "f", empty), ("c", "g", empty), ("a", "f", FIRST)]
        given += [("a", "g", empty), ("d", "f", FIRST), ("d", "f", empty), ("e", "f", empty)]
        response = respond(wire, streamed, given)
        named = [(call.name, call.arguments or {}) for call in response.calls]
        assert named == [("f", {}), ("f", full), ("g", {}), ("g", {}), ("f", full), ("f", {})]
        assert [call.id for call in response.calls if call.name == "f"] == ["b", "a", "d", "e"]
        assert "id" not in response.calls[1].extra
        assert select(response, policy="first").kept[0].id == "b"
        before = len(response.choices[0].blocks) - len(response.calls)  # Cohere plans in a text
        findings = [each for each in response.findings if each.code != "arguments-empty"]
        found = {(each.code, (each.block or 0) - before) for each in findings}
        assert empty == "" or found == {("duplicate-call", 1), ("duplicate-call", 4), ("id-duplicate", 3)}


def test_a_copy_with_equal_arguments_is_not_a_second_call_and_one_with_others_is() -> None:
    for wire, streamed in FORMS:
        texts = (FIRST, OTHERS[0], OTHERS[0].replace(",", " ,"))
        response = respond(wire, streamed, [("a", "f", text) for text in texts])
        assert [call.arguments for call in response.calls] == [json.loads(text) for text in texts[:2]]
        assert {"id-duplicate", "duplicate-call"} <= set(codes(response))


@pytest.mark.parametrize(("wire", "streamed"), FORMS)
@pytest.mark.parametrize("order", [1, -1])
def test_a_copy_without_arguments_does_not_run_beside_a_call_without_a_name(
    wire: str, streamed: bool, order: int
) -> None:
    response = respond(wire, streamed, [("a", "", FIRST), ("a", "f", "{}")][::order])
    assert all(json.loads(FIRST) == call.arguments for call in response.calls if call.status == "complete")
    assert len(response.calls) == 1


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(("wire", "streamed"), FORMS)
def test_the_same_arguments_in_any_form_are_a_repetition(wire: str, streamed: bool) -> None:
    @examples(60, plain=5, derandomize=True, database=None)
    @given(VALUES, st.data())
    def holds(value: dict[str, Any], data: st.DataObject) -> None:
        one, other = encoded(value, data), encoded(value, data)
        response = respond(wire, streamed, [("a", "f", one), ("b", "f", one), ("a", "f", other)], size=1000)
        assert triples(response) == [("a", "f", value), ("b", "f", value)]
        assert one == other or value == {} or "duplicate-call" in codes(response)
        assert len(select(response, policy="all").kept) == 2

    holds()


def test_empty_arguments_are_equal_and_invalid_ones_only_to_themselves() -> None:
    assert {by_value(text) for text in ("", "null", "  ", "{ }")} == {by_value("{}")}
    for text in ('{"a":', "[1]", '"x"', "{}{}", '{"a":1e999}', "{" + '"a":{' * 5000):
        assert by_value(text) == text
    calls = [{"id": "a", "type": "custom", "custom": {"name": "f", "input": text}} for text in ('{"a":1}', '{"a": 1}')]
    assert len(normalize(chat_body(*calls), "openai.chat").calls) == 2


# openai.responses: the terminal event


# openai.chat: the head again


# anthropic.messages: the start again


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("again", [0, 1, 2])
def test_a_call_whose_start_is_repeated_runs_once(again: int, index: int | None) -> None:
    """Before its arguments, after them and after its stop: no second call without arguments runs."""
    start = tool_start(0, "a", "f")
    events = [start, json_delta(0, FIRST), block_stop(0)]
    events.insert(again + 1, start)
    if index is None:
        events = [{name: value for name, value in event.items() if name != "index"} for event in events]
    other = [tool_start(1, "b", "f"), block_stop(1)]
    response = decoded("anthropic.messages", anthropic_stream(*events, *other))
    assert triples(response) == [("a", "f", json.loads(FIRST)), ("b", "f", {})]
    assert {"duplicate-call", "event-repeated"} & set(codes(response))
    response = decoded("anthropic.messages", anthropic_stream(*[start] * (again + 1), block_stop(0)))
    assert triples(response) == [("a", "f", {})]


def test_an_input_at_the_start_is_compared_with_the_deltas_by_value() -> None:
    for text in (FIRST, ENCODINGS[1], "{}", OTHERS[0]):
        start = block_start(0, type="tool_use", id="a", name="f", input=json.loads(text))
        response = decoded("anthropic.messages", anthropic_stream(start, json_delta(0, FIRST), block_stop(0)))
        assert triples(response) == [("a", "f", json.loads(FIRST))]
        assert codes(response) == (["arguments-disagree"] if text == OTHERS[0] else [])


def test_an_id_of_a_wrong_type_beside_repeated_ones_is_not_an_error() -> None:
    calls = [("c1", {"x": 1}), ("c1", {"x": 2}), ([1], {"x": 3})]
    content = [{"type": "tool_use", "id": id, "name": "f", "input": value} for id, value in calls]
    assert len(normalize(anthropic_body(*content), "anthropic.messages").calls) == 3
