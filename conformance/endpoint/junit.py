"""JUnit XML of a verification: a suite with a test for each check, and one with the cases of llm-comply."""

from __future__ import annotations

import io

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from toolparity.reports.escape import cut, visible

from .report import Verification


def render(result: Verification) -> bytes:
    """Render a result as XML in UTF-8. A check without an observation is skipped, and so is a case that differs."""
    root = JUnitXml("toolparity verify-endpoint")
    worse = {} if result.reference is None else {one.check: one.difference for one in result.reference.worse}
    suite = TestSuite("toolparity")
    for check in result.checks:
        failures = [f"{count} x {reason}" for reason, count in check.reasons.items() if check.failed]
        failures += [f"{worse[check.check].value:+.1%} to the reference"] if check.check in worse else []
        suite.add_testcase(_case("toolparity", check.check, failures, "" if check.judged else "nothing to judge"))
    root.append(suite)
    if (other := result.compliance) is not None:
        suite = TestSuite(f"llm-comply {other.version}")
        for case in other.cases:
            errors = (case.errors or [case.status]) if case in other.failed else []
            suite.add_testcase(_case("llm-comply", case.id, errors, "; ".join([*case.differs, *case.errors])))
        if other.error:
            suite.add_testcase(_case("llm-comply", "cases", [other.error], ""))
        root.append(suite)
    root.update_statistics()
    file = io.BytesIO()
    root.write(file)
    return file.getvalue() + b"\n"


def _case(suite: str, name: str, failures: list[str], skipped: str) -> TestCase:
    case = TestCase(visible(name), f"toolparity.{suite}")
    if failures:
        case.append(Failure(visible(cut("; ".join(failures), 2_000)), name))
    elif skipped:
        case.append(Skipped(visible(cut(skipped, 2_000))))
    return case
