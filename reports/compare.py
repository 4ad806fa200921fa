"""Comparison of two runs. Each verdict is in at most one list; unchanged verdicts are in none.

kept     pass, stale                  the subject keeps the law, whatever the baseline says
broken   fail, new, expected, error   the subject breaks the law, or the harness cannot decide

regression   kept -> broken, or a verdict that fails the run now (fail, error) and did not before
fix          broken -> kept
other        any other change of outcome: fail -> expected, pass -> unsupported
reason       the same outcome with another reason or changed evidence
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from .results import BAD, BROKEN, KEPT, EvidenceSource, Outcome, Result, Run, SubjectInfo, Verdict

T = TypeVar("T")

#: Outcomes that fail a run, except for a stale baseline.
_FAILS = frozenset(BAD) & frozenset(BROKEN)


class VerdictChange(NamedTuple):
    """A verdict that changed.

    ``result`` is the case, from the later run if that has it. ``before`` or ``after`` is None if that run does not
    have the verdict.
    """

    result: Result
    before: Verdict | None
    after: Verdict | None

    @property
    def check(self) -> str:
        """The id of the law."""
        verdict = self.after or self.before
        assert verdict is not None
        return verdict.check


class EntryChange(NamedTuple, Generic[T]):
    """An entry in the earlier and in the later run; None if the run does not have it."""

    before: T | None
    after: T | None


class Comparison(NamedTuple):
    """Changes in the order of the later run; vanished entries in the order of the earlier run.

    ``before`` and ``after`` are the dates of the runs, ``compared`` is the number of verdicts that both have.
    ``judged`` and ``unjudged`` contain verdicts that only the later or only the earlier run has, in cases of both runs.
    ``new`` and ``vanished`` contain cases, but not those of a subject that only one run has. ``subjects`` contains
    these subjects, and those whose version, claims or wires changed. ``sources`` contains evidence whose file or
    provenance changed.
    """

    before: str
    after: str
    compared: int
    regressions: list[VerdictChange]
    fixes: list[VerdictChange]
    others: list[VerdictChange]
    reasons: list[VerdictChange]
    judged: list[VerdictChange]
    unjudged: list[VerdictChange]
    new: list[Result]
    vanished: list[Result]
    sources: list[EntryChange[EvidenceSource]]
    subjects: list[EntryChange[SubjectInfo]]

    @property
    def same(self) -> bool:
        """True if nothing changed."""
        return not any(self[3:])

    @property
    def numbers(self) -> list[str]:
        """The non-zero counts as texts, such as "3 regressions" and "1 new case"."""
        return [count_text(len(entries), noun, plural) for entries, noun, plural in self._counts() if entries]

    @property
    def sentence(self) -> str:
        """A summary of the counts and the changed subjects in one sentence."""
        changes = [*self.numbers, *map(describe_subject_change, self.subjects)]
        since = f"since the run of {self.before}, in {count_text(self.compared, 'verdict')} that both have"
        return f"{', '.join(changes) or 'nothing changed'} {since}"

    def _counts(self) -> list[tuple[Sequence[object], str, str]]:
        return [
            (self.regressions, "regression", ""),
            (self.fixes, "fix", "fixes"),
            (self.others, "other change of outcome", "other changes of outcome"),
            (self.reasons, "other reason", ""),
            (self.new, "new case", ""),
            (self.vanished, "vanished case", ""),
            (self.judged, "new verdict in a known case", "new verdicts in known cases"),
            (self.unjudged, "vanished verdict in a known case", "vanished verdicts in known cases"),
            (self.sources, "source with changed provenance", "sources with changed provenance"),
        ]


def compare(before: Run, after: Run) -> Comparison:
    """Compare the later run with the earlier one."""
    known = {_key(result): result for result in before.results}
    lasting = {subject.name for subject in before.subjects} & {subject.name for subject in after.subjects}
    comparison = Comparison(before.date, after.date, 0, [], [], [], [], [], [], [], [], _sources(before, after), [])
    compared = 0
    for result in after.results:
        earlier = known.pop(_key(result), None)
        if earlier is not None:
            compared += _verdicts(comparison, earlier, result)
        elif result.subject in lasting:
            comparison.new.append(result)
    comparison.vanished.extend(result for result in known.values() if result.subject in lasting)
    comparison.subjects.extend(_subjects(before.subjects, after.subjects))
    return comparison._replace(compared=compared)


def count_by_scenario(cases: Iterable[Result]) -> dict[tuple[str, str], int]:
    """Count cases by (subject, scenario)."""
    return Counter((result.subject, result.scenario) for result in cases)


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, such as "1 fix" or "2,000 fixes". ``plural`` is an irregular plural."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _key(result: Result) -> tuple[str, ...]:
    return result.subject, result.scenario, result.surface, result.mode, result.policy


def _verdicts(comparison: Comparison, before: Result, after: Result) -> int:
    """Sort the verdicts of one case into the lists, and return how many verdicts both runs have."""
    if before.verdicts == after.verdicts:
        return len(after.verdicts)
    known = {verdict.check: verdict for verdict in before.verdicts}
    compared = 0
    for verdict in after.verdicts:
        earlier = known.pop(verdict.check, None)
        if earlier is None:
            comparison.judged.append(VerdictChange(after, None, verdict))
            continue
        compared += 1
        if earlier != verdict:
            _list(comparison, earlier, verdict).append(VerdictChange(after, earlier, verdict))
    comparison.unjudged.extend(VerdictChange(after, verdict, None) for verdict in known.values())
    return compared


def _list(comparison: Comparison, before: Verdict, after: Verdict) -> list[VerdictChange]:
    if before.outcome == after.outcome:
        return comparison.reasons
    if is_regression(before.outcome, after.outcome):
        return comparison.regressions
    if before.outcome in BROKEN and after.outcome in KEPT:
        return comparison.fixes
    return comparison.others


def is_regression(before: Outcome, after: Outcome) -> bool:
    """Return whether this change of outcome is a regression."""
    if after in _FAILS:
        return before not in _FAILS
    return before in KEPT and after in BROKEN


def _sources(before: Run, after: Run) -> list[EntryChange[EvidenceSource]]:
    """Return the sources whose metadata changed, and those that a scenario uses instead of another source."""
    earlier, later = ({entry.path: entry for entry in run.sources} for run in (before, after))
    changes = [
        EntryChange(earlier[path], entry) for path, entry in later.items() if path in earlier and earlier[path] != entry
    ]
    used = {(entry.scenario, entry.surface, entry.mode): entry.source for entry in before.traffic}
    pairs = dict.fromkeys(
        (used[key], entry.source)
        for entry in after.traffic
        if (key := (entry.scenario, entry.surface, entry.mode)) in used and used[key] != entry.source
    )
    return [
        *changes,
        *(EntryChange(earlier.get(old), later.get(new)) for old, new in pairs if old in earlier or new in later),
    ]


def _subjects(before: Iterable[SubjectInfo], after: Iterable[SubjectInfo]) -> list[EntryChange[SubjectInfo]]:
    earlier = {subject.name: subject for subject in before}
    changes: list[EntryChange[SubjectInfo]] = []
    for subject in after:
        old = earlier.pop(subject.name, None)
        if old is None or _identity(old) != _identity(subject):
            changes.append(EntryChange(old, subject))
    return [*changes, *(EntryChange(subject, None) for subject in earlier.values())]


def _identity(subject: SubjectInfo) -> tuple[str, list[str], list[str] | None]:
    return subject.version, subject.claims, subject.wires


def describe_subject_change(subject: EntryChange[SubjectInfo]) -> str:
    """Describe the change of a subject, such as "litellm 1.2 -> 1.3"."""
    before, after = subject
    if before is None or after is None:
        entry, change = (after, "new") if before is None else (before, "gone")
        return f"{entry.name} {entry.version} is {change}" if entry else ""
    if before.version != after.version:
        return f"{after.name} {before.version} -> {after.version}"
    return f"{after.name} has other claims"


def describe_source_change(evidence: EntryChange[EvidenceSource]) -> str:
    """Describe the change of a source, such as "a.yaml: emulated 2026-01-01 -> live 2026-02-01"."""
    before, after = (f"{entry.origin} {entry.date} {entry.sdk}".strip() if entry else "unknown" for entry in evidence)
    path = next(entry.path for entry in reversed(evidence) if entry is not None)
    return f"{path}: {before} -> {after}"
