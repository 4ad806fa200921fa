"""Markup that leaked into the text, and entries of `tool_calls` without content, are reported."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from tests.normalizer.failures.test_textmode import answer
from tests.support.decoding import chat, codes, decoded, ran, shapes, triples
from tests.support.emit import emit_stream, scripted_call
from tests.support.events import chat_body, chat_call, chunk, cut, piece, sse
from toolparity import StreamDecoder, normalize
from toolparity.normalizer.textmode import TextReader, detect, read_response, read_stream, report

EMPTY: list[Any] = [
    {},
    None,
    {"id": "", "type": "function"},
    {"function": {}},
    {"function": None},
    {"function": {"name": "", "arguments": ""}},
    {"type": "function", "function": {"name": None, "arguments": None}},
    {"custom": {}},
    {"id": "a"},
    {"id": "a", "function": {"name": "", "arguments": ""}},
]
#: The findings that report such an entry.
REPORTED = {"nameless-call", "wrong-type"}


@pytest.mark.parametrize("entry", EMPTY, ids=json.dumps)
def test_an_empty_entry_is_reported_and_not_a_call(entry: Any) -> None:
    empty = [chat(chunk(tool_calls=[entry and place | entry]), finish="stop") for place in ({"index": 0}, {})]
    for response in (*empty, normalize(json.dumps(chat_body(entry, finish="stop")).encode(), "openai.chat")):
        assert response.calls == []
        assert REPORTED & set(codes(response))
        assert response.choices[0].stop.reason == "end_turn"
    streamed = chat(chunk(piece(0, "b", "f", '{"x":1}')), chunk(tool_calls=[entry and {"index": 1, **entry}]))
    plain = normalize(json.dumps(chat_body(chat_call("b", "f", '{"x":1}'), entry)).encode(), "openai.chat")
    for response in (streamed, plain):
        assert triples(response) == [("b", "f", {"x": 1})]
    assert codes(chat(piece(0, "a", "f", "{"), piece(0, arguments=""), piece(0, arguments="}"))) == []


BLOCK_WIRES = ["anthropic.messages", "bedrock.converse", "google.interactions", "cohere.chat"]


@pytest.mark.parametrize("wire", BLOCK_WIRES)
def test_two_calls_that_begin_under_one_index_do_not_run(wire: str) -> None:
    """Nothing shows which of them the arguments belong to, and whether the other one has any."""
    frames = emit_stream(wire, [scripted_call(('{"city":"Turin"}',))])
    other = emit_stream(wire, [scripted_call((), "call_b")])
    start = next(number for number, frame in enumerate(frames) if b"call_a" in frame)
    for number in (start, start + 1):
        response = decoded(wire, [*frames[:number], other[start], *frames[number:]])
        assert len(response.calls) == 2
        assert ran(response) == []
        assert "index-reused" in codes(response)


@pytest.mark.parametrize("pieces", [(), (" ",)])
@pytest.mark.parametrize("wire", BLOCK_WIRES)
def test_INC_31_a_call_without_arguments_and_end_does_not_run_if_its_tool_requires_some(
    wire: str, pieces: tuple[str, ...]
) -> None:
    """Failure INC-31. The other wires have no blocks that end, or never ran such a call."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "name": "lookup", "parameters": schema}
    lost = emit_stream(
        wire, [scripted_call(pieces, closed=False), scripted_call(('{"city":"Turin"}',), "call_b", closed=False)]
    )
    response = decoded(wire, lost, request={"tools": [tool]})
    assert [call.status for call in response.calls] == ["truncated", "complete"]
    assert ran(response) == ["call_b"]
    assert "arguments-missing" in codes(response)
    schema["required"] = []
    for request in ({"tools": [tool]}, None):
        response = decoded(wire, lost, request=request)
        assert ran(response) == ["call_a", "call_b"]
        assert codes(response).count("arguments-missing") == 1
    response = decoded(wire, emit_stream(wire, [scripted_call(())]), request=[tool])
    assert ran(response) == ["call_a"]
    assert "arguments-missing" not in codes(response)


# gpt-oss: Harmony, by the documented format and as servers were seen to leak it


ARGUMENTS = '{"location":"San Francisco"}'
ANALYSIS = "<|channel|>analysis<|message|>Need to use function get_weather.<|end|>"
#: Headers in all their forms; the arguments and ``<|call|>`` follow.
HEADERS = [
    "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.get_weather json<|message|>",
    "<|channel|>commentary to=functions.get_weather<|message|>",
    "<|channel|>commentary to=functions.get_weather\n<|constrain|>json\n<|message|>",
    "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>",
    "<|start|>assistant to=functions.get_weather<|channel|>commentary<|constrain|>json<|message|>",
    "<|start|>assistant<|channel|>analysis to=functions.get_weather code<|message|>\n",
    "<|channel|>commentary to=get_weather <|constrain|>json<|message|>",
    " to=functions.get_weather<|channel|>commentary json<|message|>",
]
CALL = [("get_weather", {"location": "San Francisco"}, "complete")]


@pytest.mark.parametrize("header", HEADERS)
def test_a_leaked_harmony_call_is_reported_and_can_be_read(header: str) -> None:
    for before, end in product(["", ANALYSIS, "Let me look. "], ["<|call|>", "<|end|>", ""]):
        text = f"{before}{header}{ARGUMENTS}{end}"
        messages = [finding.message for finding in report(answer(text)).findings if finding.code == "leaked-markup"]
        assert [message.partition(":")[0] for message in messages] == ["harmony"]
        for dialect in ("harmony", None):
            assert shapes(read_response(answer(text), dialect)) == CALL
    text = f"{ANALYSIS}{header}{ARGUMENTS}<|call|>{HEADERS[0]}{ARGUMENTS}<|call|>"
    for size in (1, 3, 1000):
        body = sse(*(chunk(content=part) for part in cut(text, size)), chunk(finish="stop"), done=True)
        response = read_stream([body], TextReader("harmony", StreamDecoder("openai.chat"), limit=None))
        assert shapes(response) == CALL + CALL
        assert response.choices[0].blocks == read_response(answer(text), "harmony", limit=None).choices[0].blocks


@pytest.mark.parametrize(
    "text",
    [
        "<|start|>assistant<|channel|>final<|message|>2 + 2 = 4.<|return|>",
        ANALYSIS,
        "<|start|>functions.f to=assistant<|channel|>commentary<|message|>{}<|end|>",
        "Call it with to=functions.f, as they write.",
        f"The format is `{HEADERS[0]}{ARGUMENTS}<|call|>`.",
        f"```\n{HEADERS[0]}{ARGUMENTS}<|call|>\n```",
    ],
)
def test_harmony_text_that_is_not_a_call_is_not_reported(text: str) -> None:
    assert detect(text) == []
    assert read_response(answer(text), "harmony").calls == []


def test_a_harmony_call_without_an_object_never_runs_and_one_without_special_tokens_is_reported() -> None:
    for given in ("print(1)", '{"a":', "[1]"):
        (call,) = read_response(answer(f"{HEADERS[0]}{given}<|call|>"), "harmony").calls
        assert (call.status == "complete", call.arguments) == (False, None)
    leaks = detect(f"assistantcommentary to=functions.get_weather json{ARGUMENTS}")
    assert [leak.dialect for leak in leaks] == ["harmony"]
