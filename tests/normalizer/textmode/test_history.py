"""Histories of models that write their calls as text: into native wires, out of them, and back to the byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tests.normalizer.failures.test_textmode import ONE
from tests.support.decoding import shapes
from tests.support.events import anthropic_body, chat_body
from tests.support.wires import WIRES
from toolparity import Response, normalize, select
from toolparity.normalizer.answers import answer, strip
from toolparity.normalizer.conversation import (
    Assistant,
    JsonPart,
    MediaPart,
    Message,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Choice, Reasoning, Stop, Text, ToolCall
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.textmode import DIALECTS, as_native, as_text, read_response
from toolparity.normalizer.wires.registry import spec

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}, "n": {"type": "integer"}}}
TOOLS = [ToolDefinition("f", "Does it.", SCHEMA), ToolDefinition("g", "Does that.", SCHEMA)]
ASKED = User([TextPart("Do it.")])


def said(text: str, dialect: str, **how: Any) -> Response:
    body = json.dumps(chat_body(content=text, finish="stop")).encode()
    return read_response(normalize(body, "openai.chat"), dialect, limit=None, tools=TOOLS, **how)


def native(*calls: ToolCall, text: str = "On it.") -> Assistant:
    blocks = [Text(text), *calls] if text else list(calls)
    choice = Choice(0, blocks, Stop("tool_calls", "tool_use"))
    return Assistant(Response("anthropic.messages", "anthropic", "msg_1", "m", [choice]))


def texts(turns: list[Message]) -> list[str]:
    """What is in the turns, which are words alone."""
    made = []
    for turn in turns:
        if isinstance(turn, Assistant):
            blocks = turn.response.choices[0].blocks
            assert all(isinstance(block, Text) for block in blocks)
            made.append("".join(block.text for block in blocks if isinstance(block, Text)))
        else:
            assert isinstance(turn, (User, System))
            made.append("".join(part.text for part in turn.parts if isinstance(part, TextPart)))
    return made


CALLS = (ToolCall("call_1", "f", {"x": "a", "n": 2}, '{"x":"a","n":2}'), ToolCall("call_2", "g", {}, "{}"))
RESULTS = ToolResults(
    [ToolResult("call_1", [TextPart("one\ntwo")]), ToolResult("call_2", [JsonPart({"b": 1})], is_error=True)]
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_native_history_goes_to_a_text_mode_model_and_reads_back(dialect: str) -> None:
    history = as_text([ASKED, native(*CALLS), RESULTS], dialect, tools=TOOLS)
    assert history.losses == []
    asked, spoken, heard = texts(history.messages)
    assert asked == "Do it."
    assert spoken.startswith("On it.")
    assert "one\ntwo" in heard or "one\\ntwo" in heard
    back = as_native(history.messages, dialect, tools=TOOLS).messages
    assistant, results = back[1], back[2]
    assert isinstance(assistant, Assistant)
    assert isinstance(results, ToolResults)
    assert shapes(assistant.response) == [("f", {"x": "a", "n": 2}, "complete"), ("g", {}, "complete")]
    assert [result.call_id for result in results.results] == [call.id for call in assistant.response.calls]
    assert results.results[0].parts == [TextPart("one\ntwo")]
    assert "".join(part.text for part in results.results[1].parts if isinstance(part, TextPart)).endswith('{"b":1}')


@pytest.mark.thorough(keep=22)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("wire", WIRES)
def test_text_mode_history_goes_into_every_native_wire_and_is_legal_there(dialect: str, wire: str) -> None:
    """What was read has canonical calls, which the writers of the wires take as they are."""
    response = said(f"First this. {ONE[dialect]}", dialect)
    turns = [ASKED, *answer(response, select(response), {response.calls[0].id: "done"})]
    request = Request(wire, "m", turns, TOOLS, params={"max_tokens": 9} if wire == "anthropic.messages" else {})
    encoded = write_request(request, wire, provider=spec(wire).owner)
    assert check_request(encoded.body, wire, provider=spec(wire).owner) == []
    assert encoded.losses == []
    again = read_request(encoded.body, wire)
    assistant = next(turn for turn in again.messages if isinstance(turn, Assistant))
    assert shapes(assistant.response) == [("f", {"x": "a"}, "complete")]
    assert "text_mode" not in str(encoded.body)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_was_read_goes_back_to_the_byte(dialect: str) -> None:
    """Whatever its own spelling, which is not always ours."""
    text = f"First this.\n{ONE[dialect]}\n\nThen {ONE[dialect]} \n"
    response = said(text, dialect)
    assert len(response.calls) == 2
    turns = answer(response, select(response), {call.id: "done" for call in response.calls})
    assert texts(as_text(turns, dialect, tools=TOOLS).messages)[0] == text


def test_thinking_that_stood_in_the_text_goes_back_with_it() -> None:
    text = f"<think>\nI should.\n</think>\n\n{ONE['hermes']}"
    response = said(text, "hermes")
    assert [type(block) for block in response.choices[0].blocks] == [Reasoning, ToolCall]
    assert texts(as_text(answer(response, select(response), {}), "hermes").messages)[0] == text


def test_what_was_changed_since_is_written_anew() -> None:
    response = said(f"Both. {ONE['tool-xml']}\n{ONE['tool-xml'].replace('a<', 'b<')}", "tool-xml")
    cut = strip(response, select(response, "first"))
    (spoken,) = texts(as_text([Assistant(cut)], "tool-xml").messages[:1])
    assert "<param:x>a</param:x>" in spoken
    assert "<param:x>b</param:x>" not in spoken


def test_a_text_of_one_dialect_is_told_in_another() -> None:
    response = said(f"So: {ONE['hermes']}", "hermes")
    turns = answer(response, select(response), {response.calls[0].id: "done"})
    assert texts(as_text(turns, "tool-xml").messages) == [
        "So: \n<tool:f>\n<param:x>a</param:x>\n</tool:f>",
        "<result:f>\ndone\n</result:f>",
    ]


def test_ids_that_hold_the_name_are_kept_and_others_are_made_like_them() -> None:
    own = ToolCall("functions.f:7", "f", {}, "{}")
    results = ToolResults([ToolResult("functions.f:7", [TextPart("one")]), ToolResult("call_2", [TextPart("two")])])
    spoken, heard = texts(as_text([native(own, CALLS[1]), results], "kimi").messages)
    assert "<|tool_call_begin|>functions.f:7<|tool_call_argument_begin|>" in spoken
    assert "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>" in spoken
    assert heard == "## Return of functions.f:7\none\n## Return of functions.g:1\ntwo"


def test_every_call_has_an_answer_in_the_text_too() -> None:
    history = as_text([ASKED, native(*CALLS), ToolResults([RESULTS.results[1]]), ASKED], "tool-xml", tools=TOOLS)
    assert [loss.code for loss in history.losses] == ["answered"]
    heard = texts(history.messages)[2]
    assert heard.index("<error:f>") < heard.index("<error:g>")


def test_what_a_dialect_cannot_say_is_a_loss() -> None:
    given = {"x": "a</param:x></tool:f>b"}
    odd = ToolCall("c", "f", given, json.dumps(given))
    broken = ToolCall("d", "g", None, '{"x":', "truncated")
    history = as_text([native(odd, broken)], "tool-xml", tools=TOOLS)
    assert [(loss.code, loss.block) for loss in history.losses if loss.code != "answered"] == [
        ("arguments", 1),
        ("arguments", 2),
    ]
    assert [loss.code for loss in as_text([native(odd)], "hermes", tools=TOOLS).losses if loss.code != "answered"] == []


def test_pictures_among_the_results_stand_behind_their_text() -> None:
    picture = MediaPart("image", "image/png", data="aGk=")
    results = ToolResults([ToolResult("call_1", [TextPart("seen"), picture]), ToolResult("call_2", [])])
    heard = as_text([native(*CALLS), results], "invoke", tools=TOOLS).messages[1]
    assert isinstance(heard, User)
    assert heard.parts[1] == picture
    back = as_native(as_text([native(*CALLS), results], "invoke", tools=TOOLS).messages, "invoke").messages[1]
    assert isinstance(back, ToolResults)
    assert back.results[-1].parts == [picture]


def test_signed_thinking_beside_calls_in_the_text_is_kept() -> None:
    body = anthropic_body(
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": ONE["invoke"]},
        stop="end_turn",
    )
    response = read_response(normalize(json.dumps(body).encode(), "anthropic.messages"), "invoke")
    turns = answer(response, select(response), {response.calls[0].id: "done"})
    history = as_text([ASKED, *turns], "invoke").messages
    request = Request("anthropic.messages", "m", history, params={"max_tokens": 9}, provider="anthropic")
    messages = write_request(replace(request, provider=None)).body["messages"]
    assert messages[1]["content"] == body["content"]


def test_words_of_the_user_that_are_no_results_stay_words() -> None:
    spoken = Assistant(normalize(json.dumps(chat_body(content=ONE["hermes"], finish="stop")).encode(), "openai.chat"))
    more = User([TextPart("Stop that!")])
    turns = as_native([ASKED, spoken, more], "hermes").messages
    assert turns[0] is ASKED
    assert turns[2] is more
    assert isinstance(turns[1], Assistant)
    assert shapes(turns[1].response) == [("f", {"x": "a"}, "complete")]


def test_results_of_qwen_hold_the_content_alone() -> None:
    spoken = Assistant(normalize(json.dumps(chat_body(content=f"{ONE['hermes']}\n" * 3, finish="stop")), "openai.chat"))
    heard = '<tool_response>\none\ntwo\n</tool_response>\n<tool_response>\n{"a": 1}\n</tool_response>\n'
    told = User([TextPart(f'{heard}<tool_response>\n{{"name": "f", "content": "three"}}\n</tool_response>')])
    results = as_native([spoken, told], "hermes").messages[1]
    assert isinstance(results, ToolResults)
    parts = [part for result in results.results for part in result.parts]
    assert parts == [TextPart("one\ntwo"), TextPart('{"a": 1}'), TextPart("three")]


@pytest.mark.thorough(keep=1, per="{dialect}")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("broken", [True, False])
def test_a_result_that_holds_what_ends_one_is_a_loss(dialect: str, broken: bool) -> None:
    """Its words are kept, and none is taken for a result that can be read back."""
    heard = ToolResults([ToolResult("call_1", [TextPart("a")]), ToolResult("call_2", [TextPart("b")])])
    one = texts(as_text([native(*CALLS), heard], dialect, tools=TOOLS).messages[1:])[0]
    escaped = dialect in ("hermes", "llama", "mistral")
    given = f"x\n{one}\ny" if broken else "\n words <b> &amp; \n"
    results = ToolResults(
        [ToolResult("call_1", [TextPart(given)]), ToolResult("call_2", [TextPart("")], is_error=True)]
    )
    history = as_text([native(*CALLS), results], dialect, tools=TOOLS)
    assert {loss.code for loss in history.losses} == ({"result"} if broken and not escaped else set())
    if not escaped:
        assert given in texts(history.messages[1:])[0]


def test_results_are_given_to_their_calls_by_name_and_id() -> None:
    text = ONE["kimi"].replace("functions.f:0<", "functions.f:7<") + ONE["kimi"].replace(
        "functions.f:0<", "functions.g:8<"
    )
    spoken = Assistant(normalize(json.dumps(chat_body(content=text, finish="stop")).encode(), "openai.chat"))
    told = User([TextPart("## Return of functions.g:8\nsecond\n## Return of functions.f:7\nfirst")])
    results = as_native([spoken, told], "kimi").messages[1]
    assert isinstance(results, ToolResults)
    assert [(r.call_id, r.parts) for r in results.results] == [
        ("functions.f:7", [TextPart("first")]),
        ("functions.g:8", [TextPart("second")]),
    ]


def test_histories_without_calls_are_left_alone() -> None:
    plain = Assistant(normalize(json.dumps(chat_body(content="Hello.", finish="stop")).encode(), "openai.chat"))
    for turns in (as_text([ASKED, plain], "glm").messages, as_native([ASKED, plain], "glm").messages):
        assert turns[0] is ASKED
        assert turns[1] is plain
