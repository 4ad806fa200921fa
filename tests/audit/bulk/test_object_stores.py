"""Input on an object store: a local S3 server."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.audit.bulk.corpus import TABLE, reports, run
from tests.support.optional import package
from toolparity.audit.bulk import parallel
from toolparity.cassettes.sources import Problem, read, split_files
from toolparity.cassettes.sources.files import opened, opened_at, walk

pytestmark = pytest.mark.service("cassettes/sources", "audit")

package("obstore", extra="s3")
boto3: Any = package("boto3", extra="s3")
server: Any = package("moto.server", extra="dev")


def put(client: Any, key: str, data: bytes) -> None:
    client.put_object(Bucket="logs", Key=key, Body=data)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A client of a local S3 server with the bucket `logs`, which the variables of the environment name."""
    threaded = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    threaded.start()
    host, port = threaded.get_host_and_port()
    urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    for name in ("AWS_CA_BUNDLE", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name, value in (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_REGION", "us-east-1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
    client = boto3.client("s3")
    client.create_bucket(Bucket="logs")
    yield client
    threaded.stop()


def test_an_audit_of_a_bucket_is_that_of_the_files(
    s3: Any, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in filter(Path.is_file, corpus.rglob("*")):
        put(s3, f"in/{path.relative_to(corpus).as_posix()}", path.read_bytes())
    assert len(list(split_files([f"s3://logs/in/more/{TABLE}"], 1))) == 4, "row groups of a table are parts"
    monkeypatch.setattr(parallel, "PART_BYTES", 2000)
    found = reports(tmp_path, "s3://logs/in", "--jobs", "1")
    expected = reports(tmp_path, corpus, "--jobs", "1")
    for name in ("json", "stderr", "code"):
        assert found[name].replace(b"s3://logs/in", str(corpus).encode()) == expected[name]
    # in another process: workers that this one has already may lack the variables
    command = [sys.executable, "-m", "toolparity", "audit", "s3://logs/in", "--json", "--jobs", "2"]
    assert subprocess.run(command, check=False, capture_output=True).stdout == found["json"]


def test_a_bucket_is_walked_like_a_directory(s3: Any) -> None:
    for name in ("b.jsonl", "10.jsonl", "9.jsonl", "z/1.jsonl", "a/2.jsonl", ".hidden.jsonl", "readme.md"):
        put(s3, f"in/{name}", b"{}\n")
    put(s3, "in/", b"")  # a folder that the console of AWS made
    names = ["9.jsonl", "10.jsonl", "b.jsonl", "a/2.jsonl", "z/1.jsonl"]
    for url in ("s3://logs/in", "s3://logs/in/", "s3://logs", "s3://logs/", "s3a://logs/in"):
        protocol = url.partition("://")[0]
        assert list(walk(url, (".jsonl",))) == [(f"{protocol}://logs/in/{name}", True) for name in names]
    for name in ("a b.jsonl", "a#b?c.jsonl", "100%.jsonl", "%2F.jsonl", "ü:[x].jsonl"):
        put(s3, f"{name}/{name}", b"{}\n")
        url = f"s3://logs/{name}/{name}"
        assert list(walk(f"s3://logs/{name}/", (".jsonl",))) == [(url, True)]
        with opened(url) as file:
            assert (file.size, file.stream.read()) == (3, b"{}\n")


def test_a_file_is_read_from_any_place(s3: Any) -> None:
    data = b"".join(b"%09d\n" % n for n in range(600_000))  # more than one request
    put(s3, "numbers.jsonl", data)
    for start in (0, 4_000_000, len(data) - 10, len(data)):
        with opened_at("s3://logs/numbers.jsonl", start, len(data)) as file:
            assert file.read(30) == data[start : start + 30]
            assert file.read() == data[start + 30 :]
            assert file.seek(-20, 2) == len(data) - 20
            assert file.read(10) == data[-20:-10]


def test_credentials_region_and_endpoint_come_from_a_profile(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(s3, "a.jsonl", b"{}\n")
    endpoint = s3.meta.endpoint_url
    (tmp_path / "config").write_text(f"[profile mine]\nregion = us-east-1\nendpoint_url = {endpoint}\n")
    (tmp_path / "credentials").write_text("[mine]\naws_access_key_id = a\naws_secret_access_key = b\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    (unknown,) = map(str, read("s3://logs/a.jsonl"))
    assert unknown.startswith("s3://logs/a.jsonl: cannot be read: no credentials for S3: set AWS_PROFILE, ")
    monkeypatch.setenv("AWS_PROFILE", "mine")
    assert list(walk("s3://logs", (".jsonl",))) == [("s3://logs/a.jsonl", True)]


def test_an_object_that_cannot_be_opened_or_listed_is_a_problem_of_one_line(
    s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(s3, "in/folder//a.jsonl", b"{}\n")
    result = run("s3://logs/in")
    assert result.exit_code == 4
    assert "s3://logs/in: cannot be listed: Encountered object with invalid path" in result.stdout + result.stderr
    for url, message in {
        "s3://logs/none.jsonl": "the file does not exist",
        "s3://nowhere/x": "cannot be read: The specified bucket does not exist (NoSuchBucket)",
        "foo://x/y": "no such object store: Protocol not known: foo",
    }.items():
        (problem,) = read(url)
        assert isinstance(problem, Problem)
        assert str(problem) == f"{url}: {message}"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    (problem,) = read("s3://logs/a.jsonl")
    prefix = "s3://logs/a.jsonl: cannot be read: Generic S3 error: Error performing "
    assert str(problem) == f"{prefix}HEAD http://127.0.0.1:9/logs/a.jsonl: HTTP error: error sending request"


def test_without_obstore_fsspec_finds_the_driver(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = package("fsspec", extra="s3")
    memory = package("fsspec.implementations.memory", extra="s3").MemoryFileSystem
    for name in ("obstore", "obstore.fsspec"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda url: (memory(), url.replace("s3://", "/")))
    memory().pipe("/logs/other.jsonl", b"{}\n")
    assert list(walk("s3://logs/other.jsonl", (".jsonl",))) == [("s3://logs/other.jsonl", False)]
    with opened("s3://logs/other.jsonl") as file:
        assert file.stream.read() == b"{}\n"


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="forks a process")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_reports_that_it_cannot_read(s3: Any) -> None:
    put(s3, "a.jsonl", b"{}\n")
    (found,) = split_files(["s3://logs/a.jsonl"])
    assert not isinstance(found, Problem)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send([str(item) for item in read("s3://logs/a.jsonl")]))
    child.start()
    assert receiver.poll(60)
    assert "was read before this process was forked; start processes by `spawn`" in receiver.recv()[0]
    child.join()
