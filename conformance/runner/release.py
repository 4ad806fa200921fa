"""The checks that the last release requires, from `conformance/required.txt`.

A scenario, surface or law that was added later is "new" until the next release: a failure there is reported but does
not fail a run. Each release rewrites the file: ``python -m toolparity.conformance.runner.release``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct

from toolparity import __version__
from toolparity.cassettes.errors import InvalidScenario
from toolparity.cassettes.scenario_folder import own_folder
from toolparity.reports.results import Result

from ..cases.scenarios import scenarios
from ..laws import IDS

FILE = Path(__file__).resolve().parent.parent / "required.txt"


class ReleaseRequirements(Struct, frozen=True):
    """``cases``: the scenario, surface and mode of each required case, under every policy."""

    release: str
    laws: frozenset[str]
    cases: frozenset[tuple[str, str, str]]

    def include(self, result: Result, law: str) -> bool:
        """Return whether the release requires this law in the case of this result."""
        return law in self.laws and (result.scenario, result.surface, result.mode) in self.cases


@cache
def required() -> ReleaseRequirements:
    """Return the requirements of the last release. Raises InvalidScenario if something that it requires was removed."""
    return read(FILE.read_text("utf-8"))


def read(text: str) -> ReleaseRequirements:
    """Parse the file: ``release VERSION``, ``laws ID…``, then one line for each scenario: ``ID SURFACE/MODE…``.

    Raises InvalidScenario for requirements that are no longer in the suite.
    """
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    (_, release), (_, *laws), *rest = lines
    cases = {(id, *case.split("/")) for id, *listed in rest for case in listed}
    if removed := sorted(" ".join(case) for case in (cases - _cases())) + sorted(set(laws) - set(IDS)):
        raise InvalidScenario(
            f"release {release} requires cases or laws that were removed: {', '.join(removed[:5])}",
            where=FILE.name,
            hint="restore them",
        )
    return ReleaseRequirements(release, frozenset(laws), frozenset(cases))  # type: ignore[arg-type]


def requirements(*, unreleased: bool = False) -> ReleaseRequirements | None:
    """Return the requirements of the last release, or None if everything is required.

    No release lists the user's scenarios, so that all of them are required.
    """
    return None if unreleased or own_folder() is not None else required()


def release_file() -> str:
    """Return the file for the current suite."""
    lines = [
        "# The checks that this release requires. Later checks are new until the next release.",
        "# Written by python -m toolparity.conformance.runner.release for each release; do not edit.",
        f"release {__version__}",
        f"laws {' '.join(IDS)}",
    ]
    rows: dict[str, list[str]] = {}
    for id, surface, mode in sorted(_cases()):
        rows.setdefault(id, [id]).append(f"{surface}/{mode}")
    return "\n".join([*lines, *(" ".join(row) for row in rows.values())]) + "\n"


def _cases() -> set[tuple[str, str, str]]:
    return {
        (id, surface, mode)
        for id, scenario in scenarios().items()
        for surface in scenario.surfaces
        for mode in scenario.modes(surface)
    }


if __name__ == "__main__":
    FILE.write_text(release_file(), "utf-8")
    print(f"{FILE}: release {__version__}")
