"""Fixtures that several tests share, and the options that decide which cases run."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support import proofs, sdk_data, selection
from tests.support.thoroughness import set_thorough

# "ci" draws the same examples each time, so that a failure there comes from the change and not from chance. Elsewhere
# each run draws new ones. Neither has a deadline: the time of an example depends on what else the machine does.
settings.register_profile("local", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "local"))

sdk_data.share()

#: What a worker of pytest-xdist reports at its end: how many cases it left out.
LEFT_OUT = "toolparity_left_out"


def _share(text: str) -> selection.Share:
    try:
        return selection.share(text)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("toolparity's own tests")
    group.addoption(
        "--thorough",
        action="store_true",
        help="run everything: all cases of tests marked `thorough`, all examples, all pages",
    )
    group.addoption(
        "--share",
        type=_share,
        metavar="K/N",
        help="with --thorough: only the Kth of N parts of the cases that other runs leave out",
    )
    group.addoption(
        "--pages",
        type=_share,
        nargs="?",
        const=selection.Share(1, 1),
        metavar="K/N",
        help="also run the tests marked `page` or `service` whose sources did not change, or a part of them",
    )
    group.addoption(
        "--shuffle", metavar="SEED", help="run the files, and the tests of each, in an order drawn with this seed"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        'thorough(keep=0, per=""): the plain run takes `keep` cases of this test, or of each group of cases for which '
        'the template `per`, filled with their parameters (such as "{wire}/{policy}"), is the same; `--thorough` all',
    )
    config.addinivalue_line(
        "markers",
        "page(*sources): a test of what is shown or installed: documentation, pages in a browser, skeletons, published "
        "results. The plain run takes it if one of these files or folders, or its own file, changed; `--pages` a part "
        "or all",
    )
    config.addinivalue_line(
        "markers",
        "service(*sources): a test with servers, clusters or other programs. It runs when a `page` would",
    )
    config.addinivalue_line(
        "markers", "recorded: a test that reads recordings or documents that are not part of this repository"
    )
    if _has_lanes(config):
        config.option.maxworkerrestart = "0"  # no other worker has the lane of one that crashed: end with an error
    thorough = config.getoption("--thorough")
    if config.getoption("--share") and not thorough:
        raise pytest.UsageError("--share needs --thorough")
    set_thorough(thorough)
    config.stash[_proved] = set()
    config.pluginmanager.register(_Proofs(config.stash[_proved]))
    if not thorough:
        settings.register_profile("plain", settings(max_examples=25))
        settings.load_profile("plain")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect only the files of this worker's lane."""
    worker = getattr(config, "workerinput", None)
    if worker is None or not worker.get("lanes") or collection_path.suffix != ".py":
        return None
    number = int(worker["workerid"].removeprefix("gw"))
    return selection.lane(collection_path, worker["workercount"]) != number or None


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Leave out cases as soon as those of their function are made: there are more of them than others.

    A case that the command line names by its id always runs.
    """
    made = yield
    config = collector.config
    named = any("::" in arg for arg in config.args) and not config.getoption("--share")
    if not isinstance(made, list) or named:
        return made
    kept = selection.taken(
        made,
        thorough=config.getoption("--thorough"),
        share=config.getoption("--share"),
        pages=config.getoption("--pages"),
    )
    for item in kept:
        if {"recordings", "seeds"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("recorded")
    config.stash[_left_out] = config.stash.get(_left_out, 0) + len(made) - len(kept)
    return kept


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if seed := config.getoption("--shuffle"):
        selection.shuffle(items, seed)


def pytest_collection_finish() -> None:
    """Take the cases out of garbage collection: they live to the end, and each full collection would visit them."""
    gc.freeze()


_left_out = pytest.StashKey[int]()
_proved = pytest.StashKey[set[str]]()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Send the count of a worker of pytest-xdist to the main process. That one fails if a proof is missing."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput[LEFT_OUT] = config.stash.get(_left_out, 0)
        return
    if exitstatus == pytest.ExitCode.OK and _keeps_proofs(config):
        complete = not any(each.ids for each in proofs.missing(config.stash[_proved]))
        session.exitstatus = exitstatus if complete else pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let hypothesis write its table of characters in a process that ends. Each worker would make it, in 200 MB."""
    cached = selection.ROOT.glob(".hypothesis/unicode_data/*/codec-*.json.gz")
    if not (hasattr(session.config, "workerinput") or any(cached)):
        program = "from hypothesis.internal import charmap; charmap.charmap(); charmap.intervals_from_codec('utf-8')"
        subprocess.run([sys.executable, "-c", program], cwd=selection.ROOT, check=True)


