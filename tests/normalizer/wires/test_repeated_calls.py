"""Item 2: a repeated call is compared by value, so that another spelling of its arguments does not run twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import FORMS, Given, chat, codes, decode_stream, decoded, respond, responses, triples
from tests.support.events import (
    anthropic_stream,
    block_start,
    block_stop,
    chat_body,
    chat_call,
    chunk,
    function_call,
    grpc_call,
    grpc_chunk,
    item_events,
    json_delta,
    piece,
    responses_body,
    tool_start,
)
from tests.support.thoroughness import examples
from toolparity import normalize, select
from toolparity.normalizer.arguments import by_value

FIRST = '{"a":1,"b":"é/","c":[true,null]}'
#: The same value: spaces, key order, escapes, number spelling.
SPELLINGS = [
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


def respelled(value: Any, data: st.DataObject) -> str:
    """A spelling of a value, drawn."""
    if isinstance(value, dict):
        items = data.draw(st.permutations(list(value.items())))
        inside = ",".join(f"{respelled(key, data)}:{respelled(item, data)}" for key, item in items)
        text = f"{{{inside}}}"
    elif isinstance(value, list):
        text = f"[{','.join(respelled(item, data) for item in value)}]"
    elif isinstance(value, str):
        text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**50:
        text = data.draw(st.sampled_from([str(value), f"{value}.0", f"{value}e0", f"{value}.00E+0"]))
    else:
        text = json.dumps(value)
    space = data.draw(st.sampled_from(["", " ", "\n", "\t"]))
    return f"{space}{text}{space}"


@pytest.mark.thorough(keep=2, per="{wire}")
@pytest.mark.parametrize(("wire", "streamed"), FORMS)
@pytest.mark.parametrize("again", [FIRST, *SPELLINGS])
def test_two_calls_with_one_id_and_equal_arguments_run_once(wire: str, streamed: bool, again: str) -> None:
    response = respond(wire, streamed, [("a", "f", FIRST), ("a", "f", again)])
    assert triples(response) == [("a", "f", json.loads(FIRST))]
    assert again == FIRST or "duplicate-call" in codes(response)


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize(("wire", "streamed"), FORMS)
@pytest.mark.parametrize("other", OTHERS)
def test_different_calls_with_one_id_are_both_kept(wire: str, streamed: bool, other: str) -> None:
    """Failure ID-09; and what repeats any of them counts once."""
    given: list[Given] = [("a", "f", FIRST), ("a", "f", other), ("a", "f", other.replace(",", " ,"))]
    response = respond(wire, streamed, given)
    assert [call.arguments for call in response.calls] == [json.loads(FIRST), json.loads(other)]
    assert len({call.id for call in response.calls}) == 2
    assert {"id-duplicate", "duplicate-call"} <= set(codes(response))


@pytest.mark.parametrize(("wire", "streamed"), FORMS)
def test_calls_with_one_id_and_different_names_are_both_kept(wire: str, streamed: bool) -> None:
    response = respond(wire, streamed, [("a", "f", FIRST), ("a", "g", FIRST)])
    assert [call.name for call in response.calls] == ["f", "g"]


@pytest.mark.parametrize(("wire", "streamed"), FORMS)
def test_DUP_31_a_copy_without_arguments_is_not_a_second_call(wire: str, streamed: bool) -> None:
    """Failure DUP-31, whichever copy comes first. Calls without arguments under other ids, or other names, stay."""
    texts = ("{}", "") if wire in TEXTUAL else ("{}",)
    for bare in texts:
        given: list[Given] = [("b", "f", bare), ("a", "f", bare), ("c", "g", bare), ("a", "f", FIRST)]
        given += [("a", "g", bare), ("d", "f", FIRST), ("d", "f", bare), ("e", "f", bare)]
        response = respond(wire, streamed, given)
        named = [(call.name, call.arguments or {}) for call in response.calls]
        full = json.loads(FIRST)
        assert named == [("f", {}), ("f", full), ("g", {}), ("g", {}), ("f", full), ("f", {})]
        assert [call.id for call in response.calls if call.name == "f"] == ["b", "a", "d", "e"]
        assert "id" not in response.calls[1].extra
        assert select(response, policy="first").kept[0].id == "b"
        found = [each for each in response.findings if each.code != "arguments-empty"]
        expected = {("duplicate-call", 1), ("duplicate-call", 4), ("id-duplicate", 3)}
        before = len(response.choices[0].blocks) - len(response.calls)  # Cohere plans in a text
        assert bare == "" or {(each.code, (each.block or 0) - before) for each in found} == expected


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
def test_any_spelling_of_the_same_arguments_is_a_repetition(wire: str, streamed: bool) -> None:
    @examples(60, plain=5, derandomize=True, database=None)
    @given(VALUES, st.data())
    def holds(value: dict[str, Any], data: st.DataObject) -> None:
        one, other = respelled(value, data), respelled(value, data)
        response = respond(wire, streamed, [("a", "f", one), ("b", "f", one), ("a", "f", other)], size=1000)
        assert [call.id for call in response.calls] == ["a", "b"]
        assert len(select(response, policy="all").kept) == 2

    holds()


@examples(300, derandomize=True, database=None)
@given(VALUES, VALUES, st.data())
def test_by_value_is_equal_for_spellings_and_different_for_values(value: Any, other: Any, data: st.DataObject) -> None:
    assert by_value(respelled(value, data)) == by_value(respelled(value, data))
    if json.dumps(value, sort_keys=True) != json.dumps(other, sort_keys=True):
        assert by_value(respelled(value, data)) != by_value(respelled(other, data))


@pytest.mark.parametrize("text", ["", "null", "  ", "{ }"])
def test_all_spellings_of_empty_arguments_have_one_value(text: str) -> None:
    assert by_value(text) == by_value("{}")


@pytest.mark.parametrize("text", ['{"a":', "[1]", '"x"', "{}{}", '{"a":1e999}', "{" + '"a":{' * 5000])
def test_invalid_arguments_are_equal_only_to_themselves(text: str) -> None:
    assert by_value(text) == text


def test_inputs_of_custom_tools_are_compared_as_text() -> None:
    calls = [{"id": "a", "type": "custom", "custom": {"name": "f", "input": text}} for text in ('{"a":1}', '{"a": 1}')]
    assert len(normalize(json.dumps(chat_body(*calls)).encode(), "openai.chat").calls) == 2


# openai.responses: the terminal event


@pytest.mark.parametrize("again", SPELLINGS)
def test_a_new_id_in_the_terminal_event_does_not_add_a_call(again: str) -> None:
    streamed = function_call("call_1", "f", FIRST, id="fc_1")
    final = function_call("call_9", "f", again, id="fc_9", namespace="late")
    response = responses(*item_events(0, streamed), end=responses_body(final))
    assert triples(response) == [("call_9", "f", json.loads(FIRST))]
    assert "id-changed" in codes(response)


@pytest.mark.parametrize(("text", "again"), [(FIRST, json.loads(FIRST)), ("", "{}"), ("{}", None)], ids=repr)
def test_object_or_missing_arguments_in_the_terminal_event_do_not_add_a_call(text: str, again: Any) -> None:
    streamed = function_call("call_1", "f", text, id="fc_1")
    final = function_call("call_9", "f", again, id="fc_9")
    response = responses(*item_events(0, streamed), end=responses_body(final))
    assert triples(response) == [("call_9", "f", json.loads(text or "{}"))]


def test_two_equal_calls_with_new_ids_stay_two_calls() -> None:
    streamed = [function_call(f"call_{n}", "f", FIRST, id=f"fc_{n}") for n in (1, 2)]
    final = [function_call(f"call_{n}", "f", SPELLINGS[n], id=f"fc_{n}") for n in (3, 4)]
    events = [event for n, item in enumerate(streamed) for event in item_events(n, item)]
    response = responses(*events, end=responses_body(*final))
    assert [call.id for call in response.calls] == ["call_3", "call_4"]


def test_a_streamed_call_missing_in_the_terminal_event_is_kept() -> None:
    streamed = function_call("call_1", "f", FIRST, id="fc_1")
    final = function_call("call_9", "f", OTHERS[0], id="fc_9")
    response = responses(*item_events(0, streamed), end=responses_body(final))
    assert [call.id for call in response.calls] == ["call_1", "call_9"]


# openai.chat: the head again


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("again", [FIRST, *SPELLINGS])
@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_call_streamed_twice_with_its_index_runs_once(again: str, size: int) -> None:
    def call(text: str) -> list[dict[str, Any]]:
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        return [chunk(piece(0, "a", "f", "")), *(chunk(piece(0, arguments=part)) for part in parts)]

    response = chat(*call(FIRST), *call(again))
    assert triples(response) == [("a", "f", json.loads(FIRST))]
    assert len(select(response).kept) == 1


def test_a_function_call_that_repeats_a_tool_call_in_another_spelling_is_ignored() -> None:
    body = chat_body(chat_call("a", "f", FIRST), function_call={"name": "f", "arguments": SPELLINGS[0]})
    response = normalize(json.dumps(body).encode(), "openai.chat")
    assert [call.id for call in response.calls] == ["a"]


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


@pytest.mark.parametrize("starts", [2, 3])
def test_a_call_without_arguments_whose_start_is_repeated_is_kept(starts: int) -> None:
    response = decoded("anthropic.messages", anthropic_stream(*[tool_start(0, "a", "f")] * starts, block_stop(0)))
    assert triples(response) == [("a", "f", {})]


def test_different_calls_with_one_id_and_index_are_kept_if_both_have_arguments() -> None:
    events = [event for text in (FIRST, OTHERS[0]) for event in (tool_start(0, "a", "f"), json_delta(0, text))]
    response = decoded("anthropic.messages", anthropic_stream(*events, block_stop(0)))
    assert [call.arguments for call in response.calls] == [json.loads(FIRST), json.loads(OTHERS[0])]


@pytest.mark.parametrize(("given", "same"), [(FIRST, True), (SPELLINGS[1], True), ("{}", True), (OTHERS[0], False)])
def test_an_input_at_the_start_is_compared_with_the_deltas_by_value(given: str, same: bool) -> None:
    start = block_start(0, type="tool_use", id="a", name="f", input=json.loads(given))
    response = decoded("anthropic.messages", anthropic_stream(start, json_delta(0, FIRST), block_stop(0)))
    assert triples(response) == [("a", "f", json.loads(FIRST))]
    assert codes(response) == ([] if same else ["arguments-disagree"])


# xai.grpc: another output


@pytest.mark.parametrize("again", [FIRST, *SPELLINGS])
def test_a_call_that_appears_in_two_outputs_runs_once(again: str) -> None:
    chunks = [
        grpc_chunk(grpc_call("a", "f", FIRST), role=2),
        grpc_chunk(grpc_call("a", "f", again), index=1, role=2, finish=4),
    ]
    assert triples(decode_stream("xai.grpc", chunks)) == [("a", "f", json.loads(FIRST))]


def test_an_id_of_a_wrong_type_beside_repeated_ones_is_no_error() -> None:
    calls = [("c1", {"x": 1}), ("c1", {"x": 2}), ([1], {"x": 3})]
    content = [{"type": "tool_use", "id": id, "name": "f", "input": value} for id, value in calls]
    body = {"id": "m", "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": content}
    assert len(normalize(json.dumps(body).encode(), "anthropic.messages").calls) == 3
