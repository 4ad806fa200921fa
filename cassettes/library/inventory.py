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

    place: CassettePath
    told: Provenance | None = None
    error: ToolparityError | None = None

    @property
    def origin(self) -> Origin | None:
        """The cassette's origin, or None if its provenance cannot be read."""
        return None if self.told is None else self.told.origin


class MissingCassette(Struct, frozen=True):
    """A scenario that a surface can play but that has no cassette."""

    scenario: str
    surface: str
    stream: bool
    path: str


class StrayCassette(Struct, frozen=True):
    """A cassette that belongs to no current scenario."""

    place: CassettePath
    origin: str
    why: str


def list_cassettes(places: Iterable[CassettePath]) -> Iterator[ListedCassette]:
    """Read the provenance of each cassette from the beginning of its file."""
    for place in places:
        try:
            yield ListedCassette(place, files.provenance_of(place.path))
        except ToolparityError as error:
            yield ListedCassette(place, error=error)


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
    for one in cassettes:
        if one.told is None or (one.told.scenario is None and one.told.origin == "imported"):
            continue
        script = library.get(one.told.scenario or "")
        if script is None:
            yield StrayCassette(one.place, one.told.origin, f"no scenario is called {one.told.scenario!r}")
        elif one.told.surface is not None and not SURFACES[one.told.surface].plays(script):
            yield StrayCassette(one.place, one.told.origin, f"{one.told.surface} cannot play {script.id}")


def oldest_first(cassettes: Iterable[ListedCassette], today: date) -> list[tuple[ListedCassette, int]]:
    """Return the cassettes that have a provenance, with their age in days, oldest first."""
    aged = [(one, one.told.age(today)) for one in cassettes if one.told is not None]
    return sorted(aged, key=lambda pair: (-pair[1], pair[0].place.path))
