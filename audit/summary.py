"""Counts of what each policy would do to recorded traffic, in a form that can be merged.

`Audit.merge` adds the audit of another part of the input. It is commutative and associative, so the result does not
depend on how the input is partitioned or in which order the parts are merged. Lists (places, examples, names) keep only
their first members under one total order, so the size of an audit does not depend on the size of the input.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from toolparity.cassettes.sources import WEBSOCKET, Exchange, FilePart, PartReader, Problem
from toolparity.normalizer.findings import CODES as FINDINGS
from toolparity.normalizer.findings import Code, Finding, Severity
from toolparity.normalizer.model import Policy
from toolparity.reports.results import brief

from .conversations import CODES as CONVERSATION_CODES
from .conversations import ConversationReport, ExchangeRecord
from .exchange import CODES as INPUT_CODES
from .exchange import DecodedExchange, decode
from .figures import NOT_STATED, OTHERS, WireFigures, count_response, too_many
from .records import record_of

#: Every code that an audit can count.
ALL_CODES: dict[str, Code] = {**FINDINGS, **INPUT_CODES, **CONVERSATION_CODES}
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")

_WORST_KEPT = 10
#: How many examples of each code are kept: the first ones of the input.
EXAMPLES_KEPT = 3
#: The names of unknown wires come from the input. Above this many, the longest ones are counted together.
_NAMES_KEPT = 100
#: The maximum length of an example's message, in characters.
_MESSAGE = 300
#: What a finding of each severity adds to the score of a place.
_WEIGHTS = {"info": 0, "warning": 1, "error": 10}
_NUMBERED = re.compile(r"(.*)[#:](\d+)", re.DOTALL)


class WorstPlace(Struct, frozen=True):
    """An exchange with warnings or errors. ``codes``: the codes of its findings, highest severity first."""

    place: str
    source: str
    id: str | None
    wire: str
    score: int
    codes: list[str]


class FindingExample(Struct, frozen=True):
    """One occurrence of a finding code: the place and the message."""

    place: str
    id: str | None
    wire: str
    message: str


class Audit(Struct):
    """The result of an audit.

    ``wires``: figures by wire. ``unknown``: exchanges of unknown wires, by name. ``worst``: the places with the highest
    scores, highest first. ``examples``: the first places of each finding code. ``problems``: how many places could not
    be read. ``faults``: how many of these places, and of the exchanges that the normalizer failed on, make the audit
    incomplete. ``skipped``: how many files without traffic a directory had. ``conversations``: what the application did
    with the calls; empty in the audit of a part of the input, as conversations can span parts.
    """

    exchanges: int = 0
    wires: dict[str, WireFigures] = {}
    unknown: dict[str, int] = {}
    worst: list[WorstPlace] = []
    examples: dict[str, list[FindingExample]] = {}
    problems: int = 0
    faults: int = 0
    skipped: int = 0
    conversations: ConversationReport = field(default_factory=ConversationReport)

    def merge(self, other: Audit, examples: int = EXAMPLES_KEPT) -> None:
        """Add the audit of another part of the input. ``examples``: how many of each code are kept."""
        self.exchanges += other.exchanges
        for wire, figures in other.wires.items():
            if wire in self.wires:
                self.wires[wire].merge(figures)
            else:
                self.wires[wire] = figures
        for name, count in other.unknown.items():
            self._count_unknown(name, count)
        self.worst = sorted(self.worst + other.worst, key=_severity_order)[:_WORST_KEPT]
        for code, more in other.examples.items():
            self._examples(code, more, examples)
        self.problems += other.problems
        self.faults += other.faults
        self.skipped += other.skipped

    def unread(self, problem: Problem) -> None:
        """Count a place that cannot be read, or a file without traffic that was skipped in a directory."""
        self.problems += problem.fault
        self.faults += problem.fault
        self.skipped += not (problem.fault or problem.folder)

    def count(
        self, exchange: Exchange, *, policy: Policy, limit: int | None, examples: int = EXAMPLES_KEPT
    ) -> ExchangeRecord | None:
        """Decode one exchange and count it. Calls that ``policy`` drops or rejects are counted as findings.

        Return the record for the audit of conversations, or None if the wire is unknown.
        """
        self.exchanges += 1
        decoded = decode(exchange)
        if decoded.faulty:
            self.faults += 1
        if decoded.wire is None or not decoded.known:
            self._count_unknown(_name_of(exchange, decoded), 1)
            return None
        figures = self.wires.get(decoded.wire)
        if figures is None:
            figures = self.wires[decoded.wire] = WireFigures()
        figures.exchanges += 1
        figures.streamed += bool(exchange.stream)
        findings = decoded.findings
        if decoded.response is None:
            figures.undecoded += 1
        else:
            findings += count_response(figures, decoded.response, policy, limit)
        if findings:
            for finding in findings:
                figures.findings[finding.code] = figures.findings.get(finding.code, 0) + 1
                figures.severities[finding.severity] = figures.severities.get(finding.severity, 0) + 1
                self._example(exchange, decoded.wire, finding, examples)
            self._note(exchange, decoded.wire, findings)
        return record_of(exchange, decoded)

    def findings_of(self, wire: str) -> dict[str, int]:
        """Return the number of findings on a wire by code, those about conversations included."""
        conversations = self.conversations.wires.get(wire)
        return {**self.wires[wire].findings, **(conversations.findings if conversations is not None else {})}

    def found(self, code_or_severity: str) -> int:
        """Return how many findings have this code, or this severity or a higher one."""
        undecoded = {"unknown-wire": sum(self.unknown.values()) - self.sessions, "session-unread": self.sessions}
        if code_or_severity not in SEVERITIES:
            total = sum(self.findings_of(wire).get(code_or_severity, 0) for wire in self.wires)
            return total + undecoded.get(code_or_severity, 0)
        high = SEVERITIES[SEVERITIES.index(code_or_severity) :]
        total = sum(figures.severities.get(severity, 0) for figures in self.wires.values() for severity in high)
        for figures in self.conversations.wires.values():
            total += sum(n for code, n in figures.findings.items() if ALL_CODES[code].severity in high)
        return total + sum(count for code, count in undecoded.items() if ALL_CODES[code].severity in high)

    @property
    def sessions(self) -> int:
        """The number of WebSocket sessions of unknown formats, which are not judged."""
        return self.unknown.get(WEBSOCKET, 0)

    @property
    def audited(self) -> int:
        """The number of exchanges of known wires."""
        return sum(w.exchanges for w in self.wires.values())

    def _count_unknown(self, name: str, count: int) -> None:
        self.unknown[name] = self.unknown.get(name, 0) + count
        left = too_many(self.unknown, _NAMES_KEPT)
        if left is not None:
            self.unknown[OTHERS] = self.unknown.get(OTHERS, 0) + self.unknown.pop(left)

    def _note(self, exchange: Exchange, wire: str, findings: tuple[Finding, ...]) -> None:
        score = sum(_WEIGHTS[f.severity] for f in findings)
        worst = self.worst
        if not score or (len(worst) >= _WORST_KEPT and score < worst[-1].score):
            return
        codes = sorted({f.code for f in findings if _WEIGHTS[f.severity]}, key=lambda c: (-_weight(c), c))
        worst.append(WorstPlace(exchange.location, exchange.source, exchange.id, wire, score, codes))
        worst.sort(key=_severity_order)
        del worst[_WORST_KEPT:]

    def _example(self, exchange: Exchange, wire: str, finding: Finding, count: int) -> None:
        kept = self.examples.get(finding.code)
        if kept and len(kept) >= count and position(exchange.location) >= position(kept[-1].place):
            return
        message = brief(finding.message, _MESSAGE)
        self._examples(finding.code, [FindingExample(exchange.location, exchange.id, wire, message)], count)

    def _examples(self, code: str, more: list[FindingExample], count: int) -> None:
        """Add examples of a code; keep the first ``count``, at most one for each place."""
        kept = self.examples.setdefault(code, [])
        if kept and position(more[0].place) > position(kept[-1].place):  # in the order of the input
            kept += more[: count - len(kept)]
            return
        distinct = {example.place: example for example in reversed(kept + more)}
        self.examples[code] = sorted(distinct.values(), key=lambda example: position(example.place))[:count]


class PartAudit(Struct):
    """The audit of a part of the input, the places in it that could not be read, and the records of its exchanges.

    ``lines``: the number of lines or rows of the part, by which `places.shift` moves the places of the next one.
    """

    audit: Audit = field(default_factory=Audit)
    problems: list[Problem] = []
    records: list[ExchangeRecord] = []
    lines: int = 0


def audit_part(
    part: FilePart, wire: str | None, policy: Policy, limit: int | None, examples: int = EXAMPLES_KEPT
) -> PartAudit:
    """Audit one part of the input. ``examples``: how many of each code are kept."""
    result = PartAudit()
    reader = PartReader(part, wire)
    for item in reader:
        if isinstance(item, Problem):
            result.problems.append(item)
            result.audit.unread(item)
        elif (record := result.audit.count(item, policy=policy, limit=limit, examples=examples)) is not None:
            result.records.append(record)
    result.lines = reader.lines
    return result


def _severity_order(place: WorstPlace) -> tuple[int, tuple[str, int]]:
    """The sort key of the worst places: highest score first, then the order of the input."""
    return -place.score, position(place.source)


def position(place: str) -> tuple[str, int]:
    """Split "path#7" or "path:7" into the path and the number, as a sort key. The number is 0 if there is none."""
    match = _NUMBERED.fullmatch(place)
    return (match[1], int(match[2])) if match else (place, 0)


def _weight(code: str) -> int:
    return _WEIGHTS[ALL_CODES[code].severity]


def _name_of(exchange: Exchange, decoded: DecodedExchange) -> str:
    """Return the name under which an exchange of an unknown wire is counted: its wire, or the host of its request."""
    if decoded.wire:
        return decoded.wire
    host = (exchange.url or "").split("/", 1)[0]
    return f"{NOT_STATED} ({host})" if host else NOT_STATED
