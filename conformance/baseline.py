"""Baselines: the failures that are expected of a subject, each with a reason, in a YAML file a subject.

    - {scenario: parallel-*, surface: "*", mode: stream, policy: "*", check: order, reason: …, link: https://…}

Members are patterns (``*``). A failure that an entry names is "expected"; an entry that named nothing in a run that
would have met it is stale, and a stale baseline fails the run: what was mended must not break again unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from normalizer.errors import InvalidBaseline
from reports.results import Verdict

SHIPPED = Path(__file__).resolve().parent / "baselines"
_MEMBERS = ("scenario", "surface", "mode", "policy", "check")


class Known(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One expected failure, or several by patterns."""

    check: str
    scenario: str = "*"
    surface: str = "*"
    mode: str = "*"
    policy: str = "*"
    reason: str = ""
    link: str = ""

    def names(self, verdict: Verdict) -> bool:
        """Whether the verdict is of this entry."""
        return all(fnmatchcase(getattr(verdict, member), getattr(self, member)) for member in _MEMBERS)


def read(path: Path) -> list[Known]:
    """The entries of a file; none where there is no file. Raises InvalidBaseline."""
    if not path.exists():
        return []
    try:
        return msgspec.convert(yaml.safe_load(path.read_text("utf-8")) or [], list[Known])
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InvalidBaseline(str(error).splitlines()[0], where=str(path), hint="a list of expected failures") from None


def applied(verdicts: Sequence[Verdict], known: Sequence[Known]) -> list[Verdict]:
    """The verdicts with expected failures told from others, and one that is stale for each pass that was to fail.

    An entry is stale where everything that it names passed; one that names something failing is not, nor one that
    named nothing in this run (which may have been a part of the suite).
    """
    made: list[Verdict] = []
    failing = [False] * len(known)
    passing: list[Verdict | None] = [None] * len(known)
    for verdict in verdicts:
        place = next((n for n, entry in enumerate(known) if entry.names(verdict)), None)
        if place is not None and verdict.outcome == "fail":
            failing[place] = True
            why = known[place].reason
            told = f"{verdict.reason} (expected: {why})" if why else verdict.reason
            made.append(msgspec.structs.replace(verdict, outcome="expected", reason=told))
            continue
        if place is not None and verdict.outcome == "pass":
            passing[place] = passing[place] or verdict
        made.append(verdict)
    for place, passed in enumerate(passing):
        if passed is not None and not failing[place]:
            why = "it was expected to fail, and passes: take it out of the baseline"
            made.append(msgspec.structs.replace(passed, outcome="stale", reason=why))
    return made


def stale(entry: Known, others: Iterable[Verdict]) -> bool:
    """Whether nothing that an entry names fails any more."""
    return not any(entry.names(verdict) and verdict.outcome == "fail" for verdict in others)


def updated(verdicts: Iterable[Verdict], known: Sequence[Known]) -> list[Known]:
    """The baseline that these verdicts need: entries that still name a failure stay as they are, with their reasons."""
    failing = [verdict for verdict in verdicts if verdict.outcome in ("fail", "expected")]
    kept = [entry for entry in known if any(entry.names(verdict) for verdict in failing)]
    fresh: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in failing:
        if not any(entry.names(verdict) for entry in kept):
            fresh.setdefault((verdict.check, verdict.scenario), []).append(verdict)
    return [*kept, *(_entry(check, scenario, found) for (check, scenario), found in fresh.items())]


def _entry(check: str, scenario: str, found: list[Verdict]) -> Known:
    """One entry for the failures of a law in a scenario; a member is named where all share it."""
    shared: dict[str, Any] = {}
    for member in ("surface", "mode", "policy"):
        values = {getattr(verdict, member) for verdict in found}
        shared[member] = values.pop() if len(values) == 1 else "*"
    return Known(check=check, scenario=scenario, reason=found[0].reason, **shared)


def write(path: Path, known: Sequence[Known]) -> None:
    """Write the file; without entries none is left."""
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
