"""Entries in columns: of databases behind a URL of SQLAlchemy, and of Parquet files, SQLite files and JSON lines."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from tests.audit.conversations.test_audit import conversation
from tests.support import postgres as servers
from toolparity.cassettes.sources import FilePart, databases, split_files
from toolparity.cli import main

_POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.service("cassettes/sources"))
_ON_EACH = pytest.mark.parametrize("url", ["sqlite", _POSTGRESQL], indirect=True)


@pytest.fixture(scope="module")
def server() -> Iterator[sa.URL]:
    with servers.server() as url:
        yield url


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/logs.db"
        return
    with servers.database(request.getfixturevalue("server")) as made:
        yield made.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def fill(url: str, table: str = "logs", schema: str | None = None, as_json: bool = False) -> None:
    """Write two exchanges, of which the application lost a call."""
    kind: Any = sa.JSON if as_json else sa.Text
    columns = [sa.Column("number", sa.Integer), sa.Column("asked", kind), sa.Column("answered", kind)]
    logs = sa.Table(table, sa.MetaData(), *columns, sa.Column("at", sa.DateTime), schema=schema)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        if schema is not None:
            connection.execute(sa.schema.CreateSchema(schema))
        logs.create(connection)
        for number, row in enumerate(conversation("a", kept=1)):
            asked, answered = row["request"], json.loads(row["body"])
            cells = (asked, answered) if as_json else (json.dumps(asked), json.dumps(answered))
            connection.execute(logs.insert().values(number=number, asked=cells[0], answered=cells[1]))
    engine.dispose()


def execute(url: str, statement: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


def audit(source: str | Path, *args: str) -> Result:
    return CliRunner().invoke(main, ["audit", str(source), "--json", *args])


def counted(result: Result) -> tuple[int, int]:
    """Return the number of exchanges and of their calls."""
    assert (result.exit_code, result.stderr) == (0, "")
    data = json.loads(result.stdout)
    return data["exchanges"], data["wires"]["openai.chat"]["calls"]


@_ON_EACH
@pytest.mark.parametrize("as_json", [False, True])
def test_the_columns_of_a_view_are_the_members_of_an_entry(url: str, as_json: bool) -> None:
    fill(url, as_json=as_json)
    execute(url, "CREATE VIEW traffic AS SELECT asked AS request, answered AS response, at FROM logs ORDER BY number")
    result = audit(url, "--column", "traffic.request", "--column", "traffic.response")
    assert counted(result) == (2, 2)
    (finding,) = json.loads(result.stdout)["conversations"]["findings"]
    assert (finding["code"], finding["call_id"]) == ("dropped-in-fact", "call_a4Kd9Xw2_2")
    shown = databases.without_password(url)
    assert (finding["response_place"], finding["request_place"]) == (f"{shown}#1", f"{shown}#2")


@_ON_EACH
def test_the_rows_of_a_gateway_are_entries_if_no_column_is_named(url: str) -> None:
    columns = [sa.Column(name, sa.JSON) for name in ("messages", "response", "metadata")]
    logs = sa.Table(
        "LiteLLM_SpendLogs",
        sa.MetaData(),
        sa.Column("request_id", sa.Uuid),
        sa.Column("call_type", sa.Text),
        sa.Column("spend", sa.Numeric),
        sa.Column("startTime", sa.DateTime(timezone=True)),
        sa.Column("cache_key", sa.LargeBinary),
        *columns,
    )
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        logs.create(connection)
        for number, row in enumerate(conversation("a", kept=1)):
            cells = {"messages": row["request"]["messages"], "response": json.loads(row["body"]), "metadata": {}}
            at = datetime(2026, 1, 23, 17, number, tzinfo=UTC)
            others = {"call_type": "acompletion", "spend": Decimal("0.00012"), "startTime": at, "cache_key": b"\xff"}
            connection.execute(logs.insert().values(request_id=UUID(int=number), **others, **cells))
    engine.dispose()
    result = audit(url)
    assert counted(result) == (2, 2)
    assert json.loads(result.stdout)["conversations"]["wires"]["openai.chat"]["findings"] == {"dropped-in-fact": 1}


@_ON_EACH
def test_several_tables_need_the_name_of_one(url: str) -> None:
    fill(url)
    fill(url, "a table")
    result = audit(url, "--column", "answered")
    assert result.exit_code == 4
    assert "the database has several tables (--column TABLE.COLUMN; tables: a table, logs)" in result.stderr
    assert counted(audit(url, "--column", "logs.answered")) == (2, 2)
    assert "no table 'log'" in audit(url, "--column", "log.answered").stderr
    missing = audit(url, "--column", "logs.body")
    assert missing.exit_code == 4
    assert "no column 'body'" in missing.stderr
    assert "one of number, asked, answered, at" in missing.stderr


@pytest.mark.parametrize("url", [_POSTGRESQL], indirect=True)
def test_a_table_of_another_schema_is_named_with_it(url: str) -> None:
    fill(url, schema="gateway")
    assert counted(audit(url, "--column", "gateway.logs.answered")) == (2, 2)


@_ON_EACH
def test_a_database_without_tables_is_a_problem(url: str) -> None:
    if url.startswith("sqlite"):
        execute(url, "PRAGMA user_version = 1")
    result = audit(url, "--column", "answered")
    assert result.exit_code == 4
    assert "the database has no tables" in result.stderr


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("sqlite:////no/such/file.db", "the file does not exist"),
        ("postgresql+psycopg://127.0.0.1:1/logs", "the database cannot be read"),
        ("postgresql+nosuchdriver://127.0.0.1/logs", "unknown driver: postgresql+nosuchdriver"),
        ("postgresql+psycopg://127.0.0.1:port/logs", "not a URL of SQLAlchemy"),
    ],
)
def test_a_database_that_cannot_be_reached_is_a_problem(url: str, what: str) -> None:
    result = audit(url)
    assert result.exit_code == 4
    assert what in result.stderr


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    result = audit("mysql+pymysql://127.0.0.1/logs")
    assert result.exit_code == 4
    assert "the driver pymysql is not installed (pip install pymysql, or name an installed driver" in result.stderr


def test_missing_sqlalchemy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy.exc", None)
    assert "needs SQLAlchemy (pip install sqlalchemy)" in audit("sqlite:///any.db").stderr


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ana:s3cr:et@host/logs", "postgresql://ana:***@host/logs"),
        ("postgresql://ana@host/logs?password=s3cret&sslmode=require", "postgresql://ana@host/logs?password=***&sslmode=require"),
        ("postgresql://ana:a@s3cret@host/logs", "postgresql://ana:***@host/logs"),
        ("postgresql://ana@host/logs?sslpassword=s3cret", "postgresql://ana@host/logs?sslpassword=***"),
        ("mssql+pyodbc:///?odbc_connect=UID%3Dana%3BPWD%3Ds3cret", "mssql+pyodbc:///?odbc_connect=***"),
        ("sqlite:///logs.db", "sqlite:///logs.db"),
    ],
)  # fmt: skip
def test_a_password_is_not_shown(url: str, shown: str) -> None:
    (part,) = split_files([url])
    assert isinstance(part, FilePart)
    assert part.path == shown
    assert "s3c" not in audit(url).stderr


def test_a_file_whose_name_begins_like_a_url_is_a_file() -> None:
    assert not databases.is_url("s3://bucket/logs.jsonl")
    assert not databases.is_url("postgresql.jsonl")


# Files with columns

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
