"""Failures of class tool-choice: how the model may choose is turned into something else on the way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.failures.conversations import EVERY_WIRE, PROVIDERS, WIRES, codes, request, user
from toolparity.normalizer.conversation import ToolChoice
from toolparity.normalizer.requests import check_request, read_request, write_request

MODES = [ToolChoice("auto"), ToolChoice("none"), ToolChoice("required"), ToolChoice("named", "f")]
GEMINI = [{"mode": "AUTO"}, {"mode": "NONE"}, {"mode": "ANY"}, {"mode": "ANY", "allowedFunctionNames": ["f"]}]
#: Wire -> the choice in each mode; None where it is left out. cohere_chat cannot force one tool.
WRITTEN: dict[str, list[Any]] = {
    "openai.chat": ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}],
    "openai.responses": ["auto", "none", "required", {"type": "function", "name": "f"}],
    "anthropic.messages": [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "f"}],
    "cohere.chat": [None, "NONE", "REQUIRED", "REQUIRED"],
    "google.interactions": ["auto", "none", "any", {"allowed_tools": {"mode": "any", "tools": ["f"]}}],
    "google.gemini": [{"functionCallingConfig": mode} for mode in GEMINI],
    "bedrock.converse": [{"auto": {}}, None, {"any": {}}, {"tool": {"name": "f"}}],
    "xai.grpc": [("mode", 1), ("mode", 2), ("mode", 3), ("function_name", "f")],
    "ollama.chat": [None] * 4,
}
#: The modes that a wire lacks. Without a tool none can be called.
LACKING = {"ollama.chat": ("none", "required", "named"), "cohere.chat": ("named",), "bedrock.converse": ("none",)}


def choice_in(wire: str, body: Any) -> Any:
    """The tool choice of a request."""
    if wire == "xai.grpc":
        field = body.tool_choice.WhichOneof("tool_choice")
        return field, getattr(body.tool_choice, field)
    if wire == "bedrock.converse":
        return body.get("toolConfig", {}).get("toolChoice")
    if wire == "google.gemini":
        return body["toolConfig"]
    return (body["generation_config"] if wire == "google.interactions" else body).get("tool_choice")


@pytest.mark.parametrize("number", range(4), ids=[choice.mode for choice in MODES])
@EVERY_WIRE
def test_TC_01_every_tool_choice_mode_is_translated_to_every_wire(wire: str, number: int) -> None:
    choice = MODES[number]
    params = {"max_tokens": 100} if wire == "anthropic.messages" else {}
    for source in WIRES:
        asked = request([user()], source, tool_choice=choice, params=params)
        encoded = write_request(asked, wire, provider=PROVIDERS[wire])
        assert choice_in(wire, encoded.body) == WRITTEN[wire][number]
        is_lacking = choice.mode in LACKING.get(wire, ())
        assert codes(encoded) == ["tool-choice"] * is_lacking
        if WRITTEN[wire][number] is None:
            assert "toolConfig" not in encoded.body
        elif not is_lacking:
            read = read_request(encoded.body, wire, provider=PROVIDERS[wire]).tool_choice
            assert read is not None
            assert (read.mode, read.name) == (choice.mode, choice.name)


@EVERY_WIRE
def test_TC_01_a_tool_choice_that_the_target_lacks_is_reported(wire: str) -> None:
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}
    source = "openai.responses" if wire == "openai.chat" else "openai.chat"
    params = {"max_tokens": 100} if wire == "anthropic.messages" else {}
    asked = request([user()], source, tool_choice=ToolChoice("raw", raw=allowed), params=params)
    assert codes(write_request(asked, wire, provider=PROVIDERS[wire])) == ["tool-choice"]


def test_TC_01_a_forced_choice_with_thinking_violates_a_request_rule() -> None:
    more = {"model": "claude-opus-4-1", "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    for choice, broken in (({"type": "any"}, True), ({"type": "tool", "name": "f"}, True), ({"type": "auto"}, False)):
        body = write_request(request([user()], "anthropic.messages")).body | more | {"tool_choice": choice}
        rules = [violation.rule for violation in check_request(body, "anthropic.messages", provider="anthropic")]
        assert ("claude-forced-choice-with-budget" in rules) is broken
