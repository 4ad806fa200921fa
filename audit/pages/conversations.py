"""What an application did with the calls of recorded traffic, for the page of an audit."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from toolparity.reports.escape import cut
from toolparity.reports.html.columns import NAME, WORDS

#: Code of a finding -> the words that mark its call in the excerpt.
_LABELS = {
    "dropped-in-fact": "the lost call",
    "answered-twice": "answered twice",
    "answered-under-another-id": "its result has another id",
    "unknown-call-answered": "its result has an unknown id",
    "answered-out-of-order": "its result comes later",
    "arguments-altered": "sent back altered",
    "reasoning-lost": "its reasoning is missing",
    "result-invented": "its result is invented",
    "repeated-call": "the repeated call",
}
_ROLES = {"user": "User", "model": "Model", "application": "Next request", "tool": "Result"}


class Line(Struct):
    """One line of the excerpt of a conversation."""

    role: Literal["user", "model", "application", "tool"]
    text: str
    id: str | None = None
    mark: str = ""


class Finding(Struct):
    """A finding about a conversation, as in the output of ``toolparity audit --json``."""

    code: str
    severity: Literal["info", "warning", "error"]
    message: str
    wire: str
    response_place: str
    request_place: str
    lines: list[Line]


class Figures(Struct):
    """The figures of one wire."""

    linked: int
    calls: int
    answered: int
    accused: int
    unjudged: dict[str, int]
    recognized: dict[str, int]
    findings: dict[str, int]


class Conversations(Struct):
    """The figures by wire, the first findings of each code, and the meanings of the reasons in `Figures.unjudged`."""

    wires: dict[str, Figures] = {}
    findings: list[Finding] = []
    meanings: dict[str, str] = {}

    def total(self, *codes: str) -> int:
        """Return the number of findings with one of the codes."""
        return sum(count for wire in self.wires.values() for code, count in wire.findings.items() if code in codes)


class Row(NamedTuple):
    """A row of the table. ``bad``: a number other than 0 is a fault of the application."""

    label: str
    counts: list[int]
    bad: bool = False


class ExcerptLine(NamedTuple):
    """A line of an excerpt. ``label``: words that mark it, or ""."""

    role: str
    who: str
    text: str
    id: str
    label: str


class Excerpt(NamedTuple):
    """A finding as a small conversation."""

    code: str
    severity: str
    message: str
    response_place: str
    request_place: str
    lines: list[ExcerptLine]


def rows(conversations: Conversations) -> list[Row]:
    """Return the rows of the table, with a count for each wire."""
    wires = list(conversations.wires.values())
    if not any(wire.linked for wire in wires):
        return []
    made = [
        Row("requests that continue a response", [wire.linked for wire in wires]),
        Row("calls with one result", [wire.answered for wire in wires]),
        Row("calls with a finding", [wire.accused for wire in wires], bad=True),
    ]
    for reason in sorted({reason for wire in wires for reason in wire.unjudged}):
        text = conversations.meanings.get(reason, reason)
        made.append(Row(f"calls not judged: {text}", [wire.unjudged.get(reason, 0) for wire in wires]))
    for kind in sorted({kind for wire in wires for kind in wire.recognized}):
        made.append(Row(f"recognized: {kind}", [wire.recognized.get(kind, 0) for wire in wires]))
    return made


def excerpts(conversations: Conversations) -> list[Excerpt]:
    """Return the findings that are not only information, the errors first."""
    shown = [finding for finding in conversations.findings if finding.severity != "info"]
    return [
        Excerpt(
            finding.code,
            finding.severity,
            cut(finding.message, WORDS),
            cut(finding.response_place, WORDS),
            cut(finding.request_place, WORDS),
            [_line(finding.code, line) for line in finding.lines],
        )
        for finding in sorted(shown, key=lambda finding: finding.severity != "error")
    ]


def _line(code: str, line: Line) -> ExcerptLine:
    label = _LABELS.get(code, "this call") if line.mark == "subject" else "see here" if line.mark else ""
    return ExcerptLine(line.role, _ROLES[line.role], cut(line.text, WORDS), cut(line.id or "", NAME), label)
