"""The format of the response means the same on all wires that have one, and arrives there."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.conversation import Encoded
from toolparity.normalizer.requests import check_request, read_request, write_request

SCHEMA = {"type": "object", "properties": {"x": {"type": ["string", "null"]}}, "required": ["x"]}
NATIVE = {"type": "OBJECT", "properties": {"x": {"type": "STRING", "nullable": True}}, "required": ["x"]}
TURNS: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
GEMINI: dict[str, Any] = {"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
JSON = "application/json"
NAMED = {"type": "json_schema", "json_schema": {"name": "response", "schema": SCHEMA}}
#: For each wire: a request for a response by the schema, and one for any JSON.
ASKED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "openai.chat": ({**TURNS, "response_format": NAMED}, {**TURNS, "response_format": {"type": "json_object"}}),
    "google.gemini": (
        {**GEMINI, "generationConfig": {"responseMimeType": JSON, "responseJsonSchema": SCHEMA}},
        {**GEMINI, "generationConfig": {"responseMimeType": JSON}},
    ),
    "google.interactions": (
        {"model": "m", "input": "hi", "response_format": {"type": "text", "mime_type": JSON, "schema": SCHEMA}},
        {"model": "m", "input": "hi", "response_format": {"type": "text", "mime_type": JSON}},
    ),
    "ollama.chat": ({**TURNS, "format": SCHEMA}, {**TURNS, "format": "json"}),
    "cohere.chat": (
        {**TURNS, "response_format": {"type": "json_object", "json_schema": SCHEMA}},
        {**TURNS, "response_format": {"type": "json_object"}},
    ),
}
MEMBERS = ("response_format", "generationConfig", "format")


def written(body: dict[str, Any], wire: str, target: str) -> Encoded:
    encoded = write_request(read_request(body, wire), target)
    assert check_request(encoded.body, target) == []
    return encoded


def told(encoded: Encoded) -> list[str]:
    return [f"{loss.code}: {loss.message}" for loss in encoded.losses if loss.code != "model"]


def format_of(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in MEMBERS if name in body}


@pytest.mark.parametrize("target", ASKED)
@pytest.mark.parametrize("wire", ASKED)
def test_a_format_arrives(wire: str, target: str) -> None:
    for body, expected in zip(ASKED[wire], ASKED[target], strict=True):
        assert format_of(written(body, wire, target).body) == format_of(expected)


@pytest.mark.parametrize("target", ASKED)
def test_a_schema_loses_nothing_but_its_name(target: str) -> None:
    own = target == "openai.chat"
    lost = [] if own else ["param: response_format: left out: json_schema.name"]
    assert told(written(ASKED["openai.chat"][0], "openai.chat", target)) == lost
    added = ["default: the schema of the response was named response, because it has to have a name"] if own else []
    assert told(written(ASKED["cohere.chat"][0], "cohere.chat", target)) == added


def test_a_schema_in_geminis_own_spelling_becomes_json_schema() -> None:
    config = {"responseMimeType": JSON, "responseSchema": NATIVE}
    encoded = written({**GEMINI, "generationConfig": config}, "google.gemini", "cohere.chat")
    assert encoded.body["response_format"] == {"type": "json_object", "json_schema": SCHEMA}
    assert told(encoded) == []


@pytest.mark.parametrize(
    ("wire", "body", "lost"),
    [
        (
            "google.gemini",
            {**GEMINI, "generationConfig": {"responseMimeType": "text/x.enum"}},
            ["param: generationConfig.responseMimeType was left out"],
        ),
        (
            "google.interactions",
            {"model": "m", "input": "hi", "response_format": {"type": "image", "mime_type": "image/png"}},
            ["param: response_format was left out"],
        ),
    ],
)
def test_a_format_of_one_wire_alone_is_reported(wire: str, body: dict[str, Any], lost: list[str]) -> None:
    encoded = written(body, wire, "openai.chat")
    assert format_of(encoded.body) == {}
    assert told(encoded) == lost


def test_an_effort_is_a_thinking_level_on_both_wires_of_google() -> None:
    config = {"thinkingConfig": {"thinkingLevel": "LOW"}}
    given: dict[str, Any] = {"model": "m", "input": "hi", "generation_config": {"thinking_level": "low"}}
    there = written({**GEMINI, "generationConfig": config}, "google.gemini", "google.interactions")
    back = written(given, "google.interactions", "google.gemini")
    assert (there.body["generation_config"], there.losses) == (given["generation_config"], [])
    assert (back.body["generationConfig"], back.losses) == (config, [])


def test_a_thinking_config_with_more_than_a_level_is_reported() -> None:
    config = {"thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True}}
    encoded = written({**GEMINI, "generationConfig": config}, "google.gemini", "google.interactions")
    assert told(encoded) == ["param: generationConfig.thinkingConfig was left out"]
