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

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.policies import POLICIES
from toolparity.reports.results import Result, Verdict

from ..cases.scenarios import scenarios
from ..errors import InvalidBaseline
from ..laws import LAWS

SHIPPED = Path(__file__).resolve().parent.parent / "baselines"
#: The safe loader, from libyaml if PyYAML was built with it: that one is ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: The outcomes of a law that was broken.
FAILURES = ("fail", "new", "expected")
#: The members of a case.
MEMBERS = ("scenario", "surface", "mode", "policy")
_HEAD = "# Expected failures of this subject, written by toolparity check --update-baseline\n"
#: The type of an error, which a reason gives before the error's message.
_ERROR_TYPE = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Warning|Failure)\b")


class BaselineEntry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry: an expected failure, or several by patterns."""

    check: str
    scenario: str = "*"
    surface: str = "*"
    mode: str = "*"
    policy: str = "*"
    reason: str = ""
    link: str = ""

    def matches(self, result: Result, verdict: Verdict) -> bool:
        """Return whether the entry matches this verdict."""
        return fnmatchcase(verdict.check, self.check) and all(
            fnmatchcase(getattr(result, member), getattr(self, member)) for member in MEMBERS
        )


def shipped_path(name: str) -> Path:
    """Return the shipped baseline of a subject. A gateway has a folder, with one file for each client wire."""
    *gateway, file = name.split(" as ")
    return SHIPPED.joinpath(*gateway, f"{file}.yaml")


def read(path: Path) -> list[BaselineEntry]:
    """Read the entries of a file; a file that does not exist has none. Raises InvalidBaseline."""
    if not path.exists():
        return []
    try:
        entries = msgspec.convert(yaml.load(path.read_text("utf-8"), _LOADER) or [], list[BaselineEntry])
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidBaseline(reason, where=str(path), hint="write a list of expected failures") from None
    for number, entry in enumerate(entries, 1):
        if wrong := _unmatchable(entry):
            reason = f"entry {number} can never match: {wrong}"
            raise InvalidBaseline(reason, where=str(path), hint="correct the spelling, or remove the entry")
    return entries


def _unmatchable(entry: BaselineEntry) -> str:
    """Return which pattern of an entry matches nothing that the suite has, or "" if each matches something."""
    known: dict[str, Iterable[str]] = {
        "check": LAWS,
        "scenario": scenarios(),
        "surface": SURFACES,
        "mode": ("plain", "stream"),
        "policy": POLICIES,
    }
    for member, names in known.items():
        pattern = getattr(entry, member)
        if pattern != "*" and not any(fnmatchcase(name, pattern) for name in names):
            return f"no {'law' if member == 'check' else member} is named {pattern!r}"
    return ""


def updated_entries(results: Iterable[Result], entries: Sequence[BaselineEntry]) -> list[BaselineEntry]:
    """Return the baseline that these results need.

    Entries that still match a failure are kept with their reasons. Each other failure gets a new entry.
    """
    failures = [(result, verdict) for result in results for verdict in result.verdicts if verdict.outcome in FAILURES]
    needed = [entry for entry in entries if any(entry.matches(*failure) for failure in failures)]
    unmatched: dict[tuple[str, str], list[tuple[Result, Verdict]]] = {}
    for result, verdict in failures:
        if not any(entry.matches(result, verdict) for entry in needed):
            unmatched.setdefault((verdict.check, result.scenario), []).append((result, verdict))
    return [*needed, *(_entry(check, scenario, group) for (check, scenario), group in unmatched.items())]


def _entry(check: str, scenario: str, failures: list[tuple[Result, Verdict]]) -> BaselineEntry:
    """Return one entry for the failures of a law in a scenario.

    A member is a wildcard unless all failures share its value.
    """
    shared: dict[str, Any] = {}
    for member in ("surface", "mode", "policy"):
        values = {getattr(result, member) for result, _ in failures}
        shared[member] = values.pop() if len(values) == 1 else "*"
    return BaselineEntry(check=check, scenario=scenario, reason=_shorten(failures[0][1].reason), **shared)


def _shorten(reason: str) -> str:
    """Shorten a reason that quotes another program's error to the type of that error."""
    own_text, colon, quoted = reason.partition(": ")
    if colon and (error := _ERROR_TYPE.match(quoted)):
        return f"{own_text}: {error[0]}"
    return reason


def write(path: Path, entries: Sequence[BaselineEntry]) -> None:
    """Write the file, or delete it if there are no entries."""
    if not entries:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(
        [msgspec.to_builtins(entry) for entry in entries], sort_keys=False, allow_unicode=True, width=100
    )
    path.write_text(f"{_HEAD}{text}", "utf-8")
