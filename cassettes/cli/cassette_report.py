"""Cassettes as sections for the terminal, and as JSON. The origin of a cassette is always shown first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from toolparity.normalizer.model import Response, ServerToolCall, Text, ToolCall
from toolparity.normalizer.policies import Selection
from toolparity.reports.terminal import Lines, Section, StyledText, Table, Tone, Value

from ..library.files import Cassette
from ..library.inventory import ListedCassette, MissingCassette, StrayCassette
from ..recorder.verify import STEPS, VerifiedCassette

_ORIGINS: dict[str | None, Tone] = {"live": "good", "emulated": "warning", "imported": "dim", None: "bad"}
_AGE_VERDICTS = {"fail": StyledText("too old", "bad"), "warn": StyledText("old", "warning"), None: StyledText("")}
_LONGEST = 60


def origin(of: str | None) -> StyledText:
    """Return the table cell for an origin; None becomes "unknown"."""
    return StyledText(of or "unknown", _ORIGINS[of])


def by_origin(origins: Iterable[str | None]) -> str:
    """Summarize a list of cassettes by origin: "3 live, 12 emulated"."""
    counts = Counter(origin_name or "unknown" for origin_name in origins)
    names = [name for name in ("live", "emulated", "imported", "unknown") if counts[name]]
    return ", ".join(f"{counts[name]:,} {name}" for name in names)


# list


def listed(cassettes: list[ListedCassette]) -> list[Section]:
    """One row for each cassette."""
    rows: list[list[Value]] = []
    for cassette in cassettes:
        provenance = cassette.provenance
        if provenance is None:
            rows.append([origin(None), cassette.file.shown, "", "", "", "", ""])
            continue
        sdk = f"{provenance.sdk} {provenance.sdk_version or ''}".strip() if provenance.sdk else ""
        answers = "streamed" if provenance.stream else "plain"
        date = str(provenance.day)
        surface = provenance.surface or provenance.wire
        cells = (cassette.file.shown, surface, answers, provenance.model or "", date, sdk)
        rows.append([origin(provenance.origin), *cells])
    headline = f"{len(cassettes):,} cassettes: {by_origin(cassette.origin for cassette in cassettes)}"
    columns = ["origin", "cassette", "surface", "answers", "model", "date", "sdk"]
    return [Lines("", [(StyledText(headline, "strong"), "")]), Table("", columns, rows, 2)]


def listed_json(cassettes: list[ListedCassette]) -> list[dict[str, Any]]:
    """One JSON object for each cassette, in the same order."""
    return [
        {"path": cassette.file.shown, "origin": cassette.provenance.origin, **msgspec.to_builtins(cassette.provenance)}
        if cassette.provenance is not None
        else {"path": cassette.file.shown, "origin": None, "error": str(cassette.error)}
        for cassette in cassettes
    ]


# verify


def verified(verdicts: list[VerifiedCassette]) -> list[Section]:
    """The result of each step for each cassette, then all problems."""
    rows: list[list[Value]] = []
    for verdict in verdicts:
        faults = {problem.step: problem.fault for problem in verdict.problems}
        marks: list[Value] = [_mark(step.name, verdict, faults) for step in STEPS]
        rows.append([origin(verdict.origin), verdict.file.shown, *marks])
    problems = [(StyledText(str(problem), "bad"), "") for verdict in verdicts for problem in verdict.problems]
    well = [verdict for verdict in verdicts if not verdict.problems]
    open_ = Counter(f"{step}: {reason}" for verdict in well for step, reason in verdict.open.items())
    origins = by_origin(verdict.origin for verdict in verdicts)
    headline = f"{len(well):,} of {len(verdicts):,} cassettes passed: {origins}"
    return [
        Table("", ["origin", "cassette", *(step.name for step in STEPS)], rows, 2),
        Lines("Problems", problems),
        Lines(
            "Not judged", [(StyledText(what, "dim"), f"{count:,} cassettes") for what, count in sorted(open_.items())]
        ),
        Lines("", [(StyledText(headline, "good" if len(well) == len(verdicts) else "bad"), "")]),
    ]


def verified_json(verdicts: list[VerifiedCassette]) -> list[dict[str, Any]]:
    """One JSON object for each cassette."""
    return [
        {
            "path": verdict.file.shown,
            "origin": verdict.origin,
            "passed": verdict.passed,
            "open": verdict.open,
            "problems": msgspec.to_builtins(verdict.problems),
        }
        for verdict in verdicts
    ]


def _mark(step: str, verdict: VerifiedCassette, faults: dict[str, bool]) -> StyledText:
    if step in faults:
        return StyledText("error" if faults[step] else "fail", "bad")
    return StyledText("pass", "good") if step in verdict.passed else StyledText("open", "dim")


# show


def shown(loaded: Cassette, place: str, answers: list[tuple[Response, Selection]]) -> list[Section]:
    """Return the sections of one cassette: its provenance, then each interaction.

    An interaction shows the blocks of its response, the stop reason, the selection, and findings above severity "info".
    """
    provenance = loaded.provenance
    members = [
        (StyledText(name, "dim"), str(value)) for name, value in provenance.as_metadata().items() if name != "origin"
    ]
    sections: list[Section] = [
        Lines("", [(StyledText(f"{provenance.origin}: {place}", "strong"), "")]),
        Lines("", [(StyledText("origin", "dim"), provenance.origin), *members]),
    ]
    for number, (request, (response, selection)) in enumerate(zip(loaded.requests, answers, strict=True), 1):
        sections.append(
            Lines(
                f"{number}. {request.method} {request.uri}",
                [
                    *(_block(block) for choice in response.choices for block in choice.blocks),
                    (StyledText("stop"), _stop(response)),
                    (StyledText(f"policy {selection.policy}"), _outcome(selection)),
                    *((StyledText(f.code, "warning"), f.message) for f in response.findings if f.severity != "info"),
                ],
            )
        )
    return sections


def shown_json(loaded: Cassette, place: str, answers: list[tuple[Response, Selection]]) -> dict[str, Any]:
    """The same as one JSON object, with complete responses."""
    return {
        "path": place,
        "origin": loaded.provenance.origin,
        "provenance": loaded.provenance,
        "interactions": [
            {"method": request.method, "uri": request.uri, "response": response, "selection": selection}
            for request, (response, selection) in zip(loaded.requests, answers, strict=True)
        ],
    }


def _block(block: Any) -> tuple[StyledText, str]:
    kind = str(block.__struct_config__.tag)
    match block:
        case ToolCall():
            status = "" if block.status == "complete" else f"  [{block.status}]"
            return StyledText(
                kind, "good" if not status else "warning"
            ), f"{block.name} {_brief(block.arguments_text)}{status}"
        case ServerToolCall():
            return StyledText(kind), f"{block.tool} {_brief(block.arguments_text or '')}"
        case Text():
            return StyledText(kind), _brief(block.text)
        case _:
            return StyledText(kind), _brief(getattr(block, "text", None) or "")


def _stop(response: Response) -> str:
    if response.error is not None:
        return f"error {response.error.type}: {response.error.message}"
    stops = [f"{choice.stop.reason} ({choice.stop.raw})" for choice in response.choices]
    return ", ".join(stops or ["nothing"]) + ("" if response.complete else ", incomplete")


def _outcome(selection: Selection) -> str:
    groups = (("kept", selection.kept), ("dropped", selection.dropped), ("rejected", selection.rejected))
    groups_shown = [f"{word} {', '.join(str(ref.name) for ref in refs)}" for word, refs in groups if refs]
    return "; ".join(groups_shown) or "no client call"


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


# age, orphans


def aged(cassettes: list[tuple[ListedCassette, int]], limits: dict[int, str]) -> list[Section]:
    """The age of each cassette. ``limits`` maps a cassette's index to the limit that it exceeds, "warn" or "fail"."""
    rows: list[list[Value]] = []
    for index, (cassette, days) in enumerate(cassettes):
        provenance = cassette.provenance
        if provenance is None:
            continue
        cells = (cassette.file.shown, str(provenance.day), StyledText(f"{days:,}"))
        rows.append([origin(provenance.origin), *cells, _AGE_VERDICTS[limits.get(index)]])
    return [Table("", ["origin", "cassette", "date", "days", "verdict"], rows, 2)]


def orphaned(strays: list[StrayCassette], missing: list[MissingCassette]) -> list[Section]:
    """Cassettes without a scenario, and scenarios without a cassette."""
    rows: list[list[Value]] = [
        [recording.scenario, recording.surface, "streamed" if recording.stream else "plain", recording.path]
        for recording in missing
    ]
    return [
        Table(
            "Cassettes without a scenario",
            ["origin", "cassette", "reason"],
            [[origin(s.origin), s.file.shown, s.why] for s in strays],
            3,
        ),
        Table("Scenarios without a cassette", ["scenario", "surface", "answers", "expected path"], rows, 4),
    ]
