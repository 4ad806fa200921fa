"""Failures of classes index, id and name on openai_chat: which streamed fragment belongs to which call."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tests.support.decoding import chat, codes, triples
from tests.support.events import piece

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
