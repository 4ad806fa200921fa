"""Baselines: the failures that are expected of a subject, each with a reason. There is one YAML file for each subject.

    - {scenario: parallel-*, surface: "*", mode: stream, policy: "*", check: order, reason: …, link: https://…}

Members are patterns (``*`` is a wildcard). A failure that matches an entry gets the outcome "expected". An entry is
stale if it matches only passes. A stale entry fails the run, so that a fixed failure cannot return unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct
from msgspec.structs import replace

from toolparity.reports.results import Result, Verdict

from ..errors import InvalidBaseline

SHIPPED = Path(__file__).resolve().parent.parent / "baselines"
#: The safe loader, from libyaml if PyYAML was built with it: that one is ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MEMBERS = ("scenario", "surface", "mode", "policy")
#: The type of an error, which a reason gives before the error's message.
_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Warning|Failure)\b")


class BaselineEntry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry: an expected failure, or several by patterns."""

    check: str
    scenario: str = "*"
    surface: str = "*"
    mode: str = "*"
    policy: str = "*"
    reason: str = ""
    link: str = ""

    def names(self, result: Result, verdict: Verdict) -> bool:
        """Return whether the entry matches this verdict."""
        return fnmatchcase(verdict.check, self.check) and all(
            fnmatchcase(getattr(result, member), getattr(self, member)) for member in _MEMBERS
        )


def read(path: Path) -> list[BaselineEntry]:
    """Read the entries of a file; a file that does not exist has none. Raises InvalidBaseline."""
    if not path.exists():
        return []
    try:
        return msgspec.convert(yaml.load(path.read_text("utf-8"), _LOADER) or [], list[BaselineEntry])
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InvalidBaseline(str(error).splitlines()[0], where=str(path), hint="a list of expected failures") from None


def apply_baseline(results: Sequence[Result], known: Sequence[BaselineEntry]) -> list[Result]:
    """Return the results with expected failures marked "expected" and stale entries reported.

    An entry is stale if it matches at least one verdict that passes and none that fails. An entry that matches nothing
    is not stale, because the run may cover only part of the suite. The first pass that a stale entry matches gets the
    outcome "stale".
    """
    failing = [False] * len(known)
    passing: list[tuple[int, int] | None] = [None] * len(known)
    made: list[Result] = []
    for number, result in enumerate(results):
        verdicts = list(result.verdicts)
        for place, verdict in enumerate(verdicts):
            entry = next((n for n, entry in enumerate(known) if entry.names(result, verdict)), None)
            if entry is None:
                continue
            if verdict.outcome == "fail":
                failing[entry] = True
                why = known[entry].reason
                told = f"{verdict.reason} (expected: {why})" if why else verdict.reason
                verdicts[place] = replace(verdict, outcome="expected", reason=told)
            elif verdict.outcome == "pass":
                passing[entry] = passing[entry] or (number, place)
        made.append(replace(result, verdicts=verdicts) if verdicts != result.verdicts else result)
    why = "it was expected to fail, and passes: take it out of the baseline"
    for fails, passed in zip(failing, passing, strict=True):
        if passed is not None and not fails:
            number, place = passed
            verdicts = list(made[number].verdicts)
            verdicts[place] = replace(verdicts[place], outcome="stale", reason=why)
            made[number] = replace(made[number], verdicts=verdicts)
    return made


def is_stale(entry: BaselineEntry, results: Iterable[Result]) -> bool:
    """Return whether none of the verdicts that an entry matches fails."""
    return not any(entry.names(result, one) and one.outcome == "fail" for result in results for one in result.verdicts)


def updated_entries(results: Iterable[Result], known: Sequence[BaselineEntry]) -> list[BaselineEntry]:
    """Return the baseline that these results need.

    Entries that still match a failure are kept with their reasons. Each other failure gets a new entry.
    """
    failing = [
        (result, one) for result in results for one in result.verdicts if one.outcome in ("fail", "new", "expected")
    ]
    kept = [entry for entry in known if any(entry.names(*one) for one in failing)]
    fresh: dict[tuple[str, str], list[tuple[Result, Verdict]]] = {}
    for result, verdict in failing:
        if not any(entry.names(result, verdict) for entry in kept):
            fresh.setdefault((verdict.check, result.scenario), []).append((result, verdict))
    return [*kept, *(_entry(check, scenario, found) for (check, scenario), found in fresh.items())]


def _entry(check: str, scenario: str, found: list[tuple[Result, Verdict]]) -> BaselineEntry:
    """Return one entry for the failures of a law in a scenario.

    A member is a wildcard unless all failures share its value.
    """
    shared: dict[str, Any] = {}
    for member in ("surface", "mode", "policy"):
        values = {getattr(result, member) for result, _ in found}
        shared[member] = values.pop() if len(values) == 1 else "*"
    reason = found[0][1].reason
    return BaselineEntry(check=check, scenario=scenario, reason=_short(reason), **shared)


def _short(reason: str) -> str:
    """Shorten a reason that quotes another program's error to the type of that error."""
    told, colon, rest = reason.partition(": ")
    if colon and (error := _ERROR.match(rest)):
        return f"{told}: {error[0]}"
    return reason


def write(path: Path, known: Sequence[BaselineEntry]) -> None:
    """Write the file, or delete it if there are no entries."""
    if not known:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(
        [msgspec.to_builtins(entry) for entry in known], sort_keys=False, allow_unicode=True, width=100
    )
    path.write_text(
        f"# Failures that are expected of this subject: toolparity check --update-baseline\n{text}", "utf-8"
    )
