"""Summary of the evidence by origin, so that emulated evidence is never presented as that of a provider."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..compare import count_text
from ..escape import cut
from ..results import ORIGINS, EvidenceSource, Run
from .columns import NAME

_MODELS = 6


class SourceGroup(NamedTuple):
    """Evidence of one origin, provider and SDK. ``age`` is that of the oldest entry, at the time of the run."""

    provider: str
    sdk: str
    number: int
    models: str
    dates: str
    age: str


class Origin(NamedTuple):
    """The evidence of one origin."""

    name: str
    means: str
    number: int
    groups: list[SourceGroup]


def sources(run: Run) -> list[Origin]:
    """Group the sources of a run by origin, strongest evidence first."""
    groups_by_origin: dict[str, dict[tuple[str, str], list[EvidenceSource]]] = {}
    for source in run.sources:
        groups_by_origin.setdefault(source.origin, {}).setdefault((source.provider, source.sdk), []).append(source)
    rank = {name: number for number, name in enumerate(ORIGINS)}
    return [
        Origin(
            cut(origin, NAME),
            ORIGINS.get(origin, ""),
            sum(map(len, groups.values())),
            [_group(run, key, groups[key]) for key in sorted(groups)],
        )
        for origin, groups in sorted(groups_by_origin.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0]))
    ]


def _group(run: Run, key: tuple[str, str], entries: list[EvidenceSource]) -> SourceGroup:
    models = sorted({entry.model for entry in entries if entry.model})
    models_text = ", ".join(models[:_MODELS]) + (f" and {len(models) - _MODELS} more" if len(models) > _MODELS else "")
    dates = sorted({entry.date[:10] for entry in entries if entry.date})
    span = "" if not dates else dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    oldest = min((entry.date for entry in entries if entry.date), default="")
    provider, sdk = key
    return SourceGroup(
        cut(provider, NAME),
        cut(sdk, NAME),
        len(entries),
        cut(models_text, NAME),
        cut(span, NAME),
        _age(oldest, run.date),
    )


def _age(date: str, now: str) -> str:
    """Return the age in whole days, or "" if a date is missing or only one has a zone."""
    try:
        days = (datetime.fromisoformat(now) - datetime.fromisoformat(date)).days
    except (ValueError, TypeError):  # no date, or one of the two without a zone
        return ""
    return "recorded after the run" if days < 0 else count_text(days, "day")
