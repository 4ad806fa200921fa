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
    assert result.exit_code == 0
    (line,) = lines(result)
    assert list(line) == ["source", "id", "provider", "wire", "stream", "response", "selection", "findings"]
    assert line["source"] == f"{path}#1"
    assert (line["id"], line["provider"], line["wire"], line["stream"]) == ("one", "openai", "openai.chat", False)
    assert list(line["selection"]) == ["policy", "limit", "choice", "kept", "dropped", "rejected"]
    (kept,), (dropped,) = line["selection"]["kept"], line["selection"]["dropped"]
    assert kept == {"block": 0, "choice": 0, "id": "call_0", "name": "f", "reason": None}
    assert (dropped["name"], line["selection"]["rejected"]) == ("g", [])
    (finding,) = line["findings"]
    assert (finding["code"], finding["severity"], finding["choice"], finding["block"]) == (
        "dropped-call",
        "warning",
        0,
        1,
    )
    assert [block["type"] for block in line["response"]["choices"][0]["blocks"]] == ["tool_call", "tool_call"]


def test_policy_and_limit_are_those_that_were_asked_for(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body("f", "g", "h")))
    for options, kept in (((), 3), (("--policy", "batch", "--limit", "2"), 2), (("--limit", "0"), 0)):
        (line,) = lines(run(path, *options))
        assert len(line["selection"]["kept"]) == kept


def test_nothing_is_logged_beside_the_lines(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body("f", "g")))
    assert run(path, "--policy", "first").stderr == ""


def test_streams_and_plain_bodies_of_one_answer_select_alike() -> None:
    found = lines(run(EXAMPLES))
    assert {line["wire"] for line in found} == {"openai.chat", "openai.responses", "anthropic.messages"}
    assert {line["stream"] for line in found} == {True, False}
    assert not any(line["response"] is None for line in found)
    by_file: dict[str, list[list[str]]] = {}
    for line in found:
        names = [ref["name"] for ref in line["selection"]["kept"]]
        by_file.setdefault(line["source"].rpartition("#")[0], []).append(names)
    for path, names in by_file.items():
        assert all(n == names[0] for n in names), path
    search = next(line for line in found if "search" in line["source"])
    kinds = [block["type"] for block in search["response"]["choices"][0]["blocks"]]
    assert kinds == ["text", "server_tool_call", "server_tool_result", "text", "tool_call"]


def test_raw_gives_back_what_can_be_read_again(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "r.jsonl",
        row(chat_body("f"), request={"tools": []}),
        row(None, wire="xai.grpc", frames=[]),
        row("/w==", body_encoding="base64"),
    )
    result = run(path, "--raw")
    plain, frames, binary = (line["raw"] for line in lines(result))
    assert plain == {"request": {"tools": []}, "status": 200, "body": chat_body("f")}
    assert frames["frames"] == []
    assert (binary["body"], binary["body_encoding"]) == ("/w==", "base64")
    assert "raw" not in lines(run(path))[0]


def test_a_wire_that_is_not_known_is_a_line_without_response(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row("{}", wire="google"), row(chat_body()))
    result = run(path)
    unknown, known = lines(result)
    assert (unknown["wire"], unknown["response"], unknown["selection"]) == ("google", None, None)
    assert unknown["findings"][0]["code"] == "unknown-wire"
    assert known["response"]
    assert result.exit_code == 0


def test_a_body_that_is_none_of_its_wire_is_a_finding_and_a_fault_of_the_input(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row("<html>"), row(chat_body()))
    result = run(path)
    bad, _ = lines(result)
    assert bad["response"] is None
    assert [f["code"] for f in bad["findings"]] == ["malformed-body"]
    assert result.exit_code == 4


@pytest.mark.parametrize("name", ["openai.chat.yaml", "anthropic.messages.yaml"])
def test_a_dash_is_standard_input(name: str) -> None:
    content = (EXAMPLES / name).read_bytes()
    piped = CliRunner().invoke(main, ["normalize", "-"], input=content)
    expected = [
        {**line, "source": line["source"].replace(str(EXAMPLES / name), "-")} for line in lines(run(EXAMPLES / name))
    ]
    assert (piped.exit_code, lines(piped)) == (0, expected)


def test_rows_on_standard_input_are_read_like_a_file_of_them(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body("f")), row(chat_body()))
    piped = CliRunner().invoke(main, ["normalize", "-"], input=path.read_bytes())
    assert [line["source"] for line in lines(piped)] == ["-#1", "-#2"]
    assert [line["response"] for line in lines(piped)] == [line["response"] for line in lines(run(path))]


