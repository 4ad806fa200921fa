"""Histories of models that write their calls as text: to native wires, from them, and back unchanged."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from tests.normalizer.failures.test_textmode import ONE
from tests.normalizer.failures.test_textmode import answer as spoken_answer
from tests.support.decoding import shapes
from tests.support.events import anthropic_body
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
from toolparity.normalizer.model import Block, Choice, Reasoning, Stop, Text, ToolCall, Wire
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.textmode import DIALECTS, as_native, as_text, read_response
from toolparity.normalizer.wires.registry import spec

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}, "n": {"type": "integer"}}}
TOOLS = [ToolDefinition("f", "Does it.", SCHEMA), ToolDefinition("g", "Does that.", SCHEMA)]
ASKED = User([TextPart("Do it.")])


def spoken(text: str) -> Assistant:
    return Assistant(spoken_answer(text))


def read(text: str, dialect: str) -> Response:
    return read_response(spoken(text).response, dialect, limit=None, tools=TOOLS)


def native(*calls: ToolCall, text: str = "On it.") -> Assistant:
    blocks: list[Block] = [Text(text), *calls] if text else [*calls]
    choice = Choice(0, blocks, Stop("tool_calls", "tool_use"))
    return Assistant(Response("anthropic.messages", "anthropic", "msg_1", "m", [choice]))


def texts(turns: list[Message]) -> list[str]:
    """Return the text of each turn. The turns have nothing else."""
    found = []
    for turn in turns:
        if isinstance(turn, Assistant):
            blocks = turn.response.choices[0].blocks
            assert all(isinstance(block, Text) for block in blocks)
            found.append(turn.response.text)
        else:
            assert isinstance(turn, (User, System))
            found.append("".join(part.text for part in turn.parts if isinstance(part, TextPart)))
    return found


CALLS = (ToolCall("call_1", "f", {"x": "a", "n": 2}, '{"x":"a","n":2}'), ToolCall("call_2", "g", {}, "{}"))
RESULTS = ToolResults(
    [ToolResult("call_1", [TextPart("one\ntwo")]), ToolResult("call_2", [JsonPart({"b": 1})], is_error=True)]
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_native_history_is_written_as_text_and_read_back(dialect: str) -> None:
    history = as_text([ASKED, native(*CALLS), RESULTS], dialect, tools=TOOLS)
    assert history.losses == []
    asked, written, results_text = texts(history.messages)
    assert asked == "Do it."
    assert written.startswith("On it.")
    assert "one\ntwo" in results_text or "one\\ntwo" in results_text
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
def test_a_history_whose_calls_were_read_is_legal_on_every_wire(dialect: str, wire: Wire) -> None:
    response = read(f"First this. {ONE[dialect]}", dialect)
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
def test_a_text_goes_back_unchanged_after_its_calls_were_read(dialect: str) -> None:
    thought = f"<think>\nI should.\n</think>\n\n{ONE[dialect]}"
    for text, kinds in (
        (f"First this.\n{ONE[dialect]}\n\nThen {ONE[dialect]} \n", [Text, ToolCall, Text, ToolCall, Text]),
        (thought, [Reasoning, ToolCall]),
    ):
        response = read(text, dialect)
        assert [call.name for call in response.calls] == ["f"] * kinds.count(ToolCall)
        assert (type(response.choices[0].blocks[0]) is Reasoning) == (text is thought)
        turns = answer(response, select(response), {call.id: "done" for call in response.calls})
        assert texts(as_text(turns, dialect, tools=TOOLS).messages)[0] == text


def test_a_changed_message_is_written_again_in_its_dialect_or_in_another() -> None:
    response = read(f"Both. {ONE['tool-xml']}\n{ONE['tool-xml'].replace('a<', 'b<')}", "tool-xml")
    cut = strip(response, select(response, "first"))
    (text,) = texts(as_text([Assistant(cut)], "tool-xml").messages[:1])
    assert "<param:x>a</param:x>" in text
    assert "<param:x>b</param:x>" not in text
    response = read(f"So: {ONE['hermes']}", "hermes")
    turns = answer(response, select(response), {response.calls[0].id: "done"})
    assert texts(as_text(turns, "tool-xml").messages) == [
        "So: \n<tool:f>\n<param:x>a</param:x>\n</tool:f>",
        "<result:f>\ndone\n</result:f>",
    ]


def test_ids_that_contain_the_name_are_kept_and_others_get_the_same_form() -> None:
    own = ToolCall("functions.f:7", "f", {}, "{}")
    results = ToolResults([ToolResult("functions.f:7", [TextPart("one")]), ToolResult("call_2", [TextPart("two")])])
    written, results_text = texts(as_text([native(own, CALLS[1]), results], "kimi").messages)
    assert "<|tool_call_begin|>functions.f:7<|tool_call_argument_begin|>" in written
    assert "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>" in written
    assert results_text == "## Return of functions.f:7\none\n## Return of functions.g:1\ntwo"


def test_every_call_gets_a_result_in_the_text() -> None:
    history = as_text([ASKED, native(*CALLS), ToolResults([RESULTS.results[1]]), ASKED], "tool-xml", tools=TOOLS)
    assert [loss.code for loss in history.losses] == ["answered"]
    results = texts(history.messages)[2]
    assert results.index("<error:f>") < results.index("<error:g>")


def test_arguments_that_a_dialect_cannot_represent_are_reported() -> None:
    given = {"x": "a</param:x></tool:f>b"}
    closing = ToolCall("c", "f", given, json.dumps(given))
    broken = ToolCall("d", "g", None, '{"x":', "truncated")

    def lost(dialect: str, *calls: ToolCall) -> list[tuple[str, int | None]]:
        losses = as_text([native(*calls)], dialect, tools=TOOLS).losses
        return [(loss.code, loss.block) for loss in losses if loss.code != "answered"]

    assert lost("tool-xml", closing, broken) == [("arguments", 1), ("arguments", 2)]
    assert lost("hermes", closing) == []


def test_images_of_results_follow_their_text() -> None:
    picture = MediaPart("image", "image/png", data="aGk=")
    results = ToolResults([ToolResult("call_1", [TextPart("seen"), picture]), ToolResult("call_2", [])])
    history = as_text([native(*CALLS), results], "invoke", tools=TOOLS).messages
    assert isinstance(history[1], User)
    assert history[1].parts[1] == picture
    back = as_native(history, "invoke").messages[1]
    assert isinstance(back, ToolResults)
    assert back.results[-1].parts == [picture]


def test_signed_thinking_is_kept_beside_calls_in_the_text() -> None:
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


def test_results_of_qwen_contain_only_the_content() -> None:
    contents = ("one\ntwo", '{"a": 1}', '{"name": "f", "content": "three"}')
    user = User([TextPart("\n".join(f"<tool_response>\n{text}\n</tool_response>" for text in contents))])
    results = as_native([spoken(f"{ONE['hermes']}\n" * 3), user], "hermes").messages[1]
    assert isinstance(results, ToolResults)
    parts = [part for result in results.results for part in result.parts]
    assert parts == [TextPart("one\ntwo"), TextPart('{"a": 1}'), TextPart("three")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_with_the_closing_tag_of_results_is_kept_and_reported(dialect: str) -> None:
    plain = ToolResults([ToolResult("call_1", [TextPart("a")]), ToolResult("call_2", [TextPart("b")])])
    one = texts(as_text([native(*CALLS), plain], dialect, tools=TOOLS).messages[1:])[0]
    escaped = dialect in ("hermes", "llama", "mistral")
    for given, lost in ((f"x\n{one}\ny", set() if escaped else {"result"}), ("\n words <b> &amp; \n", set())):
        failed = ToolResult("call_2", [TextPart("")], is_error=True)
        results = ToolResults([ToolResult("call_1", [TextPart(given)]), failed])
        history = as_text([native(*CALLS), results], dialect, tools=TOOLS)
        assert {loss.code for loss in history.losses} == lost
        assert escaped or given in texts(history.messages[1:])[0]


def test_results_belong_to_the_calls_with_their_name_and_id() -> None:
    text = "".join(ONE["kimi"].replace("functions.f:0<", f"{id}<") for id in ("functions.f:7", "functions.g:8"))
    user = User([TextPart("## Return of functions.g:8\nsecond\n## Return of functions.f:7\nfirst")])
    results = as_native([spoken(text), user], "kimi").messages[1]
    assert isinstance(results, ToolResults)
    assert [(result.call_id, result.parts) for result in results.results] == [
        ("functions.f:7", [TextPart("first")]),
        ("functions.g:8", [TextPart("second")]),
    ]


def test_messages_without_calls_and_results_are_the_same_objects() -> None:
    turns: list[Message] = [ASKED, spoken("Hello.")]
    for history in (as_text(turns, "glm").messages, as_native(turns, "glm").messages):
        assert all(after is before for after, before in zip(history, turns, strict=True))
    more = User([TextPart("Stop that!")])
    history = as_native([ASKED, spoken(ONE["hermes"]), more], "hermes").messages
    assert (history[0] is ASKED, history[2] is more) == (True, True)
    assert isinstance(history[1], Assistant)
    assert shapes(history[1].response) == [("f", {"x": "a"}, "complete")]
