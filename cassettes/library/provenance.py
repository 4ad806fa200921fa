"""Where a cassette comes from: kept in the file itself, as vcrpy's cassette metadata under the key ``toolparity``.

vcrpy 9 hands metadata through (``Cassette.get_metadata``), earlier ones ignore it; either way the file stays an
ordinary cassette. An emulated cassette says so in every place where it is shown: there is no neutral word for it here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from datetime import date as Day  # noqa: N812 - the struct has a member called date
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from toolparity.normalizer.errors import InvalidProvenance
from toolparity.normalizer.wires import WIRES

from ..surfaces import SURFACES
from .digest import digest

#: The key in the cassette's metadata.
KEY = "toolparity"

Origin = Literal["live", "emulated", "imported"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SEAL = re.compile(r"v1:sha256:[0-9a-f]{64}")
_SLUG = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")


class Provenance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``origin``: live (a provider answered), emulated (our servers did), imported (another project's recording).

    ``date``: ISO 8601, a day or a time with its zone. ``surface`` (`cassettes.surfaces`), ``sdk`` and ``sdk_version``:
    what the request was made with. ``recorder``: our version. ``scenario``, ``scenario_hash``: which script was
    played, as it was then. ``ran_by``: who ran the request. ``digest``: of the interactions (`digest`); null only
    until the cassette is written. ``seal``: of all these members, that digest included, behind the version of how it
    is made; null in cassettes from before there was one, which `verify` refuses. An imported one may lack everything
    that only a recorder knows, and its date is that of the recording where the source told it, else that of the
    import; ``source`` and ``note`` are where it was found and what was said of it (its licence, for one).
    """

    origin: Origin
    date: str
    provider: str
    wire: str
    stream: bool
    recorder: str
    model: str | None = None
    surface: str | None = None
    sdk: str | None = None
    sdk_version: str | None = None
    scenario: str | None = None
    scenario_hash: str | None = None
    ran_by: str | None = None
    digest: str | None = None
    source: str | None = None
    note: str | None = None
    seal: str | None = None

    @property
    def sealing(self) -> str:
        """The seal that fits what is told here."""
        told = {name: value for name, value in self.as_metadata().items() if name != "seal"}
        return f"v1:{digest([told])}"

    @property
    def day(self) -> Day:
        """The day of the recording, in UTC."""
        return _moment(self.date).date()

    def age(self, today: Day) -> int:
        """In days; never below 0."""
        return max(0, (today - self.day).days)

    def as_metadata(self) -> dict[str, Any]:
        """What is written into the cassette: plain data, in the order of the members, without what is null."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if value is not None}


def read(value: Any, where: str, *, written: bool = True) -> Provenance:
    """From plain data. ``written``: it comes from a file, where the digest has to stand.

    Raises InvalidProvenance, which names every member that is wrong.
    """
    if value is None:
        raise InvalidProvenance(
            f"no provenance: no metadata under {KEY!r}",
            where=where,
            hint="record it with toolparity record, or take it in with toolparity cassettes import",
        )
    try:
        provenance = msgspec.convert(value, Provenance)
    except msgspec.ValidationError as error:
        raise InvalidProvenance(f"its provenance cannot be read: {error}", where=where) from None
    problems = list(_problems(provenance, written))
    if problems:
        raise InvalidProvenance(f"its provenance is wrong: {'; '.join(problems)}", where=where)
    return provenance


def now() -> str:
    """The time in UTC, to the second, as ``date`` wants it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_slug(name: str) -> bool:
    """Whether it can be a part of a path: lower case, digits, single dots, dashes and underscores between them."""
    return _SLUG.fullmatch(name) is not None


def _problems(told: Provenance, written: bool) -> Iterator[str]:
    try:
        _moment(told.date)
    except ValueError as error:
        yield f"date {told.date!r}: {error}"
    for name in ("provider", "scenario"):
        value = getattr(told, name)
        if value is not None and not is_slug(value):
            yield f"{name} {value!r} is no plain name"
    if told.wire not in WIRES:
        yield f"wire {told.wire!r} is not known"
    if not told.recorder:
        yield "recorder is empty"
    if told.digest is None and written:
        yield "digest is missing"
    if told.digest is not None and not _DIGEST.fullmatch(told.digest):
        yield f"digest {told.digest!r} is no sha256:<64 hex digits>"
    if told.seal is not None and not _SEAL.fullmatch(told.seal):
        yield f"seal {told.seal!r} is no v1:sha256:<64 hex digits>"
    if (told.scenario is None) != (told.scenario_hash is None):
        yield "scenario and scenario_hash stand there together or not at all"
    surface = SURFACES.get(told.surface or "")
    if told.surface is not None and surface is None:
        yield f"surface {told.surface!r} is not known"
    if surface is not None and (surface.provider, surface.wire) != (told.provider, told.wire):
        yield f"surface {surface.name} is {surface.provider} on {surface.wire}, not {told.provider} on {told.wire}"
    if told.origin != "imported":
        for name in ("model", "surface", "sdk", "sdk_version", "scenario", "ran_by"):
            if not getattr(told, name):
                yield f"{name} is missing, and only an imported cassette may lack it"


def _moment(text: str) -> datetime:
    """Raises ValueError where it is no ISO 8601 day, and no time with a zone."""
    if len(text) == len("2026-01-01"):
        day = Day.fromisoformat(text)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC, it lies outside of the calendar") from None
