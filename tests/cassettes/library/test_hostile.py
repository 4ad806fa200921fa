"""A file that is built to do harm is an error with its place, and nothing in it runs."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from datetime import date as Day  # noqa: N812
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.cassettes.library.making import made, rewritten
from toolparity.cassettes.errors import UnreadableCassette
from toolparity.cassettes.library import find, inventory, load, path_for, provenance_of, safe_yaml
from toolparity.cassettes.recorder.verify import verify_one
from toolparity.cli import main
from toolparity.normalizer.errors import ToolparityError

REQUEST: dict[str, Any] = {"method": "GET", "uri": "u", "body": None, "headers": {}}
RESPONSE = {"status": {"code": 200}, "headers": {}, "body": {"string": ""}}


def holding(one: Any) -> str:
    """A cassette with this interaction, as JSON, which is YAML, too."""
    return json.dumps({"version": 1, "interactions": [one]})


def asking(**members: Any) -> str:
    return holding({"request": REQUEST | members, "response": RESPONSE})


def answering(**members: Any) -> str:
    return holding({"request": REQUEST, "response": RESPONSE | members})


def bomb(value: str) -> str:
    """Thirty members, each with nine aliases to the one before in the place of `*`."""
    rows = [f"a{n}: &a{n} {value.replace('*', f'*a{n - 1}')}" for n in range(1, 30)]
    return "\n".join(["a0: &a0 {k: 1}", *rows])


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "code in a tag": ("a: !!python/object/apply:os.system ['touch owned']", "not plain data: the tag"),
    "an object in a tag": ("a: !!python/object:toolparity.cassettes.library.files.Place {}", "not plain data: the tag"),
    "a name in a tag": ("a: !!python/name:os.system ''", "not plain data: the tag"),
    "an object made of a scalar": ("a: !!python/object/new:os.system touch", "not plain data: the tag"),
    "a private tag": ("a: !secret x", "not plain data: the tag '!secret'"),
    "a tag on a member's name": ("!!python/name:os.system a: b", "not plain data: the tag"),
    "billion laughs in lists": (bomb(f"[{', '.join('*' * 9)}]"), "counting repeated aliases"),
    "billion laughs in mappings": (
        bomb(f"{{{', '.join(f'k{n}: *' for n in range(9))}}}"),
        "counting repeated aliases",
    ),
    "an alias to itself": ("a: &a [*a]", "refers to no complete value"),
    "an alias to nothing": ("a: *b", "refers to no complete value"),
    "a merge key": ("a: &a {x: 1}\nb: {<<: *a}", "merge key"),
    "a bomb of merge keys": (bomb("{<<: [*, *], x: 1}"), "merge key"),
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
    "an interaction that is text": (holding("hello"), "needs a request and a response"),
    "a request that is text": (holding({"request": "hello", "response": {}}), "needs a request and a response"),
    "a request without an address": (holding({"request": {"method": "POST"}, "response": {}}), "a request must have"),
    "a request with more": (asking(a="x"), "no other members"),
    "an address that is a number": (asking(uri=7), "uri must be text"),
    "an invalid address": (asking(uri="http://[x/"), "the request cannot be played"),
    "a header without a value": (asking(headers={"a": []}), "the request cannot be played"),
    "an answer that holds nothing": (holding({"request": REQUEST, "response": {}}), "must have a code"),
    "a status that is not a number": (answering(status={"code": "abc"}), "must have a code"),
    "a status out of all bounds": (answering(status={"code": 10**30}), "three digits"),
    "a body that is a number": (answering(body={"string": 5}), "must have a string"),
    "a body that is a list": (answering(body=[1]), "must have a string"),
    "an answer without a body": (answering(body=None), "must have a string"),
    "headers that are a list": (answering(headers=[1]), "headers are not a mapping"),
    "a header that is a number": (answering(headers={"a": 5}), "response's headers is not text"),
    "a header of mappings": (answering(headers={"a": [{"b": 1}]}), "headers is not text"),
    "trailers that are a number": (answering(trailers=1), "trailer's headers are"),
    "a status of gRPC that is a number": (answering(grpc=5), "member grpc is not"),
    "a request's body that is a mapping": (asking(body={"a": 1}), "body is not text"),
    "a request's body that is a date": (asking(body="day").replace('"day"', "2020-01-01"), "body is not text"),
    "a request's header that is a number": (asking(headers={"a": 5}), "request's headers is not"),
}


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("date", "9999-12-31T23:59:59-14:00", "outside of the calendar"),
        ("date", "0001-01-01T00:00:00+14:00", "outside of the calendar"),
        *(
            ("scenario", name, f"scenario {name!r} must consist of")
            for name in ("../../../etc/passwd", "/etc/passwd", "..", "a/../b")
        ),
    ],
)
def test_a_time_outside_of_the_calendar_and_a_path_are_errors_of_the_provenance(
    tmp_path: Path, member: str, value: str, reason: str
) -> None:
    path = made(tmp_path)
    rewritten(path, lambda content: content["metadata"]["toolparity"].update({member: value}), honest=member == "date")
    (known,) = inventory.list_cassettes(find(tmp_path))
    assert reason in str(known.error)
    assert inventory.oldest_first([known], Day(2026, 1, 1)) == []
    (problem,) = verify_one(find(tmp_path)[0]).problems
    assert (problem.step, problem.fault, reason in problem.what) == ("provenance", False, True)


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


def test_moderate_nesting_and_aliases_are_allowed_and_an_error_names_the_line(tmp_path: Path) -> None:
    deep = "a: " + "[" * 150 + "]" * 150
    assert safe_yaml.load(deep.encode(), "here")["a"]
    assert safe_yaml.load(b"a: &a [1, 2]\nb: [*a, *a]\n", "here")["b"] == [[1, 2], [1, 2]]
    path = put(tmp_path, "version: 1\n\nmetadata:\n  a: !evil x\n")
    with pytest.raises(UnreadableCassette) as caught:
        load(path)
    assert caught.value.where == f"{path}:4"


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this file system")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = path_for("openai.chat", "single-call", False, tmp_path)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    for way in (load, provenance_of):
        with pytest.raises(UnreadableCassette, match="not a regular file"):
            way(path)


def test_verifying_a_hostile_library_runs_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole command, with every hostile file at once."""
    monkeypatch.chdir(tmp_path)
    for number, (content, _) in enumerate(HOSTILE.values()):
        put(tmp_path / "library", content, f"h{number}")
    done = CliRunner().invoke(main, ["cassettes", "verify", "--library", "library"])
    assert (done.exit_code, done.stderr) == (1, "")
    assert f"0 of {len(HOSTILE)} cassettes passed: {len(HOSTILE)} unknown" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["library"]
