"""Failures of class tool-choice: how the model may choose is turned into something else on the way."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.normalizer.failures.back import PROVIDERS, WIRES, codes, request, user
from toolparity.normalizer.conversation import ToolChoice
from toolparity.normalizer.requests import check_request, read_request, write_request

MODES = [ToolChoice("auto"), ToolChoice("none"), ToolChoice("required"), ToolChoice("named", "f")]
SPELLED: dict[str, list[Any]] = {
    "openai.chat": ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}],
    "openai.responses": ["auto", "none", "required", {"type": "function", "name": "f"}],
    "anthropic.messages": [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "f"}],
    "cohere.chat": [None, "NONE", "REQUIRED", "REQUIRED"],  # it cannot force one tool
    "google.interactions": ["auto", "none", "any", {"allowed_tools": {"mode": "any", "tools": ["f"]}}],
}
CONVERSE: list[Any] = [{"auto": {}}, None, {"any": {}}, {"tool": {"name": "f"}}]
GEMINI = [{"mode": "AUTO"}, {"mode": "NONE"}, {"mode": "ANY"}, {"mode": "ANY", "allowedFunctionNames": ["f"]}]
XAI = [("mode", 1), ("mode", 2), ("mode", 3), ("function_name", "f")]


@pytest.mark.thorough(keep=1, per="{target}/{number}")
@pytest.mark.parametrize(("source", "target"), list(itertools.product(WIRES, WIRES)))
@pytest.mark.parametrize("number", range(4), ids=[choice.mode for choice in MODES])
def test_TC_01_every_tool_choice_mode_is_translated_to_every_wire(source: str, target: str, number: int) -> None:
    params = {"max_tokens": 100} if target == "anthropic.messages" else {}
    source_request = request([user()], source, tool_choice=MODES[number], params=params)
    encoded = write_request(source_request, target, provider=PROVIDERS[target])
    if target == "ollama.chat":  # it has no tool choice
        assert "tool_choice" not in encoded.body
        assert codes(encoded) == ["tool-choice"] * (MODES[number].mode != "auto")
        return
    if target == "xai.grpc":
        field = encoded.body.tool_choice.WhichOneof("tool_choice")
        assert (field, getattr(encoded.body.tool_choice, field)) == XAI[number]
    elif target == "bedrock.converse":
        assert encoded.body.get("toolConfig", {}).get("toolChoice") == CONVERSE[number]
        if MODES[number].mode == "none":  # there is no such mode, and without a tool none can be called
            assert ("toolConfig" in encoded.body, codes(encoded)) == (False, ["tool-choice"])
            return
    elif target == "google.gemini":
        assert encoded.body["toolConfig"] == {"functionCallingConfig": GEMINI[number]}
    else:
        holder = encoded.body["generation_config"] if target == "google.interactions" else encoded.body
        assert holder.get("tool_choice") == SPELLED[target][number]
    if target == "cohere.chat":
        assert codes(encoded) == ["tool-choice"] * (MODES[number].mode == "named")
        return
    assert codes(encoded) == []
    read = read_request(encoded.body, target, provider=PROVIDERS[target])
    assert read.tool_choice is not None
    assert (read.tool_choice.mode, read.tool_choice.name) == (MODES[number].mode, MODES[number].name)


@pytest.mark.parametrize("target", WIRES)
def test_TC_01_a_tool_choice_that_the_target_lacks_is_reported(target: str) -> None:
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}
    source = "openai.responses" if target == "openai.chat" else "openai.chat"
    params = {"max_tokens": 100} if target == "anthropic.messages" else {}
    source_request = request([user()], source, tool_choice=ToolChoice("raw", raw=allowed), params=params)
    assert codes(write_request(source_request, target, provider=PROVIDERS[target])) == ["tool-choice"]


def test_TC_01_a_forced_choice_with_thinking_violates_a_request_rule() -> None:
    more = {"model": "claude-opus-4-1", "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    for choice, broken in (({"type": "any"}, True), ({"type": "tool", "name": "f"}, True), ({"type": "auto"}, False)):
        body = write_request(request([user()], "anthropic.messages")).body | more | {"tool_choice": choice}
        rules = [violation.rule for violation in check_request(body, "anthropic.messages", provider="anthropic")]
        assert ("claude-forced-choice-with-budget" in rules) is broken
