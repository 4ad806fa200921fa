"""A whole run of the suite: subjects put to cases, their baselines applied, and all that a report tells of it."""

from __future__ import annotations

import datetime
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from toolparity import __version__
from toolparity.normalizer.errors import InvalidBaseline
from toolparity.reports import results

from . import baseline, runner
from .bench import Choice
from .evidence import Case
from .laws import LAWS
from .provenance import sources
from .required import held
from .scenarios import scenarios
from .subjects import Subject, subject


def run(
    names: Sequence[str],
    choice: Choice,
    *,
    known: Callable[[str], Sequence[baseline.Known]],
    unreleased: bool = False,
    twice: bool = True,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda cases: None,
) -> results.Run:
    """Put the subjects of these names to the cases of a choice, one subject after the other.

    ``known``: a name -> the failures that are expected of its subject, whatever that calls itself. ``unreleased``: hold
    them also to what the release does not require yet. Raises UnknownSubject, and ToolparityError where a worker died.
    """
    began, date = time.monotonic(), now()
    subjects = [subject(name) for name in names]
    found: list[results.Result] = []
    traffic: dict[tuple[str, ...], results.Traffic] = {}
    tested = []
    for name, one in zip(names, subjects, strict=True):
        started = time.monotonic()
        mine: list[results.Result] = []
        for part in runner.parts(name, choice, twice=twice, jobs=jobs, on_progress=on_progress):
            mine.extend(part.results)
            for seen in part.traffic:
                traffic.setdefault((seen.scenario, seen.surface, seen.mode), seen)
        found.extend(held(baseline.applied(mine, known(name)), unreleased=unreleased))
        tested.append(_tested(one, time.monotonic() - started))
    cases = list(choice.cases())
    return results.Run(
        __version__,
        date,
        environment(),
        tested,
        laws(),
        described(cases),
        found,
        list(traffic.values()),
        sources(cases),
        seconds=round(time.monotonic() - began, 3),
    )


def laws() -> list[results.Law]:
    """All laws, as a report tells of them."""
    return [results.Law(law.id, law.sentence, law.level) for law in LAWS.values()]


def described(cases: Iterable[Case]) -> list[results.Scenario]:
    """The scenarios of these cases, as a report tells of them."""
    known = scenarios()
    ids = dict.fromkeys(case.scenario for case in cases)
    return [
        results.Scenario(id, known[id].situation.title, known[id].situation.level, list(known[id].situation.guards))
        for id in ids
    ]


def expected(file: Path | None, *, none: bool = False) -> Callable[[str], list[baseline.Known]]:
    """Which failures are expected of a subject: those of the file, or those that are shipped for its name, or none.

    Raises InvalidBaseline where the file that was asked for is not there.
    """
    if none:
        return lambda name: []
    if file is not None and not file.is_file():
        hint = "toolparity check SUBJECT --update-baseline --baseline FILE writes it"
        raise InvalidBaseline("there is no such baseline", where=str(file), hint=hint)
    return lambda name: baseline.read(file or baseline.SHIPPED / f"{name}.yaml")


def environment() -> dict[str, str]:
    """Where a run takes place."""
    return {"python": platform.python_version(), "system": platform.system()}


def now() -> str:
    """ISO 8601; SOURCE_DATE_EPOCH holds where it is set, as reproducible builds do."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    at = (
        datetime.datetime.now(datetime.UTC)
        if epoch is None
        else datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    )
    return at.isoformat(timespec="seconds")


def _tested(one: Subject, seconds: float) -> results.Tested:
    wires = None if one.wires is None else sorted(one.wires)
    return results.Tested(one.name, one.version, sorted(one.claims), wires, round(seconds, 3))
