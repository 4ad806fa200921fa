"""Parquet files, SQLite databases and JSON lines with entries in columns."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.audit.conversations.test_audit import conversation
from toolparity.cli import main

Row = dict[str, Any]
Write = Callable[[Path, Sequence[Row]], Path]


def sqlite(folder: Path, rows: Sequence[Row], table: str = "logs") -> Path:
    path = folder / "traffic.db"
    names = ", ".join(f'"{name}"' for name in rows[0])
    with closing(sqlite3.connect(path)) as database:
        database.execute(f'CREATE TABLE IF NOT EXISTS "{table}" ({names})')
        marks = ", ".join("?" for _ in rows[0])
        database.executemany(f'INSERT INTO "{table}" VALUES ({marks})', [tuple(row.values()) for row in rows])
        database.commit()
    return path


def parquet(folder: Path, rows: Sequence[Row]) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    writer = pytest.importorskip("pyarrow.parquet")
    path = folder / "traffic.parquet"
    writer.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def json_lines(folder: Path, rows: Sequence[Row]) -> Path:
    path = folder / "traffic.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


_EACH = pytest.mark.parametrize("write", [sqlite, parquet, json_lines])


def audit(path: Path, *args: str) -> Result:
    return CliRunner().invoke(main, ["audit", str(path), "--json", *args])


def figures(result: Result) -> tuple[int, dict[str, int]]:
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    return data["exchanges"], data["conversations"]["wires"]["openai.chat"]["findings"]


def texts(kept: int) -> list[Row]:
    """Return rows with a request and a response as text, and columns that hold something else."""
    return [
        {"number": n, "asked": json.dumps(row["request"]), "answered": row["body"], "note": None}
        for n, row in enumerate(conversation("a", kept=kept))
    ]


@_EACH
def test_a_column_can_hold_whole_entries(write: Write, tmp_path: Path) -> None:
    rows = [{"number": n, "entry": json.dumps(row)} for n, row in enumerate(conversation("a", kept=1))]
    assert figures(audit(write(tmp_path, rows), "--column", "entry")) == (2, {"dropped-in-fact": 1})


@_EACH
def test_a_column_can_hold_responses_alone(write: Write, tmp_path: Path) -> None:
    assert figures(audit(write(tmp_path, texts(2)), "--column", "answered")) == (2, {})


@_EACH
def test_columns_can_be_the_members_of_an_entry(write: Write, tmp_path: Path) -> None:
    rows = [{"request": row["asked"], "response": row["answered"], "note": "x"} for row in texts(1)]
    args = ("--column", "request", "--column", "response")
    assert figures(audit(write(tmp_path, rows), *args)) == (2, {"dropped-in-fact": 1})


@_EACH
def test_a_missing_column_is_a_problem_that_names_the_others(write: Write, tmp_path: Path) -> None:
    result = audit(write(tmp_path, texts(2)), "--column", "body")
    assert result.exit_code == 4
    assert "no column 'body'; 2 similar" in result.stderr.replace(" (one of number, asked, answered, note)", "")


@_EACH
def test_empty_cells_are_passed_over(write: Write, tmp_path: Path) -> None:
    rows = [*texts(2), {"number": 3, "asked": "", "answered": None, "note": None}]
    assert figures(audit(write(tmp_path, rows), "--column", "answered")) == (2, {})


@pytest.mark.parametrize("write", [sqlite, parquet])
def test_the_rows_of_a_table_are_entries_if_no_column_is_named(write: Write, tmp_path: Path) -> None:
    rows = [
        {
            "request_id": str(n),
            "call_type": "completion",
            "messages": json.dumps(row["request"]["messages"]),
            "response": row["body"],
        }
        for n, row in enumerate(conversation("a", kept=1))
    ]
    assert figures(audit(write(tmp_path, rows))) == (2, {"dropped-in-fact": 1})


def test_a_database_with_several_tables_needs_the_name_of_one(tmp_path: Path) -> None:
    sqlite(tmp_path, [{"other": 1}], table="a table")
    path = sqlite(tmp_path, texts(2))
    result = audit(path, "--column", "answered")
    assert result.exit_code == 4
    assert "the database has several tables (--column TABLE.COLUMN; tables: a table, logs)" in result.stderr
    assert figures(audit(path, "--column", "logs.answered")) == (2, {})
    assert "no table 'log'" in audit(path, "--column", "log.answered").stderr


def test_a_database_is_not_changed(tmp_path: Path) -> None:
    path = sqlite(tmp_path, texts(2))
    before = path.read_bytes()
    audit(path, "--column", "answered")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["traffic.db"]


def test_a_damaged_database_is_a_problem(tmp_path: Path) -> None:
    path = sqlite(tmp_path, texts(2))
    path.write_bytes(path.read_bytes()[:4000])
    result = audit(path, "--column", "answered")
    assert result.exit_code == 4
    assert "the database cannot be read" in result.stderr


def test_a_column_of_a_file_without_columns_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(conversation("a")[0]["body"], "utf-8")
    result = audit(path, "--column", "answered")
    assert result.exit_code == 4
    assert "the file has no columns" in result.stderr
