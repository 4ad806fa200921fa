"""A whole run of the suite on all cores: subjects, their baselines, and what a report needs.

Workers run scenarios, and the results come back in the order of the cases.
"""

from __future__ import annotations

import datetime
import os
import platform
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from itertools import groupby
from multiprocessing import util
from pathlib import Path
from typing import NamedTuple

from toolparity import __version__
from toolparity.cassettes.scenario_folder import own_folder
from toolparity.cassettes.workers import cores, in_order
from toolparity.reports import results

from ..cases.case import Case
from ..cases.scenarios import scenarios
from ..cases.traffic import sources
from ..errors import InvalidBaseline
from ..laws import LAWS, SERVER_LAWS
from ..laws.consequences import CONSEQUENCES
from ..subjects import Subject, library_of, role_of, subject
from . import baseline, status
from .judge import CaseFilter, Judge

#: Up to this many scenarios run in this process, because starting workers takes longer.
_FEW = 8


def run(
    names: Sequence[str],
    case_filter: CaseFilter,
    *,
    expected: Callable[[str], Sequence[baseline.BaselineEntry]],
    left_out: Collection[Case] = (),
    unreleased: bool = False,
    twice: bool = True,
    exhaustive: bool = False,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda cases: None,
) -> results.Run:
    """Run the named subjects on the selected cases, one subject after the other.

    ``expected`` maps the name with which a subject was selected to its expected failures. ``left_out``: the cases that
    were not selected, which entries of a baseline may be about. ``unreleased``: also fail for checks that the last
    release does not require yet. ``exhaustive``: check every pair of wires and every split in each case. ``jobs``: the
    number of worker processes; 0 means one per core.
    Raises UnknownSubject, and ToolparityError if a worker dies.
    """
    collected = Collected(expected, left_out, unreleased=unreleased)
    with ExitStack() as opened:  # subjects are closed also if the run ends with an exception
        subjects = [_open(name, opened) for name in names]
        for name, one_subject in zip(names, subjects, strict=True):
            reading = Reading(name, twice, exhaustive)
            parts = scenario_results(reading, case_filter, jobs=jobs, on_progress=on_progress)
            collected.add(one_subject, name, parts)
    return collected.run(list(case_filter.cases()))


class Reading(NamedTuple):
    """The subject of a run and the options of its judge."""

    name: str
    twice: bool = True
    exhaustive: bool = False


class ScenarioResults(NamedTuple):
    """The results of one scenario, and its wire excerpts."""

    results: list[results.Result]
    traffic: list[results.Traffic]


class Collected:
    """The results of one subject after the other, and the run that they make.

    ``expected`` and ``unreleased``: as in `run`. ``left_out``: the cases that were not selected.
    """

    def __init__(
        self,
        expected: Callable[[str], Sequence[baseline.BaselineEntry]],
        left_out: Collection[Case],
        *,
        unreleased: bool = False,
    ) -> None:
        self._expected, self._left_out, self._unreleased = expected, left_out, unreleased
        self._started, self._date = time.monotonic(), now()
        self._tested: list[results.SubjectInfo] = []
        self._judged: list[results.Result] = []
        self._traffic: dict[tuple[str, ...], results.Traffic] = {}

    def add(self, tested: Subject, name: str, parts: Iterable[ScenarioResults]) -> None:
        """Take the results of a subject. ``name``: the name with which it was selected."""
        started = time.monotonic()
        raw: list[results.Result] = []
        for part in parts:
            raw.extend(part.results)
            for excerpt in part.traffic:
                self._traffic.setdefault((excerpt.scenario, excerpt.surface, excerpt.mode), excerpt)
        known = status.known(tested.name, self._expected(name), unreleased=self._unreleased)
        self._judged.extend(status.apply(raw, known, self._left_out))
        self._tested.append(subject_info(tested, time.monotonic() - started))

    def run(self, cases: Collection[Case]) -> results.Run:
        """Return the run. ``cases``: all that were selected."""
        return results.Run(
            __version__,
            self._date,
            environment(),
            self._tested,
            law_reports({verdict.check for result in self._judged for verdict in result.verdicts}),
            scenario_reports(cases),
            self._judged,
            list(self._traffic.values()),
            sources(cases),
            seconds=round(time.monotonic() - self._started, 3),
        )


