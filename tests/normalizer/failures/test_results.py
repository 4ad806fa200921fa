"""Failures of class results: the result of a tool arrives as something else, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.normalizer.failures.conversations import (
    EVERY_WIRE,
    PROVIDERS,
    WIRES,
    assistant,
    call,
    codes,
    every_pair,
    respond,
    results,
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
from toolparity.normalizer.requests import read_request

PICTURE = "iVBORw0KGgo="
SHOWN = ToolResult("a", [TextPart("see"), MediaPart("image", "image/png", data=PICTURE)], plain=False)
#: The wires with a flag for failed results.
FLAGGED = ("anthropic.messages", "bedrock.converse", "google.gemini", "google.interactions")


def round_with(wire: str, result: ToolResult) -> list[Message]:
    """A round whose one call has this result."""
    return [user(), assistant(call("a"), wire=wire), results(result)]


@every_pair
def test_RES_03_images_and_values_in_a_result_arrive_as_such(source: str, target: str) -> None:
    encoded = written(round_with(source, SHOWN), source, target)
    ((id, text),) = answered(target, encoded.body)
    assert (id, text.startswith("see"), PICTURE in text) == ("a", True, False)
    (media,) = of_kind(target, encoded.body, "media")
    assert PICTURE in media.text
    if target == "ollama.chat":
        assert codes(encoded) == ["order"]  # a message has its images apart from its text
    elif target in (*OBJECT_WIRES, "openai.responses"):
        assert codes(encoded) == []
    elif source != target or target == "xai.grpc":
        assert codes(encoded) in (["media"], ["order"])
    given = {"b": [1, None], "a": "ü"}
    body = written(round_with(source, ToolResult("a", [JsonPart(given)])), source, target).body
    assert answered(target, body) == [("a", json.dumps(given, separators=(",", ":"), ensure_ascii=False))]


@every_pair
def test_RES_01_a_failed_result_is_marked_as_failed_on_every_wire(source: str, target: str) -> None:
    body = written(round_with(source, tool_result("a", "boom", is_error=True)), source, target).body
    (result,) = of_kind(target, body, "result")
    assert ("boom" in result.text, result.failed) == (True, target in FLAGGED)
    if target in ("openai.chat", "xai.grpc"):
        assert result.text == "[tool_error] boom"


@pytest.mark.parametrize("wire", ["openai.chat", "anthropic.messages", "xai.grpc", "bedrock.converse"])
@pytest.mark.parametrize("failed", [True, False])
def test_RES_01_the_error_flag_and_the_text_of_a_result_round_trip(wire: str, failed: bool) -> None:
    for text in ("boom", "", "[tool_error] boom", "[tool_ok] [tool_error] boom"):
        body = written(round_with(wire, ToolResult("a", [TextPart(text)], is_error=failed)), wire).body
        back = read_request(body, wire, provider=PROVIDERS[wire]).messages[2].results[0]  # type: ignore[union-attr]
        assert back.is_error is failed
        placeholder = "The tool failed and said nothing." if wire in OBJECT_WIRES and failed else ""
        assert "".join(part.text for part in back.parts) == (text or placeholder)  # type: ignore[union-attr]


@EVERY_WIRE
def test_RES_07_an_exception_becomes_one_failed_result_on_every_wire(wire: str) -> None:
    response = respond(call("a"), wire=wire)
    body = written([user(), *answer(response, select(response), {"a": ValueError("too hot")})], wire).body
    (result,) = of_kind(wire, body, "result")
    assert ("ValueError: too hot" in result.text, result.failed) == (True, wire in FLAGGED)


def test_XAI_01_tool_messages_of_xai_are_in_call_order_and_paired_by_position_without_ids() -> None:
    kind, function = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL", {"name": "f", "arguments": "{}"}
    messages = [
        {"role": "ROLE_USER", "content": [{"text": "hi"}]},
        {
            "role": "ROLE_ASSISTANT",
            "content": [{"text": ""}],
            "tool_calls": [{"id": id, "type": kind, "function": function} for id in "ab"],
        },
        *({"role": "ROLE_TOOL", "content": [{"text": text}]} for text in "12"),
    ]
    turns = read_request({"model": "m", "messages": messages}, "xai.grpc").messages
    assert turns[2] == results(tool_result("a", "1"), tool_result("b", "2"))
    for given in (turns, [*turns[:2], results(tool_result("b", "2"), tool_result("a", "1"))]):
        body = written(given, "xai.grpc").body
        assert [(m.tool_call_id, m.content[0].text) for m in body.messages[2:]] == [("a", "1"), ("b", "2")]


@pytest.mark.parametrize("provider", ["openai", "groq", "fireworks", "mistral"])
def test_RES_02_a_tool_message_has_only_members_that_strict_servers_accept(provider: str) -> None:
    for source in WIRES:
        more: dict[str, Any] = {} if source == "openai.chat" else {"extra": {"cache_control": {"type": "ephemeral"}}}
        result = tool_result("a", "boom", is_error=True, name="f", wire_id="fc_1", **more)
        messages = written(round_with(source, result), source, "openai.chat", provider=provider).body["messages"]
        id = messages[1]["tool_calls"][0]["id"]
        assert messages[2] == {"role": "tool", "tool_call_id": id, "content": "[tool_error] boom"}


@every_pair
def test_BED_02_an_empty_result_is_legal(source: str, target: str) -> None:
    response = respond(call("a"), wire=source)
    outcomes: list[Any] = ["", None, ToolResult("a", [], is_error=True)]
    for outcome in outcomes:
        turns = [user(), *answer(response, select(response), {"a": outcome})]
        ((id, text),) = answered(target, written(turns, source, target).body)
        assert id == "a"
        assert bool(text) is (
            bool(outcome) and target != "google.gemini"
        )  # there, a member of the result marks an error


@pytest.mark.parametrize("source", WIRES)
def test_RES_05_an_empty_output_is_still_sent(source: str) -> None:
    for result in (ToolResult("a", []), ToolResult("a", [TextPart("")]), ToolResult("a", [], plain=False)):
        body = written(round_with(source, result), source, "openai.responses").body
        assert body["input"][-1] == {"type": "function_call_output", "call_id": "a", "output": ""}
