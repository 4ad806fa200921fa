"""The form of a known gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ..conversation import Route


class KnownGateway(Struct, frozen=True):
    """A gateway that the suite can run.

    ``installer``: "pip" or "npm". ``package`` and ``version``: what it installs; the package names the distribution
    without extras. ``routes(http)``: client wire -> routes, with an upstream at this HTTP address. ``configuration``:
    name and text of its configuration file for an upstream at an HTTP address, or None. ``command(home, file, port)``:
    the command that starts it. ``environment``: added to the minimal environment.
    """

    name: str
    about: str
    installer: Literal["pip", "npm"]
    package: str
    version: str
    routes: Callable[[str], Mapping[str, Sequence[Route]]]
    configuration: Callable[[str], tuple[str, str] | None]
    command: Callable[[Path, Path, int], list[str]]
    environment: Mapping[str, str] = {}
    extras: str = ""

    @property
    def requirement(self) -> str:
        """What the installer installs."""
        between = "==" if self.installer == "pip" else "@"
        return f"{self.package}{self.extras}{between}{self.version}"
