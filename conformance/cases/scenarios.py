"""Scenarios: the files in `cassettes/scenarios/` with the expected result of each response.

The traffic of a scenario with a script comes from the cassettes, and its expected results follow from the script. A
scenario about traffic that no provider produces on demand holds response bodies and states the expected result.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes import scripts
from toolparity.cassettes.errors import InvalidScenario
from toolparity.cassettes.own_scenarios import of_scenarios
from toolparity.cassettes.scripts import ScenarioFile, Script, scenario_files
from toolparity.cassettes.surfaces import SURFACES

from .expected import Expected, expected


class CheckedFile(ScenarioFile, frozen=True):
    """A scenario file whose expected result is checked."""

    expected: Expected | None = None


class Scenario(Struct, frozen=True, dict=True):
    """A scenario with its id and file, and its script if it has one."""

    id: str
    file: CheckedFile
    script: Script | None = None

    @cached_property
    def surfaces(self) -> list[str]:
        """The names of the surfaces that can play the scenario, in the order of `SURFACES`."""
        if self.script is not None:
            return [name for name, surface in SURFACES.items() if surface.plays(self.script)]
        names = {body.surface for body in self.file.bodies}
        return [name for name in SURFACES if name in names]

    def modes(self, surface: str) -> list[str]:
        """Return the modes on a surface: "plain", "stream", or both."""
        if self.script is not None:
            # A plain response that breaks off leaves no response to record.
            plain = not _cut(self.script) and not (SURFACES[surface].spec.parsed_arguments and self._unparsable)
            return ["plain", "stream"] if plain else ["stream"]
        streams = {body.stream for body in self.file.bodies if body.surface == surface}
        return [mode for mode, stream in (("plain", False), ("stream", True)) if stream in streams]

    @cached_property
    def _unparsable(self) -> bool:
        """Whether a call is generated that a body with parsed arguments cannot contain."""
        if self.script is None or not self.file.generated:
            return False
        return any(call.status != "complete" for call in expected(self.script, 0, stream=True).calls)

    def expected(self, surface: str, number: int, *, stream: bool) -> Expected:
        """Return the expected result of a round (counted from 0) on a surface."""
        parsed = SURFACES[surface].spec.parses_arguments(stream=stream)
        if self.script is not None:
            result = expected(self.script, number, stream=stream, parsed=parsed)
            suffix = str(number)
        else:
            assert self.file.expected is not None
            result = self.file.expected
            suffix = "stream" if stream else "plain"
            if parsed:
                result = replace(result, calls=[replace(call, text=None) for call in result.calls])
        for key in (surface, f"{surface}/{suffix}"):
            if members := self.file.exceptions.get(key):
                result = msgspec.convert({**msgspec.to_builtins(result), **members}, Expected)
        return result


def _cut(script: Script) -> bool:
    return any(round.fault is not None and round.fault.kind in ("cut", "reset") for round in script.rounds)


@cache
def scenarios() -> dict[str, Scenario]:
    """Return all scenarios by id. Raises InvalidScenario."""
    scripts.scripts()  # checks that no two scripts begin alike
    return {id: scenario(id, file) for id, file in scenario_files().items()}


of_scenarios(scenarios)


def scenario(id: str, file: ScenarioFile) -> Scenario:
    """Check the surfaces and expected results of a scenario file. Raises InvalidScenario with the id."""
    try:
        checked = msgspec.convert(file, CheckedFile, from_attributes=True)
        for members in checked.exceptions.values():
            msgspec.convert(members, Expected)
    except msgspec.ValidationError as error:
        raise InvalidScenario(str(error), where=id, hint="see cassettes/scenarios/schema.json") from None
    if unknown := {body.surface for body in file.bodies} - SURFACES.keys():
        raise InvalidScenario(f"unknown surface in bodies: {', '.join(sorted(unknown))}", where=id)
    made = Scenario(id, checked, file.script(id))
    for key in checked.exceptions:
        if key.partition("/")[0] not in made.surfaces:
            raise InvalidScenario(f"exceptions has {key!r}, but that surface does not play the scenario", where=id)
    return made


def schema() -> dict[str, Any]:
    """Return the JSON schema of a scenario file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(CheckedFile)}


def guarded() -> dict[str, list[str]]:
    """Return a table: failure id -> the scenarios that guard against it."""
    table: dict[str, list[str]] = {}
    for id, scenario in scenarios().items():
        for failure in scenario.file.guards:
            table.setdefault(failure, []).append(id)
    return table


__all__ = ["Scenario", "guarded", "scenario", "scenarios", "schema"]
