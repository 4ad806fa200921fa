"""Failures of class results: what a tool returned arrives as something else, or not at all."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.normalizer.failures.back import (
    PROVIDERS,
    WIRES,
    call,
    codes,
    respond,
    results,
    said,
    tool_result,
    user,
    written,
)
from tests.normalizer.history.views import of_kind
from tests.normalizer.history.views import results as answered
from tests.support.wires import OBJECT_WIRES
from toolparity import select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import JsonPart, MediaPart, Message, TextPart, ToolResult
from toolparity.normalizer.requests import check_request, read_request

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
_PAIRS = pytest.mark.parametrize(("source", "target"), list(itertools.product(WIRES, WIRES)))


def every_pair(test: Any) -> Any:
    """Run a test for every pair of wires, in the plain run for two sources of each target."""
    return pytest.mark.thorough(keep=2, per="{target}")(_PAIRS(test))


PICTURE = "iVBORw0KGgo="


def round_with(wire: str, result: ToolResult) -> list[Message]:
    """A round whose one call returned this."""
    return [user(), said(call("a"), wire=wire), results(result)]


@every_pair
def test_RES_03_an_image_in_a_result_is_sent_as_an_image(source: str, target: str) -> None:
    shown = ToolResult("a", [TextPart("see"), MediaPart("image", "image/png", data=PICTURE)], plain=False)
    encoded = written(round_with(source, shown), source, target)
    ((id, text),) = answered(target, encoded.body)
    assert id == "a"
    assert text.startswith("see")
    assert PICTURE not in text
    (media,) = of_kind(target, encoded.body, "media")
    assert PICTURE in media.text
    inside = target in (*OBJECT_WIRES, "openai.responses")
    if target == "ollama.chat":
        assert codes(encoded) == ["order"]  # a message has its images apart from its text
    elif inside:
        assert codes(encoded) == []
    elif source != target or target == "xai.grpc":
        assert codes(encoded) in (["media"], ["order"])


def test_RES_03_each_wire_encodes_an_image_in_its_own_form() -> None:
    shown = ToolResult("a", [TextPart("see"), MediaPart("image", "image/png", data=PICTURE)], plain=False)
    url = f"data:image/png;base64,{PICTURE}"
    claude = written(round_with("openai.chat", shown), "openai.chat", "anthropic.messages").body
    assert claude["messages"][2]["content"][0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
    ]
    output = written(round_with("openai.chat", shown), "openai.chat", "openai.responses").body["input"][-1]["output"]
    assert output == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": url, "detail": "auto"},
    ]
    chat = written(round_with("anthropic.messages", shown), "anthropic.messages", "openai.chat").body["messages"]
    assert [message["role"] for message in chat] == ["user", "assistant", "tool", "user"]
    assert isinstance(chat[2]["content"], str)
    assert chat[3]["content"][-1] == {"type": "image_url", "image_url": {"url": url}}


#: The wires with a flag for failed results.
FLAGGED = ("anthropic.messages", "bedrock.converse", "google.gemini", "google.interactions")


@every_pair
def test_RES_01_a_failed_result_is_marked_as_failed_on_every_wire(source: str, target: str) -> None:
    encoded = written(round_with(source, tool_result("a", "boom", is_error=True)), source, target)
    (result,) = of_kind(target, encoded.body, "result")
    assert "boom" in result.text
    assert result.failed is (target in FLAGGED)
    if target in ("openai.chat", "xai.grpc"):
        assert result.text == "[tool_error] boom"


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", ["openai.chat", "anthropic.messages", "xai.grpc", "bedrock.converse"])
@pytest.mark.parametrize("text", ["boom", "", "[tool_error] boom", "[tool_ok] [tool_error] boom"])
@pytest.mark.parametrize("failed", [True, False])
def test_RES_01_the_error_flag_and_the_text_of_a_result_round_trip(wire: str, text: str, failed: bool) -> None:
    result = ToolResult("a", [TextPart(text)], is_error=failed)
    body = written(round_with(wire, result), wire).body
    result_read = read_request(body, wire, provider=PROVIDERS[wire]).messages[2].results[0]  # type: ignore[union-attr]
    assert result_read.is_error is failed
    text_read = "".join(part.text for part in result_read.parts)  # type: ignore[union-attr]
    assert text_read == (text or ("The tool failed and said nothing." if wire in OBJECT_WIRES and failed else ""))


@EVERY_WIRE
def test_RES_07_an_exception_becomes_one_failed_result_on_every_wire(wire: str) -> None:
    response = respond(call("a"), wire=wire)
    encoded = written([user(), *answer(response, select(response), {"a": ValueError("too hot")})], wire)
    (result,) = of_kind(wire, encoded.body, "result")
    assert "ValueError: too hot" in result.text
    assert result.failed is (wire in FLAGGED)


def test_XAI_01_every_tool_message_names_its_call_and_they_are_in_call_order() -> None:
    turns = [user(), said(call("a"), call("b"), wire="xai.grpc"), results(tool_result("b", "2"), tool_result("a", "1"))]
    body = written(turns, "xai.grpc").body
    assert [(m.tool_call_id, m.content[0].text) for m in body.messages[2:]] == [("a", "1"), ("b", "2")]


def test_XAI_01_tool_messages_without_an_id_are_paired_by_position() -> None:
    made = [
        {"id": id, "type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL", "function": {"name": "f", "arguments": "{}"}}
        for id in "ab"
    ]
    messages = [
        {"role": "ROLE_USER", "content": [{"text": "hi"}]},
        {"role": "ROLE_ASSISTANT", "content": [{"text": ""}], "tool_calls": made},
        {"role": "ROLE_TOOL", "content": [{"text": "1"}]},
        {"role": "ROLE_TOOL", "content": [{"text": "2"}]},
    ]
    turns = read_request({"model": "m", "messages": messages}, "xai.grpc").messages
    assert turns[2] == results(tool_result("a", "1"), tool_result("b", "2"))
    assert answered("xai.grpc", written(turns, "xai.grpc").body) == [("a", "1"), ("b", "2")]


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("source", WIRES)
@pytest.mark.parametrize("provider", ["openai", "groq", "fireworks", "mistral"])
def test_RES_02_a_tool_message_has_only_members_that_strict_servers_accept(source: str, provider: str) -> None:
    result = tool_result(
        "a", "boom", is_error=True, name="f", wire_id="fc_1", extra={"cache_control": {"type": "ephemeral"}}
    )
    turns = round_with(source, result)
    if source == "openai.chat":
        turns[2] = results(tool_result("a", "boom", is_error=True, name="f", wire_id="fc_1"))
    body = written(turns, source, "openai.chat", provider=provider).body
    id = body["messages"][1]["tool_calls"][0]["id"]
    assert body["messages"][2] == {"role": "tool", "tool_call_id": id, "content": "[tool_error] boom"}


@every_pair
@pytest.mark.parametrize("outcome", ["", None])
@pytest.mark.parametrize("failed", [False, True])
def test_BED_02_an_empty_result_is_legal(source: str, target: str, outcome: Any, failed: bool) -> None:
    response = respond(call("a"), wire=source)
    turns = [
        user(),
        *answer(response, select(response), {"a": ToolResult("a", [], is_error=failed) if failed else outcome}),
    ]
    encoded = written(turns, source, target)
    ((id, text),) = answered(target, encoded.body)
    assert id == "a"
    assert bool(text) is (failed and target != "google.gemini")  # there, a member of the result marks an error


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("source", WIRES)
@pytest.mark.parametrize(
    "result", [ToolResult("a", []), ToolResult("a", [TextPart("")]), ToolResult("a", [], plain=False)]
)
def test_RES_05_an_empty_output_is_still_sent(source: str, result: ToolResult) -> None:
    encoded = written(round_with(source, result), source, "openai.responses")
    assert encoded.body["input"][-1] == {"type": "function_call_output", "call_id": "a", "output": ""}
    bare = {"type": "function_call_output", "call_id": "a"}
    made = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    broken = check_request({"model": "m", "input": [made, bare]}, "openai.responses", provider="openai")
    assert "output-present" in [violation.rule for violation in broken]


@every_pair
def test_RES_03_values_are_sent_as_json_text(source: str, target: str) -> None:
    given = {"b": [1, None], "a": "ü"}
    encoded = written(round_with(source, ToolResult("a", [JsonPart(given)])), source, target)
    ((_, text),) = answered(target, encoded.body)
    assert text == json.dumps(given, separators=(",", ":"), ensure_ascii=False)
