"""`toolparity audit --engine dask`: the local audit, from the workers of a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.audit.bulk.corpus import EXCHANGES, interrupted, reports, run
from tests.support.optional import package
from toolparity.audit.bulk import dask_engine
from toolparity.audit.bulk.parallel import audit_paths
from toolparity.normalizer.errors import ToolparityError

pytestmark = pytest.mark.service("audit", "cassettes/sources")

distributed: Any = package("distributed", extra="dask")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two processes that the command did not start."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=60
    ) as cluster:
        yield cluster


def test_a_cluster_gives_the_local_audit(
    corpus: Path, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "PART_BYTES", 3000)
    local = reports(tmp_path, corpus)
    assert reports(tmp_path, corpus, "--engine", "dask", "--scheduler", cluster.scheduler_address) == local
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
    assert run(corpus, "--engine", "dask", "--json").stdout_bytes == local["json"]


def test_a_killed_worker_changes_nothing(corpus: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_engine, "PART_BYTES", 2000)
    local = audit_paths([str(corpus)], jobs=1)
    merged: list[int] = []
    with distributed.Client(cluster, set_as_default=False) as client:
        before = set(client.run(os.getpid).values())

        def kill_after_the_first_part(weight: int) -> None:
            if not merged:
                os.kill(min(before), signal.SIGKILL)
            merged.append(weight)

        with dask_engine.dask_engine(cluster.scheduler_address) as engine:
            assert audit_paths([str(corpus)], engine=engine, on_progress=kill_after_the_first_part) == local
        client.wait_for_workers(2)
        assert min(before) not in client.run(os.getpid).values()
    assert len(merged) > 10, "the worker died while parts were left"


_OWN_CLUSTER = """
import psutil
from toolparity.audit.bulk.dask_engine import dask_engine
from toolparity.audit.bulk.parallel import audit_paths
if __name__ == "__main__":
    with dask_engine(jobs=1) as engine:
        print(audit_paths([{path!r}], engine=engine).exchanges)
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        sockets = [socket for process in processes for socket in process.net_connections("inet")]
        print({{socket.laddr.ip for socket in sockets if socket.status == "LISTEN"}})
    print([child.name() for child in psutil.Process().children() if "spawn_main" in child.cmdline()])
"""


def test_a_cluster_on_this_machine_listens_on_loopback_and_ends_with_the_audit(corpus: Path) -> None:
    command = [sys.executable, "-c", _OWN_CLUSTER.format(path=str(corpus))]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == (f"{EXCHANGES}\n{{'127.0.0.1'}}\n[]\n", "")


@pytest.mark.thorough
def test_an_interrupt_ends_the_cluster_without_a_traceback(corpus: Path) -> None:
    assert interrupted(corpus, "--engine", "dask", "--jobs", "1", part=0) == (130, "interrupted", False)


def test_a_cluster_of_another_version_or_without_an_answer_is_an_error(
    corpus: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "__version__", "0.0.1")
    engine = dask_engine.dask_engine(cluster.scheduler_address)
    with pytest.raises(ToolparityError, match=r"has toolparity .*, this is 0\.0\.1"), engine:
        pass
    monkeypatch.setattr(dask_engine, "_WAIT_SECONDS", 0.1)
    address = ("--scheduler", "tcp://127.0.0.1:1")
    (line,) = run(corpus, "--engine", "dask", *address).stderr.splitlines()
    assert line.startswith("toolparity: no Dask cluster at tcp://127.0.0.1:1: ")
    alone = run(corpus, *address)
    assert (alone.exit_code, "--scheduler needs --engine dask" in alone.stderr) == (2, True)
