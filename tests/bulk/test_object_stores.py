"""Input on an object store: a local S3 server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.bulk.corpus import reports, run, write_corpus
from tests.optional import package
from tests.traffic import chat_body
from toolparity.cassettes.sources import Exchange, Problem, read, split_files
from toolparity.cassettes.sources.files import walk
from toolparity.conformance.audit import parallel, shares

package("s3fs", extra="s3")
server: Any = package("moto.server", extra="dev")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The file system of a local S3 server with one bucket, `logs`."""
    import s3fs

    threaded = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    threaded.start()
    host, port = threaded.get_host_and_port()
    urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    for name, value in (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_REGION", "us-east-1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem(skip_instance_cache=True)
    store.mkdir("logs")
    yield store
    s3fs.S3FileSystem.clear_instance_cache()
    threaded.stop()


def in_local_places(results: dict[str, bytes], folder: Path) -> dict[str, bytes]:
    """Return reports with the paths that the local files have."""
    return {name: data.replace(b"s3://logs/in", str(folder).encode()) for name, data in results.items()}


def test_an_audit_of_a_bucket_is_that_of_the_files(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_corpus(tmp_path / "s3-in")
    s3.put(str(corpus), "logs/in", recursive=True)
    monkeypatch.setattr(parallel, "PART_BYTES", 2000)
    found = reports(tmp_path, "s3://logs/in", "--jobs", "1")
    expected = reports(tmp_path, corpus, "--jobs", "1")
    for name in ("json", "stderr", "code"):
        assert in_local_places(found, corpus)[name] == expected[name]
    # in another process: workers that this one has already may lack the variables
    command = [sys.executable, "-m", "toolparity", "audit", "s3://logs/in", "--json", "--jobs", "2"]
    assert subprocess.run(command, check=False, capture_output=True).stdout == found["json"]


def test_shares_of_a_bucket_give_its_audit(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.put(str(write_corpus(tmp_path / "corpus")), "logs/in", recursive=True)
    monkeypatch.setattr(shares, "PART_BYTES", 2000)
    for number in (1, 2, 3):
        run("part", "--share", f"{number}/3", "s3://logs/in", "-o", tmp_path / f"{number}.part", "--jobs", "1")
    parts = [tmp_path / f"{number}.part" for number in (2, 3, 1)]
    assert reports(tmp_path, "merge", *parts) == reports(tmp_path, "s3://logs/in", "--jobs", "1")


@pytest.mark.thorough
def test_the_workers_of_a_cluster_read_a_bucket(s3: Any, tmp_path: Path) -> None:
    package("distributed", extra="dask")
    s3.put(str(write_corpus(tmp_path / "corpus")), "logs/in", recursive=True)
    results = [run("s3://logs/in", "--json", "--jobs", "1", "--engine", engine) for engine in ("local", "dask")]
    assert results[0].stdout_bytes == results[1].stdout_bytes
    assert results[0].stderr_bytes == results[1].stderr_bytes


def test_a_bucket_is_walked_like_a_directory(s3: Any) -> None:
    for name in ("b.jsonl", "10.jsonl", "9.jsonl", "z/1.jsonl", "a/2.jsonl", ".hidden.jsonl", "readme.md"):
        s3.pipe(f"logs/in/{name}", b"{}\n")
    names = ["9.jsonl", "10.jsonl", "b.jsonl", "a/2.jsonl", "z/1.jsonl"]
    for url in ("s3://logs/in", "s3://logs/in/"):
        assert list(walk(url, (".jsonl",))) == [(f"s3://logs/in/{name}", True) for name in names]


def test_row_groups_of_a_table_are_parts(s3: Any, tmp_path: Path) -> None:
    pyarrow, parquet = package("pyarrow", extra="parquet"), package("pyarrow.parquet", extra="parquet")
    rows = [{"response": chat_body(f"f{n}")} for n in range(7)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "r.parquet", row_group_size=2)
    s3.put(str(tmp_path / "r.parquet"), "logs/r.parquet")
    assert len(list(split_files(["s3://logs/r.parquet"], 1))) == 4
    items = list(read("s3://logs/r.parquet", columns=("response",)))
    assert [item.source for item in items if isinstance(item, Exchange)] == [
        f"s3://logs/r.parquet#{n}" for n in range(1, 8)
    ]


def test_what_cannot_be_opened_is_a_problem(s3: Any) -> None:
    problems = [item for url in ("s3://logs/none.jsonl", "s3://nowhere/x", "foo://x/y") for item in read(url)]
    assert all(isinstance(problem, Problem) for problem in problems)
    missing, nowhere, unknown = map(str, problems)
    assert missing == "s3://logs/none.jsonl: the file does not exist"
    assert nowhere.startswith("s3://nowhere/x: ")
    assert unknown == "foo://x/y: no such object store: Protocol not known: foo"


def test_the_url_of_a_database_is_no_object_store(tmp_path: Path) -> None:
    result = run(f"sqlite:///{tmp_path}/none.db")
    assert result.exit_code == 4
    assert "database" in result.stderr.splitlines()[0]
