"""Parts of the input: wherever a file is cut, its parts together hold what the whole file holds."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.thoroughness import examples
from tests.support.traffic import chat_body, row, write_rows
from toolparity.cassettes.sources import (
    Exchange,
    FilePart,
    Numbering,
    PartReader,
    Problem,
    ReadItem,
    files,
    moved,
    read,
    split_files,
)

GOOD = json.dumps(row(chat_body("f"), id="å🙂"), ensure_ascii=False).encode()
LINES = st.one_of(
    st.just(GOOD),
    st.sampled_from([b"", b" \t", b"{broken", b"\xef\xbb\xbf{}", "ü🙂".encode(), b"\xff\xfe\n".strip()]),
    st.integers(1, 40).map(lambda times: json.dumps(row(chat_body("f") + "é" * 30 * times)).encode()),
)
CONTENT = st.builds(
    lambda start, lines, ends, last: (
        start + GOOD + b"\n" + b"".join(map(b"".join, zip(lines, ends, strict=False))) + last
    ),
    st.sampled_from([b"", b"\xef\xbb\xbf", b"\n\r\n"]),
    st.lists(LINES, max_size=12),
    st.lists(st.sampled_from([b"\n", b"\r\n", b"\n\n"]), min_size=12, max_size=12),
    st.sampled_from([b"", GOOD, b"{broken"]),
)


def merged(parts: Iterable[FilePart | Problem]) -> list[ReadItem]:
    """The items of all parts with absolute places, as a merge makes them."""
    numbering = Numbering()
    found: list[ReadItem] = []
    for part in parts:
        if isinstance(part, Problem):
            found.append(part)
            continue
        reader = PartReader(pickle.loads(pickle.dumps(part)))
        items = list(reader)
        offset = numbering.offset(part, reader.lines)
        found += [
            item if item.line is None else replace(item, source=moved(item.source, offset), line=item.line + offset)
            for item in items
        ]
    return found


@examples(200)
@given(CONTENT, st.integers(1, 3000))
def test_ranges_of_any_size_hold_what_the_file_holds(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "ranges.jsonl"
    path.write_bytes(content)
    whole = list(read(path))
    parts = list(split_files([str(path)], size))
    assert merged(parts) == whole
    spans = [(part.start, part.end) for part in parts if isinstance(part, FilePart)]
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == len(content)


@examples(60)
@given(CONTENT, st.integers(1, 3000))
def test_unpacked_blocks_of_any_size_hold_what_the_file_holds(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.jsonl.gz"
    path.write_bytes(gzip.compress(content, 1))
    whole = list(read(path))
    assert merged(split_files([str(path)], size, unpack=True)) == whole
    (part,) = split_files([str(path)], size)
    assert isinstance(part, FilePart)
    assert (part.start, part.end, part.content) == (0, None, None)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_line_above_the_limit_is_one_problem_in_any_part(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_RECORD_BYTES", 2000)
    lines = [row(chat_body()), row("x" * 200_000), row(chat_body()), row("x" * 200_000)]
    path = write_rows(tmp_path / f"r.jsonl{suffix}", *lines)
    whole = list(read(path))
    assert [(type(item), item.line) for item in whole] == [(Exchange, 1), (Problem, 2), (Exchange, 3), (Problem, 4)]
    for size in (700, 70_000, 1_000_000):
        assert merged(split_files([str(path)], size, unpack=True)) == whole


def test_lines_before_damage_are_read_in_blocks_as_in_the_whole_file(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row(chat_body(os.urandom(400).hex()))) + "\n" for _ in range(400))
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-200])
    *good, damage = whole = list(read(path))
    assert len(good) > 200
    assert {type(item) for item in good} == {Exchange}
    assert isinstance(damage, Problem)
    for size in (5_000, 10_000_000):
        assert merged(split_files([str(path)], size, unpack=True)) == whole


def test_a_pipe_is_read_once_and_its_parts_have_their_lines(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_body("f"), id=f"é{n}") for n in range(50)], "{broken")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(path.read_bytes(),))
    writer.start()
    parts = list(split_files([str(pipe)], 2000))
    writer.join()
    assert len(parts) > 3
    expected = [replace(item, source=item.source.replace(str(path), str(pipe))) for item in read(path)]
    assert merged(parts) == expected


def test_a_file_that_became_shorter_is_a_problem(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_body())] * 10)
    parts = list(split_files([str(path)], 1000))
    os.truncate(path, 500)
    (problem,) = PartReader(parts[-1])  # type: ignore[arg-type]
    assert isinstance(problem, Problem)
    assert "became shorter while it was read: 500 instead of" in problem.what
    assert problem.fault


def test_lines_that_are_appended_while_the_file_is_read_are_left_for_the_next_run(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_body())] * 10)
    parts = list(split_files([str(path)], 1000))
    assert max(len(pickle.dumps(part)) for part in parts) < 300 + len(str(path))  # a part holds no content
    with path.open("ab") as file:
        file.write(GOOD + b"\n")
    assert len(merged(parts)) == 10


def test_places_without_a_number_are_not_moved() -> None:
    moves = {("a#3", 4): "a#7", ("a:3", 4): "a:7", ("a#b", 4): "a#b", ("a#3\nb:1", 0): "a#3\nb:1"}
    assert {each: moved(*each) for each in moves} == moves


def test_files_that_cannot_be_cut_are_one_part_each(tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text(chat_body("f"))
    array = tmp_path / "array.json"
    array.write_text(json.dumps([json.loads(chat_body())] * 3))
    for path, count in ((body, 1), (array, 3)):
        (part,) = split_files([str(path)], 10)
        assert isinstance(part, FilePart)
        assert (part.start, part.end, part.size) == (0, None, path.stat().st_size)
        assert merged([part]) == list(read(path))
        assert len(merged([part])) == count


def test_row_groups_of_parquet_hold_what_the_file_holds(tmp_path: Path) -> None:
    pyarrow: Any = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    rows = [{"request": "{}", "response": chat_body("f", id=f"r{n}")} for n in range(50)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=8)
    columns = ("request", "response")
    whole = list(read(path, columns=columns))
    assert [item.source for item in whole] == [f"{path}#{n}" for n in range(1, 51)]
    for size, count in ((1, 7), (10**9, 1)):
        parts = list(split_files([str(path)], size, columns=columns))
        assert len(parts) == count
        assert merged(parts) == whole
