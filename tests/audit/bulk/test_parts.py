"""`toolparity audit part` and `merge`: the audit of a whole input from the audits of its parts."""

from __future__ import annotations

import json
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.bulk.corpus import reports, run, write_corpus
from tests.audit.conversations.test_audit import conversation
from tests.support.thoroughness import examples
from tests.support.traffic import chat_body, row, write_rows
from toolparity.audit.bulk import shares
from toolparity.audit.bulk.part_files import PartWriter
from toolparity.audit.options import AuditOptions
from toolparity.audit.summary import audit_part
from toolparity.cassettes.sources import FilePart, Problem, split_files

Pieces = list[FilePart | Problem]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "logs")


@pytest.fixture(scope="module")
def local(corpus: Path) -> dict[str, bytes]:
    return reports(corpus.parent, corpus)


def failure(*args: str | Path) -> str:
    """Return the only line on standard error of an audit that fails."""
    result = run(*args)
    assert result.exit_code == 4, result.output
    (line,) = result.stderr.splitlines()
    return line


def test_a_part_takes_the_place_of_no_device_or_pipe(corpus: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (pipe, Path("/dev/full")):
        assert "it is not a regular file" in failure("part", "-o", target, corpus)
        assert not target.is_file()


def merged(folder: Path, *parts: Path) -> dict[str, bytes]:
    return reports(folder, "merge", *parts)


def shared(folder: Path, count: int, *paths: Path) -> list[Path]:
    """Write the part files of all shares of an input."""
    parts = [folder / f"{number}.part" for number in range(1, count + 1)]
    for number, part in enumerate(parts, 1):
        run("part", "--share", f"{number}/{count}", "--jobs", "1", *paths, "-o", part)
    return parts


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("count", [1, 2, 5, 23])
def test_shares_of_an_input_give_the_local_audit(
    corpus: Path, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(shares, "PART_BYTES", 1000)
    parts = shared(tmp_path, count, corpus)
    random.Random(count).shuffle(parts)
    assert merged(tmp_path, *parts) == local
    findings = json.loads(local["json"])["conversations"]["wires"]["openai.chat"]["findings"]
    assert findings["dropped-in-fact"] >= 4, "conversations of the corpus end in other files"


def written(path: Path, pieces: Pieces) -> Path:
    with path.open("wb") as file, PartWriter(file, AuditOptions()) as writer:
        for piece in pieces:
            if isinstance(piece, Problem):
                writer.unread(piece)
            else:
                writer.add(piece, audit_part(piece, None, "all", None))
    return path


@examples(60, plain=8)
@given(st.integers(100, 3000), st.integers(1, 7), st.integers(0, 1_000_000))
def test_any_partition_in_any_order_gives_the_local_audit(
    corpus: Path,
    local: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    size: int,
    count: int,
    seed: int,
) -> None:
    """Each piece of the input, also one that is shorter than a line, is in any of the part files."""
    folder = tmp_path_factory.mktemp("any")
    pieces = list(split_files([str(corpus)], size))
    chance = random.Random(seed)
    homes: list[Pieces] = [[] for _ in range(count)]
    for piece in pieces:
        chance.choice(homes).append(piece)
    parts = [written(folder / f"{number}.part", home) for number, home in enumerate(homes)]
    chance.shuffle(parts)
    assert merged(folder, *parts) == local


def test_compressed_lines_are_cut_on_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_rows(tmp_path / "r.jsonl.gz", *(r for n in range(20) for r in conversation(f"c{n}", kept=n % 3)), "{")
    monkeypatch.setattr(shares, "PART_BYTES", 500)
    run("part", path, "-o", tmp_path / "a.part", "--jobs", "1")
    assert merged(tmp_path, tmp_path / "a.part") == reports(tmp_path, path)


def test_row_groups_of_a_table_are_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [r for n in range(10) for r in conversation(f"c{n}", kept=n % 3)]
    cells = [{"request": json.dumps(r["request"]), "response": r["body"]} for r in rows]
    table = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(cells), table, row_group_size=3)
    monkeypatch.setattr(shares, "PART_BYTES", 100)
    assert merged(tmp_path, *reversed(shared(tmp_path, 3, table))) == reports(tmp_path, table)
    pieces = list(split_files([str(table)], 100))
    assert len(pieces) == 7
    first = written(tmp_path / "first.part", pieces[:3])
    assert "no part holds the range from 3 to its end" in failure("merge", first)


def test_a_part_file_has_no_bodies(tmp_path: Path) -> None:
    secret = "x" * 200 + "the end of a long text"
    request = {"messages": [{"role": "user", "content": secret}]}
    run("part", write_rows(tmp_path / "r.jsonl", row(chat_body(), request=request)), "-o", tmp_path / "a.part")
    with zipfile.ZipFile(tmp_path / "a.part") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert (b"x" * 160 in content, b"the end" in content) == (True, False)


@pytest.fixture
def cut(tmp_path: Path) -> list[Path]:
    """Three parts of one file, each with a third of its bytes."""
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_body("f"))] * 9)
    pieces = list(split_files([str(path)], path.stat().st_size // 3 + 1))
    assert len(pieces) == 3
    return [written(tmp_path / f"{n}.part", [piece]) for n, piece in enumerate(pieces)]


def test_ranges_that_are_missing_repeated_or_of_a_changed_file_are_errors(cut: list[Path], tmp_path: Path) -> None:
    run("part", tmp_path / "r.jsonl", "-o", tmp_path / "all.part")
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_body("f"))] * 12)
    last = written(tmp_path / "last.part", list(split_files([str(path)], path.stat().st_size // 3 + 1))[2:])
    for parts, *messages in (
        (cut[1:], "r.jsonl: no part holds the range from 0 to "),
        (cut[:2], "to its end (was a part file forgotten?)"),
        ([cut[2], cut[0]], "r.jsonl: no part holds the range from "),
        ([*cut, cut[1]], "1.part: ", "1.part holds the same range of ", "was a part passed twice?"),
        ([tmp_path / "all.part", cut[0]], "holds the same range of "),
        ([tmp_path / "all.part", cut[2]], "holds the same range of "),
        ([*cut[:2], last], "changed between the parts: "),
    ):
        line = failure("merge", *parts)
        assert [message for message in messages if message not in line] == [], line


def changed(path: Path, **changes: Callable[[bytes], bytes]) -> Path:
    """Write a copy of a part file with other members. ``changes``: the name of a member without suffix -> a change."""
    copy = path.with_suffix(".changed")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name.partition(".")[0], bytes)(old.read(name)))
    return copy


def test_members_that_contradict_each_other_are_an_error(tmp_path: Path) -> None:
    whole = tmp_path / "whole.part"
    run("part", write_rows(tmp_path / "r.jsonl", row(chat_body("f"))), "-o", whole)
    changes: list[tuple[str, Callable[[bytes], bytes], str]] = [
        ("records", lambda data: data + data, "it has more records than its ranges"),
        ("records", lambda data: b"", "it has fewer records than its ranges"),
        ("audits", lambda data: data + b"\n" + data, "the number of its audits is not that of its ranges"),
        ("audits", lambda data: b"", "the number of its audits is not that of its ranges"),
    ]
    for member, change, message in changes:
        line = failure("merge", changed(whole, **{member: change}))
        assert f"damaged: {message} (pass files that toolparity audit part wrote)" in line


def test_a_missing_share_a_repeated_one_and_one_of_another_input_are_errors(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for n in range(3):
        write_rows(tmp_path / "in" / f"{n}.jsonl", row(chat_body("f")))
    one, two, three = shared(tmp_path, 3, tmp_path / "in")
    assert failure("merge", one, three) == "toolparity: 1 of 3 shares are missing: 2/3 (pass every part file)"
    assert "share 2/3 was passed twice: also in " in failure("merge", one, two, three, two)
    write_rows(tmp_path / "in" / "3.jsonl", row(chat_body("f")))
    run("part", "--share", "3/3", tmp_path / "in", "-o", three)
    assert "share 3/3 of another input than the other shares" in failure("merge", one, two, three)


def test_parts_with_other_options_are_an_error(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body("f")))
    for name, policy in (("a", "all"), ("b", "first")):
        run("part", path, "--policy", policy, "-o", tmp_path / f"{name}.part")
    line = failure("merge", tmp_path / "a.part", tmp_path / "b.part")
    assert ("b.part: made with policy first, but " in line, "a.part with policy all" in line) == (True, True)


def test_a_file_that_is_not_a_whole_part_file_of_this_version_is_refused(cut: list[Path], tmp_path: Path) -> None:
    part = tmp_path / "x.part"
    for content in (b"", b"text", b"PK\x05\x06" + bytes(18), cut[0].read_bytes()[:-100]):
        part.write_bytes(content)
        assert "x.part: not a part file, or damaged: " in failure("merge", part)
    assert "missing: the file does not exist" in failure("merge", tmp_path / "missing")
    with zipfile.ZipFile(part, "w") as archive:
        archive.writestr("part.json", '{"format":"toolparity-audit-part","version":3,"toolparity":"9.0","more":1}')
    assert "x.part: format toolparity-audit-part 3 of toolparity 9.0 is not supported" in failure("merge", *cut, part)


def test_a_path_that_is_passed_twice_is_an_error_and_leaves_the_old_part(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "in.jsonl", row(chat_body("f")))
    (tmp_path / "a.part").write_bytes(b"old")
    line = failure("part", path, path, "-o", tmp_path / "a.part")
    assert line.endswith("in.jsonl: the input contains this file twice (pass each path once)")
    assert (tmp_path / "a.part").read_bytes() == b"old"
    assert {one.name for one in tmp_path.iterdir()} == {"in.jsonl", "a.part"}


def test_a_share_that_cannot_be_is_a_usage_error(tmp_path: Path) -> None:
    for share in ("0/3", "4/3", "1", "a/b", "1/0"):
        result = run("part", "--share", share, tmp_path, "-o", tmp_path / "a.part")
        assert (result.exit_code, "is not a share such as 3/16" in result.stderr) == (2, True), share


def test_places_that_cannot_be_read_fail_the_part_and_the_merge(corpus: Path, tmp_path: Path) -> None:
    assert run("part", corpus, "-o", tmp_path / "a.part", "--jobs", "1").exit_code == 4
    assert run("merge", tmp_path / "a.part").exit_code == 4
    assert run("merge", tmp_path / "a.part", "--fail-on", "dropped-in-fact").exit_code == 1
