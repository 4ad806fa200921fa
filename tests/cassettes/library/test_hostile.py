"""A file that is built to do harm is an error with its place, and nothing in it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from datetime import date as Day  # noqa: N812
from pathlib import Path

import pytest

from tests.cassettes.library.making import made, rewritten
from toolparity.cassettes.errors import UnreadableCassette
from toolparity.cassettes.library import find, inventory, load, path_for, provenance_of, safe_yaml
from toolparity.cassettes.recorder.verify import verify_one
from toolparity.normalizer.errors import ToolparityError

TOP = "version: 1\ninteractions:\n"
ASKED = "- {request: {method: GET, uri: u, body: null, headers: {}}, response: "
ANSWERED = "response: {status: {code: 200, message: OK}, headers: {}, body: {string: ''}}}"


def _bomb(kind: Callable[[str], str], levels: int = 30) -> str:
    rows = [f"a0: &a0 {kind('x')}"]
    rows += [f"a{n}: &a{n} {kind(', '.join([f'*a{n - 1}'] * 9))}" for n in range(1, levels)]
    return "\n".join(rows) + "\n"


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "code in a tag": ("a: !!python/object/apply:os.system ['touch owned']", "not plain data: the tag"),
    "an object in a tag": ("a: !!python/object:toolparity.cassettes.library.files.Place {}", "not plain data: the tag"),
    "a name in a tag": ("a: !!python/name:os.system ''", "not plain data: the tag"),
    "an object made of a scalar": ("a: !!python/object/new:os.system touch", "not plain data: the tag"),
    "a private tag": ("a: !secret x", "not plain data: the tag '!secret'"),
    "a tag on a member's name": ("!!python/name:os.system a: b", "not plain data: the tag"),
    "billion laughs in lists": (_bomb(lambda inner: f"[{inner}]"), "counting repeated aliases"),
    "billion laughs in mappings": (
        "\n".join(["a0: &a0 {x: 1}"] + [
            f"a{n}: &a{n} {{{', '.join(f'k{m}: *a{n - 1}' for m in range(9))}}}" for n in range(1, 30)]),
        "counting repeated aliases",
    ),
    "an alias to itself": ("a: &a [*a]", "refers to no complete value"),
    "an alias to nothing": ("a: *b", "refers to no complete value"),
    "a merge key": ("a: &a {x: 1}\nb: {<<: *a}", "merge key"),
    "a bomb of merge keys": (
        "\n".join(["a0: &a0 {k: 1}"] + [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: 1}}" for n in range(1, 40)]),
        "merge key",
    ),
    "a quoted merge key": ("a: {'<<': {x: 1}}", "merge key"),
    "100,000 levels in brackets": (b"a: " + b"[" * 100_000 + b"]" * 100_000, "nested deeper than 200"),
    "100,000 levels in braces": (b"a: " + b"{a: " * 100_000, "nested deeper than 200"),
    "100,000 levels in dashes": (b"- " * 100_000 + b"x", "nested deeper than 200"),
    "NUL": (b"a: b\0c", "invalid YAML"),
    "invalid UTF-8": (b"a: \xff\xfe", "invalid YAML"),
    "cut UTF-16": ("a: b".encode("utf-16")[:-1], "invalid YAML"),
    "control characters": (b"a: \x01\x02", "invalid YAML"),
    "no YAML": ("a: [", "invalid YAML"),
    "a tab for an indent": ("a:\n\tb: c", "invalid YAML"),
    "two documents": ("a: b\n--- \nc: d", "more than one YAML document"),
    "nothing": ("", "the file is empty"),
    "only a comment": ("# nothing here\n", "the file is empty"),
    "a member twice": ("version: 1\nversion: 2", "duplicate member"),
    "a number for a name": ("1: 2", "a member's name must be text, got int"),
    "a list for a name": ("? [a]\n: b", "a member's name must be text, got list"),
    "a number too long": ("a: " + "9" * 5000, "cannot be read as int"),
    "an invalid date": ("a: 2026-13-45", "cannot be read as timestamp"),
    "invalid base64": ("a: !!binary 'ü'", "cannot be read as binary"),
    "a word for a truth": ("a: !!bool maybe", "cannot be read as bool"),
    "no mapping": ("- a", "its top level is not a mapping"),
    "no interactions": ("a: b", "no list of interactions"),
    "interactions of another type": ("interactions: {}", "no list of interactions"),
    "metadata of another type": ("metadata: [1]\ninteractions: []", "metadata is not a mapping"),
    "metadata that is a number": ("metadata: 7\ninteractions: []", "metadata is not a mapping"),
    "an interaction that is text": (TOP + "- hello", "needs a request and a response"),
    "a request that is text": (TOP + "- {request: hello, response: {}}", "needs a request and a response"),
    "a request without an address": (TOP + "- {request: {method: POST}, response: {}}", "a request must have"),
    "a request with more": (
        TOP + "- {request: {method: GET, uri: u, body: null, headers: {}, a: x}, response: {}}", "no other members"),
    "an address that is a number": (
        TOP + "- {request: {method: GET, uri: 7, body: null, headers: {}}, response: {}}", "uri must be text"),
    "an invalid address": (
        TOP + "- {request: {method: GET, uri: 'http://[x/', body: null, headers: {}}, " + ANSWERED,
        "the request cannot be played"),
    "a header without a value": (
        TOP + "- {request: {method: GET, uri: u, body: null, headers: {a: []}}, " + ANSWERED,
        "the request cannot be played"),
    "an answer that holds nothing": (TOP + ASKED + "{}}", "must have a code"),
    "a status that is not a number": (
        TOP + ASKED + "{status: {code: abc}, headers: {}, body: {string: ''}}}", "must have a code"),
    "a status out of all bounds": (
        TOP + ASKED + "{status: {code: 1" + "0" * 30 + "}, headers: {}, body: {string: ''}}}", "three digits"),
    "a body that is a number": (
        TOP + ASKED + "{status: {code: 200}, headers: {}, body: {string: 5}}}", "must have a string"),
    "a body that is a list": (
        TOP + ASKED + "{status: {code: 200}, headers: {}, body: [1]}}", "must have a string"),
    "an answer without a body": (
        TOP + ASKED + "{status: {code: 200}, headers: {}}}", "must have a string"),
    "headers that are a list": (
        TOP + ASKED + "{status: {code: 200}, headers: [1], body: {string: ''}}}", "headers are not a mapping"),
    "a header that is a number": (
        TOP + ASKED + "{status: {code: 200}, headers: {a: 5}, body: {string: ''}}}", "response's headers is not text"),
    "a header of mappings": (
        TOP + ASKED + "{status: {code: 200}, headers: {a: [{b: 1}]}, body: {string: ''}}}", "headers is not text"),
    "trailers that are a number": (
        TOP + ASKED + "{status: {code: 200}, headers: {}, trailers: 1, body: {string: ''}}}", "trailer's headers are"),
    "a status of gRPC that is a number": (
        TOP + ASKED + "{status: {code: 200}, headers: {}, grpc: 5, body: {string: ''}}}", "member grpc is not"),
    "a request's body that is a mapping": (
        TOP + "- {request: {method: GET, uri: u, body: {a: 1}, headers: {}}, " + ANSWERED, "body is not text"),
    "a request's body that is a date": (
        TOP + "- {request: {method: GET, uri: u, body: 2020-01-01, headers: {}}, " + ANSWERED, "body is not text"),
    "a request's header that is a number": (
        TOP + "- {request: {method: GET, uri: u, body: '', headers: {a: 5}}, " + ANSWERED, "request's headers is not"),
}  # fmt: skip


@pytest.mark.parametrize("date", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_outside_of_the_calendar_is_an_error_of_the_provenance(tmp_path: Path, date: str) -> None:
    path = made(tmp_path)
    rewritten(path, lambda content: content["metadata"]["toolparity"].update(date=date), honest=True)
    (known,) = inventory.list_cassettes(find(tmp_path))
    assert "outside of the calendar" in str(known.error)
    assert inventory.oldest_first([known], Day(2026, 1, 1)) == []
    (problem,) = verify_one(find(tmp_path)[0]).problems
    assert (problem.step, problem.fault) == ("provenance", False)


def put(root: Path, content: str | bytes, name: str = "single-call") -> Path:
    path = path_for("openai.chat", name, False, root)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_an_error_of_the_first_step_and_runs_nothing(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content, reason = HOSTILE[name]
    path = put(tmp_path, content)
    tracemalloc.start()
    with pytest.raises(UnreadableCassette, match=re.escape(reason)) as caught:
        _ = load(path).requests
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.where.startswith(str(path))
    assert peak < 8_000_000
    with pytest.raises(ToolparityError):
        provenance_of(path)
    verdict = verify_one(find(tmp_path)[0])
    (problem,) = verdict.problems
    assert (problem.step, problem.fault, verdict.passed, verdict.origin) == ("readable", False, [], None)
    assert reason in problem.what
    assert problem.location.startswith("openai/openai.chat/single-call.yaml")
    assert problem.hint
    assert not (tmp_path / "owned").exists()


def test_an_error_names_the_line(tmp_path: Path) -> None:
    path = put(tmp_path, "version: 1\n\nmetadata:\n  a: !evil x\n")
    with pytest.raises(UnreadableCassette) as caught:
        load(path)
    assert caught.value.where == f"{path}:4"


def test_a_scalar_of_100_mb_is_refused_by_its_size_unread(tmp_path: Path) -> None:
    path = put(tmp_path, "metadata: {}\ninteractions: []\na: ")
    with path.open("r+b") as file:  # a sparse file: nothing is written
        file.truncate(100 * 1024 * 1024)
    tracemalloc.start()
    for way in (load, provenance_of):
        with pytest.raises(
            UnreadableCassette, match=f"larger than the limit of {safe_yaml.MAX_BYTES:,} bytes: 104,857,600"
        ):
            way(path)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_moderate_nesting_and_aliases_are_allowed() -> None:
    deep = "a: " + "[" * 150 + "]" * 150
    assert safe_yaml.load(deep.encode(), "here")["a"]
    assert safe_yaml.load(b"a: &a [1, 2]\nb: [*a, *a]\n", "here")["b"] == [[1, 2], [1, 2]]


def test_a_link_out_of_the_library_is_refused_and_folders_behind_links_are_not_read(tmp_path: Path) -> None:
    outside = made(tmp_path / "outside")
    path = path_for("openai.chat", "single-call", False, tmp_path / "library")
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    (problem,) = verify_one(find(tmp_path / "library")[0]).problems
    assert "a link to a place outside the library" in problem.what
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "openai").symlink_to(tmp_path / "outside" / "openai")
    assert find(tmp_path / "other") == []


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "..", "a/../b"])
def test_a_path_in_the_provenance_is_refused(tmp_path: Path, name: str) -> None:
    path = made(tmp_path)
    rewritten(path, lambda content: content["metadata"]["toolparity"].update(scenario=name))
    (problem,) = verify_one(find(tmp_path)[0]).problems
    assert problem.step == "provenance"
    assert f"scenario {name!r} must consist of" in problem.what


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this file system")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = path_for("openai.chat", "single-call", False, tmp_path)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    for way in (load, provenance_of):
        with pytest.raises(UnreadableCassette, match="not a regular file"):
            way(path)


@pytest.mark.service("cassettes/library")
def test_verifying_a_hostile_library_runs_nothing_of_it(tmp_path: Path) -> None:
    """In its own process: the whole command, with every hostile file at once."""
    for number, (content, _) in enumerate(HOSTILE.values()):
        put(tmp_path / "library", content, f"h{number}")
    code = "from toolparity.cli import main; main(['cassettes', 'verify', '--library', 'library'])"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert f"0 of {len(HOSTILE)} cassettes passed: {len(HOSTILE)} unknown" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["library"]
