"""Writes the reproductions: for each law that a shipped subject breaks, and each reason why, the shortest case.

    python docs/reproductions.py

The pages are made of the published results (`python -m toolparity.conformance.cli.publish`), which state the reasons of
the baselines, and of the suite's traffic. `python docs/confirm.py --reasons` runs the scripts.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from toolparity.conformance.cases.broken import CUTS
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cli.publish import FOLDER, RESULTS
from toolparity.conformance.laws import LAWS
from toolparity.conformance.reproductions import Accusation, accusations
from toolparity.reports.files import load

HERE = Path(__file__).resolve().parent / "reproductions"
#: Law about two forms of one response -> the names of the expected form and of the other one.
_PAIRS = {"stream-parity": ("plain", "streamed"), "alike": ("on the other wire", "here")}
#: Texts with which the first call of a response begins.
_MARKS = ('"tool_calls"', '"function_call"', '"type":"tool_use"', "response.output_item.added", '"response.completed"')
#: Maximum characters of a response on a page; a file contains the complete response.
_EXCERPT = 1100
#: Maximum number of scenarios that an entry names.
_NAMED = 8


class Case(NamedTuple):
    """The shortest case in which a subject breaks a law for a reason.

    ``cases``: in how many cases it breaks the law for this reason. ``named``: the scenarios of these cases.
    """

    subject: str
    law: str
    reason: str
    accusation: Accusation
    cases: int
    named: list[str]


def cases() -> list[Case]:
    """Return the cases of the published results."""
    return by_reason(accusations(load(FOLDER / RESULTS)))


def by_reason(failures: Iterable[Accusation]) -> list[Case]:
    """Return the shortest case of each reason, ordered by subject, law and reason."""
    best: dict[tuple[str, str, str], Accusation] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    named: dict[tuple[str, str, str], dict[str, None]] = {}
    for accusation in failures:
        key = accusation.result.subject, accusation.verdict.check, accusation.known_reason
        counts[key] += 1
        named.setdefault(key, {})[accusation.result.scenario] = None
        if key not in best or accusation.size < best[key].size:
            best[key] = accusation
    return [Case(*key, best[key], counts[key], list(named[key])) for key in sorted(best)]


def compared(accusation: Accusation) -> tuple[str, str]:
    """Return both sides of the comparison; of an error its type, and none of its words."""
    verdict, report = accusation.verdict, accusation.report
    expected, got = (side or "nothing" for side in (verdict.expected, verdict.got))
    if verdict.check in _PAIRS:
        expected, got = (f"{name} {side}" for name, side in zip(_PAIRS[verdict.check], (expected, got), strict=True))
    elif verdict.check == "any-cut" and verdict.effect == "misreported":
        expected, got = "an error, complete: false, or an unknown stop reason", f"the stop reason {got}"
    elif verdict.check == "usage" and not got.startswith("{"):
        count = verdict.reason.partition(" ")[0]
        expected, got = f"{count}: {expected}", f"{count}: {got}"
    elif expected == got:  # the text of arguments that are not JSON, and the value that was made of it
        expected, got = f"the text {expected}, not parsed", f"the value {got}"
    if report.error and (verdict.effect == "refused" or not report.calls):  # an agent may fail after a run
        got = f"refused with {report.error.partition(':')[0]}"
    return expected, got


def files(shown: Sequence[Case]) -> dict[str, bytes]:
    """Name -> content of every page and every body."""
    made: dict[str, bytes] = {}
    for name, group in groupby(shown, key=lambda case: case.subject):
        of_subject = list(group)
        made[f"{name}.md"] = "".join(_page(name, of_subject)).encode()
        made |= {f"bodies/{case.accusation.response.file}": case.accusation.response.data for case in of_subject}
    return made


def _page(name: str, of_subject: Sequence[Case]) -> Iterator[str]:
    yield f"# Failures of `{name}` {of_subject[0].accusation.version}\n\n"
    yield "`python docs/reproductions.py` writes this page. [The overview](../peers.md) explains the entries.\n"
    yield "To repeat a case without this project, run the script that the command *alone* prints.\n"
    yield "It needs the library and the response, in one folder.\n"
    for law, some in groupby(of_subject, key=lambda case: case.law):
        yield f"\n## {law}\n\n{LAWS[law].sentence}\n"
        for case in some:
            yield from _section(case)


def _section(case: Case) -> Iterator[str]:
    result, response = case.accusation.result, case.accusation.response
    expected, got = compared(case.accusation)
    names = f" ({', '.join(f'`{name}`' for name in case.named)})" * (len(case.named) <= _NAMED)
    round, cut = response.key.round, response.key.cut
    place = f", answer {round + 1}" if round else ""
    breaks = f" The stream breaks {CUTS[cut]}." if cut else ""
    yield f"\n### {case.reason}\n\nIn {case.cases} case{'s' * (case.cases != 1)}{names}. "
    yield f"The shortest, on {result.surface}, {result.mode}{place}:\n"
    yield f"{scenarios()[result.scenario].file.title}.{breaks}\n\n"
    yield f"- expected: {_code(expected)}\n- got: {_code(got)}\n- again: `{result.repeat}`\n"
    yield f"- alone: `toolparity report upstream {result.subject} {quote(result.case)} --law {case.law}`\n"
    text = response.data.decode("utf-8", "replace")
    shown = text if len(text) <= _EXCERPT else f"{_relevant(text, case.law)[:_EXCERPT]}…"
    yield f"\nThe response ([complete](bodies/{response.file})):\n\n````text\n{shown.rstrip()}\n````\n"


def _relevant(text: str, law: str) -> str:
    """Return the lines from the first call on, or those with the usage."""
    if law == "usage":
        return "\n".join(line for line in text.splitlines() if '"usage":{' in line) or text
    at = min((place for mark in _MARKS if (place := text.find(mark)) >= 0), default=0)
    start = text.rfind("\n", 0, at) + 1
    return text if start == 0 else f"…\n{text[start:]}"


def _code(text: str) -> str:
    """As code in one line, whatever is in it."""
    shown = " ".join(text.split())
    fence = "``" if "`" in shown else "`"
    return f"{fence}{shown}{fence}" if fence == "`" else f"{fence} {shown} {fence}"


def main() -> None:
    shutil.rmtree(HERE / "bodies", ignore_errors=True)
    for name, content in files(cases()).items():
        (HERE / name).parent.mkdir(parents=True, exist_ok=True)
        (HERE / name).write_bytes(content)


if __name__ == "__main__":
    main()
