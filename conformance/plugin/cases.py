"""The cases of a subject as pytest items, which `toolparity.pytest_plugin` collects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from toolparity.normalizer.errors import ToolparityError
from toolparity.reports.results import Result, SubjectInfo, Traffic, Verdict, WireExcerpt

from ..cases.case import Case
from ..laws import LAWS
from ..runner import baseline, fail_on, status
from ..runner.judge import CaseFilter, Judge
from ..runner.suite import subject_info
from ..subjects import subject as find_subject


class SubjectCollector(pytest.Collector):
    """Collects the cases of one subject. Raises pytest.UsageError for a subject or baseline that cannot be loaded."""

    def __init__(self, *, settings: dict[str, Any], subject: str, **options: Any) -> None:
        super().__init__(**options)
        try:
            self.judge = Judge(find_subject(subject), called=subject)
            file: Path = settings["baseline"] or baseline.SHIPPED / f"{subject}.yaml"
            unreleased: bool = settings["unreleased"]
            self.known = status.known(self.judge.subject.name, baseline.read(file), unreleased=unreleased)
        except ToolparityError as error:
            raise pytest.UsageError(str(error)) from None
        try:
            self.fail_on = fail_on.outcomes(settings["fail_on"])
        except ValueError as error:
            known = ", ".join(fail_on.CHOICES)
            raise pytest.UsageError(f"--parity-fail-on: unknown outcome: {str(error)!r}; known: {known}") from None
        self.case_filter = CaseFilter(**{name: tuple(settings[name]) for name in CaseFilter.__struct_fields__})
        self._with_subject_name = len(settings["subjects"]) > 1
        self._scenario = ""
        self._stale: dict[baseline.BaselineEntry, bool] = {}

    def collect(self) -> Iterator[pytest.Item]:
        for case in self.case_filter.cases():
            name = f"{self.judge.subject.name}:{case.id}" if self._with_subject_name else case.id
            item: CaseItem = CaseItem.from_parent(self, name=name, case=case)
            for mark in ("parity", f"parity_{case.mode}", f"parity_{case.policy}"):
                item.add_marker(mark)
            yield item

    def result(self, case: Case) -> tuple[Result, Traffic | None]:
        """Return the verdicts of a case, and its wire excerpt.

        The baseline and the requirements of the release are applied to the verdicts.
        """
        (result,) = status.apply([self._raw_result(case)], self.known)
        traffic = self.judge.traffic(case)
        verdicts = [self._check_stale(result, v) if v.outcome == "stale" else v for v in result.verdicts]
        return replace(result, verdicts=verdicts), traffic

    def _check_stale(self, result: Result, verdict: Verdict) -> Verdict:
        """Return a "stale" verdict only if no case that its baseline entry matches fails; otherwise return a pass."""
        entry = next(entry for entry in self.known.expected if entry.matches(result, verdict))
        if entry not in self._stale:
            matching = filter(entry.names, CaseFilter().cases())
            self._stale[entry] = status.is_stale(entry, map(self._raw_result, matching), self.known)
        return verdict if self._stale[entry] else Verdict(verdict.check, "pass")

    def _raw_result(self, case: Case) -> Result:
        if case.scenario != self._scenario:
            self.judge.forget()  # laws compare cases of one scenario only
            self._scenario = case.scenario
        return self.judge.result(case)

    def close(self) -> None:
        """Close the subject if it can be closed."""
        if hasattr(self.judge.subject, "close"):
            self.judge.subject.close()


class CaseItem(pytest.Item):
    """One case. It passes if no law that applies is broken."""

    parent: SubjectCollector

    def __init__(self, *, case: Case, **options: Any) -> None:
        super().__init__(**options)
        self.case = case
        self.result: Result | None = None
        self.traffic: Traffic | None = None

    def runtest(self) -> None:
        self.result, self.traffic = result, traffic = self.parent.result(self.case)
        if bad := [verdict for verdict in result.verdicts if verdict.outcome in self.parent.fail_on]:
            raise LawBroken(result, bad, [] if traffic is None else traffic.rounds)
        if excused := [one for one in result.verdicts if fail_on.excused(one.outcome, self.parent.fail_on)]:
            pytest.xfail("; ".join(f"{verdict.check}: {verdict.why}" for verdict in excused))
        if all(verdict.outcome == "unsupported" for verdict in result.verdicts):
            pytest.skip(result.verdicts[0].reason if result.verdicts else "no law applies")

    @property
    def tested(self) -> SubjectInfo:
        """The subject, as a report describes it."""
        return subject_info(self.parent.judge.subject)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, LawBroken):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class LawBroken(AssertionError):
    """The failing verdicts of a case, as the message of the pytest failure."""

    def __init__(self, result: Result, verdicts: list[Verdict], rounds: list[WireExcerpt]) -> None:
        self.verdicts = verdicts
        super().__init__("\n\n".join(_explain(result, verdict, rounds) for verdict in verdicts))


def _explain(result: Result, verdict: Verdict, rounds: list[WireExcerpt]) -> str:
    law = LAWS[verdict.check].sentence if verdict.check in LAWS else ""
    lines = [f"{verdict.check}: {verdict.why}", f"  the law:  {law}"]
    lines += [f"  {label:9} {text}" for label, text in (("expected:", verdict.expected), ("got:", verdict.got)) if text]
    if verdict.round is not None and verdict.round < len(rounds):
        lines.append(f"  on wire:  {' '.join(rounds[verdict.round].excerpt.split())[:300]}")
    lines.append(f"  again:    {result.repeat}")
    return "\n".join(lines)
