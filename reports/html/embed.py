"""Data that the page embeds for its scripts: the columns of a run, and the evidence as far as it fits, compressed.

If the data is too large, the evidence of passed cases is cut first, because readers need the evidence of failures. The
page states what was cut.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from toolparity.normalizer import json_codec

from ..escape import cut
from ..reproduction import Reproduction
from ..results import BROKEN, EFFECTS, REPEAT, Run
from .columns import NAME, ORDER, WORDS, Columns, Texts
from .outcome_icons import MARKS, NOTABLE, WORST

#: Maximum bytes of embedded data, compressed and in base64. With the rest, which is bounded, the page is below 2 MB.
MAX_BYTES = 1_500_000
#: Maximum characters of the excerpt and of the blocks of one answer, before any step of `_RUNGS`.
EXCERPT, BLOCKS = 2_000, 4_000
#: Maximum rounds of one conversation.
_ROUNDS = 40


class Rung(NamedTuple):
    """One step of shortening, in characters; None leaves texts as they are.

    ``passed`` limits the answers of cases without failures, ``failed`` those of cases with failures, ``words`` every
    other text.
    """

    passed: int | None
    failed: int | None
    words: int | None
    note: str


_PASSED = "the traffic of passed cases is left out"
_RUNGS = (
    Rung(None, None, None, ""),
    Rung(300, None, None, "the traffic of passed cases is cut to 300 characters per answer"),
    Rung(0, None, None, _PASSED),
    Rung(0, 800, None, f"{_PASSED}, and that of failed cases is cut to 800 characters per answer"),
    Rung(0, 500, None, f"{_PASSED}, and that of failed cases is cut to 500 characters per answer"),
    Rung(0, 250, None, f"{_PASSED}, and that of failed cases is cut to 250 characters per answer"),
    Rung(0, 0, None, "the traffic is left out"),
    Rung(0, 0, 300, "the traffic is left out, and every other text is cut to 300 characters"),
    Rung(0, 0, 80, "the traffic is left out, and every other text is cut to 80 characters"),
    Rung(0, 0, 20, "the traffic is left out, and every other text is cut to 20 characters"),
    Rung(0, 0, 0, "the traffic and every other text are left out"),
)


class Embedded(NamedTuple):
    """``data`` is JSON, compressed with gzip, in base64. ``shortened`` are sentences that state what was cut."""

    data: str
    shortened: list[str]


def embedded(run: Run, columns: Columns, reproductions: Sequence[Reproduction] = (), room: int = MAX_BYTES) -> Embedded:
    """Return the data of the page, within ``room`` bytes if any step of shortening reaches that."""
    bad = broken(columns)
    plain = {**_about(run, columns), **columns.plain(), "reproductions": list(map(_reproduction, reproductions))}
    for rung in _RUNGS:
        texts = columns.texts.more()
        plain["traffic"] = _traffic(run, columns, texts, bad, rung)
        words = len(columns.texts.all)
        plain["texts"] = [_word(text, rung.words) for text in texts.all[:words]] + texts.all[words:]
        data = packed(plain)
        if len(data) <= room:
            break
    shortened = [f"To keep this page small, {rung.note}."] if rung.note else []
    if texts.were_cut:
        shortened.append(f"Number of texts that are cut: {texts.were_cut:,}.")
    return Embedded(data, shortened)


def packed(value: Any) -> str:
    """Return JSON, compressed with gzip, in base64. The same value gives the same text."""
    return base64.b64encode(gzip.compress(json_codec.encode(value), mtime=0)).decode()


def _word(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else f"{text[:most]}…"


def _about(run: Run, columns: Columns) -> dict[str, Any]:
    add = columns.texts.add
    return {
        "format": run.format,
        "toolparity": limited(run.toolparity),
        "date": limited(run.date),
        "seconds": run.seconds,
        "environment": limited(run.environment),
        "marks": {mark.name: [mark.sign, mark.label] for mark in MARKS.values()},
        "worst": WORST,
        "broken": BROKEN,
        "notable": NOTABLE,
        "effects": [*EFFECTS],
        "repeat": REPEAT,
        "about": {
            "subjects": {columns.subjects.number(entry.name): limited(entry) for entry in run.subjects},
            "laws": {columns.laws.number(entry.id): limited(entry) for entry in run.laws},
            "scenarios": {columns.scenarios.number(entry.id): limited(entry) for entry in run.scenarios},
        },
        "sources": [
            [add(text, NAME) for text in (entry.path, entry.origin, entry.date, entry.provider, entry.model, entry.sdk)]
            for entry in run.sources
        ],
        "kills": limited(run.kills),
    }


def broken(columns: Columns) -> set[tuple[int, int, int]]:
    """Return scenario, surface and mode of each case in which a law is broken or undecided."""
    bad = {number for number, outcome in enumerate(ORDER) if outcome in BROKEN}
    bare = [any(outcome in bad for outcome in pairs[1::2]) for pairs in columns.bare]
    verdicts = [row[1] in bad for row in columns.verdicts]
    bundles = [False, *(bare[bundle.bare] or any(verdicts[v] for v in bundle.worded) for bundle in columns.bundles)]
    return {
        place[:3]
        for cases in columns.cases
        for place, number in zip(columns.places, cases, strict=True)
        if bundles[number]
    }


def _traffic(run: Run, columns: Columns, texts: Texts, bad: set[tuple[int, int, int]], rung: Rung) -> list[list[Any]]:
    """Return a row per `Traffic`: scenario, surface, mode, source number, then excerpt, size and blocks by round."""
    sources = {source.path: number for number, source in enumerate(run.sources, 1)}
    rows: list[list[Any]] = []
    for traffic in run.traffic:
        place = (
            columns.scenarios.of(traffic.scenario),
            columns.surfaces.of(traffic.surface),
            columns.modes.of(traffic.mode),
        )
        if None in place:
            continue  # no subject ran this case
        most = rung.failed if place in bad else rung.passed
        row: list[Any] = [*place, sources.get(traffic.source, 0)]
        for excerpt in traffic.rounds[:_ROUNDS]:
            row += (
                _shown(texts, excerpt.excerpt, EXCERPT, most),
                excerpt.size,
                _shown(texts, excerpt.blocks, BLOCKS, most),
            )
        rows.append(row)
    return rows


def _reproduction(reproduction: Reproduction) -> dict[str, Any]:
    """Return a reproduction as the page embeds it: the body only if its text is not the body itself."""
    members = reproduction._asdict()
    body = members.pop("body")
    case = [members.pop(name) for name in ("subject", "scenario", "surface", "mode", "policy")]
    exact = "".join(reproduction.parts).encode("utf-8", "surrogatepass") == body
    return {"case": case, **members, "body": "" if exact else base64.b64encode(body).decode()}


def _shown(texts: Texts, text: str, longest: int, most: int | None) -> int:
    return texts.add(text, longest) if most is None else texts.number(_word(text, most))


def limited(value: Any) -> Any:
    """Return structs as dicts, with every text cut to the maximum length of the page."""
    if isinstance(value, str):
        return cut(value, WORDS)
    if isinstance(value, list):
        return [limited(entry) for entry in value]
    if isinstance(value, dict):
        return {cut(str(key), NAME): limited(entry) for key, entry in value.items()}
    if isinstance(value, msgspec.Struct):
        return {name: limited(getattr(value, name)) for name in value.__struct_fields__}
    return value
