"""Processes are killed (SIGKILL) at many points; another process reads the log and resumes or closes the turn.

No call is run twice, and none is without a result. The plain run kills at some points of each policy. `--thorough`
kills each turn at a point of each kind, more than 400 in all; TOOLPARITY_KILL_POINTS=all at all 2,600. The kind of a
point is what happens at it, before it and after it: a statement, a commit, a chunk, the start or the end of a tool.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec
import pytest
from sqlalchemy import URL

from tests.support.thoroughness import sampled
from tests.turns.log.crash import IDEMPOTENT, Job, Report
from tests.turns.log.shared import assert_replays, assert_whole, rows
from toolparity.turns.errors import UnknownTurn
from toolparity.turns.log import Log, StoredTurn

pytestmark = pytest.mark.service("turns")

#: The application name of the killed processes in PostgreSQL.
CHILD = "toolparity killed"
Run = Callable[[Job], Report]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A function that does a job in a separate process."""
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-m", "tests.turns.log.crash"]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        requests, responses = _pipe(process.stdin), _pipe(process.stdout)

        def submit(job: Job) -> Report:
            requests.write(msgspec.json.encode(job) + b"\n")
            requests.flush()
            return msgspec.json.decode(responses.readline(), type=Report)

        yield submit
        requests.close()
        process.wait()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def points_to_kill_at(passed: list[str]) -> list[int]:
    """The numbers of the points, from 1: the first of each kind, or all."""
    if os.environ.get("TOOLPARITY_KILL_POINTS") == "all":
        return list(range(1, len(passed) + 1))
    kinds = zip(["", *passed], passed, [*passed[1:], ""], strict=False)
    first: dict[tuple[str, ...], int] = {}
    for number, kind in enumerate(kinds, 1):
        first.setdefault(kind, number)
    return list(first.values())


def count_runs(side: Path) -> Counter[str]:
    """The number of runs of each call, by its key."""
    return Counter(line.split()[0] for line in side.read_text().splitlines()) if side.exists() else Counter()


def wait_for_the_server(url: URL) -> None:
    """Wait until the server has closed the connection of the killed process: it may still commit a statement."""
    if url.get_backend_name() == "postgresql":
        left = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{CHILD}'"
        while rows(url, left) != [(0,)]:
            time.sleep(0.001)


def assert_readable(log: Log, id: str) -> StoredTurn | None:
    """The turn that a killed process left in the log, or None if it had not begun."""
    try:
        kept = asyncio.run(log.turn(id))
    except UnknownTurn:
        return None
    page = asyncio.run(log.events(id))
    assert [row.seq for row in page.events] == list(range(kept.seq))
    assert kept.state is not None
    assert kept.state.seq <= kept.seq
    return kept


def assert_at_most_once(kept: StoredTurn, times: Counter[str]) -> None:
    """No call ran twice unless its tool is idempotent, judged by the tools' own records."""
    names = {call.key: call.name for call in kept.calls}
    assert set(times) <= set(names)  # the log contains each call that ran
    assert [key for key, count in times.items() if count > 1 and names[key] != IDEMPOTENT] == []
    for call in kept.calls:
        if call.outcome == "returned":
            assert times[call.key] >= 1
        elif call.status == "skipped":
            assert times[call.key] == 0


@pytest.mark.thorough(keep=1, per="{url}")
@pytest.mark.parametrize("policy", ["first", "all", "batch"])
@pytest.mark.parametrize("wire", ["anthropic.messages", "xai.grpc"])
def test_a_turn_killed_at_any_point_can_be_resumed_or_closed(
    url: URL, tmp_path: Path, run: Run, policy: str, wire: str
) -> None:
    child = url.update_query_dict({"application_name": CHILD}) if url.get_backend_name() == "postgresql" else url
    database_url = child.render_as_string(hide_password=False)

    def job(act: str, id: str, kill: int = 0) -> Job:
        return Job(act, database_url, id, wire, policy, str(tmp_path / f"{id}.ran"), kill)

    with Log(url) as log:
        uninterrupted = run(job("run", "whole"))
        assert uninterrupted.code == 0
        points = sampled(points_to_kill_at(uninterrupted.points), plain=3)
        killed = 0
        for number, point in enumerate(points):
            id = f"killed at {point}"
            side = tmp_path / f"{id}.ran"
            first = run(job("run", id, point))
            wait_for_the_server(url)
            killed += first.code == -signal.SIGKILL
            assert first.code == -signal.SIGKILL or (first.code == 0 and len(first.points) < point)
            if assert_readable(log, id) is None:
                assert not side.exists()  # no call ran before it was recorded
                continue
            if number % 3 == 0:
                asyncio.run(assert_replays(log, id))
            if number % 2:
                resumed = run(job("resume", id, 1 + point % 40))  # and killed again
                wait_for_the_server(url)
                assert resumed.code in (-signal.SIGKILL, 0)
                assert assert_readable(log, id) is not None
            last = run(job("resume" if number % 3 else "close", id))
            assert last.code == 0
            kept = assert_readable(log, id)
            assert kept is not None
            asyncio.run(assert_replays(log, id))
            assert_whole(kept)
            assert_at_most_once(kept, count_runs(side))
            assert kept.termination == "natural_completion" or number % 3 == 0
        # How many points a turn has depends on which writes share a transaction, and so on how busy the machine is.
        assert killed >= len(points) // 2
        assert asyncio.run(log.left()) == []
