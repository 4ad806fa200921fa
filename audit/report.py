"""An audit as sections for the terminal, and as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from toolparity.normalizer.model import Policy
from toolparity.reports.terminal import Lines, Section, StyledText, Table, Tone, number_text

from .conversations import RECOGNIZED, UNJUDGED, ConversationFigures
from .summary import ALL_CODES, SEVERITIES, Audit

_HAPPENED = "What the application did with the client calls"
#: How many findings about conversations the terminal shows. The JSON and the page have more.
_ACCUSATIONS = 10
_TONES: dict[str, Tone] = {"error": "bad", "warning": "warning", "info": "dim"}

#: The rows of the traffic table: heading, member of `WireFigures`, and whether a row of zeros is shown.
_TRAFFIC: tuple[tuple[str, str, bool], ...] = (
    ("exchanges", "exchanges", True),
    ("streamed", "streamed", True),
    ("error responses", "errors", False),
    ("bodies that could not be decoded", "undecoded", False),
    ("responses without an end", "incomplete", False),
    ("client calls", "calls", True),
    ("responses with parallel calls", "parallel", True),
    ("most calls in one response", "most_calls", False),
    ("server calls (run by the provider)", "server_calls", True),
    ("requests for approval", "approvals", False),
    ("blocks of unknown type", "opaque", False),
)
_REJECTED: tuple[tuple[str, str], ...] = (
    ("arguments cut", "truncated"),
    ("arguments not a JSON object", "invalid"),
    ("answer incomplete, refused or failed", "unfinished"),
)


def sections(audit: Audit, limit: int | None) -> list[Section]:
    """Return the sections of the terminal report, most important first."""
    wires = sorted(audit.wires)
    return [
        Lines("", [(StyledText(_headline(audit), "strong"), "")]),
        _accusations(audit),
        _happened(audit, wires),
        _traffic(audit, wires),
        _policies(audit, wires, limit),
        _findings(audit, wires),
        _meanings(audit),
        _worst(audit),
        _unknown(audit),
    ]


def as_json(audit: Audit, policy: Policy, limit: int | None) -> dict[str, Any]:
    """Return the audit as JSON values, with the meaning of each code in it.

    The order of keys does not depend on the input.
    """
    plain: dict[str, Any] = msgspec.to_builtins(audit)
    for figures in plain["wires"].values():
        for counts in ("findings", "severities", "models"):
            figures[counts] = dict(sorted(figures[counts].items()))
    for figures in plain["conversations"]["wires"].values():
        for counts in ("unjudged", "recognized", "findings"):
            figures[counts] = dict(sorted(figures[counts].items()))
    plain["wires"] = dict(sorted(plain["wires"].items()))
    plain["unknown"] = dict(sorted(plain["unknown"].items()))
    plain["examples"] = dict(sorted(plain["examples"].items()))
    plain["conversations"]["meanings"] = dict(UNJUDGED)
    codes = {code: msgspec.to_builtins(ALL_CODES[code]) for code in sorted(_totals(audit))}
    return {"policy": policy, "limit": limit, "audited": audit.audited, **plain, "codes": codes}


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _headline(audit: Audit) -> str:
    text = f"{_counted(audit.audited, 'exchange')} on {_counted(len(audit.wires), 'wire')}"
    if audit.sessions:
        text += f", {_counted(audit.sessions, 'WebSocket session')} not judged"
    if unknown := sum(audit.unknown.values()) - audit.sessions:
        text += f", {unknown:,} of wires not yet known"
    if audit.skipped:
        text += f", {audit.skipped:,} {'file' if audit.skipped == 1 else 'files'} without traffic skipped"
    if audit.problems:
        text += f", {audit.problems:,} {'place' if audit.problems == 1 else 'places'} that could not be read"
    return text


def _with_total(
    label: str, values: list[int], *, most: bool = False, bad: bool = False
) -> list[str | int | StyledText]:
    whole = max(values, default=0) if most else sum(values)
    shown = values if len(values) == 1 else [*values, whole]
    return [label, *(StyledText(number_text(n), "bad") if bad and n else n for n in shown)]


def _columns(wires: list[str]) -> list[str]:
    return ["", *wires] if len(wires) == 1 else ["", *wires, "all"]


def _traffic(audit: Audit, wires: list[str]) -> Table:
    rows = []
    for label, name, always in _TRAFFIC:
        values = [getattr(audit.wires[wire], name) for wire in wires]
        if always or any(values):
            bad = name in ("undecoded", "incomplete", "opaque")
            rows.append(_with_total(label, values, most=name == "most_calls", bad=bad))
    return Table("Traffic", _columns(wires), rows if wires else [])


def _policies(audit: Audit, wires: list[str], limit: int | None) -> Table:
    rows: list[list[str | int | StyledText]] = []
    if any(audit.wires[wire].calls for wire in wires):
        for policy in audit.wires[wires[0]].policies:
            figures = [audit.wires[wire].policies[policy] for wire in wires]
            rows.append(_with_total(f"{policy} keeps", [f.kept for f in figures]))
            rows.append(_with_total(f"{policy} drops", [f.dropped for f in figures], bad=True))
            if any(f.dropped for f in figures):
                rows.append(_with_total(f"responses with calls that {policy} drops", [f.responses for f in figures]))
        for label, name in _REJECTED:
            values = [getattr(audit.wires[wire], name) for wire in wires]
            if any(values):
                rows.append(_with_total(f"rejected: {label}", values, bad=True))
    capped = "" if limit is None else f", limit {limit}"
    return Table(f"What each policy would do with the client calls{capped}", _columns(wires), rows)


def _happened(audit: Audit, wires: list[str]) -> Table:
    """Return what the application did with the calls, from the requests that follow in the input."""
    figures = [audit.conversations.wires.get(wire, ConversationFigures()) for wire in wires]
    if not any(f.linked for f in figures):
        return Table(_HAPPENED, _columns(wires), [])
    rows = [
        _with_total("requests that continue a response", [f.linked for f in figures]),
        _with_total("calls with one result", [f.answered for f in figures]),
        _with_total("calls with a finding", [f.accused for f in figures], bad=True),
    ]
    for reason, meaning in UNJUDGED.items():
        counts = [f.unjudged.get(reason, 0) for f in figures]
        if any(counts):
            rows.append(_with_total(f"calls not judged: {meaning}", counts))
    for kind, meaning in RECOGNIZED.items():
        counts = [f.recognized.get(kind, 0) for f in figures]
        if any(counts):
            rows.append(_with_total(f"{kind}: {meaning}", counts))
    return Table(_HAPPENED, _columns(wires), rows)


def _totals(audit: Audit) -> dict[str, int]:
    totals: dict[str, int] = {}
    for wire in audit.wires:
        for code, count in audit.findings_of(wire).items():
            totals[code] = totals.get(code, 0) + count
    return totals


def _gravest_first(totals: dict[str, int]) -> list[str]:
    return sorted(totals, key=lambda c: (-SEVERITIES.index(ALL_CODES[c].severity), -totals[c], c))


def _findings(audit: Audit, wires: list[str]) -> Table:
    totals = _totals(audit)
    rows: list[list[str | int | StyledText]] = []
    for code in _gravest_first(totals):
        severity = ALL_CODES[code].severity
        counts = [audit.findings_of(wire).get(code, 0) for wire in wires]
        rows.append([StyledText(severity, _TONES[severity]), *_with_total(code, counts)])
    columns = ["", "code", *_columns(wires)[1:]]
    return Table("Findings", columns, rows, labels=2)


def _meanings(audit: Audit) -> Lines:
    totals = _totals(audit)
    graves = [code for code in _gravest_first(totals) if ALL_CODES[code].severity != "info"]
    entries = [
        (StyledText(code, _TONES[ALL_CODES[code].severity]), f"{ALL_CODES[code].means} {ALL_CODES[code].do}")
        for code in graves
    ]
    return Lines("What they mean, and what to do", entries)


def _accusations(audit: Audit) -> Lines:
    """Return the first findings about conversations that are not only information, with both places."""
    shown = [f for f in audit.conversations.findings if f.severity != "info"][:_ACCUSATIONS]
    entries = [
        (StyledText(f.code, _TONES[f.severity]), f"{f.message}. Response {f.response_place}, request {f.request_place}")
        for f in shown
    ]
    if any(f.code == "dropped-in-fact" for f in shown):
        entries.append((StyledText(""), "With --fail-on dropped-in-fact, the exit code is 1."))
    return Lines("What happened, and where", entries)


def _worst(audit: Audit) -> Lines:
    entries = []
    for place in audit.worst:
        named = f" ({place.id})" if place.id else ""
        entries.append((StyledText(place.place), f"{place.wire}: {', '.join(place.codes)}{named}"))
    return Lines("The worst places", entries)


def _unknown(audit: Audit) -> Lines:
    ordered = sorted(audit.unknown.items(), key=lambda item: (-item[1], item[0]))
    entries = [(StyledText(name), _counted(count, "exchange")) for name, count in ordered]
    return Lines("Not yet known: counted, not decoded", entries)
