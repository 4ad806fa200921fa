"""The format of the response means the same on all wires that have one, and arrives there."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.conversation import Encoded
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, read_request, write_request

Body = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"x": {"type": ["string", "null"]}}, "required": ["x"]}
NATIVE = {"type": "OBJECT", "properties": {"x": {"type": "STRING", "nullable": True}}, "required": ["x"]}
CHAT: Body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
GEMINI: Body = {"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
INPUT: Body = {"model": "m", "input": "hi"}
JSON = "application/json"
NAMED = {"type": "json_schema", "json_schema": {"name": "response", "schema": SCHEMA}}
TEXT = {"type": "text", "mime_type": JSON}
#: For each wire: its request, and its members for a response by the schema, and for any JSON.
FORMATS: dict[str, tuple[Body, Body, Body]] = {
    "openai.chat": (CHAT, {"response_format": NAMED}, {"response_format": {"type": "json_object"}}),
    "google.gemini": (
        GEMINI,
        {"generationConfig": {"responseMimeType": JSON, "responseJsonSchema": SCHEMA}},
        {"generationConfig": {"responseMimeType": JSON}},
    ),
    "google.interactions": (INPUT, {"response_format": {**TEXT, "schema": SCHEMA}}, {"response_format": TEXT}),
    "ollama.chat": (CHAT, {"format": SCHEMA}, {"format": "json"}),
    "cohere.chat": (
        CHAT,
        {"response_format": {"type": "json_object", "json_schema": SCHEMA}},
        {"response_format": {"type": "json_object"}},
    ),
}


def written(body: Body, wire: Wire, target: Wire) -> Encoded:
    encoded = write_request(read_request(body, wire), target)
    assert check_request(encoded.body, target) == []
    return encoded


def losses(encoded: Encoded) -> list[str]:
    return [f"{loss.code}: {loss.message}" for loss in encoded.losses if loss.code != "model"]


def format_of(body: Body) -> Body:
    return {name: body[name] for name in ("response_format", "generationConfig", "format") if name in body}


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("wire", FORMATS)
def test_a_format_arrives(wire: Wire, target: Wire) -> None:
    request, *formats = FORMATS[wire]
    for given, expected in zip(formats, FORMATS[target][1:], strict=True):
        assert format_of(written({**request, **given}, wire, target).body) == expected


@pytest.mark.parametrize("target", FORMATS)
def test_a_schema_loses_nothing_but_its_name(target: Wire) -> None:
    own = target == "openai.chat"
    lost = [] if own else ["param: response_format: left out: json_schema.name"]
    assert losses(written({**CHAT, "response_format": NAMED}, "openai.chat", target)) == lost
    added = ["default: the schema of the response was named response, because it has to have a name"] if own else []
    assert losses(written({**CHAT, **FORMATS["cohere.chat"][1]}, "cohere.chat", target)) == added


def test_a_schema_in_the_form_of_gemini_becomes_json_schema() -> None:
    config = {"responseMimeType": JSON, "responseSchema": NATIVE}
    encoded = written({**GEMINI, "generationConfig": config}, "google.gemini", "cohere.chat")
    assert encoded.body["response_format"] == {"type": "json_object", "json_schema": SCHEMA}
    assert losses(encoded) == []


def test_an_effort_is_a_thinking_level_on_both_wires_of_google() -> None:
    config = {"thinkingConfig": {"thinkingLevel": "LOW"}}
    given: Body = {**INPUT, "generation_config": {"thinking_level": "low"}}
    other = written({**GEMINI, "generationConfig": config}, "google.gemini", "google.interactions")
    back = written(given, "google.interactions", "google.gemini")
    assert (other.body["generation_config"], other.losses) == (given["generation_config"], [])
    assert (back.body["generationConfig"], back.losses) == (config, [])
