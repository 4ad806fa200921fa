"""`toolparity normalize`: one JSON line an exchange."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from tests.support.traffic import chat_body, chat_stream, row, write_rows
from tests.support.wires import BYTE_WIRES
from toolparity.audit.bulk import parallel
from toolparity.cassettes.sources import Problem, decoding
from toolparity.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "cassettes" / "examples"


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, ["normalize", *map(str, args)])


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_line_has_the_members_that_other_programs_rely_on(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body("f", "g"), id="one"))
    result = run(path, "--policy", "first")
    assert (result.exit_code, result.stderr) == (0, "")
    (line,) = lines(result)
    members = {"source": f"{path}#1", "id": "one", "provider": "openai", "wire": "openai.chat", "stream": False}
    assert {name: line[name] for name in members} == members
    assert list(line) == [*members, "response", "selection", "findings"]
    selection = line["selection"]
    assert list(selection) == ["policy", "limit", "choice", "kept", "dropped", "rejected"]
    assert selection["kept"] == [{"block": 0, "choice": 0, "id": "call_0", "name": "f", "reason": None}]
    assert ([ref["name"] for ref in selection["dropped"]], selection["rejected"]) == (["g"], [])
    (finding,) = line["findings"]
    place = {"code": "dropped-call", "severity": "warning", "choice": 0, "block": 1}
    assert {name: finding[name] for name in place} == place
    assert [block["type"] for block in line["response"]["choices"][0]["blocks"]] == ["tool_call", "tool_call"]
    for options, kept in (((), 2), (("--policy", "batch", "--limit", "1"), 1), (("--limit", "0"), 0)):
        (line,) = lines(run(path, *options))
        assert len(line["selection"]["kept"]) == kept


def test_raw_returns_exchanges_that_can_be_read_again(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "r.jsonl",
        row(chat_body("f"), request={"tools": []}),
        row(None, wire="xai.grpc", frames=[]),
        row("/w==", body_encoding="base64"),
    )
    plain, frames, binary = (line["raw"] for line in lines(run(path, "--raw")))
    assert plain == {"request": {"tools": []}, "status": 200, "body": chat_body("f")}
    assert (frames["frames"], binary["body"], binary["body_encoding"]) == ([], "/w==", "base64")
    assert "raw" not in lines(run(path))[0]


def test_an_exchange_without_a_response_has_a_finding_and_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bad, code, exit_code in (
        (row("{}", wire="google"), "unknown-wire", 0),
        (row("<html>"), "malformed-body", 4),
        ("{broken", None, 4),
    ):
        path = write_rows(tmp_path / "r.jsonl", bad, row(chat_body()))
        result = run(tmp_path / "missing.jsonl", path) if code is None else run(path)
        *without, good = lines(result)
        assert good["response"]
        assert result.exit_code == exit_code
        found = [(line["response"], line["findings"][0]["code"]) for line in without]
        assert found == ([(None, code)] if code else [])
    missing, broken = result.stderr.splitlines()
    assert missing == f"{tmp_path / 'missing.jsonl'}: the file does not exist"
    assert broken.startswith(f"{path}:1: invalid JSON")
    unknown = run(write_rows(tmp_path / "r.jsonl", row("{}", wire="google")))
    assert (unknown.exit_code, "no exchange of a known wire" in unknown.stderr) == (5, True)
    outcomes = iter([ZeroDivisionError("oops"), None])
    real = decoding.normalize

    def faulty(*args: Any, **options: Any) -> Any:
        if error := next(outcomes):
            raise error
        return real(*args, **options)

    monkeypatch.setattr(decoding, "normalize", faulty)
    result = run(write_rows(tmp_path / "r.jsonl", row(chat_body()), row(chat_body())))
    fault, good = lines(result)
    assert (fault["findings"][0]["code"], result.exit_code) == ("decoder-fault", 4)
    assert "ZeroDivisionError: oops" in fault["findings"][0]["message"]
    assert good["response"]


def test_a_dash_is_standard_input(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "r.jsonl", row(chat_body("f")), row(chat_body()))
    for path in (EXAMPLES / "openai.chat.yaml", EXAMPLES / "anthropic.messages.yaml", rows):
        piped = CliRunner().invoke(main, ["normalize", "-"], input=path.read_bytes())
        expected = [{**line, "source": line["source"].replace(str(path), "-")} for line in lines(run(path))]
        assert (piped.exit_code, lines(piped)) == (0, expected)


def test_a_body_with_a_byte_order_mark_half_a_surrogate_pair_or_without_choice_0_is_read(tmp_path: Path) -> None:
    body = json.loads(chat_body("f", arguments='{"x": "\\ud800"}'))
    body["choices"][0]["index"] = 1
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(body).encode())
    result = run(tmp_path / "bom.json")
    (line,) = lines(result)
    assert (result.exit_code, line["wire"], line["selection"]["choice"]) == (0, "openai.chat", 1)
    assert [ref["name"] for ref in line["selection"]["kept"]] == ["f"]
    assert line["response"]["choices"][0]["blocks"][0]["arguments"] == {"x": "\ud800"}


def test_only_a_request_with_tools_declares_any(tmp_path: Path) -> None:
    tools = {"tools": [{"type": "function", "function": {"name": "g"}}]}
    path = write_rows(
        tmp_path / "r.jsonl", row(chat_body("f"), request={"model": "m"}), row(chat_body("f"), request=tools)
    )
    silent, expected = lines(run(path))
    assert silent["findings"] == []
    assert [f["code"] for f in expected["findings"]] == ["unknown-tool"]


def test_the_option_wire_names_the_wire_if_the_input_does_not(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"error": {"message": "no"}}')
    assert run(tmp_path / "b.json").exit_code == 4
    (line,) = lines(run(tmp_path / "b.json", "--wire", "openai.responses"))
    assert line["response"]["error"]["message"] == "no"
    for usage in ([], ["x", "--policy", "some"], ["x", "--wire", "smtp"], ["x", "--limit", "-1"]):
        assert run(*usage).exit_code == 2


def test_a_closed_pipe_ends_the_command_without_an_error(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_stream("f"))] * 3000)
    command = [sys.executable, "-c", "from toolparity.cli import main; main()", "normalize", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_json_object_without_a_response_is_unreadable_on_every_wire(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"level": "INFO", "msg": "ready"}')
    (tmp_path / "b.jsonl").write_text('{"message": "a", "time": 1}\n')
    for wire in BYTE_WIRES:
        result = run(tmp_path, "--wire", wire)
        assert result.exit_code == 4
        assert [(line["response"], line["findings"][0]["code"]) for line in lines(result)] == [
            (None, "malformed-body")
        ] * 2


def corpus(folder: Path, name: str, count: int = 40) -> Path:
    """Lines of every kind, in a file whose name must be escaped in JSON."""
    path = folder / f'"é #7","id":{name}'
    half = json.dumps(row('{"choices": "\\ud800"}', id="\ud800"))
    kinds: list[Any] = [row(chat_body("f", "g"), id="ü"), "", row(chat_stream("f"), stream=True), "{broken", half]
    return write_rows(path, *(kinds * count)[:-2])


def test_the_lines_are_the_same_for_any_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [corpus(tmp_path, name) for name in ("0.jsonl", "1.jsonl.gz")]
    whole = run(*paths, tmp_path / "missing", EXAMPLES, "--raw", "--jobs", "1")
    monkeypatch.setattr(parallel, "PART_BYTES", 3000)
    for jobs in ("1", "2"):
        parts = run(*paths, tmp_path / "missing", EXAMPLES, "--raw", "--jobs", jobs)
        assert (parts.stdout_bytes, parts.stderr, parts.exit_code) == (whole.stdout_bytes, whole.stderr, 4)
    sources = [line["source"] for line in lines(whole)]
    assert sources[:3] == [f"{paths[0]}#1", f"{paths[0]}#3", f"{paths[0]}#5"]
    assert f"{paths[1]}#{40 * 5 - 2}" in sources
    assert f"{paths[0]}:4: invalid JSON" in whole.stderr


@examples(40)
@given(st.integers(1, 5000), st.integers(1, 6))
def test_parts_of_any_size_give_the_same_lines(tmp_path_factory: pytest.TempPathFactory, size: int, count: int) -> None:
    path = corpus(tmp_path_factory.getbasetemp(), f"{count}.jsonl", count)
    text, problems = written(path, 1 << 30)
    assert written(path, size) == (text, problems)
    assert (len(text), len(problems)) == (3 * count - 1, count - 1)


def written(path: Path, part_bytes: int) -> tuple[list[bytes], list[Problem]]:
    """The lines, and the places that cannot be read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "PART_BYTES", part_bytes)
        parts = list(parallel.canonical_lines([str(path)], jobs=1))
    text: list[bytes] = []
    problems: list[Problem] = []
    for part in parts:
        assert not isinstance(part, Problem)
        text += part.text
        problems += part.problems
    return text, problems
