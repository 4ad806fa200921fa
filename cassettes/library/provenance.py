"""The provenance of a cassette, and the digest of its interactions.

The provenance is stored in the file as vcrpy metadata under the key ``toolparity``. vcrpy 9 passes metadata through
(``Cassette.get_metadata``), earlier versions ignore it. Either way the file remains an ordinary cassette. Wherever an
emulated cassette is listed, it is called emulated.

The digest is independent of the YAML layout. Text and its UTF-8 bytes have the same digest, because vcrpy converts
between the two when it writes and reads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from datetime import date as Day  # noqa: N812 - the struct has a member called date
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from toolparity.normalizer.wires.registry import is_wire

from ..errors import InvalidProvenance, UnreadableCassette
from ..surfaces import SURFACES

#: Key in the cassette's metadata.
KEY = "toolparity"

Origin = Literal["live", "emulated", "imported"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SEAL = re.compile(r"v1:sha256:[0-9a-f]{64}")
_SLUG = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")


class Provenance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a cassette comes from.

    ``origin``: live (a provider answered), emulated (our servers answered), or imported (another project's recording).
    ``date``: ISO 8601, a day or a time with its zone. ``surface`` (`cassettes.surfaces`), ``sdk`` and ``sdk_version``:
    the client that made the request. ``recorder``: our version. ``scenario``, ``scenario_hash``: the script that was
    played and its hash at that time. ``ran_by``: the user or CI service that ran the request. ``digest``: digest of the
    interactions; None only until the cassette is written. ``seal``: digest of all other members, with a version prefix;
    None in cassettes from before seals, which `verify` refuses.

    An imported cassette may lack everything that only a recorder knows. Its date is that of the recording if the source
    contains one, else that of the import. ``source`` and ``note``: where it was found, and remarks such as its licence.
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
        """The seal that these members should have."""
        members = {name: value for name, value in self.as_metadata().items() if name != "seal"}
        return f"v1:{digest([members])}"

    @property
    def day(self) -> Day:
        """The day of the recording, in UTC."""
        return _moment(self.date).date()

    def age(self, today: Day) -> int:
        """Return the age in days, never below 0."""
        return max(0, (today - self.day).days)

    def as_metadata(self) -> dict[str, Any]:
        """Return plain data for the cassette's metadata, in member order, without members that are None."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if value is not None}


def read(value: Any, where: str, *, written: bool = True) -> Provenance:
    """Parse and check a provenance from plain data. ``written``: it comes from a file, so the digest is required.

    Raises InvalidProvenance, which names every wrong member.
    """
    if value is None:
        raise InvalidProvenance(
            f"missing provenance: no metadata under {KEY!r}",
            where=where,
            hint="record it with toolparity record, or import it with toolparity cassettes import",
        )
    try:
        provenance = msgspec.convert(value, Provenance)
    except msgspec.ValidationError as error:
        raise InvalidProvenance(f"invalid provenance: {error}", where=where) from None
    problems = list(_problems(provenance, written))
    if problems:
        raise InvalidProvenance(f"invalid provenance: {'; '.join(problems)}", where=where)
    return provenance


def now() -> str:
    """Return the current UTC time to the second, in the format of ``date``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_slug(name: str) -> bool:
    """Return whether a name can be a path segment.

    It consists of lower-case letters and digits, with single dots, dashes or underscores between them.
    """
    return _SLUG.fullmatch(name) is not None


def _problems(provenance: Provenance, written: bool) -> Iterator[str]:
    try:
        _moment(provenance.date)
    except ValueError as error:
        yield f"date {provenance.date!r}: {error}"
    for name in ("provider", "scenario"):
        value = getattr(provenance, name)
        if value is not None and not is_slug(value):
            yield f"{name} {value!r} must consist of lower-case letters, digits, dots, dashes and underscores"
    if not is_wire(provenance.wire):
        yield f"unknown wire: {provenance.wire!r}"
    if not provenance.recorder:
        yield "recorder is empty"
    if provenance.digest is None and written:
        yield "digest is missing"
    if provenance.digest is not None and not _DIGEST.fullmatch(provenance.digest):
        yield f"digest must be sha256:<64 hex digits>, got {provenance.digest!r}"
    if provenance.seal is not None and not _SEAL.fullmatch(provenance.seal):
        yield f"seal must be v1:sha256:<64 hex digits>, got {provenance.seal!r}"
    if (provenance.scenario is None) != (provenance.scenario_hash is None):
        yield "scenario and scenario_hash need each other"
    surface = SURFACES.get(provenance.surface or "")
    if provenance.surface is not None and surface is None:
        yield f"unknown surface: {provenance.surface!r}"
    if surface is not None and (surface.provider, surface.wire) != (provenance.provider, provenance.wire):
        names = f"{provenance.provider} on {provenance.wire}"
        yield f"surface {surface.name} is {surface.provider} on {surface.wire}, not {names}"
    if provenance.origin != "imported":
        for name in ("model", "surface", "sdk", "sdk_version", "scenario", "ran_by"):
            if not getattr(provenance, name):
                yield f"{name} is missing, and only an imported cassette may lack it"


def _moment(text: str) -> datetime:
    """Parse an ISO 8601 day, or a time with a zone. Raises ValueError for anything else."""
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


def digest(interactions: Iterable[Any]) -> str:
    """Return ``sha256:<hex>`` over plain data, such as the ``interactions`` of a cassette.

    Each value is hashed after its kind and length; members are hashed in the order of their names. Raises
    UnreadableCassette for a value that is not plain data.
    """
    hasher = hashlib.sha256(b"toolparity interactions 1\n")
    stack: list[Any] = [list(interactions)]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        if isinstance(value, (bytes, bytearray)):
            hasher.update(b"s%d:" % len(value))
            hasher.update(value)
        elif isinstance(value, list):
            hasher.update(b"l%d:" % len(value))
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            hasher.update(b"m%d:" % len(value))
            for name in sorted(value, reverse=True):
                stack.append(value[name])
                stack.append(name)
        elif value is None or isinstance(value, (bool, int, float, Day, datetime)):
            text = f"{type(value).__name__} {value!r}".encode()
            hasher.update(b"v%d:" % len(text))
            hasher.update(text)
        else:
            raise UnreadableCassette(f"a {type(value).__name__} is not plain data")
    return f"sha256:{hasher.hexdigest()}"
