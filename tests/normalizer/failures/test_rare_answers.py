"""Answers that no scenario has: fragments of calls, blank names, a named tool, and figures without a count."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tests.support.decoding import chat, codes, triples
from tests.support.emit import LOOKUP, emit_body, emit_stream
from tests.support.events import chat_body, chat_call, gemini_body, gemini_call, piece
from toolparity import normalize, select
from toolparity.normalizer.model import Stop

CHAT = "openai.chat"
CASES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("openai_chat_fragments.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", CASES)
def test_fragments_become_the_calls_that_the_model_made(name: str, proves: Callable[[str], None]) -> None:
    case = CASES[name]
    fragments = [[None if member == "-" else member for member in fragment] for fragment in case["fragments"]]
    response = chat(*(piece(*fragment) for fragment in fragments), request=case.get("declared"))
    expected = [(ANY if id == "?" else id, name, text) for id, name, text in case["calls"]]
    assert triples(response) == [(*call, None if text == "-" else json.loads(text)) for *call, text in expected]
    assert len({call.id for call in response.calls} - {""}) == len(expected)
    assert codes(response) == case.get("findings", [])
    proves(name.partition(" ")[0])


def test_a_call_whose_name_is_white_space_is_reported_and_never_dispatched() -> None:
    blank = [chat(piece(0, "a", name, "{}")) for name in ("", " ", "\n\t")]
    bodies = (chat_body(chat_call("a", " ", "{}")), CHAT), (gemini_body(gemini_call(None, " ", "{}")), "google.gemini")
    for nameless in (*blank, *(normalize(body, wire) for body, wire in bodies)):
        assert "nameless-call" in codes(nameless)
        assert select(nameless).kept == []


def test_a_call_of_an_unknown_type_keeps_it() -> None:
    assert [call.kind for call in chat(piece(0, "a", "f", "{}") | {"type": "novel"}).calls] == ["novel"]


@pytest.mark.parametrize(
    ("members", "contradicts"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "lookup"}}}, False),
        ({"function_call": {"name": "lookup"}}, False),
        ({"tool_choice": "required"}, True),
        ({"tool_choice": {"type": "allowed_tools", "allowed_tools": {}}}, True),
    ],
)
def test_with_a_named_tool_stop_does_not_contradict_calls(members: dict[str, Any], contradicts: bool) -> None:
    request = {"tools": [{"type": "function", "function": {"name": "lookup"}}], **members}
    response = normalize(b"".join(emit_stream(CHAT, [LOOKUP], "end_turn")), CHAT, request=request)
    assert response.choices[0].stop == Stop("tool_calls", "stop")
    assert ("stop-disagrees" in codes(response)) is contradicts


def test_figures_without_any_count_do_not_become_usage() -> None:
    body = json.loads(emit_body("cohere.chat", [LOOKUP])) | {"usage": {"cached_tokens": 3}}
    assert normalize(body, "cohere.chat").usage is None
