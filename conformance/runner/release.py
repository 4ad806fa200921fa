"""The checks that the last release requires, from `conformance/required.txt`.

A scenario, surface or law that was added later is "new" until the next release: a failure there is reported but does
not fail a run. Each release rewrites the file: ``python -m toolparity.conformance.runner.release``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from toolparity import __version__
from toolparity.cassettes.errors import InvalidScenario
from toolparity.reports.results import Result

from ..cases.scenarios import scenarios
from ..laws import IDS

FILE = Path(__file__).resolve().parent.parent / "required.txt"


class ReleaseRequirements(Struct, frozen=True):
    """``places``: the scenario, surface and mode of each required case, under every policy."""

    release: str
    laws: frozenset[str]
    places: frozenset[tuple[str, str, str]]

    def has(self, result: Result, law: str) -> bool:
        """Return whether the release requires this law in the case of this result."""
        return law in self.laws and (result.scenario, result.surface, result.mode) in self.places


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
    places = {(id, *place.split("/")) for id, *told in rest for place in told}
    if gone := sorted(" ".join(place) for place in (places - _places())) + sorted(set(laws) - set(IDS)):
        raise InvalidScenario(
            f"release {release} requires what is gone: {', '.join(gone[:5])}", where=FILE.name, hint="put it back"
        )
    return ReleaseRequirements(release, frozenset(laws), frozenset(places))  # type: ignore[arg-type]


def downgrade_new(results: Iterable[Result], *, unreleased: bool = False) -> list[Result]:
    """Return the results with failures that the release does not require yet marked "new".

    ``unreleased``: treat everything as required.
    """
    if unreleased:
        return list(results)
    return [_held(result, required()) for result in results]


def _held(result: Result, known: ReleaseRequirements) -> Result:
    if not any(one.outcome == "fail" and not known.has(result, one.check) for one in result.verdicts):
        return result
    verdicts = [
        replace(one, outcome="new") if one.outcome == "fail" and not known.has(result, one.check) else one
        for one in result.verdicts
    ]
    return replace(result, verdicts=verdicts)


def release_file() -> str:
    """Return the file for the current suite."""
    lines = [
        "# The checks that this release requires; those that come later are new until the next one.",
        "# Written by python -m toolparity.conformance.runner.release when a release is made, and never by hand.",
        f"release {__version__}",
        f"laws {' '.join(IDS)}",
    ]
    told: dict[str, list[str]] = {}
    for id, surface, mode in sorted(_places()):
        told.setdefault(id, [id]).append(f"{surface}/{mode}")
    return "\n".join([*lines, *(" ".join(line) for line in told.values())]) + "\n"


def _places() -> set[tuple[str, str, str]]:
    return {
        (id, surface, mode)
        for id, scenario in scenarios().items()
        for surface in scenario.surfaces
        for mode in scenario.modes(surface)
    }


if __name__ == "__main__":
    FILE.write_text(release_file(), "utf-8")
    print(f"{FILE}: release {__version__}")
