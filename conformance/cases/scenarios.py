"""Scenarios: the situations in `conformance/situations/`, one file each, and the expected result of each response.

Most situations belong to a script in `cassettes/scenarios/` with the same id. Their traffic comes from the cassettes,
and the expected results follow from the script. The other situations are about traffic that no provider produces on
demand: they hold the response bodies, inline or in files beside them, and state the expected result.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes.scripts import Offer, Script, scripts
from toolparity.cassettes.surfaces import SURFACES

from ..errors import InvalidScenario
from .expected import Expected, expected

#: The wires whose plain responses hold arguments as parsed JSON.
_PARSED = frozenset(("anthropic.messages",))


class Body(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An answer as it stood on a wire: ``text``, or the content of ``file`` beside the situation.

    Of `xai.grpc` it is the messages, one a line: in protobuf's JSON, or base64 where that cannot say it. ``request``:
    the body that it answers, where it is another than the situation's ``ask`` makes. ``provider``: who serves the wire,
    where it is not the surface's own provider.
    """

    surface: str
    stream: bool = False
    text: str | None = None
    file: str | None = None
    status: int = 200
    request: dict[str, Any] | None = None
    provider: str | None = None


class Situation(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The file. ``guards``: ids of failures that it guards against.

    ``bodies`` with ``expected``: a case of its own, which answers ``ask`` with ``tools`` declared where it says so;
    with ``goes_on`` the results of its calls go back. Without bodies the script of the same id is played. ``expect``
    holds what differs from what the script, or ``expected``, tells: by surface and round (``"openai.chat/0"``), or by
    surface and mode (``"anthropic.messages/plain"``). ``limit``: how many calls may be kept.
    """

    title: str
    guards: list[str] = []
    level: Literal["must", "should"] = "must"
    limit: int | None = None
    ask: str = ""
    tools: list[Offer] = []
    goes_on: bool = False
    bodies: list[Body] = []
    expected: Expected | None = None
    expect: dict[str, dict[str, Any]] = {}


class Scenario(Struct, frozen=True):
    """A situation with its id, and its script if it has one."""

    id: str
    situation: Situation
    script: Script | None = None

    @property
    def surfaces(self) -> list[str]:
        """The names of the surfaces that can play the scenario, in the order of `SURFACES`."""
        if self.script is not None:
            return [name for name, surface in SURFACES.items() if surface.plays(self.script)]
        told = {body.surface for body in self.situation.bodies}
        return [name for name in SURFACES if name in told]

    def modes(self, surface: str) -> list[str]:
        """Return the modes on a surface: "plain", "stream", or both."""
        if self.script is not None:
            # A plain response that breaks off leaves no response to record.
            return ["stream"] if _cut(self.script) else ["plain", "stream"]
        told = {body.stream for body in self.situation.bodies if body.surface == surface}
        return [mode for mode, stream in (("plain", False), ("stream", True)) if stream in told]

    def expected(self, surface: str, number: int, *, stream: bool) -> Expected:
        """Return the expected result of a round (counted from 0) on a surface."""
        told = self.situation.expected
        place: int | str = "stream" if stream else "plain"
        if self.script is not None:
            parsed = SURFACES[surface].wire in _PARSED
            told = expected(self.script, number, stream=stream, parsed=parsed)
            place = number
        assert told is not None
        if self.script is None and not stream and SURFACES[surface].wire in _PARSED:
            told = replace(told, calls=[replace(call, text=None) for call in told.calls])
        for key in (surface, f"{surface}/{place}"):
            if differs := self.situation.expect.get(key):
                told = msgspec.convert({**msgspec.to_builtins(told), **differs}, Expected)
        return told


def _cut(script: Script) -> bool:
    return any(round.fault is not None and round.fault.kind in ("cut", "reset") for round in script.rounds)


FOLDER = resources.files("toolparity.conformance") / "situations"
#: The one file in the folder that is not a situation (`toolparity.conformance.cases.coverage` reads it).
LEFT_OUT = "left_out.toml"


@cache
def scenarios() -> dict[str, Scenario]:
    """Return all scenarios by id. Raises InvalidScenario and InvalidScript."""
    played = scripts()
    found: dict[str, Scenario] = {}
    for file in sorted(FOLDER.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml") and file.name != LEFT_OUT:
            id = file.name.removesuffix(".toml")
            found[id] = read(id, file, played)
    if lacking := played.keys() - found.keys():
        raise InvalidScenario(f"no situation tells of the scripts {', '.join(sorted(lacking))}")
    return found


def read(id: str, file: Traversable, played: Mapping[str, Script]) -> Scenario:
    """Read one situation. ``played``: the scripts by id. Raises InvalidScenario with the id."""
    try:
        situation = msgspec.convert(tomllib.loads(file.read_text("utf-8")), Situation)
    except tomllib.TOMLDecodeError as error:
        raise InvalidScenario(f"no valid TOML: {error}", where=id) from None
    except msgspec.ValidationError as error:
        raise InvalidScenario(str(error), where=id, hint="see conformance/situations/schema.json") from None
    if situation.bodies:
        if id in played or situation.expected is None:
            raise InvalidScenario("bodies go with expected, and without a script of that id", where=id)
        for body in situation.bodies:
            if body.surface not in SURFACES or (body.text is None) == (body.file is None):
                raise InvalidScenario(f"a body of {body.surface}: text or file, on a known surface", where=id)
        if situation.goes_on and not situation.ask:
            raise InvalidScenario("what goes on has begun: it needs an ask", where=id)
        return _checked(Scenario(id, situation))
    if id not in played:
        raise InvalidScenario("neither bodies nor a script of that id", where=id)
    return _checked(Scenario(id, situation, played[id]))


def _checked(scenario: Scenario) -> Scenario:
    """Check that each entry of ``expect`` names a surface that plays the scenario and has members of `Expected`."""
    for key, differs in scenario.situation.expect.items():
        if key.partition("/")[0] not in scenario.surfaces:
            raise InvalidScenario(f"expect {key}: no surface that plays it", where=scenario.id)
        try:
            msgspec.convert(differs, Expected)
        except msgspec.ValidationError as error:
            raise InvalidScenario(f"expect {key}: {error}", where=scenario.id) from None
    return scenario


def body_bytes(body: Body) -> bytes:
    """Return the bytes of a response body: its inline text, or the content of its file."""
    if body.text is not None:
        return body.text.encode()
    return (FOLDER / str(body.file)).read_bytes()


def schema() -> dict[str, Any]:
    """Return the JSON schema of a situation file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Situation)}


def guarded() -> dict[str, list[str]]:
    """Return a table: failure id -> the scenarios that guard against it."""
    table: dict[str, list[str]] = {}
    for id, scenario in scenarios().items():
        for failure in scenario.situation.guards:
            table.setdefault(failure, []).append(id)
    return table


__all__ = ["Body", "Scenario", "Situation", "body_bytes", "guarded", "read", "scenarios", "schema"]