def scenario_results(
    reading: Reading, case_filter: CaseFilter, *, jobs: int, on_progress: Callable[[int], None]
) -> Iterator[ScenarioResults]:
    """Yield the results of a subject, scenario by scenario."""
    groups = [list(cases) for _, cases in groupby(case_filter.cases(), key=lambda case: case.scenario)]
    run_group = partial(_run_scenario, reading)
    jobs = jobs or cores()
    in_workers = jobs > 1 and len(groups) > _FEW
    done = in_order(run_group, groups, jobs, __name__) if in_workers else map(run_group, groups)
    try:
        for cases, part in zip(groups, done, strict=True):
            on_progress(len(cases))
            yield part
    finally:
        if groups and not in_workers:  # workers close their subjects when they end
            _judge(reading)[1]()
            _judge.cache_clear()


def _run_scenario(reading: Reading, cases: Sequence[Case]) -> ScenarioResults:
    judge, _ = _judge(reading)
    shown = {case[:3]: case for case in cases if case.policy == "all"}
    shown |= {case[:3]: case for case in cases if case[:3] not in shown}
    judged, traffic = [], []
    for case in cases:
        judged.append(judge.result(case))
        if shown[case[:3]] == case and (excerpt := judge.traffic(case)) is not None:
            traffic.append(excerpt)
    judge.forget()
    return ScenarioResults(judged, traffic)


@cache
def _judge(reading: Reading) -> tuple[Judge, Callable[[], object]]:
    """Return the judge of a subject, and a function that closes the subject once.

    There is one per process, so that an executable subject is started only once.
    """
    tested = subject(reading.name)
    # Worker processes skip atexit handlers but run multiprocessing's finalizers.
    close = util.Finalize(None, _close, args=(tested,), exitpriority=20)
    return Judge(tested, twice=reading.twice, called=reading.name, exhaustive=reading.exhaustive), close


def _open(name: str, opened: ExitStack) -> Subject:
    """Return a subject, which is closed with ``opened``. Raises UnknownSubject."""
    tested = subject(name)
    opened.callback(_close, tested)
    return tested


def _close(tested: Subject) -> None:
    """Close a subject that can be closed."""
    if hasattr(tested, "close"):
        tested.close()


def law_reports(judged: Collection[str] = ()) -> list[results.LawInfo]:
    """Return all laws in the form of a report, with those of the laws about servers that were ``judged``."""
    laws = [*LAWS.values(), *(law for id, law in SERVER_LAWS.items() if id in judged)]
    return [results.LawInfo(law.id, law.sentence, law.level, CONSEQUENCES.get(law.id, {})) for law in laws]


def scenario_reports(cases: Iterable[Case]) -> list[results.ScenarioInfo]:
    """Return the scenarios of these cases in the form of a report."""
    files = {id: scenarios()[id].file for id in dict.fromkeys(case.scenario for case in cases)}
    return [results.ScenarioInfo(id, file.title, file.level, list(file.guards)) for id, file in files.items()]


def subject_info(tested: Subject, seconds: float = 0.0) -> results.SubjectInfo:
    """Return a subject in the form of a report."""
    wires = None if tested.wires is None else sorted(tested.wires)
    return results.SubjectInfo(
        tested.name,
        tested.version,
        sorted(tested.claims),
        wires,
        round(seconds, 3),
        role_of(tested.name),
        library_of(tested.name),
    )


def expected_failures(
    files: Mapping[str, Path], *, none: bool = False, new: bool = False, needs: Iterable[str] = ()
) -> Callable[[str], list[baseline.BaselineEntry]]:
    """Return a function from a subject's name to its expected failures.

    They come from the file of the name in ``files``, from that of "", or from the shipped baseline of the name; with
    ``none`` there are none. ``needs``: as in `baseline.read`. Raises InvalidBaseline if a file does not exist, unless
    it may be ``new``.
    """
    if none:
        return lambda name: []
    for file in files.values():
        if not (new or file.is_file()):
            hint = "write one with toolparity check SUBJECT --update-baseline --baseline FILE"
            raise InvalidBaseline("the baseline does not exist", where=str(file), hint=hint)
    ships = own_folder() is None  # the shipped baselines are about the shipped scenarios

    def read(name: str) -> list[baseline.BaselineEntry]:
        file = files.get(name, files.get(""))
        return baseline.read(file or baseline.shipped_path(name), needs) if file or ships else []

    return read


def environment() -> dict[str, str]:
    """Return the Python version and the operating system of the run."""
    return {"python": platform.python_version(), "system": platform.system()}


def now() -> str:
    """Return the time as ISO 8601. SOURCE_DATE_EPOCH overrides it, as for reproducible builds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    time = datetime.datetime.now(datetime.UTC)
    if epoch is not None:
        time = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    return time.isoformat(timespec="seconds")
