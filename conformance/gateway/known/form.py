"""The form of a known gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

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

    def with_model(self, model: str, other: str) -> KnownGateway:
        """Return the gateway, configured with another model in place of one."""

        def routes(http: str) -> Mapping[str, Sequence[Route]]:
            return {
                client: [replace(route, model=route.model.replace(model, other)) for route in own]
                for client, own in self.routes(http).items()
            }

        def configuration(http: str) -> tuple[str, str] | None:
            own = self.configuration(http)
            return own and (own[0], own[1].replace(model, other))

        return replace(self, routes=routes, configuration=configuration)
