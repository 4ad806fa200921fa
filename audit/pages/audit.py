"""HTML page of an audit, with the figures of ``audit --json``: what the application did, and what policies would do."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, field

from toolparity.normalizer import json_codec
from toolparity.reports.compare import count_text
from toolparity.reports.escape import cut
from toolparity.reports.html.columns import NAME, WORDS
from toolparity.reports.html.overview import Headline
from toolparity.reports.html.shell import page

from .conversations import Conversations, excerpts, rows

STYLES = ("base.css", "audit.css", "print.css")
#: Severity -> sign and class in the style sheet, highest severity first.
SEVERITIES = {"error": ("!", "error"), "warning": ("▲", "expected"), "info": ("i", "unsupported")}
#: Maximum rows of a table of models. The others are counted.
_MODELS = 60


class PolicyCounts(Struct):
    """Calls by what a policy does with them. ``responses`` is the number of responses that would lose a call."""

    kept: int = 0
    dropped: int = 0
    rejected: int = 0
    responses: int = 0


class ModelCounts(Struct):
    """Figures of a model on one wire."""

    exchanges: int
    calls: int
    parallel: int
    policies: dict[str, PolicyCounts]


class WireCounts(Struct):
    """Figures of a wire, as in the output of ``toolparity audit --json``."""

    exchanges: int
    streamed: int
    undecoded: int
    errors: int
    calls: int
    parallel: int
    most_calls: int
    server_calls: int
    approvals: int
    opaque: int
    incomplete: int
    truncated: int
    invalid: int
    unfinished: int
    policies: dict[str, PolicyCounts]
    findings: dict[str, int]
    models: dict[str, ModelCounts]


class Example(Struct):
    """One occurrence of a finding code."""

    place: str
    id: str | None
    wire: str
    message: str


class WorstExchange(Struct):
    """An exchange with the finding codes that it has."""

    place: str
    id: str | None
    wire: str
    codes: list[str]


class CodeInfo(Struct):
    """Severity and meaning of a finding code, and what to do about it."""

    severity: Literal["info", "warning", "error"]
    means: str
    do: str


class Audited(Struct):
    """The complete output of ``toolparity audit --json``."""

    policy: str
    limit: int | None
    audited: int
    exchanges: int
    wires: dict[str, WireCounts]
    unknown: dict[str, int]
    worst: list[WorstExchange]
    problems: int
    faults: int
    codes: dict[str, CodeInfo]
    examples: dict[str, list[Example]]
    skipped: int = 0
    conversations: Conversations = field(default_factory=Conversations)


class ModelRow(NamedTuple):
    """Figures of one model, or of the whole wire if ``model`` is ""."""

    wire: str
    model: str
    exchanges: int
    calls: int
    parallel: int
    policies: dict[str, PolicyCounts]


class CodeRow(NamedTuple):
    """A finding code with its number of occurrences. ``by``: wire and number."""

    code: str
    sign: str
    mark: str
    severity: str
    number: int
    by: list[tuple[str, int]]
    means: str
    do: str
    examples: list[Example]


def render(output: Mapping[str, Any]) -> bytes:
    """Render the page in UTF-8.

    ``output`` is the object that ``toolparity audit --json`` writes. Raises msgspec.ValidationError for another shape.
    """
    audit = msgspec.convert(output, Audited)
    policies = list(next(iter(audit.wires.values())).policies) if audit.wires else []
    context = {
        "title": "Audit of tool calls",
        "audit": audit,
        "headline": headline(audit, policies),
        "happened": rows(audit.conversations),
        "excerpts": excerpts(audit.conversations),
        "policies": policies,
        "totals": {name: _total(audit, name) for name in policies},
        "model_rows": model_rows(audit),
        "left": sum(max(0, len(wire.models) - _MODELS) for wire in audit.wires.values()),
        "code_rows": code_rows(audit),
        "data": "data:application/json;base64," + base64.b64encode(json_codec.encode(output)).decode(),
    }
    return page("audit.html.j2", context, styles=STYLES)


def headline(audit: Audited, policies: list[str]) -> Headline:
    """Return the headline: the calls that the application lost, else the policies that would drop most calls."""
    calls = sum(wire.calls for wire in audit.wires.values())
    audited = f"{count_text(audit.audited, 'exchange')} on {count_text(len(audit.wires), 'wire')}"
    sentence = f"{audited}, {count_text(calls, 'client call')}."
    if not audit.audited:
        return Headline("warning", "Nothing was audited", "No exchange of a known wire was found.")
    if gone := audit.conversations.total("dropped-in-fact"):
        return Headline("bad", f"The application dropped {gone:,} of {count_text(calls, 'client call')}", sentence)
    dropped = {name: _total(audit, name).dropped for name in policies}
    if lost := max(dropped.values(), default=0):
        names = [name for name, count in dropped.items() if count == lost]
        text = f"The policy {' or '.join(names)} would drop {lost:,} of {count_text(calls, 'client call')}"
        return Headline("bad", text, sentence)
    if any(_total(audit, name).rejected for name in policies):
        return Headline("warning", "No policy would drop a call, and some calls cannot run", sentence)
    return Headline("good", "No policy would drop a call", sentence)


def model_rows(audit: Audited) -> list[ModelRow]:
    """Return a row per wire, each followed by its models, those with most calls first."""
    rows = []
    for name, wire in sorted(audit.wires.items()):
        rows.append(ModelRow(cut(name, NAME), "", wire.exchanges, wire.calls, wire.parallel, wire.policies))
        models = sorted(wire.models.items(), key=lambda item: (-item[1].calls, -item[1].exchanges, item[0]))
        rows += [
            ModelRow(
                cut(name, NAME), cut(model, NAME), figures.exchanges, figures.calls, figures.parallel, figures.policies
            )
            for model, figures in models[:_MODELS]
        ]
    return rows


def code_rows(audit: Audited) -> list[CodeRow]:
    """Return the finding codes, by severity and then by number."""
    rows = []
    for code, row in audit.codes.items():
        by = [(name, wire.findings[code]) for name, wire in sorted(audit.wires.items()) if code in wire.findings]
        if not by:  # a finding about conversations, which have a separate section
            continue
        sign, mark = SEVERITIES[row.severity]
        number = sum(figure for _, figure in by)
        examples = [
            Example(
                cut(example.place, WORDS),
                cut(example.id, NAME) if example.id else None,
                example.wire,
                cut(example.message, WORDS),
            )
            for example in audit.examples.get(code, [])
        ]
        rows.append(CodeRow(code, sign, mark, row.severity, number, by, row.means, row.do, examples))
    order = list(SEVERITIES)
    return sorted(rows, key=lambda row: (order.index(row.severity), -row.number, row.code))


def _total(audit: Audited, policy: str) -> PolicyCounts:
    parts = [wire.policies[policy] for wire in audit.wires.values()]
    return PolicyCounts(*(sum(getattr(figures, name) for figures in parts) for name in PolicyCounts.__struct_fields__))
