"""Files of bodies, as scripts and proxies write them: every body is one exchange, whatever separates the bodies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolparity.cli import main


def chat(number: int) -> dict[str, Any]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "f", "arguments": '{"a": "}{"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "model": "m", "choices": [choice]}


def message(number: int) -> dict[str, Any]:
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": "f", "input": {"a": "\n\n"}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    made = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": [use]}
    return {**made, "stop_reason": "tool_use", "usage": usage}


def response(number: int) -> dict[str, Any]:
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "f", "arguments": "{}"}
    return {"id": f"resp_{number}", "object": "response", "status": "completed", "model": "m", "output": [call]}


def stream(number: int) -> str:
    delta = {**chat(number)["choices"][0]["message"]["tool_calls"][0], "index": 0}
    chunk = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": "m"}
    deltas = [
        {"index": 0, "delta": {"role": "assistant", "tool_calls": [delta]}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "tool_calls"},
    ]
    events = [f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n" for choice in deltas]
    return "".join([*events, "data: [DONE]\n\n"])


#: Seven bodies of three wires, each with one call.
BODIES = [chat(1), message(2), response(3), chat(4), response(5), message(6), chat(7)]
WIRES = {"openai.chat": 3, "anthropic.messages": 2, "openai.responses": 2}


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


#: Form -> the text of a file with `BODIES`.
FORMS: dict[str, Callable[[], str]] = {
    "a body on each line": lambda: lines(*BODIES),
    "lines that end with CR LF, some of them empty": lambda: lines(*BODIES).replace("\n", "\r\n\r\n"),
    "no line end after the last body": lambda: lines(*BODIES).rstrip(),
    "an array": lambda: json.dumps(BODIES),
    "an indented array": lambda: json.dumps(BODIES, indent=2),
    "concatenated": lambda: "".join(map(json.dumps, BODIES)),
    "concatenated and indented": lambda: "\n".join(json.dumps(body, indent=2) for body in BODIES),
    "the list of an export": lambda: json.dumps({"data": BODIES, "has_more": False}),
    "rows of a body": lambda: lines(*({"id": n, "body": body} for n, body in enumerate(map(json.dumps, BODIES)))),
    "rows of a response": lambda: lines(*({"response": body} for body in BODIES)),
    "rows of a response as text": lambda: lines(*({"response": json.dumps(body), "ms": 12} for body in BODIES)),
    "rows of an HTTP response": lambda: lines(*({"response": {"status_code": 200, "body": b}} for b in BODIES)),
    "an array of rows of a response": lambda: json.dumps([{"response": body} for body in BODIES]),
    "rows of an output": lambda: lines(*({"output": body} for body in BODIES)),
    "rows of a request and a response": lambda: lines(*({"request": {}, "response": body} for body in BODIES)),
    "rows of several forms": lambda: lines(
        *({"response": body} if number % 2 else {"body": body} for number, body in enumerate(BODIES))
    ),
}
_EACH = pytest.mark.parametrize("form", FORMS)


def audit(path: Path, *args: str) -> Result:
    return CliRunner().invoke(main, ["audit", str(path), "--json", *args])


def counted(result: Result) -> dict[str, int]:
    """Return the number of exchanges of each wire, each of which has one call."""
    wires = json.loads(result.stdout)["wires"]
    assert all(figures["exchanges"] == figures["calls"] for figures in wires.values())
    return {wire: figures["exchanges"] for wire, figures in wires.items()}


@pytest.mark.thorough(keep=16)
@pytest.mark.parametrize("name", ["bodies.json", "bodies.jsonl", "bodies.txt", "bodies"])
@_EACH
def test_every_body_is_an_exchange(form: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FORMS[form](), "utf-8", newline="")
    result = audit(path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert counted(result) == WIRES


def test_bodies_and_streams_may_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text("\n".join([json.dumps(chat(1)), stream(2), json.dumps(message(3)), stream(4)]), "utf-8")
    result = audit(path)
    assert result.exit_code == 0, result.stderr
    assert counted(result) == {"openai.chat": 3, "anthropic.messages": 1}


def test_rows_of_a_response_may_hold_streams(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    events = [json.loads(line.removeprefix("data: ")) for line in stream(2).split("\n\n") if "{" in line]
    path.write_text(lines({"response": stream(1)}, {"response": events}, {"response": chat(3)}), "utf-8")
    result = audit(path)
    assert result.exit_code == 0, result.stderr
    assert counted(result) == {"openai.chat": 3}


@pytest.mark.parametrize(
    "remainder", ['{"id": "chatcmpl-8", "object": "chat.comp', '{"unknown": true}', "Traceback (most recent call last)"]
)
@pytest.mark.parametrize("name", ["bodies.json", "bodies.jsonl"])
@pytest.mark.parametrize("form", ["a body on each line", "concatenated and indented", "rows of a response"])
def test_what_is_not_read_at_the_end_is_an_error(form: str, name: str, remainder: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(f"{FORMS[form]().rstrip()}\n{remainder}\n", "utf-8")
    result = audit(path)
    assert result.exit_code == 4, result.stdout
    assert counted(result) == WIRES
    assert len(result.stderr.splitlines()) == 1


def test_an_array_that_ends_too_early_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bodies.json"
    path.write_text(json.dumps(BODIES)[:-200], "utf-8")
    result = audit(path)
    assert result.exit_code == 4
    assert sum(counted(result).values()) >= len(BODIES) - 2


def test_a_directory_skips_and_counts_files_without_traffic(tmp_path: Path) -> None:
    for name, text in {
        "bodies.json": FORMS["an array"](),
        "package.json": json.dumps({"name": "app", "input": "a.js", "output": {"file": "b.js"}}),
        "results.json": json.dumps([{"input": "1 + 1", "output": "2", "score": 1.0}]),
        "compose.yaml": "services:\n  app:\n    image: app\n",
        "notes.txt": "Ask for the response.\n",
        "README.md": "The suffix is not one of traffic.\n",
    }.items():
        (tmp_path / name).write_text(text, "utf-8")
    result = audit(tmp_path)
    assert result.exit_code == 0, result.stderr
    assert counted(result) == WIRES
    data = json.loads(result.stdout)
    assert (data["skipped"], data["faults"]) == (4, 0)
    assert "skipped 4 files without traffic" in result.stderr


def test_a_directory_does_not_skip_damaged_traffic(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(chat(1)), "utf-8")
    (tmp_path / "b.json").write_text(json.dumps(chat(2))[:-30], "utf-8")
    result = audit(tmp_path)
    assert result.exit_code == 4
    assert f"{tmp_path / 'b.json'}" in result.stderr
