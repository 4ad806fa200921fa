"""Missing, stray and oldest cassettes of a library. Reads only names and provenance, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from msgspec import Struct

from toolparity.normalizer.errors import ToolparityError

from ..scripts import Script, scripts
from ..surfaces import SURFACES, Surface
from . import files
from .files import CassettePath
from .provenance import Origin, Provenance


class ListedCassette(Struct, frozen=True):
    """A cassette with its provenance, or with the error from reading it."""

    file: CassettePath
    provenance: Provenance | None = None
    error: ToolparityError | None = None

    @property
    def origin(self) -> Origin | None:
        """The cassette's origin, or None if its provenance cannot be read."""
        return None if self.provenance is None else self.provenance.origin


class MissingCassette(Struct, frozen=True):
    """A scenario that a surface can play but that has no cassette."""

    scenario: str
    surface: str
    stream: bool
    path: str


class StrayCassette(Struct, frozen=True):
    """A cassette that belongs to no current scenario."""

    file: CassettePath
    origin: str
    why: str


def list_cassettes(cassette_files: Iterable[CassettePath]) -> Iterator[ListedCassette]:
    """Read the provenance of each cassette from the beginning of its file."""
    for file in cassette_files:
        try:
            yield ListedCassette(file, files.provenance_of(file.path))
        except ToolparityError as error:
            yield ListedCassette(file, error=error)


def missing_cassettes(
    root: str | os.PathLike[str] | None = None,
    library: dict[str, Script] | None = None,
    surfaces: Iterable[Surface] = SURFACES.values(),
) -> Iterator[MissingCassette]:
    """Yield scenarios without a cassette, plain and streamed, for every surface that can play them.

    No file is opened.
    """
    for script in (scripts() if library is None else library).values():
        for surface in surfaces:
            if not surface.plays(script):
                continue
            for stream in modes(script):
                path = files.path_for(surface, script.id, stream, root)
                if not path.is_file():
                    base = files.RECORDED if root is None else Path(root)
                    yield MissingCassette(script.id, surface.name, stream, path.relative_to(base).as_posix())


def modes(script: Script) -> tuple[bool, ...]:
    """Return the modes in which a script is played: plain and streamed, or streamed only.

    A response that is cut or reset exists only as a stream.
    """
    streamed_only = any(round.fault is not None and round.fault.kind in ("cut", "reset") for round in script.rounds)
    return (True,) if streamed_only else (False, True)


def stray_cassettes(
    cassettes: Iterable[ListedCassette], library: dict[str, Script] | None = None
) -> Iterator[StrayCassette]:
    """Yield cassettes whose scenario no longer exists or cannot be played on their surface.

    Imported cassettes without a scenario are not stray.
    """
    library = scripts() if library is None else library
    for cassette in cassettes:
        known = cassette.provenance
        if known is None or (known.scenario is None and known.origin == "imported"):
            continue
        script = library.get(known.scenario or "")
        if script is None:
            yield StrayCassette(cassette.file, known.origin, f"unknown scenario: {known.scenario!r}")
        elif known.surface is not None and not SURFACES[known.surface].plays(script):
            yield StrayCassette(cassette.file, known.origin, f"{known.surface} cannot play {script.id}")


def oldest_first(cassettes: Iterable[ListedCassette], today: date) -> list[tuple[ListedCassette, int]]:
    """Return the cassettes that have a provenance, with their age in days, oldest first."""
    aged = [(cassette, cassette.provenance.age(today)) for cassette in cassettes if cassette.provenance is not None]
    return sorted(aged, key=lambda pair: (-pair[1], pair[0].file.path))
