"""Fixtures that several tests share, and the option `--thorough`."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import httpcore2
import pytest
from hypothesis import settings

from tests.thoroughness import set_thorough

# "ci" draws the same examples each time, so that a failure there comes from the change and not from chance. Elsewhere
# each run draws new ones. Neither has a deadline: the time of an example depends on what else the machine does.
settings.register_profile("local", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "local"))

# Each client of an SDK reads all certificates of the system, which takes longer than most requests of the tests.
# They talk to loopback without TLS: one context does for all.
_http: Any = httpcore2
_http.default_ssl_context = cache(_http.default_ssl_context)

LEFT_OUT = "toolparity_left_out"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run everything: all cases of tests marked `thorough` and all examples, which takes several times as long",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        'thorough(keep=0, per=""): the plain run takes `keep` cases of this test, or of each group of cases for which '
        'the template `per`, filled with their parameters (such as "{wire}/{policy}"), is the same; `--thorough` all',
    )
    thorough = config.getoption("--thorough")
    set_thorough(thorough)
    if not thorough:
        settings.register_profile("plain", settings(max_examples=25))
        settings.load_profile("plain")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what only `--thorough` runs. A case that the command line names by its id always runs."""
    if config.getoption("--thorough") or any("::" in arg for arg in config.args):
        return
    groups: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    keep: dict[tuple[str, str], int] = {}
    for item in items:
        marker = item.get_closest_marker("thorough")
        if marker is not None:
            parameters = getattr(item, "callspec", SimpleNamespace(params={})).params
            group = item.nodeid.split("[")[0], marker.kwargs.get("per", "").format_map(parameters)
            groups[group].append(item)
            keep[group] = marker.kwargs.get("keep", 0)
    # The same cases in each run, spread over all parameters, and a new case does not change which others are taken.
    left_out = {
        item
        for group, cases in groups.items()
        for item in sorted(cases, key=lambda case: crc32(case.nodeid.encode()))[keep[group] :]
    }
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))
        config.stash[_left_out] = len(left_out)


def pytest_collection_finish() -> None:
    """Take the cases out of garbage collection: they live to the end, and each full collection would visit them."""
    gc.freeze()


_left_out = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist sends its count: all workers collect the same cases."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[LEFT_OUT] = session.config.stash.get(_left_out, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_left_out] = getattr(node, "workeroutput", {}).get(LEFT_OUT, 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    count = config.stash.get(_left_out, 0)
    if count:
        terminalreporter.write_line(f"{count} cases left out of the plain run; run all of them with: pytest --thorough")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Make `-n auto` one worker more than there are cores: many tests wait for a browser, a server or a database."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker of `-n` whole modules, until one has nothing left and takes cases of another.

    So most fixtures of a module are made once, such as browsers, servers and databases, and not once in each worker.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded traffic, which is not part of this repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "recordings"
    if not folder.is_dir():
        pytest.skip(f"no recordings in {folder.parent.name}/{folder.name}")
    return folder
