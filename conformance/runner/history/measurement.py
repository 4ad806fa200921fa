"""The outcome of the suite on one version of a library: counts and case ids by law, from the results of a run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping

from msgspec import Struct

from toolparity.reports.results import Outcome, Run, brief
from toolparity.reports.statistics import count_verdicts
from toolparity.reports.versions import Ratio

from ...subjects import environments
from ...subjects.executable import GAVE_UP

#: The last line of a traceback, and at most so many characters of a reason.
_ERROR = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception): (?!.*\w(?:Error|Exception): ).*")
_SHOWN = 300


class NotTested(Exception):
    """A version cannot be tested. Its text is the reason, on one line and without personal folders."""

    def __init__(self, reason: str) -> None:
        text = " ".join(reason.replace(str(environments.home()), "~/.cache/toolparity/subjects").split())
        if "Traceback" in text and (match := _ERROR.search(text)):
            text = match[0]
        super().__init__(brief(text, _SHOWN))


class Measurement(Struct, frozen=True):
    """The outcome of the suite on one version.

    ``cases``: passed and applicable cases under all laws, ``laws``: the same under each law. ``verdicts``: law ->
    outcome -> case ids. ``packages``: what was installed, name -> version.
    """

    version: str
    cases: Ratio
    laws: dict[str, Ratio]
    verdicts: dict[str, dict[Outcome, list[str]]]
    packages: dict[str, str]

    def failing(self, law: str) -> frozenset[str]:
        """Return the cases that break a law."""
        return frozenset(self.verdicts.get(law, {}).get("fail", ()))

    def passing(self, law: str) -> frozenset[str]:
        """Return the cases that keep a law."""
        return frozenset(self.verdicts.get(law, {}).get("pass", ()))

    def restricted(self, scenarios: Collection[str]) -> Measurement:
        """Return the verdicts in these scenarios only, without counts."""
        verdicts = {
            law: {
                outcome: [case for case in cases if scenario_of(case) in scenarios]
                for outcome, cases in by_outcome.items()
            }
            for law, by_outcome in self.verdicts.items()
        }
        return Measurement(self.version, (0, 0), {}, verdicts, self.packages)


def scenario_of(case: str) -> str:
    """Return the scenario of a case id."""
    return case.partition("[")[0]


def measurement_of(run: Run, version: str, packages: Mapping[str, str]) -> Measurement:
    """Return the outcome of a run with one subject.

    Raises NotTested if the program was given up, or if the harness could not judge a case: the counts would be wrong.
    """
    verdicts: dict[str, dict[Outcome, list[str]]] = defaultdict(lambda: defaultdict(list))
    for result, verdict in run.verdicts():
        if GAVE_UP in verdict.reason:
            raise NotTested(verdict.reason)
        if verdict.outcome == "error":
            raise NotTested(f"{result.case} cannot be judged by {verdict.check}: {verdict.reason}")
        verdicts[verdict.check][verdict.outcome].append(result.case)
    (standing,) = count_verdicts(run).standings
    laws = {law: (tally.passed, tally.applicable) for law, tally in standing.laws.items() if tally.applicable}
    for by_outcome in verdicts.values():
        by_outcome.pop("unsupported", None)
    kept = {law: dict(by_outcome) for law, by_outcome in verdicts.items() if by_outcome}
    return Measurement(version, (standing.cases.passed, standing.cases.applicable), laws, kept, dict(packages))
