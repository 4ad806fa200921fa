"""JUnit XML with one suite per subject and one test per case, for test viewers.

A test has one outcome. It is a failure if a law is broken or the baseline is stale, else an error if the harness could
not decide, else skipped if the failures are expected or not required yet, or if the subject claims nothing that
applies. The text of the test lists the verdicts. The known-bad subjects form a separate suite. Characters that XML
cannot contain are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from .escape import cut, visible
from .results import Kill, Law, Outcome, Report, Result, Run, Verdict
from .statistics import alive

#: Element of a test, and the outcomes that cause it. The first match decides.
_ELEMENTS: tuple[tuple[str, tuple[Outcome, ...]], ...] = (
    ("failure", ("fail", "stale")),
    ("error", ("error",)),
    ("skipped", ("new", "expected")),
)
#: Maximum numbers of characters. Viewers show the message in one line.
_MESSAGE, _TEXT = 300, 2_000


class _Test(NamedTuple):
    """One test. ``element`` is its outcome, or "" for a pass."""

    name: str
    seconds: float
    element: str = ""
    type: str = ""
    message: str = ""
    text: str = ""


def render(report: Report) -> bytes:
    """Render the run as XML in UTF-8."""
    run = report.run
    laws = {law.id: law for law in run.laws}
    cases: dict[str, list[_Test]] = {subject.name: [] for subject in run.subjects}
    for result in run.results:
        cases.setdefault(result.subject, []).append(_test(result, laws))
    root = ElementTree.Element("testsuites", name="toolparity")
    for subject in run.subjects:
        told = {"version": subject.version, "claims": " ".join(subject.claims)}
        root.append(_suite(subject.name, cases[subject.name], subject.seconds, run, told))
    if run.kills:
        living = {kill.name for kill in alive(run)}
        tests = [_killed(kill, alive=kill.name in living) for kill in run.kills]
        root.append(_suite("known-bad subjects", tests, run.seconds if not run.results else 0.0, run, {}))
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("time", _seconds(run.seconds))
    ElementTree.indent(root)
    made: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"


def _test(result: Result, laws: dict[str, Law]) -> _Test:
    for element, outcomes in _ELEMENTS:
        if found := [verdict for verdict in result.verdicts if verdict.outcome in outcomes]:
            told = [one for one in result.verdicts if one.outcome not in ("pass", "unsupported")]
            text = "\n\n".join(_told(one, laws.get(one.check)) for one in told)
            message = "; ".join(f"{one.check}: {one.reason}" for one in found)
            names = " ".join(one.check for one in found)
            again = f"again: {cut(result.repeat, _TEXT)}"
            return _Test(result.case, result.seconds, element, names, message, f"{text}\n\n{again}")
    if all(verdict.outcome == "unsupported" for verdict in result.verdicts):
        message = result.verdicts[0].reason if result.verdicts else "no law applies"
        return _Test(result.case, result.seconds, "skipped", "unsupported", message)
    return _Test(result.case, result.seconds)


def _told(verdict: Verdict, law: Law | None) -> str:
    place = f", round {verdict.round + 1}" if verdict.round else ""
    lines = [f"{verdict.outcome.upper()} {cut(verdict.check, _TEXT)}{place}: {cut(verdict.reason, _TEXT)}"]
    lines += [f"the law: {cut(law.sentence, _TEXT)}"] if law and law.sentence else []
    for label, text in (("expected", verdict.expected), ("got", verdict.got)):
        lines += [f"{label}: {cut(text, _TEXT)}"] if text else []
    return "\n".join(lines)


def _killed(kill: Kill, *, alive: bool) -> _Test:
    if not alive:
        return _Test(kill.name, 0.0)
    message = f"{kill.law} does not fail it: {kill.sentence}"
    by = ", ".join(f"{law} in {count}" for law, count in kill.by.items() if count) or "no law"
    return _Test(kill.name, 0.0, "failure", kill.law, message, f"{message}\nfailed by: {by}")


def _suite(name: str, tests: Sequence[_Test], seconds: float, run: Run, told: dict[str, str]) -> ElementTree.Element:
    elements = [test.element for test in tests]
    suite = ElementTree.Element(
        "testsuite",
        name=_plain(name),
        tests=str(len(tests)),
        failures=str(elements.count("failure")),
        errors=str(elements.count("error")),
        skipped=str(elements.count("skipped")),
        time=_seconds(seconds),
        timestamp=_plain(re.sub(r"(\.\d+)?(Z|[+-]\d\d:\d\d)$", "", run.date)),
    )
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in ({"toolparity": run.toolparity} | run.environment | told).items():
        ElementTree.SubElement(properties, "property", name=_plain(key), value=_plain(value))
    for test in tests:
        made = ElementTree.SubElement(
            suite,
            "testcase",
            name=_plain(test.name),
            classname=f"toolparity.{_plain(name)}",
            time=_seconds(test.seconds),
        )
        if test.element:
            inner = ElementTree.SubElement(made, test.element, message=_plain(cut(test.message, _MESSAGE)))
            if test.element != "skipped":
                inner.set("type", _plain(test.type))
            inner.text = visible(test.text, keep="\n") or None
    return suite


def _plain(text: str) -> str:
    """Return text for an attribute: cut, in one line, without characters that XML cannot contain."""
    return visible(cut(text, _TEXT))


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
