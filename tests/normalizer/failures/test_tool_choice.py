"""Failures of class tool-choice: another choice is sent than the caller made."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.normalizer.failures.conversations import EVERY_WIRE, PROVIDERS, WIRES, codes, request, user
from toolparity.normalizer.conversation import Request, ToolChoice, ToolDefinition
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
        return field and (field, getattr(body.tool_choice, field))
    if wire == "bedrock.converse":
        return body.get("toolConfig", {}).get("toolChoice")
    if wire == "google.gemini":
        return body.get("toolConfig")
    return body.get("generation_config", body).get("tool_choice")


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


HOSTED = ToolDefinition("web_search", kind="hosted", wire="other", raw={"type": "web_search"})
OWN = ToolDefinition("f", parameters={"type": "object", "properties": {}})


@EVERY_WIRE
def test_TC_01_a_choice_that_the_target_lacks_or_of_a_missing_tool_is_free_and_reported(wire: Any) -> None:
    source = "openai.responses" if wire == "openai.chat" else "openai.chat"
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}
    for tools, choice, is_free, lost in (
        ([OWN], ToolChoice("raw", raw=allowed), wire != "openai.chat", ["tool-choice"]),
        *(([HOSTED, OWN], ToolChoice("named", name), True, ["tool-choice"]) for name in ("web_search", None)),
        ([HOSTED], ToolChoice("required"), False, ["tool-choice"]),
        ([HOSTED], ToolChoice("named", "web_search"), False, ["tool-choice"]),
        ([HOSTED], ToolChoice("auto"), False, []),
    ):
        asked = replace(request([user()], source, tool_choice=choice, params={"max_tokens": 99}), tools=tools)
        encoded = write_request(asked, wire, provider=PROVIDERS[wire])
        assert choice_in(wire, encoded.body) == (WRITTEN[wire][0] if is_free else None)
        assert [code for code in codes(encoded) if code not in ("hosted-tool", "param")] == lost
        assert check_request(encoded.body, wire, provider=PROVIDERS[wire]) == []


def test_a_choice_without_its_tools_is_left_out_on_its_own_wire() -> None:
    wrong: dict[Any, Any] = {}
    for wire, provider in PROVIDERS.items():
        for choice in (ToolChoice("auto"), ToolChoice("required"), ToolChoice("named", "f")):
            source = Request("third", "m", [user()], [OWN], choice, parallel=False, params={"max_tokens": 99})
            asked = read_request(write_request(source, wire, provider=provider).body, wire, provider=provider)
            encoded = write_request(replace(asked, tools=[]))
            forced = asked.tool_choice is not None and asked.tool_choice.mode in ("required", "named")
            found = check_request(encoded.body, wire, provider=provider)
            if found or codes(encoded) != ["tool-choice"] * forced:
                wrong[wire, choice.mode] = (found, codes(encoded))
    assert wrong == {}


def test_a_setting_that_a_provider_accepts_without_tools_remains() -> None:
    accepted: dict[str, dict[str, Any]] = {"xai": {"parallel_tool_calls": False}, "mistral": {"tool_choice": "auto"}}
    for provider, settings in accepted.items():
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **settings}
        assert write_request(read_request(body, "openai.chat", provider=provider)).body == body


def test_TC_01_a_forced_choice_with_thinking_violates_a_request_rule() -> None:
    more = {"model": "claude-opus-4-1", "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    for choice, broken in (({"type": "any"}, True), ({"type": "tool", "name": "f"}, True), ({"type": "auto"}, False)):
        body = write_request(request([user()], "anthropic.messages")).body | more | {"tool_choice": choice}
        rules = [violation.rule for violation in check_request(body, "anthropic.messages", provider="anthropic")]
        assert ("claude-forced-choice-with-budget" in rules) is broken
