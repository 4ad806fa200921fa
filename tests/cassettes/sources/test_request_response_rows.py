"""Item 12: rows of a request and its response are read, and problems are one line for each file and kind."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.emit import emit_body, emit_stream, scripted_call
from tests.support.traffic import CHAT_URL, chat_body, chat_stream, row, write_rows
from tests.support.wires import SSE_WIRES
from toolparity.audit.exchange import decode
from toolparity.cassettes.scripts import Say
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


@pytest.mark.thorough(keep=10)
@pytest.mark.parametrize(
    ("row", "stream"),
    [
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
    ],
)
@pytest.mark.parametrize("name", ["r.jsonl", "r.json", "r.txt"])
def test_a_row_with_request_and_response_is_an_exchange(tmp_path: Path, row: Any, stream: bool, name: str) -> None:
    found = one(tmp_path / name, row)
    assert (found.wire, bool(found.stream), found.request) == ("openai.chat", stream, REQUEST)
    response = decode(found).response
    assert response is not None
    assert [call.name for call in response.calls] == ["f"]


@pytest.mark.parametrize("wire", SSE_WIRES)
@pytest.mark.parametrize("streamed", [True, False])
def test_rows_of_every_wire_are_read(tmp_path: Path, wire: str, streamed: bool) -> None:
    steps = [Say("I look."), scripted_call(("{}",))]
    text = (b"".join(emit_stream(wire, steps)) if streamed else emit_body(wire, steps)).decode()
    rows: list[Any] = [{"request": {}, "response": text}]
    if not streamed:
        rows.append({"request": {}, "response": json.loads(text)})
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for found in read(path):
        assert isinstance(found, Exchange), found
        decoded = decode(found)
        assert decoded.response is not None
        assert (decoded.wire, [call.id for call in decoded.response.calls]) == (wire, ["call_a"])


def test_unknown_tools_are_determined_by_the_request_of_the_row(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"request": REQUEST, "response": json.loads(chat_body("f", "other"))}))
    (line,) = run("normalize", path).stdout.splitlines()
    unknown = [finding["message"] for finding in json.loads(line)["findings"] if finding["code"] == "unknown-tool"]
    assert len(unknown) == 1
    assert "other" in unknown[0]


def test_status_address_headers_and_names_beside_the_pair_are_kept(tmp_path: Path) -> None:
    packed = base64.b64encode(gzip.compress(json.dumps({"error": {"message": "slow down"}}).encode())).decode()
    found = one(
        tmp_path / "r.jsonl",
        {
            "id": "row-7",
            "model": "m-2",
            "url": CHAT_URL + "?key=1",
            "status": 429,
            "headers": {"Content-Encoding": "gzip"},
            "request": REQUEST,
            "response": {"body": {"base64_string": packed}},
        },
    )
    assert (found.id, found.model, found.provider, found.wire, found.status) == (
        "row-7",
        "m-2",
        "openai",
        "openai.chat",
        429,
    )
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


@pytest.mark.parametrize("response", [None, "", [], {}, 5, "hello", {"text": "hello"}, {"body": None}])
def test_a_row_without_an_answer_is_a_problem_with_a_reason(tmp_path: Path, response: Any) -> None:
    path = tmp_path / "r.jsonl"
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
