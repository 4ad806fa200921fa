"""What servers put beside, instead of, or into the documented members of Chat Completions: nothing lost or doubled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.decoding import chat, codes, decode_stream, only
from tests.support.events import chat_body, chat_call, chunk, piece, sse
from toolparity import Reasoning, Response, StreamDecoder, Text, ToolCall, Usage, normalize, select

CALL = ToolCall("a", "f", {"x": 1}, '{"x":1}')
ANSWERED = [chunk(finish="tool_calls")]


def fed(*chunks: dict[str, Any]) -> list[Response]:
    """The same chunks: as bytes in one piece, one by one, and as objects."""
    lines = [sse(one) for one in chunks]
    responses = []
    for parts in ([b"".join(lines)], lines, chunks):
        decoder = StreamDecoder("openai.chat")
        for part in parts:
            decoder.feed(part)
        responses.append(decoder.finish())
    return responses


def with_both(delta: Any, message: Any, finish: str | None = None) -> dict[str, Any]:
    """A chunk whose choice has `delta` and `message`."""
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "message": message, "finish_reason": finish}]}


# a piece of a call, and more


@pytest.mark.parametrize("member", ["reasoning_content", "content", "reasoning"])
def test_thoughts_and_words_beside_a_piece_of_arguments_are_kept(member: str) -> None:
    rest = piece(0, None, None, ":1}")
    begun = [chunk(**{member: "One, "}), chunk(piece(0, "a", "f", '{"x"'))]
    kind = Text if member == "content" else Reasoning
    for response in fed(*begun, chunk(rest, **{member: "two."}), *ANSWERED):
        said, call = response.choices[0].blocks
        assert isinstance(said, kind)
        assert (said.text, call) == ("One, two.", CALL)


# members that a call has beside those of the wire


SIGNED = {"google": {"thought_signature": "SIG"}}
PLAIN_CALL = {
    "id": "a",
    "type": "function",
    "function": {"name": "f", "arguments": '{"x":1}', "weight": 2, "call_id": "c9"},
    "extra_content": SIGNED,
    "nothing": None,
}


def test_vendor_members_of_a_call_and_of_its_function_survive_plain_and_streamed() -> None:
    expected = ToolCall("a", "f", {"x": 1}, '{"x":1}', extra={"extra_content": SIGNED, "weight": 2, "call_id": "c9"})
    assert only(normalize(chat_body(PLAIN_CALL), "openai.chat")) == expected
    for response in fed(chunk({"index": 0, **PLAIN_CALL}), *ANSWERED):
        assert only(response) == expected


def test_vendor_members_that_come_in_any_piece_of_a_call_are_joined() -> None:
    head = piece(0, "a", "f", "", extra_content=None, one=1)
    rest = {"index": 0, "function": {"arguments": '{"x":1}', "weight": 2}, "extra_content": SIGNED}
    last = piece(0, None, None, "", extra_content=None)
    for response in fed(chunk(head), chunk(rest), chunk(last), *ANSWERED):
        assert only(response).extra == {"one": 1, "weight": 2, "extra_content": SIGNED}
        assert only(response).arguments == {"x": 1}


def test_vendor_members_of_a_custom_call_survive_plain_and_streamed() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "f", "input": "do", "weight": 2}, "extra_content": SIGNED}
    expected = ToolCall("a", "f", None, "do", kind="custom", extra={"extra_content": SIGNED, "weight": 2})
    assert only(normalize(chat_body(call), "openai.chat")) == expected
    for response in fed(chunk({"index": 0, **call}), *ANSWERED):
        assert only(response) == expected


# `message` and `delta` in one choice

SAYING = {"role": "assistant", "content": "Hi.", "tool_calls": [{"index": 0, **chat_call("a", "f", '{"x":1}')}]}
SILENT: list[Any] = [{}, {"role": "assistant"}, {"role": "assistant", "content": ""}, {"tool_calls": []}, None]


@pytest.mark.parametrize("silent", SILENT)
def test_of_message_and_delta_the_one_that_says_something_is_read(silent: Any) -> None:
    for first, second in ((SAYING, silent), (silent, SAYING)):
        body = with_both(first, second, "tool_calls")
        whole = normalize({"object": "chat.completion", **body}, "openai.chat")
        for response in (whole, *fed(body)):
            assert response.choices[0].blocks == [Text("Hi."), CALL]
            assert [ref.id for ref in select(response).kept] == ["a"]


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


def test_a_call_that_only_the_last_message_says_is_kept_beside_the_streamed_words() -> None:
    last = {"content": "Hello", "tool_calls": [chat_call("a", "f", '{"x":1}')]}
    for response in fed(with_both({"content": "Hello"}, None), with_both({}, last, "tool_calls")):
        assert response.choices[0].blocks == [Text("Hello"), CALL]


def test_pieces_that_come_as_message_are_pieces() -> None:
    words = [{"id": "c", "choices": [{"index": 0, "message": {"content": word}}]} for word in ("", "He", "llo")]
    for response in fed(*words, chunk(finish="stop")):
        assert response.choices[0].blocks == [Text("Hello")]


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


@pytest.mark.parametrize("other", [{"name": "f", "arguments": '{"x":2}'}, {"name": "g", "arguments": '{"x":1}'}])
def test_another_function_call_beside_tool_calls_is_another_call(other: dict[str, str]) -> None:
    response = normalize(chat_body(chat_call("a", "f", '{"x":1}'), function_call=other), "openai.chat")
    assert [(call.name, call.arguments_text, call.kind) for call in response.calls] == [
        ("f", '{"x":1}', "function"),
        (other["name"], other["arguments"], "legacy_function"),
    ]


def test_the_arguments_of_a_function_call_may_be_an_object_plain_and_streamed() -> None:
    legacy = {"name": "f", "arguments": {"x": 1}, "weight": 2}
    for response in (normalize(chat_body(function_call=legacy), "openai.chat"), *fed(chunk(function_call=legacy))):
        call = only(response)
        assert (call.name, call.arguments_text, call.kind, call.extra) == (
            "f",
            '{"x":1}',
            "legacy_function",
            {"weight": 2},
        )
        assert "arguments-respelled" in codes(response)


# choices


def test_choices_of_a_body_under_one_index_stay_apart() -> None:
    def choice(index: int | None, id: str) -> dict[str, Any]:
        given = {} if index is None else {"index": index}
        return {**given, "message": {"tool_calls": [chat_call(id, "f", "{}")]}, "finish_reason": "tool_calls"}

    given = [choice(0, "a"), choice(0, "b"), choice(1, "c"), choice(0, "d"), choice(None, "e")]
    response = normalize({"id": "r", "choices": given}, "openai.chat")
    assert [(c.index, [call.id for call in c.calls]) for c in response.choices] == [
        (0, ["a"]),
        (1, ["c"]),
        (4, ["e"]),
        (5, ["b"]),
        (6, ["d"]),
    ]
    assert [(f.code, f.choice) for f in response.findings] == [("index-reused", 5), ("index-reused", 6)]
    assert [(ref.choice, ref.id) for ref in select(response, choice=5).kept] == [(5, "b")]


def test_choices_without_an_index_are_told_apart_by_their_places() -> None:
    def two(first: str, second: str, finish: str | None = None) -> dict[str, Any]:
        choices = [{"delta": {"content": text}, "finish_reason": finish} for text in (first, second)]
        return {"id": "r", "choices": choices}

    for response in fed(two("A", "X"), two("B", "Y", "stop")):
        assert [(c.index, c.text, c.stop.reason) for c in response.choices] == [
            (0, "AB", "end_turn"),
            (1, "XY", "end_turn"),
        ]


# figures

FIGURES = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
OTHERS = {"prompt_tokens": 50, "completion_tokens": 70, "total_tokens": 120}


def test_figures_in_a_choice_or_in_x_groq_are_the_usage() -> None:
    in_choice = chunk(finish="stop")
    in_choice["choices"][0]["usage"] = FIGURES
    in_groq = chunk(finish="stop") | {"x_groq": {"id": "req", "usage": FIGURES}}
    for last in (in_choice, in_groq):
        plain = {**last, "object": "chat.completion"}
        for response in (normalize(plain, "openai.chat"), *fed(chunk(content="Hi."), last)):
            assert response.usage == Usage(5, 7, None, None, None, FIGURES)


def test_figures_at_the_top_outweigh_all_others_whenever_they_come() -> None:
    inner = chunk(finish="stop") | {"x_groq": {"usage": OTHERS}}
    inner["choices"][0]["usage"] = OTHERS
    top = {"id": "c", "choices": [], "usage": FIGURES}
    both = inner | {"usage": FIGURES, "object": "chat.completion"}
    responses = (*fed(chunk(content="Hi."), inner, top), *fed(chunk(content="Hi."), top, inner))
    for response in (normalize(both, "openai.chat"), *responses):
        assert response.usage == Usage(5, 7, None, None, None, FIGURES)


def test_figures_in_one_of_several_choices_are_the_usage() -> None:
    two = [{"index": n, "delta": {"content": "x"}, "finish_reason": "stop"} for n in (0, 1)]
    two[0]["usage"] = FIGURES
    for response in fed({"id": "c", "choices": two}):
        assert response.usage == Usage(5, 7, None, None, None, FIGURES)


def test_an_error_beside_figures_is_an_error() -> None:
    broken = {"id": "c", "error": {"type": "server_error", "message": "Down."}, "usage": FIGURES}
    for response in fed(chunk(piece(0, "a", "f", "{}")), broken, *ANSWERED):
        assert response.error is not None
        assert (response.error.message, response.complete, select(response).kept) == ("Down.", False, [])


# one chunk, alone


def test_a_chunk_alone_is_no_answer_until_it_says_how_it_ended() -> None:
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
    ("pieces", "arguments"),
    [
        (['{"', '{":1}'], {"{": 1}),
        (['{ "', '{ ":1}'], {"{ ": 1}),
        (['{"a":', '{"a":1}}'], {"a": {"a": 1}}),
        (['{"a":[', '{"a":[', "1]}]}"], {"a": [{"a": [1]}]}),
        (['{"all":[', '{"all":[', '{"all":[]}]}]}'], {"all": [{"all": [{"all": []}]}]}),
    ],
)
def test_arguments_whose_inside_begins_as_the_whole_does_are_joined(
    pieces: list[str], arguments: dict[str, Any]
) -> None:
    response = chat(piece(0, "a", "f", ""), *(piece(0, None, None, text) for text in pieces))
    assert only(response) == ToolCall("a", "f", arguments, "".join(pieces))
    assert codes(response) == ["arguments-disagree"]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 10, 12])
def test_snapshots_of_any_step_are_snapshots(size: int) -> None:
    text = '{"a":{"a":[1]},"{":"{\\"a\\":"}'
    shots = [text[:end] for end in range(size, len(text), size)] + [text]
    response = chat(piece(0, "a", "f", ""), *(piece(0, None, None, shot) for shot in shots))
    assert only(response) == ToolCall("a", "f", {"a": {"a": [1]}, "{": '{"a":'}, text)
    assert codes(response) == ["arguments-snapshot"]


# findings without end


def test_a_call_whose_id_or_index_changes_all_the_time_is_told_once() -> None:
    heads = [piece(0, "a0", "f", '{"x":"'), piece(0, "b0", "f", '{"x":"')]
    ids = [piece(0, f"a{n}", None, "x") for n in range(1, 300)]
    indexes = [piece(n, "b0", None, "x") for n in range(1, 300)]
    end = piece(0, None, None, '"}')
    for head, changing, code in ((heads[0], ids, "id-changed"), (heads[1], indexes, "index-changed")):
        tail = end if code == "id-changed" else piece(299, None, None, '"}')
        response = chat(head, *changing, tail)
        assert only(response).arguments == {"x": "x" * 299}
        assert codes(response) == [code]


def test_of_findings_without_end_the_last_tells_how_many_there_are() -> None:
    body = chat_body(chat_call("a", "f", "{}")) | {f"new_{number}": number for number in range(1000)}
    response = normalize(json.dumps(body).encode(), "openai.chat")
    assert codes(response) == ["unknown-member"] * 100
    assert response.findings[98].message == "unknown-member: $.new_98"
    assert response.findings[99].message == "unknown-member: 901 more"
    assert len(response.extra) == 1000


def test_a_hundred_findings_of_one_code_are_all_told() -> None:
    body = chat_body(chat_call("a", "f", "{}")) | {f"new_{number}": number for number in range(100)}
    response = normalize(json.dumps(body).encode(), "openai.chat")
    assert [f.message for f in response.findings] == [f"unknown-member: $.new_{number}" for number in range(100)]


def test_an_unknown_member_of_every_chunk_is_told_once() -> None:
    body = sse(*(chunk(content="x") | {"new_thing": number} for number in range(50)), chunk(finish="stop"))
    assert codes(decode_stream("openai.chat", body)) == ["unknown-member"]


@pytest.mark.parametrize("size", [1, 64, 4096])
def test_a_fingerprint_that_only_a_middle_chunk_tells_is_kept_wherever_the_bytes_are_cut(size: int) -> None:
    def told(content: str, **members: object) -> bytes:
        choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
        return (
            b"data: "
            + json.dumps({"id": "c", "choices": [choice], **members}, separators=(",", ":")).encode()
            + b"\n\n"
        )

    end = b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    decode_stream = told("a") + told("b") + told("c", system_fingerprint="fp_1") + told("d") + end
    decoder = StreamDecoder("openai.chat")
    for at in range(0, len(decode_stream), size):
        decoder.feed(decode_stream[at : at + size])
    response = decoder.finish()
    assert response.extra["system_fingerprint"] == "fp_1"
    assert response.text == "abcd"
