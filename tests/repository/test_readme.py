"""What the README shows in Python runs as it is there, in the order of the page."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.decoding import traffic
from tests.support.events import anthropic_body
from tests.turns.playing import Emulated, Say, call, script
from toolparity.normalizer.requests import check_request
from toolparity.turns import clients

PAGE = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CALLS = [("call_1", "weather", '{"city":"Turin"}'), ("call_2", "weather", '{"city":"Milan"}')]


class Answer:
    """A streamed HTTP response, in pieces of seven bytes."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def iter_bytes(self) -> Iterator[bytes]:
        for start in range(0, len(self.body), 7):
            yield self.body[start : start + 7]


def run(snippet: str, names: dict[str, Any]) -> None:
    """Run it as it is, in its own loop where it awaits something."""
    code = compile(snippet, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = eval(code, names)
    if inspect.iscoroutine(made):
        asyncio.run(made)


def test_the_page_shows_what_is_run_here() -> None:
    assert len(SNIPPETS) == 4


def test_reading_and_answering() -> None:
    uses = [{"type": "tool_use", "id": id, "name": name, "input": json.loads(text)} for id, name, text in CALLS]
    names: dict[str, Any] = {"body": json.dumps(anthropic_body(*uses)).encode()}
    run(SNIPPETS[0], names)
    assert [ref.id for ref in names["selection"].kept] == ["call_1"]
    assert [ref.id for ref in names["selection"].dropped] == ["call_2"]
    names["http_response"] = Answer(b"".join(traffic("openai.chat", True, CALLS)))
    run(SNIPPETS[1], names)
    assert [(one.id, one.arguments_text) for one in names["response"].calls] == [(id, text) for id, _, text in CALLS]
    declared = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    asked = {"model": "m", "messages": [{"role": "user", "content": "How warm?"}], "tools": [declared]}
    names["request_body"] = json.dumps(asked).encode()
    run(SNIPPETS[2], names)
    encoded = names["encoded"]
    assert check_request(encoded.body, "anthropic.messages") == []
    results = encoded.body["messages"][-1]["content"]
    assert [result["tool_use_id"] for result in results] == ["call_1", "call_2"]
    assert results[1]["is_error"]


def test_acting(monkeypatch: pytest.MonkeyPatch) -> None:
    played = script([call("open_invoices", customer="c1")], [Say("You owe 20.")], tools=["open_invoices"])

    @asynccontextmanager
    async def client(wire: str, model: str) -> AsyncIterator[Emulated]:
        assert model
        yield Emulated(wire, played)

    monkeypatch.setattr(clients, "client", client)
    schema = {"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}
    names: dict[str, Any] = {"schema": schema}
    run(SNIPPETS[3].replace('.run("What do I owe?")', '.run("Go.")'), names)  # what the script answers to
    assert names["outcome"].text == "You owe 20."
    assert names["outcome"].state.rounds[0].tools_used == ["open_invoices"]