class _Proofs:
    """Collects what the cases that passed have proved."""

    def __init__(self, proved: set[str]) -> None:
        self._proved = proved

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._proved |= proofs.proved_by(report.nodeid)
            self._proved.update(str(value) for name, value in report.user_properties if name == proofs.PROPERTY)


@pytest.fixture
def proves(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Record the id of a law, a known failure or a known-bad subject that the test proves."""
    return lambda id: record_property(proofs.PROPERTY, id)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of a worker. With lanes each has its own cases; else all have the same."""
    stash, count = node.config.stash, getattr(node, "workeroutput", {}).get(LEFT_OUT, 0)
    stash[_left_out] = count + (stash.get(_left_out, 0) if _has_lanes(node.config) else 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    count = config.stash.get(_left_out, 0)
    if count:
        terminalreporter.write_line(f"{count} cases left out of this run; run all of them with: pytest --thorough")
    if skipped := _reasons(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(f"skipped: {'; '.join(skipped)}")
    if _keeps_proofs(config):
        for kind, ids, known in proofs.missing(config.stash[_proved]):
            terminalreporter.write_line(f"proved: {known - len(ids)} of {known} {kind}")
            for id in ids:
                terminalreporter.write_line(f"  no case of this run passed that proves {id}", red=True)


def _keeps_proofs(config: pytest.Config) -> bool:
    """Return whether this run must prove everything: the plain run, or all of the thorough one."""
    narrowed = ("share", "keyword", "markexpr", "lf", "failedfirst", "collectonly", "deselect", "maxfail")
    return _is_whole(config) and not any(config.getoption(name, None) for name in narrowed)


def _reasons(skipped: list[pytest.TestReport]) -> list[str]:
    """Return why tests were skipped, each reason with its count: what this machine lacks."""
    texts = (report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple))
    counts = Counter(text.removeprefix("Skipped: ").partition(":")[0] for text in texts)
    return [f"{count} because {reason}" for reason, count in counts.most_common()]


def _is_whole(config: pytest.Config) -> bool:
    """Return whether the command line names no files."""
    return not config.args or config.args == [str(path) for path in config.getini("testpaths")]


def _has_lanes(config: pytest.Config) -> bool:
    """Return whether the workers of `-n` share the whole suite, each its lane; parts of it are shared case by case."""
    return _is_whole(config) and config.getoption("dist", "no") == "load"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Make `-n auto` one worker more than there are cores: many tests wait for a server or a process."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass to a worker whether it has a lane."""
    node.workerinput["lanes"] = _has_lanes(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let each worker run its lane. Without lanes, give each whole modules, until one takes cases of another.

    So most fixtures of a module are made once, such as browsers, servers and databases, and not once in each worker.
    """
    from xdist.scheduler import EachScheduling, WorkStealingScheduling

    class Lanes(EachScheduling):
        def schedule(self) -> None:
            """Count the cases of all lanes: pytest-xdist takes one worker's for all, and shows more than 100 %."""
            session: Any = config.pluginmanager.get_plugin("session")
            session.testscollected = sum(map(len, self.node2collection.values()))
            super().schedule()

    if config.getoption("dist") != "load":
        return None
    return Lanes(config, log) if _has_lanes(config) else WorkStealingScheduling(config, log)


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded traffic, which is not part of this repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "recordings"
    if not folder.is_dir():
        pytest.skip(f"no recordings in {folder.parent.name}/{folder.name}")
    return folder
