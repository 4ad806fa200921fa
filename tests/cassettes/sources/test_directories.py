"""A directory skips files without traffic and counts them; damaged traffic and files that are passed fail."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.traffic import chat_body, chat_stream, row, write_rows
from toolparity.cli import main

#: What projects keep beside their recordings.
OTHER = {
    "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "vitest"}}',
    "package-lock.json": '{"name": "x", "lockfileVersion": 3, "packages": {"": {}}}',
    "tsconfig.json": '{\n  // a comment, which is not JSON\n  "compilerOptions": {}\n}',
    "list.json": '["a", "b"]',
    "number.json": "5",
    "readme.txt": "Recordings of July.\n\nSee the wiki: data: 5 MB, event: none.\n",
    "requirements.txt": "openai>=2.0\nvcrpy\n",
    "robots.txt": "",
    "ci.yml": "on: push\njobs:\n  test:\n    runs-on: ubuntu\n",
    "list.yaml": "- a\n- b\n",
    "chart.yaml": "name: {{ .Values.name }}\n  x: y: [\n",
    "two.yaml": "a: 1\n---\nb: 2\n",
    "data.jsonl": '{"messages": [{"role": "user", "content": "hello"}]}\n' * 3,
    "notes.txt": "key: data\nevent: x\n",
    "empty.json": "",
    "en.json": '{"ok": "OK", "error": "An error occurred"}',
    "de.json": '{"error": {"title": "Fehler", "retry": "Noch einmal"}}',
    "binary.txt": "\x00\x01\x02",
}
#: Traffic that is damaged.
DAMAGED = {
    "body.json": chat_body("f")[:-20],
    "lines.jsonl": json.dumps(row(chat_body("f")))[:-9] + "\n",
    "cassette.yaml": "interactions:\n- request: {method: POST\n",
    "cassette.json": '{"interactions": [{"request": {"method": "POST"}',
    "export.har": '{"log": {"version": "1.2", "entries": [{"request": {',
    "stream.txt": 'data: {"id": "c", "obj\n\n',
    "error.json": '{"error": {"code": null, "message": "Slow down.", "type": "requests"}}',
    "pair.jsonl": '{"request": {}, "response": {"text": "x"}}\n',
}


def run(*args: Any) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def folder(tmp_path: Path, **more: str) -> Path:
    made = tmp_path / "f"
    (made / "deep" / "er").mkdir(parents=True)
    write_rows(made / "r.jsonl", row(chat_body("f", "g")))
    (made / "deep" / "s.sse").write_text(chat_stream("f"))
    for name, text in OTHER.items():
        (made / "deep" / "er" / name).write_text(text)
    (made / ".git").mkdir()
    for name in ("README.md", ".hidden.jsonl", ".git/a.jsonl"):  # names of no recording: neither read nor counted
        (made / name).write_text(chat_body("f"))
    os.mkfifo(made / "pipe.json")
    return made


def test_a_directory_skips_files_without_traffic_and_counts_them(tmp_path: Path) -> None:
    path = folder(tmp_path)
    result = run("audit", path, "--json")
    assert result.exit_code == 0, result.stderr
    figures = json.loads(result.stdout)
    skipped = len(OTHER) + 1  # and the pipe
    assert (figures["exchanges"], figures["skipped"], figures["problems"]) == (2, skipped, 0)
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"skipped {skipped} files without traffic: {path / 'pipe.json'}")
    assert f"{skipped} files without traffic skipped" in run("audit", path).stdout
    normalized = run("normalize", path)
    assert (normalized.exit_code, normalized.stderr) == (0, result.stderr)
    sources = [json.loads(line)["source"] for line in normalized.stdout.splitlines()]
    assert sources == [f"{path}/r.jsonl#1", f"{path}/deep/s.sse#1"]


@pytest.mark.parametrize(("what", "code"), [("dropped-call", 1), ("error", 0)])
def test_fail_on_works_with_a_directory_that_has_skipped_files(tmp_path: Path, what: str, code: int) -> None:
    assert run("audit", folder(tmp_path), "--policy", "first", "--fail-on", what).exit_code == code


@pytest.mark.parametrize("command", ["audit", "normalize"])
def test_a_named_file_that_cannot_be_read_is_an_error(tmp_path: Path, command: str) -> None:
    for name, text in OTHER.items():
        (tmp_path / name).write_text(text)
        result = run(command, tmp_path / name)
        assert result.exit_code == 4
        assert result.stderr.startswith(str(tmp_path / name))


@pytest.mark.parametrize("command", ["audit", "normalize"])
def test_damaged_traffic_in_a_directory_is_an_error(tmp_path: Path, command: str) -> None:
    path = folder(tmp_path)
    for name, text in DAMAGED.items():
        (path / "deep" / name).write_text(text)
        result = run(command, path)
        assert result.exit_code == 4, result.stderr
        assert f"{path / 'deep' / name}" in result.stderr
        (path / "deep" / name).unlink()


def test_traffic_in_an_unsupported_encoding_is_an_error(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "deep" / "body.json").write_text(chat_body("f"), encoding="utf-16")
    (path / "deep" / "notes.txt").write_text("key: data", encoding="utf-16")
    result = run("audit", path)
    assert result.exit_code == 4
    assert "body.json: the file is UTF-16" in result.stderr
    assert "notes.txt: " not in result.stderr


def test_a_damaged_compressed_file_in_a_directory_is_an_error(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "cut.jsonl.gz").write_bytes(gzip.compress(json.dumps(row(chat_body("f"))).encode())[:-9])
    assert run("audit", path).exit_code == 4


def test_a_directory_without_traffic_exits_with_code_5(tmp_path: Path) -> None:
    empty = run("audit", tmp_path)
    assert (empty.exit_code, empty.stdout) == (5, "0 exchanges on 0 wires\n")
    assert f"{tmp_path}: the directory contains no file with a suffix of traffic" in empty.stderr
    (tmp_path / "package.json").write_text(OTHER["package.json"])
    result = run("audit", tmp_path)
    assert result.exit_code == 5
    assert "skipped 1 file without traffic" in result.stderr
