"""What each policy would do to traffic, as figures that can be added up.

An `Audit` of one part of the input and one of another `merge` into the audit of both. Adding is commutative and
associative, so that any partition of the input, merged in any order, gives the same audit: all that is kept of a long
list (places, examples, names) is its least members under one total order. Its size does not depend on the size of the
input.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct, field

from toolparity.cassettes.sources import Exchange, Piece, Problem, read_piece
from toolparity.normalizer.findings import CODES as FINDINGS
from toolparity.normalizer.findings import Code, Finding, Severity
from toolparity.normalizer.model import ApprovalRequest, Choice, Opaque, Response, ServerToolCall, ToolCall
from toolparity.normalizer.policies import POLICIES, Selection, select
from toolparity.reports.results import brief

from .exchange import CODES as INPUT_CODES
from .exchange import Decoded, decode, first_choice, unlogged

#: Every code that an audit can count.
ALL_CODES: dict[str, Code] = {**FINDINGS, **INPUT_CODES}
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")

_WORST_KEPT = 10
#: Places that are shown of each code, the first ones.
_EXAMPLES_KEPT = 3
#: Names of unknown wires and of models come from the input: beyond this many the longest are counted together.
_NAMES_KEPT = _MODELS_KEPT = 100
_OTHERS = "others"
_NOT_TOLD = "not told"
#: Longest name of a model, longest message of an example, in characters.
_NAME, _MESSAGE = 100, 300
#: How bad a finding of each severity makes a place.
_WEIGHTS = {"info": 0, "warning": 1, "error": 10}
_NUMBERED = re.compile(r"(.*)[#:](\d+)", re.DOTALL)


class PolicyFigures(Struct):
    """What one policy would make of the client calls; ``responses``: how many would lose a call to it."""

    kept: int = 0
    dropped: int = 0
    rejected: int = 0
    responses: int = 0

    def add(self, selection: Selection) -> None:
        """Count one response."""
        self.kept += len(selection.kept)
        self.dropped += len(selection.dropped)
        self.rejected += len(selection.rejected)
        self.responses += bool(selection.dropped)

    def merge(self, other: PolicyFigures) -> None:
        self.kept += other.kept
        self.dropped += other.dropped
        self.rejected += other.rejected
        self.responses += other.responses


def _policies() -> dict[str, PolicyFigures]:
    return {name: PolicyFigures() for name in POLICIES}


class ModelFigures(Struct):
    """The figures of one model: its client calls, and what each policy would make of them."""

    exchanges: int = 0
    calls: int = 0
    parallel: int = 0
    policies: dict[str, PolicyFigures] = field(default_factory=_policies)

    def merge(self, other: ModelFigures) -> None:
        self.exchanges += other.exchanges
        self.calls += other.calls
        self.parallel += other.parallel
        for policy, figures in other.policies.items():
            self.policies[policy].merge(figures)


class WireFigures(Struct):
    """The figures of one wire.

    ``undecoded``: bodies that are none of the wire. ``errors``: error responses. ``parallel``: responses with more than
    one client call. ``truncated`` and ``invalid``: calls rejected for their arguments; ``unfinished``: calls rejected
    because their whole answer was incomplete, refused or failed. ``incomplete``: responses without a terminal event.
    ``findings``: how often each code was found. ``models``: of what could be decoded, by the model that answered; where
    a wire has very many, the longest names are one entry, "others".
    """

    exchanges: int = 0
    streamed: int = 0
    undecoded: int = 0
    errors: int = 0
    calls: int = 0
    parallel: int = 0
    most_calls: int = 0
    server_calls: int = 0
    approvals: int = 0
    opaque: int = 0
    incomplete: int = 0
    truncated: int = 0
    invalid: int = 0
    unfinished: int = 0
    policies: dict[str, PolicyFigures] = field(default_factory=_policies)
    findings: dict[str, int] = {}
    models: dict[str, ModelFigures] = {}

    def merge(self, other: WireFigures) -> None:
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.most_calls = max(self.most_calls, other.most_calls)
        for policy, figures in other.policies.items():
            self.policies[policy].merge(figures)
        for code, count in other.findings.items():
            self.findings[code] = self.findings.get(code, 0) + count
        for name, model in other.models.items():
            self.model(name).merge(model)

    def model(self, name: str) -> ModelFigures:
        """The figures of a model, or those of the others where it is one of too many."""
        found = self.models.get(name)
        if found is None:
            found = self.models[name] = ModelFigures()
            left = _too_many(self.models, _MODELS_KEPT)
            if left is not None:
                figures = self.models.pop(left)
                self.models.setdefault(_OTHERS, ModelFigures()).merge(figures)
                return self.models.get(name, self.models[_OTHERS])
        return found


def _too_many(names: Collection[str], most: int) -> str | None:
    """The name to count with the others: the longest, of equally long ones the last. None while there is space.

    The names that are kept are the least of all under this order, so that each of them was kept in every part. Short
    names are models; the longest are fine-tuned ones, of which an account has many.
    """
    if len(names) - (_OTHERS in names) <= most:
        return None
    return max((name for name in names if name != _OTHERS), key=lambda name: (len(name), name))


_SUMS = tuple(n for n in WireFigures.__struct_fields__ if n not in ("most_calls", "policies", "findings", "models"))


class Place(Struct, frozen=True):
    """An exchange worth looking at: where it stands, and what was found there (codes, the gravest first)."""

    place: str
    source: str
    id: str | None
    wire: str
    score: int
    codes: list[str]


class Example(Struct, frozen=True):
    """Where a code was found: the place, what it says there."""

    place: str
    id: str | None
    wire: str
    message: str


class Audit(Struct):
    """The whole: figures by wire, exchanges of unknown wires by name, the worst places, the worst first, and of each
    code the first places where it was found.

    ``problems``: how many places could not be read; ``faults``: how many of those, and of exchanges that the normalizer
    failed on, leave the audit incomplete. ``skipped``: how many files without traffic a directory had.
    """

    exchanges: int = 0
    wires: dict[str, WireFigures] = {}
    unknown: dict[str, int] = {}
    worst: list[Place] = []
    examples: dict[str, list[Example]] = {}
    problems: int = 0
    faults: int = 0
    skipped: int = 0

    def merge(self, other: Audit) -> None:
        """Add the audit of another part."""
        self.exchanges += other.exchanges
        for wire, figures in other.wires.items():
            if wire in self.wires:
                self.wires[wire].merge(figures)
            else:
                self.wires[wire] = figures
        for name, count in other.unknown.items():
            self._not_known(name, count)
        self.worst = sorted(self.worst + other.worst, key=_gravity)[:_WORST_KEPT]
        for code, examples in other.examples.items():
            self._examples(code, examples)
        self.problems += other.problems
        self.faults += other.faults
        self.skipped += other.skipped

    def unread(self, problem: Problem) -> None:
        """Add a place that cannot be read, or a file that a walk through a directory skips."""
        self.problems += problem.fault
        self.faults += problem.fault
        self.skipped += not problem.fault

    def count(self, exchange: Exchange, *, policy: str, limit: int | None) -> None:
        """Decode one exchange and add it. ``policy``: whose dropped and rejected calls count as findings."""
        self.exchanges += 1
        decoded = decode(exchange)
        if decoded.faulty:
            self.faults += 1
        if decoded.wire is None or not decoded.known:
            self._not_known(_name_of(exchange, decoded), 1)
            return
        figures = self.wires.get(decoded.wire)
        if figures is None:
            figures = self.wires[decoded.wire] = WireFigures()
        figures.exchanges += 1
        figures.streamed += bool(exchange.stream)
        found = decoded.findings
        if decoded.response is None:
            figures.undecoded += 1
        else:
            found += _weigh(figures, decoded.response, policy, limit)
        if found:
            for finding in found:
                figures.findings[finding.code] = figures.findings.get(finding.code, 0) + 1
                self._example(exchange, decoded.wire, finding)
            self._note(exchange, decoded.wire, found)

    def found(self, code_or_severity: str) -> int:
        """How often a code was found, or anything of that severity or a graver one."""
        if code_or_severity in SEVERITIES:
            floor = SEVERITIES.index(code_or_severity)
            codes = {code for code, row in ALL_CODES.items() if SEVERITIES.index(row.severity) >= floor}
        else:
            codes = {code_or_severity}
        total = sum(n for w in self.wires.values() for code, n in w.findings.items() if code in codes)
        return total + (sum(self.unknown.values()) if "unknown-wire" in codes else 0)

    @property
    def audited(self) -> int:
        """Exchanges of wires that are known."""
        return sum(w.exchanges for w in self.wires.values())

    def _not_known(self, name: str, count: int) -> None:
        self.unknown[name] = self.unknown.get(name, 0) + count
        left = _too_many(self.unknown, _NAMES_KEPT)
        if left is not None:
            self.unknown[_OTHERS] = self.unknown.get(_OTHERS, 0) + self.unknown.pop(left)

    def _note(self, exchange: Exchange, wire: str, found: tuple[Finding, ...]) -> None:
        score = sum(_WEIGHTS[f.severity] for f in found)
        worst = self.worst
        if not score or (len(worst) >= _WORST_KEPT and score < worst[-1].score):
            return
        codes = sorted({f.code for f in found if _WEIGHTS[f.severity]}, key=lambda c: (-_weight(c), c))
        worst.append(Place(exchange.place, exchange.source, exchange.id, wire, score, codes))
        worst.sort(key=_gravity)
        del worst[_WORST_KEPT:]

    def _example(self, exchange: Exchange, wire: str, finding: Finding) -> None:
        kept = self.examples.get(finding.code)
        if kept and len(kept) >= _EXAMPLES_KEPT and _position(exchange.place) >= _position(kept[-1].place):
            return
        message = brief(finding.message, _MESSAGE)
        self._examples(finding.code, [Example(exchange.place, exchange.id, wire, message)])

    def _examples(self, code: str, more: list[Example]) -> None:
        """Keep the first of a code, one of each place."""
        kept = {example.place: example for example in reversed(self.examples.get(code, []) + more)}
        self.examples[code] = sorted(kept.values(), key=lambda example: _position(example.place))[:_EXAMPLES_KEPT]


def audit_piece(piece: Piece, wire: str | None, policy: str, limit: int | None) -> tuple[Audit, list[Problem]]:
    """The audit of one part of the input, and the places in it that could not be read."""
    audit = Audit()
    problems: list[Problem] = []
    for found in read_piece(piece, wire):
        if isinstance(found, Problem):
            problems.append(found)
            audit.unread(found)
        else:
            audit.count(found, policy=policy, limit=limit)
    return audit, problems


def _gravity(place: Place) -> tuple[int, tuple[str, int]]:
    """The worst first, of equally bad ones the first of the input."""
    return -place.score, _position(place.source)


def _position(place: str) -> tuple[str, int]:
    """The path and the number of "path#7" or "path:7"."""
    found = _NUMBERED.fullmatch(place)
    return (found[1], int(found[2])) if found else (place, 0)


def _weight(code: str) -> int:
    return _WEIGHTS[ALL_CODES[code].severity]


def _name_of(exchange: Exchange, decoded: Decoded) -> str:
    """Under which name an exchange of an unknown wire is counted: the wire's, or the host's that it was sent to."""
    if decoded.wire:
        return decoded.wire
    host = (exchange.url or "").split("/", 1)[0]
    return f"not told ({host})" if host else "not told"


def _weigh(figures: WireFigures, response: Response, policy: str, limit: int | None) -> tuple[Finding, ...]:
    """Add one response; give what the policy's selection found."""
    calls = sum(_blocks(figures, choice) for choice in response.choices)
    model = figures.model(brief(response.model or _NOT_TOLD, _NAME))
    model.exchanges += 1
    figures.errors += response.error is not None
    figures.incomplete += not response.complete
    if not calls:
        return ()
    figures.calls += calls
    figures.parallel += calls > 1
    model.calls += calls
    model.parallel += calls > 1
    figures.most_calls = max(figures.most_calls, calls)
    asked: tuple[Finding, ...] = ()
    selection: Selection | None = None
    for name, sums in figures.policies.items():
        with unlogged():
            selection = select(response, name, limit, first_choice(response))
        sums.add(selection)
        model.policies[name].add(selection)
        if name == policy:
            asked = selection.findings
    if selection is not None and selection.rejected:
        _why_rejected(figures, response, selection)
    return asked


def _blocks(figures: WireFigures, choice: Choice) -> int:
    calls = 0
    for block in choice.blocks:
        kind = type(block)
        if kind is ToolCall:
            calls += 1
        elif kind is ServerToolCall:
            figures.server_calls += 1
        elif kind is ApprovalRequest:
            figures.approvals += 1
        elif kind is Opaque:
            figures.opaque += 1
    return calls


def _why_rejected(figures: WireFigures, response: Response, selection: Selection) -> None:
    """Which calls are rejected is the same under every policy; that the whole answer cannot be used comes first."""
    unusable = not response.complete or response.error is not None
    statuses = {
        (choice.index, index): block.status for choice, index, block in response.walk() if type(block) is ToolCall
    }
    for ref in selection.rejected:
        status = statuses[ref.choice, ref.block]
        if unusable or status == "complete":
            figures.unfinished += 1
        elif status == "truncated":
            figures.truncated += 1
        else:
            figures.invalid += 1
