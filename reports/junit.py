"""JUnit XML with one suite per subject and one test per case, for test viewers.

A test has one outcome. It is a failure if a law is broken or the baseline is stale, else an error if the harness could
not decide, else skipped if the failures are expected or not required yet, or if the subject claims nothing that
applies. The text of the test lists the verdicts. The known-bad subjects form a separate suite. Characters that XML
cannot contain are escaped.
"""

from __future__ import annotations

import io
import re

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from .escape import cut, visible
from .kill_matrix import surviving_mutants
from .results import Kill, LawInfo, Outcome, Report, Result, Run, Verdict

#: Element of a test, and the outcomes that cause it. The first match decides.
_ELEMENTS: tuple[tuple[type[Failure | Error | Skipped], tuple[Outcome, ...]], ...] = (
    (Failure, ("fail", "stale")),
    (Error, ("error",)),
    (Skipped, ("new", "expected")),
)
#: Maximum numbers of characters. Viewers show the message in one line.
_MESSAGE, _TEXT = 300, 2_000


def render(report: Report) -> bytes:
    """Render the run as XML in UTF-8."""
    run = report.run
    laws = {law.id: law for law in run.laws}
    cases: dict[str, list[TestCase]] = {subject.name: [] for subject in run.subjects}
    for result in run.results:
        cases.setdefault(result.subject, []).append(_case(result, laws))
    root = JUnitXml("toolparity")
    for subject in run.subjects:
        properties = {"version": subject.version, "claims": " ".join(subject.claims)}
        root.append(_suite(subject.name, cases[subject.name], subject.seconds, run, properties))
    if run.kills:
        survivors = {kill.name for kill in surviving_mutants(run)}
        mutants = [_mutant(kill, survives=kill.name in survivors) for kill in run.kills]
        root.append(_suite("known-bad subjects", mutants, run.seconds if not run.results else 0.0, run, {}))
    suites = list(root)
    root.tests = sum(suite.tests for suite in suites)
    root.failures = sum(suite.failures for suite in suites)
    root.errors = sum(suite.errors for suite in suites)
    root.time = round(run.seconds, 3)
    file = io.BytesIO()
    root.write(file)
    return file.getvalue() + b"\n"


def _case(result: Result, laws: dict[str, LawInfo]) -> TestCase:
    case = TestCase(_plain(result.case), f"toolparity.{_plain(result.subject)}", round(result.seconds, 3))
    for element, outcomes in _ELEMENTS:
        if causes := [verdict for verdict in result.verdicts if verdict.outcome in outcomes]:
            problems = [verdict for verdict in result.verdicts if verdict.outcome not in ("pass", "unsupported")]
            text = "\n\n".join(_describe(verdict, laws.get(verdict.check)) for verdict in problems)
            message = "; ".join(f"{verdict.check}: {verdict.why}" for verdict in causes)
            names = " ".join(verdict.check for verdict in causes)
            _set_result(case, element, message, names, f"{text}\n\nrepeat: {cut(result.repeat, _TEXT)}")
            return case
    if all(verdict.outcome == "unsupported" for verdict in result.verdicts):
        _set_result(case, Skipped, result.verdicts[0].reason if result.verdicts else "no law applies")
    return case


def _mutant(kill: Kill, *, survives: bool) -> TestCase:
    case = TestCase(_plain(kill.name), "toolparity.known-bad subjects", 0.0)
    if survives:
        message = f"{kill.law} does not fail it: {kill.sentence}"
        by = ", ".join(f"{law} in {count}" for law, count in kill.by.items() if count) or "no law"
        _set_result(case, Failure, message, kill.law, f"{message}\nfailed by: {by}")
    return case


def _describe(verdict: Verdict, law: LawInfo | None) -> str:
    round_text = f", round {verdict.round + 1}" if verdict.round else ""
    lines = [f"{verdict.outcome.upper()} {cut(verdict.check, _TEXT)}{round_text}: {cut(verdict.why, _TEXT)}"]
    lines += [f"the law: {cut(law.sentence, _TEXT)}"] if law and law.sentence else []
    for label, text in (("expected", verdict.expected), ("got", verdict.got)):
        lines += [f"{label}: {cut(text, _TEXT)}"] if text else []
    return "\n".join(lines)


def _set_result(
    case: TestCase, element: type[Failure | Error | Skipped], message: str, type_: str = "", text: str = ""
) -> None:
    result = element(_plain(cut(message, _MESSAGE)), None if element is Skipped else _plain(type_))
    if text:
        result.text = visible(text, keep="\n")
    case.append(result)


def _suite(name: str, cases: list[TestCase], seconds: float, run: Run, properties: dict[str, str]) -> TestSuite:
    suite = TestSuite(_plain(name))
    suite.timestamp = _plain(re.sub(r"(\.\d+)?(Z|[+-]\d\d:\d\d)$", "", run.date))
    for key, value in ({"toolparity": run.toolparity} | run.environment | properties).items():
        suite.add_property(_plain(key), _plain(value))
    suite.add_testcases(cases)
    suite.time = round(seconds, 3)
    return suite


def _plain(text: str) -> str:
    """Return text for an attribute: cut, in one line, without characters that XML cannot contain."""
    return visible(cut(text, _TEXT))
