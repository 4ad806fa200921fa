"""Cassettes as sections for the terminal, and as JSON. The origin of a cassette is always shown first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from toolparity.cassettes.library.files import Cassette
from toolparity.cassettes.library.inventory import ListedCassette, MissingCassette, StrayCassette
from toolparity.cassettes.recorder.verify import STEPS, VerifiedCassette
from toolparity.normalizer.model import Response, ServerToolCall, Text, ToolCall
from toolparity.normalizer.policies import Selection
from toolparity.reports.terminal import Lines, Section, StyledText, Table, Tone, Value

_ORIGINS: dict[str | None, Tone] = {"live": "good", "emulated": "warning", "imported": "dim", None: "bad"}
_LONGEST = 60


def origin(of: str | None) -> StyledText:
    """Return the table cell for an origin; None becomes "unknown"."""
    return StyledText(of or "unknown", _ORIGINS[of])


def by_origin(origins: Iterable[str | None]) -> str:
    """Summarize a list of cassettes by origin: "3 live, 12 emulated"."""
    counts = Counter(one or "unknown" for one in origins)
    names = [name for name in ("live", "emulated", "imported", "unknown") if counts[name]]
    return ", ".join(f"{counts[name]:,} {name}" for name in names)


# list


def listed(cassettes: list[ListedCassette]) -> list[Section]:
    """One row for each cassette."""
    rows: list[list[Value]] = []
    for one in cassettes:
        told = one.provenance
        if told is None:
            rows.append([origin(None), one.file.shown, "", "", "", "", ""])
            continue
        sdk = f"{told.sdk} {told.sdk_version or ''}".strip() if told.sdk else ""
        answers = "streamed" if told.stream else "plain"
        made = str(told.day)
        rows.append(
            [origin(told.origin), one.file.shown, told.surface or told.wire, answers, told.model or "", made, sdk]
        )
    headline = f"{len(cassettes):,} cassettes: {by_origin(one.origin for one in cassettes)}"
    columns = ["origin", "cassette", "surface", "answers", "model", "date", "sdk"]
    return [Lines("", [(StyledText(headline, "strong"), "")]), Table("", columns, rows, 2)]


def listed_json(cassettes: list[ListedCassette]) -> list[dict[str, Any]]:
    """One JSON object for each cassette, in the same order."""
    return [
        {"path": one.file.shown, "origin": one.provenance.origin, **msgspec.to_builtins(one.provenance)}
        if one.provenance is not None
        else {"path": one.file.shown, "origin": None, "error": str(one.error)}
        for one in cassettes
    ]


# verify


def verified(verdicts: list[VerifiedCassette]) -> list[Section]:
    """The result of each step for each cassette, then all problems."""
    rows: list[list[Value]] = []
    for one in verdicts:
        wrong = {problem.step: problem.fault for problem in one.problems}
        marks: list[Value] = [_mark(step.name, one, wrong) for step in STEPS]
        rows.append([origin(one.origin), one.file.shown, *marks])
    problems = [(StyledText(str(problem), "bad"), "") for one in verdicts for problem in one.problems]
    open_ = Counter(f"{step}: {why}" for one in verdicts if not one.problems for step, why in one.open.items())
    well = sum(not one.problems for one in verdicts)
    headline = f"{well:,} of {len(verdicts):,} cassettes passed: {by_origin(one.origin for one in verdicts)}"
    return [
        Table("", ["origin", "cassette", *(step.name for step in STEPS)], rows, 2),
        Lines("Problems", problems),
        Lines(
            "Not judged", [(StyledText(what, "dim"), f"{count:,} cassettes") for what, count in sorted(open_.items())]
        ),
        Lines("", [(StyledText(headline, "good" if well == len(verdicts) else "bad"), "")]),
    ]


def verified_json(verdicts: list[VerifiedCassette]) -> list[dict[str, Any]]:
    """One JSON object for each cassette."""
    return [
        {
            "path": one.file.shown,
            "origin": one.origin,
            "passed": one.passed,
            "open": one.open,
            "problems": msgspec.to_builtins(one.problems),
        }
        for one in verdicts
    ]


def _mark(step: str, one: VerifiedCassette, wrong: dict[str, bool]) -> StyledText:
    if step in wrong:
        return StyledText("error" if wrong[step] else "fail", "bad")
    return StyledText("pass", "good") if step in one.passed else StyledText("open", "dim")


# show


def shown(loaded: Cassette, place: str, answers: list[tuple[Response, Selection]]) -> list[Section]:
    """Return the sections of one cassette: its provenance, then each interaction.

    An interaction shows the blocks of its response, the stop reason, the selection, and findings above severity "info".
    """
    told = loaded.provenance
    members = [(StyledText(name, "dim"), str(value)) for name, value in told.as_metadata().items() if name != "origin"]
    sections: list[Section] = [
        Lines("", [(StyledText(f"{told.origin}: {place}", "strong"), "")]),
        Lines("", [(StyledText("origin", "dim"), told.origin), *members]),
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
    told = [f"{word} {', '.join(str(ref.name) for ref in refs)}" for word, refs in groups if refs]
    return "; ".join(told) or "no client call"


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


# age, orphans


def aged(cassettes: list[tuple[ListedCassette, int]], limits: dict[int, str]) -> list[Section]:
    """The age of each cassette. ``limits`` maps a cassette's index to the limit that it exceeds, "warn" or "fail"."""
    rows: list[list[Value]] = []
    for index, (one, days) in enumerate(cassettes):
        told = one.provenance
        if told is None:
            continue
        over = limits.get(index)
        told_over = {"fail": StyledText("too old", "bad"), "warn": StyledText("old", "warning")}.get(
            over or "", StyledText("")
        )
        rows.append([origin(told.origin), one.file.shown, str(told.day), StyledText(f"{days:,}"), told_over])
    return [Table("", ["origin", "cassette", "date", "days", "verdict"], rows, 2)]


def orphaned(strays: list[StrayCassette], lacking: list[MissingCassette]) -> list[Section]:
    """Cassettes without a scenario, and scenarios without a cassette."""
    rows: list[list[Value]] = [
        [one.scenario, one.surface, "streamed" if one.stream else "plain", one.path] for one in lacking
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
