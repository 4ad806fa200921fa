"""A whole run of the suite: runs subjects on cases, applies their baselines, and collects what a report needs."""

from __future__ import annotations

import datetime
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from toolparity import __version__
from toolparity.reports import results

from ..cases.case import Case
from ..cases.scenarios import scenarios
from ..errors import InvalidBaseline
from ..laws import LAWS
from ..subjects import Subject, subject
from . import baseline, parallel
from .judge import CaseFilter
from .provenance import sources
from .release import downgrade_new


def run(
    names: Sequence[str],
    choice: CaseFilter,
    *,
    known: Callable[[str], Sequence[baseline.BaselineEntry]],
    unreleased: bool = False,
    twice: bool = True,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda cases: None,
) -> results.Run:
    """Run the named subjects on the selected cases, one subject after the other.

    ``known`` maps the name with which a subject was selected to its expected failures. ``unreleased``: also fail for
    checks that the last release does not require yet. Raises UnknownSubject, and ToolparityError if a worker dies.
    """
    began, date = time.monotonic(), now()
    subjects = [subject(name) for name in names]
    found: list[results.Result] = []
    traffic: dict[tuple[str, ...], results.Traffic] = {}
    tested = []
    for name, one in zip(names, subjects, strict=True):
        started = time.monotonic()
        mine: list[results.Result] = []
        for part in parallel.scenario_results(name, choice, twice=twice, jobs=jobs, on_progress=on_progress):
            mine.extend(part.results)
            for seen in part.traffic:
                traffic.setdefault((seen.scenario, seen.surface, seen.mode), seen)
        found.extend(downgrade_new(baseline.apply_baseline(mine, known(name)), unreleased=unreleased))
        tested.append(_tested(one, time.monotonic() - started))
    cases = list(choice.cases())
    return results.Run(
        __version__,
        date,
        environment(),
        tested,
        law_reports(),
        scenario_reports(cases),
        found,
        list(traffic.values()),
        sources(cases),
        seconds=round(time.monotonic() - began, 3),
    )


def law_reports() -> list[results.LawInfo]:
    """Return all laws in the form of a report."""
    return [results.LawInfo(law.id, law.sentence, law.level) for law in LAWS.values()]


def scenario_reports(cases: Iterable[Case]) -> list[results.ScenarioInfo]:
    """Return the scenarios of these cases in the form of a report."""
    known = scenarios()
    ids = dict.fromkeys(case.scenario for case in cases)
    return [
        results.ScenarioInfo(id, known[id].file.title, known[id].file.level, list(known[id].file.guards)) for id in ids
    ]


def expected(file: Path | None, *, none: bool = False) -> Callable[[str], list[baseline.BaselineEntry]]:
    """Return a function from a subject's name to its expected failures.

    They come from ``file``, or from the shipped baseline of the name; with ``none`` there are none. Raises
    InvalidBaseline if ``file`` does not exist.
    """
    if none:
        return lambda name: []
    if file is not None and not file.is_file():
        hint = "toolparity check SUBJECT --update-baseline --baseline FILE writes it"
        raise InvalidBaseline("there is no such baseline", where=str(file), hint=hint)
    return lambda name: baseline.read(file or baseline.SHIPPED / f"{name}.yaml")


def environment() -> dict[str, str]:
    """Return the Python version and the operating system of the run."""
    return {"python": platform.python_version(), "system": platform.system()}


def now() -> str:
    """Return the time as ISO 8601. SOURCE_DATE_EPOCH overrides it, as for reproducible builds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    at = (
        datetime.datetime.now(datetime.UTC)
        if epoch is None
        else datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    )
    return at.isoformat(timespec="seconds")


def _tested(one: Subject, seconds: float) -> results.SubjectInfo:
    wires = None if one.wires is None else sorted(one.wires)
    return results.SubjectInfo(one.name, one.version, sorted(one.claims), wires, round(seconds, 3))
