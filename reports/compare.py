"""Comparison of two runs. Each verdict is in at most one list; unchanged verdicts are in none.

kept     pass, stale                  the subject keeps the law, whatever the baseline says
broken   fail, new, expected, error   the subject breaks the law, or the harness cannot decide

regression   kept -> broken, or a verdict that fails the run now (fail, error) and did not before
fix          broken -> kept
other        any other change of outcome: fail -> expected, pass -> unsupported
reason       the same outcome with another reason or other evidence
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
        told = self.after or self.before
        assert told is not None
        return told.check


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
        return [count_text(len(found), one, many) for found, one, many in self._counts() if found]

    @property
    def sentence(self) -> str:
        """A summary of the counts and the changed subjects in one sentence."""
        told = [*self.numbers, *map(describe_subject_change, self.subjects)]
        since = f"since the run of {self.before}, in {count_text(self.compared, 'verdict')} that both have"
        return f"{', '.join(told) if told else 'nothing changed'} {since}"

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
            (self.sources, "source of other provenance", "sources of other provenance"),
        ]


def compare(before: Run, after: Run) -> Comparison:
    """Compare the later run with the earlier one."""
    known = {_key(result): result for result in before.results}
    lasting = {one.name for one in before.subjects} & {one.name for one in after.subjects}
    found = Comparison(before.date, after.date, 0, [], [], [], [], [], [], [], [], _sources(before, after), [])
    compared = 0
    for result in after.results:
        earlier = known.pop(_key(result), None)
        if earlier is not None:
            compared += _verdicts(found, earlier, result)
        elif result.subject in lasting:
            found.new.append(result)
    found.vanished.extend(result for result in known.values() if result.subject in lasting)
    found.subjects.extend(_subjects(before.subjects, after.subjects))
    return found._replace(compared=compared)


def count_by_scenario(cases: Iterable[Result]) -> dict[tuple[str, str], int]:
    """Count cases by (subject, scenario)."""
    return Counter((one.subject, one.scenario) for one in cases)


def count_text(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun, such as "1 fix" or "2,000 fixes". ``many`` is an irregular plural."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _key(result: Result) -> tuple[str, ...]:
    return result.subject, result.scenario, result.surface, result.mode, result.policy


def _verdicts(found: Comparison, before: Result, after: Result) -> int:
    """Sort the verdicts of one case into the lists, and return how many verdicts both runs have."""
    if before.verdicts == after.verdicts:
        return len(after.verdicts)
    known = {verdict.check: verdict for verdict in before.verdicts}
    compared = 0
    for verdict in after.verdicts:
        earlier = known.pop(verdict.check, None)
        if earlier is None:
            found.judged.append(VerdictChange(after, None, verdict))
            continue
        compared += 1
        if earlier != verdict:
            _list(found, earlier, verdict).append(VerdictChange(after, earlier, verdict))
    found.unjudged.extend(VerdictChange(after, verdict, None) for verdict in known.values())
    return compared


def _list(found: Comparison, before: Verdict, after: Verdict) -> list[VerdictChange]:
    if before.outcome == after.outcome:
        return found.reasons
    if is_regression(before.outcome, after.outcome):
        return found.regressions
    if before.outcome in BROKEN and after.outcome in KEPT:
        return found.fixes
    return found.others


def is_regression(before: Outcome, after: Outcome) -> bool:
    """Return whether this change of outcome is a regression."""
    if after in _FAILS:
        return before not in _FAILS
    return before in KEPT and after in BROKEN


def _sources(before: Run, after: Run) -> list[EntryChange[EvidenceSource]]:
    """Return the sources whose metadata changed, and those that a scenario uses instead of another source."""
    was, now = ({one.path: one for one in run.sources} for run in (before, after))
    found = [EntryChange(was[path], one) for path, one in now.items() if path in was and was[path] != one]
    took = {(one.scenario, one.surface, one.mode): one.source for one in before.traffic}
    pairs = dict.fromkeys(
        (took[key], one.source)
        for one in after.traffic
        if (key := (one.scenario, one.surface, one.mode)) in took and took[key] != one.source
    )
    return [*found, *(EntryChange(was.get(old), now.get(new)) for old, new in pairs if old in was or new in now)]


def _subjects(before: Iterable[SubjectInfo], after: Iterable[SubjectInfo]) -> list[EntryChange[SubjectInfo]]:
    was = {one.name: one for one in before}
    found: list[EntryChange[SubjectInfo]] = []
    for one in after:
        old = was.pop(one.name, None)
        if old is None or _told(old) != _told(one):
            found.append(EntryChange(old, one))
    return [*found, *(EntryChange(one, None) for one in was.values())]


def _told(one: SubjectInfo) -> tuple[str, list[str], list[str] | None]:
    return one.version, one.claims, one.wires


def describe_subject_change(subject: EntryChange[SubjectInfo]) -> str:
    """Describe the change of a subject, such as "litellm 1.2 -> 1.3"."""
    was, now = subject
    if was is None or now is None:
        one, what = (now, "new") if was is None else (was, "gone")
        return f"{one.name} {one.version} is {what}" if one else ""
    if was.version != now.version:
        return f"{now.name} {was.version} -> {now.version}"
    return f"{now.name} claims something else"


def describe_source_change(evidence: EntryChange[EvidenceSource]) -> str:
    """Describe the change of a source, such as "a.yaml: emulated 2026-01-01 -> live 2026-02-01"."""
    was, now = (f"{one.origin} {one.date} {one.sdk}".strip() if one else "unknown" for one in evidence)
    path = next(one.path for one in reversed(evidence) if one is not None)
    return f"{path}: {was} -> {now}"
