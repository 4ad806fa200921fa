"""How a tool has to be chosen, on its way to a wire that lacks the tool: a legal request, and the loss is reported."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.normalizer.history.conversations import PROVIDERS
from toolparity.normalizer.conversation import Message, Request, TextPart, ToolChoice, ToolDefinition, User
from toolparity.normalizer.requests import check_request, read_request, write_request

HOSTED = ToolDefinition("web_search", kind="hosted", wire="other", raw={"type": "web_search"})
OWN = ToolDefinition("f", parameters={"type": "object", "properties": {}})
ASKED: list[Message] = [User([TextPart("hi")])]
SILENT = {"hosted-tool", "param"}


def written(target: str, tools: list[ToolDefinition], choice: ToolChoice) -> tuple[Any, list[str]]:
    source = "xai.grpc" if target == "openai.chat" else "openai.chat"
    request = Request(source, "m", ASKED, tools, choice, params={"max_tokens": 99})
    encoded = write_request(request, target, provider=PROVIDERS[target])
    assert check_request(encoded.body, target, provider=PROVIDERS[target]) == []
    reported = [loss.code for loss in encoded.losses if loss.code not in SILENT]
    body = encoded.body
    if target == "bedrock.converse":
        return body.get("toolConfig", {}).get("toolChoice"), reported
    if isinstance(body, dict):
        calling = body.get("toolConfig", {}).get("functionCallingConfig")
        return (body.get("generation_config") or body).get("tool_choice", calling), reported
    return (body.tool_choice if body.HasField("tool_choice") else None), reported


@pytest.mark.parametrize("target", PROVIDERS)
@pytest.mark.parametrize("name", ["web_search", None])
def test_a_forced_tool_that_is_not_declared_leaves_the_choice_to_the_model(target: str, name: str | None) -> None:
    choice, reported = written(target, [HOSTED, OWN], ToolChoice("named", name))
    free: dict[str, Any] = {
        "anthropic.messages": {"type": "auto"},
        "google.gemini": {"mode": "AUTO"},
        "cohere.chat": None,
        "ollama.chat": None,
    }
    if target == "xai.grpc":
        assert choice.mode == 1
        assert choice.function_name == ""
    elif target == "bedrock.converse":
        assert choice == {"auto": {}}
    else:
        assert choice == free.get(target, "auto")
    assert reported == ["tool-choice"]


@pytest.mark.parametrize("target", PROVIDERS)
@pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("named", "web_search")], ids=["any", "one"])
def test_a_forced_choice_among_no_tools_is_left_out_and_told(target: str, choice: ToolChoice) -> None:
    assert written(target, [HOSTED], choice) == (None, ["tool-choice"])


@pytest.mark.parametrize("target", PROVIDERS)
def test_what_nobody_has_to_choose_is_no_loss_where_there_are_no_tools(target: str) -> None:
    assert written(target, [HOSTED], ToolChoice("auto")) == (None, [])


def test_a_choice_whose_tools_are_gone_is_left_out_on_its_own_wire() -> None:
    wrong: dict[Any, Any] = {}
    for wire, provider in {**PROVIDERS, "openai.chat": "openai"}.items():
        for choice in (ToolChoice("auto"), ToolChoice("required"), ToolChoice("named", "f")):
            source = Request("third", "m", ASKED, [OWN], choice, parallel=False, params={"max_tokens": 99})
            request = read_request(write_request(source, wire, provider=provider).body, wire, provider=provider)
            encoded = write_request(replace(request, tools=[]))
            forced = request.tool_choice is not None and request.tool_choice.mode in ("required", "named")
            reported = [loss.code for loss in encoded.losses]
            found = check_request(encoded.body, wire, provider=provider)
            if found or reported != ["tool-choice"] * forced:
                wrong[wire, choice.mode] = (found, reported)
    assert wrong == {}


def test_a_setting_that_a_provider_accepts_without_tools_stays() -> None:
    for provider, settings in {"xai": {"parallel_tool_calls": False}, "mistral": {"tool_choice": "auto"}}.items():
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **settings}
        assert write_request(read_request(body, "openai.chat", provider=provider)).body == body
