"""Losses are reported: of results, names, limits and models. For each member see `test_every_member.py`."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.protobuf.json_format import MessageToDict

from tests.support.wires import WIRES
from toolparity import Choice, Response, ToolCall
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    OpaquePart,
    Request,
    TextPart,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Stop, Wire
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.model_owners import vendor_of, vendors
from toolparity.normalizer.wires.registry import spec

#: A request of each wire with nearly every documented member.
REQUESTS: dict[Wire, Any] = json.loads(Path(__file__).with_name("full_requests.json").read_text("utf-8"))
PROVIDERS = {wire: spec(wire).owner for wire in WIRES}


def written(body: dict[str, Any], source: Wire, target: Wire) -> tuple[Any, list[str]]:
    """Return the target's body and the losses."""
    request = read_request(body, source, provider=PROVIDERS[source])
    encoded: Encoded = write_request(request, target, provider=PROVIDERS[target])
    result = encoded.body
    if target == "xai.grpc":
        result = MessageToDict(result, preserving_proto_field_name=True)
    return result, sorted(f"{loss.code}: {loss.message}" for loss in encoded.losses)


def test_a_request_goes_back_to_its_provider_without_a_loss() -> None:
    assert REQUESTS.keys() == set(WIRES)
    for wire, request in REQUESTS.items():
        assert written(request, wire, wire)[1] == [], wire


def codes(encoded: Encoded) -> list[str]:
    return [loss.code for loss in encoded.losses]


def answered(kind: str, parts: list[Any], is_error: bool = False) -> Encoded:
    """Write a call of a kind of tool and its result on the Responses API."""
    call = ToolCall("call_1", kind, {"goal": "x"}, '{"goal":"x"}', kind=kind)
    turn = Assistant(Response("openai.responses", "openai", "r", "m", [Choice(0, [call], Stop("tool_calls"))]))
    results = ToolResults([ToolResult("call_1", parts, is_error, kind=kind)])
    request = Request("openai.responses", "m", [User([TextPart("Go.")]), turn, results], provider="openai")
    return write_request(request, provider="openai")


@pytest.mark.parametrize("is_error", [False, True])
def test_the_text_result_of_a_tool_search_follows_in_a_message(is_error: bool) -> None:
    encoded = answered("tool_search", [TextPart("no such tool")], is_error)
    assert codes(encoded) == ["order"]
    output, note = encoded.body["input"][-2:]
    assert (output["type"], output["call_id"], output["tools"]) == ("tool_search_output", "call_1", [])
    assert (note["role"], note["content"]) == ("user", "[tool_error] no such tool" if is_error else "no such tool")
    assert check_request(encoded.body, "openai.responses", provider="openai") == []


def test_tools_returned_by_a_tool_search_become_its_output() -> None:
    tools = [{"type": "function", "name": "found", "parameters": {}}]
    encoded = answered("tool_search", [JsonPart(tools)])
    assert (encoded.body["input"][-1]["tools"], codes(encoded)) == (tools, [])


def test_media_in_a_text_only_output_are_reported() -> None:
    media = [MediaPart("image", url="https://x.test/a.png"), OpaquePart("video", {})]
    for kind in ("apply_patch", "local_shell", "shell", "tool_search"):
        assert {"media", "opaque"} <= set(codes(answered(kind, media))), kind


def test_the_phase_of_a_message_is_reported() -> None:
    for target in ("openai.chat", "anthropic.messages", "xai.grpc"):
        _, found = written(REQUESTS["openai.responses"], "openai.responses", target)
        assert any(loss.startswith("extra:") and "phase" in loss for loss in found), target


@pytest.mark.thorough(keep=1, per="{target}")
@pytest.mark.parametrize("source", ["openai.chat", "xai.grpc"])
@pytest.mark.parametrize("target", REQUESTS)
def test_a_name_of_a_result_that_is_not_the_name_of_its_tool_is_reported(source: Wire, target: Wire) -> None:
    arrived = []
    names: list[dict[str, str]] = [{}, {"name": "weather"}, {"name": "thermometer"}]
    for name in names:
        body = copy.deepcopy(REQUESTS[source])
        for message in body["messages"]:
            message.pop("name", None)
            if message.get("tool_call_id") == "call_1":
                message.update(name)
        arrived.append(written(body, source, target))
    (_, unnamed), (_, same_name), (result, other_name) = arrived
    if target == source:
        assert "thermometer" in str(result)
        assert other_name == []
    else:
        assert len(same_name) == len(unnamed) < len(other_name)


def test_a_default_token_limit_is_reported() -> None:
    request = Request("openai.chat", "claude-opus-4-5", [User([TextPart("Go.")])], provider="openai")
    encoded = write_request(request, "anthropic.messages", provider="anthropic")
    assert encoded.body["max_tokens"] > 0
    assert codes(encoded) == ["default"]
    limited = msgspec.structs.replace(request, params={"max_tokens": 9})
    assert codes(write_request(limited, "anthropic.messages", provider="anthropic")) == []


def test_one_of_two_different_token_limits_is_reported() -> None:
    for target in WIRES:
        source = "openai.chat" if target != "openai.chat" else "openai.responses"
        other = "max_completion_tokens" if source == "openai.chat" else "max_output_tokens"
        for limit, lost in ((200, ["param"]), (100, [])):
            params = {"max_tokens": 100, other: limit}
            assert codes(write_request(Request(source, None, [User([TextPart("Go.")])], params=params), target)) == lost


MODELS = {
    "openai": "gpt-4o o3-mini o1 openai/gpt-5",
    "anthropic": "claude-sonnet-4-5",
    "xai": "grok-4",
    "google": "models/gemini-2.5-pro",
    "deepseek": "deepseek-chat",
    "mistral": "mistral-large-latest codestral-2501 pixtral-12b",
    "cohere": "command-r",
    "bedrock": "us.amazon.nova-pro-v1:0",
    None: "my-model glm-4.6 olmo-3",
}


@pytest.mark.parametrize("target", REQUESTS)
def test_a_model_of_another_provider_is_reported(target: Wire) -> None:
    assert MODELS.keys() - {None} == set(vendors())
    source = "openai.chat" if target != "openai.chat" else "openai.responses"
    hosts_any = PROVIDERS[target] not in vendors()  # Ollama's library has models of all of them
    for owner, models in MODELS.items():
        for model in models.split():
            assert vendor_of(model) == owner
            request = Request(source, model, [User([TextPart("Go.")])], params={"max_tokens": 100})
            lost = owner is not None and owner != PROVIDERS[target] and not hosts_any
            assert codes(write_request(request, target, provider=PROVIDERS[target])) == ["model"] * lost, model
