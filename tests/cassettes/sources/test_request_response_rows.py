"""Rows of a request and its response are read, and problems are one line for each file and kind."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.audit.conversations.built import CHAT, ONE, QUESTION, TWO, Body, Messages, Responses, on_every_wire
from tests.support.emit import emit_body, scripted_call
from tests.support.traffic import CHAT_URL, chat_body, chat_stream, row, write_rows
from toolparity.audit.bulk.parallel import audit_paths
from toolparity.audit.exchange import decode
from toolparity.cassettes.sources import Exchange, Problem, read
from toolparity.cli import main

REQUEST = {"model": "m-1", "messages": [], "tools": [{"type": "function", "function": {"name": "f"}}]}


def run(*args: Any) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def one(path: Path, item: Any) -> Exchange:
    path.write_text(json.dumps(item) + "\n")
    (found,) = read(path)
    assert isinstance(found, Exchange), found
    return found


BODY = json.loads(chat_body("f"))
SSE = chat_stream("f")


ROWS: list[tuple[Any, bool]] = [
    ({"request": REQUEST, "response": BODY}, False),
    ({"request": json.dumps(REQUEST), "response": json.dumps(BODY)}, False),
    ({"request": REQUEST, "response": SSE}, True),
    ({"request": REQUEST, "response": SSE.split("\n\n")[:-1]}, True),
    ({"request": REQUEST, "response": [json.loads(part[6:]) for part in SSE.split("\n\n")[:-2]]}, True),
    ({"input": REQUEST, "output": BODY}, False),
    ({"request_body": REQUEST, "response_body": json.dumps(BODY)}, False),
    ({"req": REQUEST, "res": BODY}, False),
    ({"request": {"body": REQUEST, "method": "POST"}, "response": {"status": 200, "body": BODY}}, False),
    ({"request": {"json": REQUEST}, "response": {"status_code": 200, "content": json.dumps(BODY)}}, False),
    ({"request": {"parsed_body": REQUEST}, "response": {"parsed_body": BODY}}, False),
    ({"request": {"body": json.dumps(REQUEST)}, "response": {"body": {"string": SSE}}}, True),
    ({"request": REQUEST, "body": BODY}, False),
    ({"request": REQUEST, "body": json.dumps(BODY)}, False),
]


@pytest.mark.parametrize("name", ["r.jsonl", "r.json", "r.txt"])
def test_a_row_with_request_and_response_is_an_exchange(tmp_path: Path, name: str) -> None:
    for item, stream in ROWS:
        found = one(tmp_path / name, item)
        assert (found.wire, bool(found.stream), found.request) == ("openai.chat", stream, REQUEST)
        response = decode(found).response
        assert response is not None
        assert [call.name for call in response.calls] == ["f"]


def test_unknown_tools_are_determined_by_the_request_of_the_row(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"request": REQUEST, "response": json.loads(chat_body("f", "other"))}))
    findings = json.loads(run("normalize", path).stdout)["findings"]
    (unknown,) = [finding["message"] for finding in findings if finding["code"] == "unknown-tool"]
    assert "other" in unknown


def test_status_address_headers_and_names_beside_the_pair_are_kept(tmp_path: Path) -> None:
    packed = base64.b64encode(gzip.compress(json.dumps({"error": {"message": "slow down"}}).encode())).decode()
    beside = {"id": "row-7", "model": "m-2", "url": CHAT_URL + "?key=1", "status": 429}
    pair = {"request": REQUEST, "response": {"body": {"base64_string": packed}}}
    found = one(tmp_path / "r.jsonl", {**beside, "headers": {"Content-Encoding": "gzip"}, **pair})
    assert (found.id, found.model, found.provider) == ("row-7", "m-2", "openai")
    assert (found.wire, found.status) == ("openai.chat", 429)
    response = decode(found).response
    assert response is not None
    assert response.error is not None
    assert response.error.message == "slow down"


def test_an_answer_with_members_named_request_or_body_is_still_an_answer(tmp_path: Path) -> None:
    """``body``, ``request`` and the like beside the answer, or in arguments that are parsed JSON."""
    text = json.loads(emit_body("anthropic.messages", [scripted_call(('{"request": 1, "body": {"wire": 2}}',))]))
    for name in ("b.jsonl", "b.json"):
        found = one(tmp_path / name, {**text, "request": {"id": 1}, "body": None})
        assert found.wire == "anthropic.messages"


def test_a_row_without_an_answer_is_a_problem_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    responses: list[Any] = [None, "", [], {}, 5, "hello", {"text": "hello"}, {"body": None}]
    for response in responses:
        path.write_text(json.dumps({"request": {}, "response": response}) + "\n")
        (found,) = read(path)
        assert isinstance(found, Problem)
        assert "'response'" in found.what
        assert found.fault


def test_a_given_wire_applies_to_rows_whose_wire_is_not_detectable(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"request": {}, "response": {"error": {"message": "no"}}}) + "\n")
    (unknown,) = read(path)
    assert isinstance(unknown, Exchange)
    assert unknown.wire is None  # counted as an exchange of an unknown wire
    (found,) = read(path, "openai.responses")
    assert isinstance(found, Exchange)
    assert found.wire == "openai.responses"


@pytest.mark.parametrize("command", ["audit", "normalize"])
def test_thousands_of_problems_of_one_kind_are_reported_in_one_line(tmp_path: Path, command: str) -> None:
    bad = [json.dumps({"request": {"q": n}, "response": f"text {n}"}) for n in range(4_000)]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([*bad, "{damaged", json.dumps(row(chat_body("f")))]))
    other = write_rows(tmp_path / "s.jsonl", row("x", body_encoding="rot13"), row(chat_body("f")))
    result = run(command, path, other)
    lines = [line for line in result.stderr.splitlines() if line.startswith(str(tmp_path))]
    assert len(lines) == 3, lines
    assert lines[0].startswith(f"{path}:1: not a recording: ")
    assert lines[0].endswith("; 4,000 similar places in the file")
    assert lines[1].startswith(f"{path}:4001: invalid JSON")
    assert lines[2].startswith(f"{other}:1: ")
    assert result.exit_code == 4


# Requests that failed: their messages show what the application did with the calls before

_ANTHROPIC: Body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
_OPENAI: Body = {"error": {"message": "Rate limit reached", "type": "tokens", "param": None, "code": "rate_limit"}}
FAILURES: dict[str, Body] = {CHAT.wire: _OPENAI, Responses.wire: _OPENAI, Messages.wire: _ANTHROPIC}


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
    audit = audit_paths([str(write_rows(tmp_path / "log.jsonl", *rows))], jobs=1, on_problem=problems.append)
    assert problems == []
    assert {w: f.findings for w, f in audit.conversations.wires.items()} == {bodies.wire: {"dropped-in-fact": 1}}


def test_a_failed_request_of_an_unclear_wire_is_counted(tmp_path: Path) -> None:
    pairs: list[tuple[Any, Body]] = [({"model": "e", "input": "text"}, _OPENAI), ("not JSON", _OPENAI)]
    pairs.append(({"model": "m", "messages": []}, {"error": "model not found"}))
    rows = [{"request": request, "response": failure} for request, failure in pairs]
    found = list(read(write_rows(tmp_path / "log.jsonl", *rows)))
    assert [isinstance(item, Exchange) and item.wire for item in found] == [None] * 3


def test_a_failed_request_in_a_log_keeps_its_wire(tmp_path: Path) -> None:
    entry = {
        "call_type": "responses",
        "messages": {"input": [QUESTION], "model": "m"},
        "response": {},
        "error_str": "Rate limit reached",
    }
    (item,) = read(write_rows(tmp_path / "log.jsonl", entry))
    assert isinstance(item, Exchange)
    assert (item.wire, item.request["input"]) == ("openai.responses", [QUESTION])
