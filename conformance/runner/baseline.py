"""Baselines: the failures that are expected of a subject, each with a reason. There is one YAML file for each subject.

    - {scenario: parallel-*, surface: "*", mode: stream, policy: "*", check: order, effect: altered, reason: …, link: …}
    - {scenario: [single-call, two-rounds], surface: openai.chat, check: [usage, stop]}     four entries

Members are patterns (``*`` is a wildcard), or lists of patterns, of which each combination is an entry. A failure that
matches an entry gets the outcome "expected". One with another ``effect`` than the entry's does not match. An entry is
stale if it matches only passes, and the run has all cases that it names. A stale entry fails the run, so that a fixed
failure cannot return unnoticed. An entry with ``varies: true``, whose failure depends on timing, is never stale.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.policies import POLICIES
from toolparity.reports.results import Effect, Result, Verdict

from ..cases.case import Case
from ..cases.scenarios import scenarios
from ..errors import InvalidBaseline
from ..laws import LAWS, SERVER_LAWS

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
    effect: Effect = ""
    varies: bool = False

    def matches(self, result: Result, verdict: Verdict) -> bool:
        """Return whether the entry matches this verdict. One that passes has no effect, and an entry need not have."""
        return (
            fnmatchcase(verdict.check, self.check)
            and (self.effect in ("", verdict.effect) or not verdict.effect)
            and self.names(result)
        )

    def names(self, case: Result | Case) -> bool:
        """Return whether the entry is about this case."""
        return all(fnmatchcase(getattr(case, member), getattr(self, member)) for member in MEMBERS)


_Patterns = str | list[str]


class _WrittenEntry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Entries as a file has them: one for each combination of the listed patterns."""

    check: _Patterns
    scenario: _Patterns = "*"
    surface: _Patterns = "*"
    mode: _Patterns = "*"
    policy: _Patterns = "*"
    effect: Effect = ""
    reason: str = ""
    link: str = ""
    varies: bool = False

    def entries(self) -> list[BaselineEntry]:
        """Return the entries."""
        patterns = ([it] if isinstance(it := getattr(self, member), str) else it for member in ("check", *MEMBERS))
        rest: tuple[Any, ...] = self.reason, self.link, self.effect, self.varies
        return [BaselineEntry(*one, *rest) for one in product(*patterns)]


def _written(entries: Iterable[BaselineEntry]) -> list[_WrittenEntry]:
    """Join entries that differ only in one member, first in the scenario."""
    joined: list[dict[str, Any]] = [
        {name: getattr(entry, name) for name in _WrittenEntry.__struct_fields__} for entry in dict.fromkeys(entries)
    ]
    for member in ("scenario", "check", "surface", "mode"):
        groups: dict[str, list[dict[str, Any]]] = {}
        for one in joined:
            groups.setdefault(repr({name: value for name, value in one.items() if name != member}), []).append(one)
        joined = [
            group[0] | ({member: [one[member] for one in group]} if len(group) > 1 else {}) for group in groups.values()
        ]
    return msgspec.convert(joined, list[_WrittenEntry])


def shipped_path(name: str) -> Path:
    """Return the shipped baseline of a subject. A gateway has a folder, with one file for each client wire."""
    *gateway, file = name.split(" as ")
    return SHIPPED.joinpath(*gateway, f"{file}.yaml")


def read(path: Path, needs: Iterable[str] = ()) -> list[BaselineEntry]:
    """Read the entries of a file; a file that does not exist has none. ``needs``: scenarios of a coding agent.

    Raises InvalidBaseline.
    """
    if not path.exists():
        return []
    try:
        written = msgspec.convert(yaml.load(path.read_text("utf-8"), _LOADER) or [], list[_WrittenEntry])
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidBaseline(reason, where=str(path), hint="write a list of expected failures") from None
    entries = [(number, entry) for number, one in enumerate(written, 1) for entry in one.entries()]
    for number, entry in entries:
        if wrong := _unmatchable(entry, needs):
            reason = f"entry {number} can never match: {wrong}"
            raise InvalidBaseline(reason, where=str(path), hint="correct the spelling, or remove the entry")
    return [entry for _, entry in entries]


def _unmatchable(entry: BaselineEntry, needs: Iterable[str]) -> str:
    """Return which pattern of an entry matches nothing that the suite has, or "" if each matches something."""
    known: dict[str, Iterable[str]] = {
        "check": (*LAWS, *SERVER_LAWS),
        "scenario": (*scenarios(), *needs),
        "surface": SURFACES,
        "mode": ("plain", "stream"),
        "policy": POLICIES,
    }
    for member, names in known.items():
        pattern = getattr(entry, member)
        if pattern != "*" and not any(fnmatchcase(name, pattern) for name in names):
            return f"no {'law' if member == 'check' else member} is named {pattern!r}"
    return ""


def updated_entries(
    results: Sequence[Result], entries: Sequence[BaselineEntry], left_out: Collection[Case] = ()
) -> list[BaselineEntry]:
    """Return the baseline that these results need. ``left_out``: the cases that were not selected.

    Entries that still match a failure, or may match one that was left out, are kept with their reasons. Each other
    failure gets a new entry, which names no surface, mode or policy that was left out.
    """
    failures = [(result, verdict) for result in results for verdict in result.verdicts if verdict.outcome in FAILURES]
    needed = [
        it
        for it in entries
        if it.varies or any(it.matches(*failure) for failure in failures) or any(map(it.names, left_out))
    ]
    scenarios = {result.scenario for result in results}
    cut = [
        member
        for member in MEMBERS[1:]
        if {getattr(case, member) for case in left_out if case.scenario in scenarios}
        - {getattr(result, member) for result in results}
    ]
    unmatched: dict[tuple[str, ...], list[tuple[Result, Verdict]]] = {}
    for result, verdict in failures:
        if not any(entry.matches(result, verdict) for entry in needed):
            key = verdict.check, result.scenario, verdict.effect, *(getattr(result, member) for member in cut)
            unmatched.setdefault(key, []).append((result, verdict))
    return [*needed, *map(_entry, unmatched.values())]


def _entry(failures: list[tuple[Result, Verdict]]) -> BaselineEntry:
    """Return one entry for the failures of a law in a scenario with one effect.

    A member is a wildcard unless all failures share its value.
    """
    shared: dict[str, Any] = {}
    for member in ("surface", "mode", "policy"):
        values = {getattr(result, member) for result, _ in failures}
        shared[member] = values.pop() if len(values) == 1 else "*"
    (result, verdict), *_ = failures
    reason = _shorten(verdict.reason)
    return BaselineEntry(verdict.check, result.scenario, effect=verdict.effect, reason=reason, **shared)


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
    rows = msgspec.to_builtins(_written(entries))
    text = yaml.safe_dump(rows, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    path.write_text(f"{_HEAD}{text}", "utf-8")
