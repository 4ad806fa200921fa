"""Requests that failed: their messages show what the application did with the calls before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.audit.conversations.built import CHAT, ONE, QUESTION, TWO, Body, Messages, Responses, on_every_wire
from toolparity.audit.bulk.parallel import audit_paths
from toolparity.cassettes.sources import Exchange, Problem, read

_ANTHROPIC: Body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
_OPENAI: Body = {"error": {"message": "Rate limit reached", "type": "tokens", "param": None, "code": "rate_limit"}}
FAILURES: dict[str, Body] = {
    CHAT.wire: _OPENAI,
    Responses.wire: _OPENAI,
    Messages.wire: _ANTHROPIC,
}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@on_every_wire
def test_a_call_that_only_a_failed_request_shows_is_found(bodies: Any, tmp_path: Path) -> None:
    turn = bodies.turn(bodies.call(ONE, x=1), bodies.call(TWO, x=2))
    lossy = bodies.request(QUESTION, *turn, bodies.result(ONE))
    rows = [
        {"request": bodies.request(QUESTION), "response": FAILURES[bodies.wire]},
        {"request": bodies.request(QUESTION), "response": bodies.response(turn)},
        {"request": lossy, "response": FAILURES[bodies.wire]},
    ]
    problems: list[Problem] = []
    audit = audit_paths([str(write(tmp_path / "log.jsonl", *rows))], jobs=1, on_problem=problems.append)
    assert problems == []
    assert {w: f.findings for w, f in audit.conversations.wires.items()} == {bodies.wire: {"dropped-in-fact": 1}}


@pytest.mark.parametrize(
    ("request_body", "failure"),
    [
        ({"model": "e", "input": "text"}, _OPENAI),
        ({"model": "m", "messages": []}, {"error": "model not found"}),
        ("not JSON", _OPENAI),
    ],
)
def test_a_failed_request_of_an_unclear_wire_is_counted(request_body: Any, failure: Body, tmp_path: Path) -> None:
    (item,) = read(write(tmp_path / "log.jsonl", {"request": request_body, "response": failure}))
    assert isinstance(item, Exchange)
    assert item.wire is None


def test_a_failed_request_in_a_log_keeps_its_wire(tmp_path: Path) -> None:
    entry = {
        "call_type": "responses",
        "messages": {"input": [QUESTION], "model": "m"},
        "response": {},
        "error_str": "Rate limit reached",
    }
    (item,) = read(write(tmp_path / "log.jsonl", entry))
    assert isinstance(item, Exchange)
    assert (item.wire, item.request["input"]) == ("openai.responses", [QUESTION])
