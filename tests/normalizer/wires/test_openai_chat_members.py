"""Members that servers of openai.chat add to, or use instead of, the documented ones: nothing is lost or doubled."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.decoding import chat, codes, feed, only
from tests.support.events import chat_body, chat_call, chunk, piece, sse
from toolparity import (
    Block,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    Usage,
    normalize,
    select,
)

CALL = ToolCall("a", "f", {"x": 1}, '{"x":1}')
ANSWERED = [chunk(finish="tool_calls")]


def fed(*chunks: dict[str, Any]) -> list[Response]:
    """The same chunks: as bytes in one piece, one by one, and as objects."""
    lines = [sse(one) for one in chunks]
    pieces: list[list[Any]] = [[b"".join(lines)], lines, list(chunks)]
    return [feed("openai.chat", each)[0] for each in pieces]


def with_both(delta: Any, message: Any, finish: str | None = None) -> dict[str, Any]:
    """A chunk whose choice has `delta` and `message`."""
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "message": message, "finish_reason": finish}]}


# a delta

SEARCHED = {"index": 0, "type": "search", "arguments": "{}", "output": "found"}
DELTAS: dict[str, tuple[Any, list[type[Block]]]] = {
    "content": ("Yes.", [Text]),
    "refusal": ("No.", [Refusal]),
    **{name: ("Hm.", [Reasoning]) for name in ("reasoning", "reasoning_content")},
    "reasoning_details": ([{"type": "reasoning.text", "text": "Hm.", "index": 0}], [Reasoning]),
    "function_call": ({"name": "f", "arguments": "{}"}, [ToolCall]),
    "tool_calls": ([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}], [ToolCall]),
    "executed_tools": ([SEARCHED], [ServerToolCall, ServerToolResult]),
}


@pytest.mark.parametrize("member", DELTAS)
def test_every_member_of_a_delta_is_read_alone_and_beside_others(member: str) -> None:
    value, blocks = DELTAS[member]
    for beside in ({}, {"role": "assistant"}, {"content": "Yes."}):
        response = chat(chunk(**{**beside, member: value}), finish="stop")
        assert {type(block) for block in response.choices[0].blocks} == {
            *blocks,
            *([Text] if "content" in beside else []),
        }
    assert chat(chunk(strange=1), finish="stop").choices[0].extra == {"message": {"strange": 1}}
    assert chat(chunk(annotations=[{"a": 1}]), finish="stop").choices[0].extra == {"annotations": [{"a": 1}]}


@pytest.mark.parametrize("member", ["reasoning_content", "content", "reasoning"])
def test_thoughts_and_words_beside_a_piece_of_arguments_are_kept(member: str) -> None:
    begun = [chunk(**{member: "One, "}), chunk(piece(0, "a", "f", '{"x"'))]
    block = Text("One, two.") if member == "content" else Reasoning("One, two.")
    for response in fed(*begun, chunk(piece(0, None, None, ":1}"), **{member: "two."}), *ANSWERED):
        assert [replace(one, extra={}) for one in response.choices[0].blocks] == [block, CALL]


# vendor members of a call

SIGNED = {"google": {"thought_signature": "SIG"}}


@pytest.mark.parametrize("custom", [False, True])
def test_vendor_members_of_a_call_survive_plain_and_streamed(custom: bool) -> None:
    kind, member = ("custom", "input") if custom else ("function", "arguments")
    inner = {"name": "f", member: '{"x":1}', "weight": 2, "call_id": "c9"}
    call = {"id": "a", "type": kind, kind: inner, "extra_content": SIGNED, "nothing": None}
    extra = {"extra_content": SIGNED, "weight": 2, "call_id": "c9"}
    expected = ToolCall("a", "f", None if custom else {"x": 1}, '{"x":1}', kind=kind, extra=extra)
    for response in (normalize(chat_body(call), "openai.chat"), *fed(chunk({"index": 0, **call}), *ANSWERED)):
        assert only(response) == expected


def test_vendor_members_in_any_piece_of_a_call_are_collected() -> None:
    head = piece(0, "a", "f", "", extra_content=None, one=1)
    rest = {"index": 0, "function": {"arguments": '{"x":1}', "weight": 2}, "extra_content": SIGNED}
    last = piece(0, None, None, "", extra_content=None)
    for response in fed(chunk(head), chunk(rest), chunk(last), *ANSWERED):
        assert only(response) == replace(CALL, extra={"one": 1, "weight": 2, "extra_content": SIGNED})


# `message` and `delta` in one choice

FULL = {"role": "assistant", "content": "Hi.", "tool_calls": [{"index": 0, **chat_call("a", "f", '{"x":1}')}]}
EMPTY: list[Any] = [{}, {"role": "assistant"}, {"role": "assistant", "content": ""}, {"tool_calls": []}, None]


def test_of_message_and_delta_the_one_with_content_is_read() -> None:
    for first, second in (pair for empty in EMPTY for pair in ((FULL, empty), (empty, FULL))):
        body = with_both(first, second, "tool_calls")
        whole = normalize({"object": "chat.completion", **body}, "openai.chat")
        for response in (whole, *fed(body)):
            assert response.choices[0].blocks == [Text("Hi."), CALL]
            assert [ref.id for ref in select(response).kept] == ["a"]
    words = [with_both(None, {"content": word}) for word in ("", "He", "llo")]
    for response in fed(*words, chunk(finish="stop")):
        assert response.choices[0].blocks == [Text("Hello")]


def test_a_message_that_repeats_all_deltas_so_far_doubles_nothing() -> None:
    call = chat_call("a", "f", '{"x":1}')
    thought = {"reasoning_content": "Hm."}
    chunks = [
        with_both({"role": "assistant", "content": ""}, {"role": "assistant", "content": ""}),
        with_both(thought, thought),
        with_both({"content": "He"}, {**thought, "content": "He"}),
        with_both({"content": "llo"}, {**thought, "content": "Hello"}),
        with_both({"content": ""}, {**thought, "content": "Hello"}),
        with_both({"tool_calls": [{"index": 0, **call}]}, {**thought, "content": "Hello", "tool_calls": [call]}),
        with_both({}, {**thought, "content": "Hello", "tool_calls": [call]}, "tool_calls"),
    ]
    for response in fed(*chunks):
        assert response.choices[0].blocks == [Reasoning("Hm."), Text("Hello"), CALL]


# `function_call` beside `tool_calls`


@pytest.mark.parametrize("text", ['{"x":1}', '{ "x": 1 }'])
def test_a_function_call_that_mirrors_one_of_the_tool_calls_counts_once(text: str) -> None:
    calls = [chat_call("b", "g", "{}"), chat_call("a", "f", '{"x":1}')]
    mirror = {"name": "f", "arguments": text}
    whole = normalize(chat_body(*calls, function_call=mirror), "openai.chat")
    pieces = [{"index": place, **call} for place, call in enumerate(calls)]
    for response in (whole, *fed(chunk(*pieces, function_call=mirror), *ANSWERED)):
        assert response.calls == [ToolCall("b", "g", {}, "{}"), CALL]
        assert codes(response) == ["duplicate-call"]


# choices


def test_choices_of_a_body_under_one_index_remain_separate() -> None:
    calls = [(0, "a"), (0, "b"), (1, "c"), (0, "d"), (None, "e")]
    choices = [chat_body(chat_call(id, "f", "{}"))["choices"][0] | {"index": index} for index, id in calls]
    response = normalize({"id": "r", "choices": choices}, "openai.chat")
    found = [(choice.index, [call.id for call in choice.calls]) for choice in response.choices]
    assert found == [(0, ["a"]), (1, ["c"]), (4, ["e"]), (5, ["b"]), (6, ["d"])]
    assert [(f.code, f.choice) for f in response.findings] == [("index-reused", 5), ("index-reused", 6)]
    assert [(ref.choice, ref.id) for ref in select(response, choice=5).kept] == [(5, "b")]


def test_choices_without_an_index_are_distinguished_by_their_places() -> None:
    chunks = [
        {"id": "r", "choices": [{"delta": {"content": text}, "finish_reason": finish} for text in both]}
        for both, finish in (("AX", None), ("BY", "stop"))
    ]
    for response in fed(*chunks):
        assert [(choice.index, choice.text) for choice in response.choices] == [(0, "AB"), (1, "XY")]


# figures

FIGURES = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
OTHERS = {"prompt_tokens": 50, "completion_tokens": 70, "total_tokens": 120}


def test_figures_at_the_top_in_a_choice_or_in_x_groq_are_the_usage() -> None:
    in_choice, in_groq, in_both = chunk(finish="stop"), chunk(finish="stop"), chunk(finish="stop")
    in_choice["choices"][0]["usage"] = FIGURES
    in_groq["x_groq"] = {"id": "req", "usage": FIGURES}
    in_both["x_groq"] = {"usage": OTHERS}
    in_both["choices"][0]["usage"] = OTHERS
    top = {"id": "c", "choices": [], "usage": FIGURES}
    for chunks in ([in_choice], [in_groq], [in_both | {"usage": FIGURES}], [in_both, top], [top, in_both]):
        responses = fed(chunk(content="Hi."), *chunks)
        if len(chunks) == 1:
            responses.append(normalize(chunks[0] | {"object": "chat.completion"}, "openai.chat"))
        assert [response.usage for response in responses] == [Usage(5, 7, None, None, None, FIGURES)] * len(responses)


def test_an_error_beside_figures_is_an_error() -> None:
    broken = {"id": "c", "error": {"type": "server_error", "message": "Down."}, "usage": FIGURES}
    for response in fed(chunk(piece(0, "a", "f", "{}")), broken, *ANSWERED):
        assert response.error is not None
        assert (response.error.message, response.complete, select(response).kept) == ("Down.", False, [])


# one chunk, alone


def test_a_chunk_alone_is_an_answer_only_with_its_stop_reason() -> None:
    begun = chunk(piece(0, "a", "f", '{"x":1}'))
    for body in (begun, json.dumps(begun).encode()):
        response = normalize(body, "openai.chat")
        assert not response.complete
        assert select(response).kept == []
        assert {"stream-body", "stream-incomplete"} <= set(codes(response))
    ended = normalize(chunk(piece(0, "a", "f", '{"x":1}'), finish="tool_calls"), "openai.chat")
    assert (ended.complete, ended.calls, codes(ended)) == (True, [CALL], ["stream-body"])


# what looks like a snapshot


@pytest.mark.parametrize(
    "pieces",
    [
        *(['{"', '{":1}'], ['{ "', '{ ":1}'], ['{"a":', '{"a":1}}'], ['{"a":[', '{"a":[', "1]}]}"]),
        ['{"all":[', '{"all":[', '{"all":[]}]}]}'],
    ],
)
def test_arguments_whose_inside_begins_as_the_whole_does_are_concatenated(pieces: list[str]) -> None:
    response = chat(piece(0, "a", "f", ""), *(piece(0, arguments=text) for text in pieces))
    assert only(response) == ToolCall("a", "f", json.loads("".join(pieces)), "".join(pieces))
    assert codes(response) == ["arguments-disagree"]


# repeated findings


def test_a_call_whose_id_or_index_changes_all_the_time_is_reported_once() -> None:
    ids = [piece(0, f"a{n}", None, "x") for n in range(1, 300)]
    indexes = [piece(n, "b0", None, "x") for n in range(1, 300)]
    for id, changing, last, code in (("a0", ids, 0, "id-changed"), ("b0", indexes, 299, "index-changed")):
        response = chat(piece(0, id, "f", '{"x":"'), *changing, piece(last, None, None, '"}'))
        assert only(response).arguments == {"x": "x" * 299}
        assert codes(response) == [code]


@pytest.mark.parametrize("count", [100, 1000])
def test_the_last_of_a_hundred_findings_reports_how_many_more_there_are_and_no_member_is_reported_twice(
    count: int,
) -> None:
    body = chat_body(chat_call("a", "f", "{}")) | {f"new_{number}": number for number in range(count)}
    response = normalize(body, "openai.chat")
    assert codes(response) == ["unknown-member"] * 100
    assert response.findings[98].message == "unknown-member: $.new_98"
    assert response.findings[99].message == f"unknown-member: {'$.new_99' if count == 100 else '901 more'}"
    assert len(response.extra) == count
    for response in fed(*(chunk(content="x") | {"new_thing": number} for number in range(50)), chunk(finish="stop")):
        assert codes(response) == ["unknown-member"]