def test_a_byte_order_mark_before_a_body_does_not_hide_its_wire(tmp_path: Path) -> None:
    path = tmp_path / "bom.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(json.loads(chat_body("f"))).encode())
    result = run(path)
    (line,) = lines(result)
    assert (result.exit_code, line["wire"], line["selection"]["kept"][0]["name"]) == (0, "openai.chat", "f")


def test_of_a_response_without_choice_0_the_first_one_is_selected(tmp_path: Path) -> None:
    body = json.loads(chat_body("f"))
    body["choices"][0]["index"] = 1
    (line,) = lines(run(write_rows(tmp_path / "r.jsonl", row(json.dumps(body)))))
    assert (line["selection"]["choice"], [ref["name"] for ref in line["selection"]["kept"]]) == (1, ["f"])


def test_an_internal_error_is_a_finding_and_an_exit_code_and_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter([True, False])
    real = decoding.normalize

    def faulty(*args: Any, **options: Any) -> Any:
        if next(calls):
            raise ZeroDivisionError("oops")
        return real(*args, **options)

    monkeypatch.setattr(decoding, "normalize", faulty)
    result = run(write_rows(tmp_path / "r.jsonl", row(chat_body()), row(chat_body())))
    bad, good = lines(result)
    assert bad["findings"][0]["code"] == "decoder-fault"
    assert "ZeroDivisionError: oops" in bad["findings"][0]["message"]
    assert good["response"]
    assert result.exit_code == 4


def test_only_a_request_with_tools_declares_any(tmp_path: Path) -> None:
    tools = {"tools": [{"type": "function", "function": {"name": "g"}}]}
    path = write_rows(
        tmp_path / "r.jsonl", row(chat_body("f"), request={"model": "m"}), row(chat_body("f"), request=tools)
    )
    silent, expected = lines(run(path))
    assert silent["findings"] == []
    assert [f["code"] for f in expected["findings"]] == ["unknown-tool"]


def test_unreadable_input_is_a_line_on_stderr_and_the_rest_continues(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", "{broken", row(chat_body()))
    result = run(tmp_path / "missing.jsonl", path)
    assert result.exit_code == 4
    missing, broken = result.stderr.splitlines()
    assert missing == f"{tmp_path / 'missing.jsonl'}: the file does not exist"
    assert broken.startswith(f"{path}:1: invalid JSON")
    assert len(lines(result)) == 1


def test_the_option_wire_names_the_wire_where_the_input_does_not(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"error": {"message": "no"}}')
    assert run(tmp_path / "b.json").exit_code == 4
    (line,) = lines(run(tmp_path / "b.json", "--wire", "openai.responses"))
    assert line["response"]["error"]["message"] == "no"


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body("f", arguments='{"x": "\\ud800"}')))
    (line,) = lines(run(path))
    assert line["response"]["choices"][0]["blocks"][0]["arguments"] == {"x": "\ud800"}


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ([], 2),
        (["x", "--policy", "some"], 2),
        (["x", "--wire", "smtp"], 2),
        (["x", "--limit", "-1"], 2),
        (["--help"], 0),
    ],
)
def test_usage(args: list[str], code: int) -> None:
    assert run(*args).exit_code == code


def test_nothing_ran_where_no_wire_is_known(tmp_path: Path) -> None:
    result = run(write_rows(tmp_path / "r.jsonl", row("{}", wire="google")))
    assert result.exit_code == 5
    assert "no exchange of a known wire" in result.stderr


def test_help_teaches_by_examples() -> None:
    text = run("--help").stdout
    assert "Examples:" in text
    assert "Exit codes:" in text
    overview = CliRunner().invoke(main, ["--help"]).stdout
    assert "audit" in overview
    assert "normalize" in overview


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


# One result, however it is computed


def corpus(folder: Path, name: str, count: int = 40) -> Path:
    """Lines of every kind, in a file whose name must be escaped in JSON."""
    path = folder / f'"é #7","id":{name}'
    half = json.dumps(row('{"choices": "\\ud800"}', id="\ud800"))
    kinds: list[Any] = [row(chat_body("f", "g"), id="ü"), "", row(chat_stream("f"), stream=True), "{broken", half]
    return write_rows(path, *(kinds * count)[:-2])


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_the_lines_are_the_same_for_any_number_of_workers(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [corpus(tmp_path, f"{n}{suffix}") for n in range(2)]
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
