"""A choice of a tool, on its way to a wire without the tool: the request is legal, and the loss is reported."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.normalizer.history.conversations import PROVIDERS, user
from toolparity.normalizer.conversation import Request, ToolChoice, ToolDefinition
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, read_request, write_request

HOSTED = ToolDefinition("web_search", kind="hosted", wire="other", raw={"type": "web_search"})
OWN = ToolDefinition("f", parameters={"type": "object", "properties": {}})
#: The written choice that leaves the choice to the model, if it is not "auto".
FREE: dict[str, Any] = {"anthropic.messages": {"type": "auto"}, "google.gemini": {"mode": "AUTO"}, "cohere.chat": None}
FREE |= {"ollama.chat": None, "bedrock.converse": {"auto": {}}, "xai.grpc": (1, "")}


def written(target: Wire, tools: list[ToolDefinition], choice: ToolChoice) -> tuple[Any, list[str]]:
    """Return the choice in the body, and the losses that concern it."""
    source = "xai.grpc" if target == "openai.chat" else "openai.chat"
    request = Request(source, "m", [user()], tools, choice, params={"max_tokens": 99})
    encoded = write_request(request, target, provider=PROVIDERS[target])
    assert check_request(encoded.body, target, provider=PROVIDERS[target]) == []
    reported = [loss.code for loss in encoded.losses if loss.code not in ("hosted-tool", "param")]
    body = encoded.body
    if target == "xai.grpc":
        chosen = (body.tool_choice.mode, body.tool_choice.function_name) if body.HasField("tool_choice") else None
    elif target == "bedrock.converse":
        chosen = body.get("toolConfig", {}).get("toolChoice")
    else:
        calling = body.get("toolConfig", {}).get("functionCallingConfig")
        chosen = (body.get("generation_config") or body).get("tool_choice", calling)
    return chosen, reported


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("target", PROVIDERS)
def test_a_forced_tool_that_is_not_declared_leaves_the_choice_to_the_model(target: Wire) -> None:
    for name in ("web_search", None):
        choice = ToolChoice("named", name)
        assert written(target, [HOSTED, OWN], choice) == (FREE.get(target, "auto"), ["tool-choice"])


@pytest.mark.parametrize("target", PROVIDERS)
def test_a_choice_among_no_tools_is_left_out_and_reported_if_it_was_forced(target: Wire) -> None:
    for choice in (ToolChoice("required"), ToolChoice("named", "web_search")):
        assert written(target, [HOSTED], choice) == (None, ["tool-choice"])
    assert written(target, [HOSTED], ToolChoice("auto")) == (None, [])


def test_a_choice_without_its_tools_is_left_out_on_its_own_wire() -> None:
    wrong: dict[Any, Any] = {}
    for wire, provider in PROVIDERS.items():
        for choice in (ToolChoice("auto"), ToolChoice("required"), ToolChoice("named", "f")):
            source = Request("third", "m", [user()], [OWN], choice, parallel=False, params={"max_tokens": 99})
            request = read_request(write_request(source, wire, provider=provider).body, wire, provider=provider)
            encoded = write_request(replace(request, tools=[]))
            forced = request.tool_choice is not None and request.tool_choice.mode in ("required", "named")
            reported = [loss.code for loss in encoded.losses]
            found = check_request(encoded.body, wire, provider=provider)
            if found or reported != ["tool-choice"] * forced:
                wrong[wire, choice.mode] = (found, reported)
    assert wrong == {}


def test_a_setting_that_a_provider_accepts_without_tools_remains() -> None:
    accepted: dict[str, dict[str, Any]] = {"xai": {"parallel_tool_calls": False}, "mistral": {"tool_choice": "auto"}}
    for provider, settings in accepted.items():
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **settings}
        assert write_request(read_request(body, "openai.chat", provider=provider)).body == body
