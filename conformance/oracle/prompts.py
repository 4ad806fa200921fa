"""Request bodies for the scenarios that hold response bodies: the user message and the declared tools.

They are built without the normalizer, because the suite tests the normalizer's request writer with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolparity.cassettes.scripts import OfferedTool, ScenarioFile
from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer import json_codec

_Json = dict[str, Any]


def request_body(scenario: ScenarioFile, surface: Surface, *, stream: bool) -> _Json:
    """Return the request body as JSON.

    For `xai.grpc` it is the message in protobuf's JSON form with the proto field names.
    """
    body = _WIRES[surface.wire](scenario, surface)
    if stream and surface.wire != "xai.grpc":
        body["stream"] = True
    return body


def _chat(scenario: ScenarioFile, surface: Surface) -> _Json:
    body: _Json = {"model": surface.model, "messages": [{"role": "user", "content": scenario.ask}]}
    if scenario.tools:
        body["tools"] = [
            {"type": "custom", "custom": _named(offer)}
            if offer.kind == "custom"
            else {"type": "function", "function": {**_named(offer), "parameters": offer.parameters}}
            for offer in scenario.tools
        ]
    return body


def _responses(scenario: ScenarioFile, surface: Surface) -> _Json:
    body: _Json = {"model": surface.model, "input": [{"role": "user", "content": scenario.ask}]}
    if scenario.tools:
        body["tools"] = [
            {"type": "custom", **_named(offer)}
            if offer.kind == "custom"
            else {"type": "function", **_named(offer), "parameters": offer.parameters, "strict": False}
            for offer in scenario.tools
        ]
    return body


def _messages(scenario: ScenarioFile, surface: Surface) -> _Json:
    body: _Json = {"model": surface.model, "max_tokens": 4096}
    body["messages"] = [{"role": "user", "content": scenario.ask}]
    if scenario.tools:
        body["tools"] = [{**_named(offer), "input_schema": offer.parameters} for offer in scenario.tools]
    return body


def _grpc(scenario: ScenarioFile, surface: Surface) -> _Json:
    body: _Json = {"model": surface.model}
    body["messages"] = [{"role": "ROLE_USER", "content": [{"text": scenario.ask}]}]
    if scenario.tools:
        body["tools"] = [
            {"function": {**_named(offer), "parameters": json_codec.text(offer.parameters)}} for offer in scenario.tools
        ]
    return body


def _named(offer: OfferedTool) -> _Json:
    return {"name": offer.name, "description": offer.description}


_WIRES: dict[str, Callable[[ScenarioFile, Surface], _Json]] = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic.messages": _messages,
    "xai.grpc": _grpc,
}
