"""Scenarios: situations to test, each a file in `conformance/situations/`, and what must come out of them.

Most are the second half of a script (`cassettes/scenarios/` under the same id): their traffic comes from the cassettes
and what must come out is told by the script. The others are about traffic that no provider gives on demand: they carry
the bodies in files beside them and say themselves what must come out.
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
from toolparity.normalizer.errors import InvalidScenario

from .expected import Expected, expected

#: Wires whose plain answers hold arguments as parsed JSON.
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
    """A situation with its id, and its script where it has one."""

    id: str
    situation: Situation
    script: Script | None = None

    @property
    def surfaces(self) -> list[str]:
        """The names of the surfaces on which it can be played, in their order."""
        if self.script is not None:
            return [name for name, surface in SURFACES.items() if surface.plays(self.script)]
        told = {body.surface for body in self.situation.bodies}
        return [name for name in SURFACES if name in told]

    def modes(self, surface: str) -> list[str]:
        """ "plain", "stream", or both."""
        if self.script is not None:
            # A plain answer that is cut off is no answer, and nothing that could be recorded.
            return ["stream"] if _cut(self.script) else ["plain", "stream"]
        told = {body.stream for body in self.situation.bodies if body.surface == surface}
        return [mode for mode, stream in (("plain", False), ("stream", True)) if stream in told]

    def expected(self, surface: str, number: int, *, stream: bool) -> Expected:
        """What must come out of a round (from 0) on a surface."""
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


FOLDER = resources.files(__package__) / "situations"
#: The one file there that is no situation (`toolparity.conformance.trace`).
LEFT_OUT = "left_out.toml"


@cache
def scenarios() -> dict[str, Scenario]:
    """All of them by id. Raises InvalidScenario and InvalidScript."""
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
    """One situation from its file. ``played``: the scripts by id. Raises InvalidScenario, which says where."""
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
    """Every exception is for a surface that plays, and says something that can be expected."""
    for key, differs in scenario.situation.expect.items():
        if key.partition("/")[0] not in scenario.surfaces:
            raise InvalidScenario(f"expect {key}: no surface that plays it", where=scenario.id)
        try:
            msgspec.convert(differs, Expected)
        except msgspec.ValidationError as error:
            raise InvalidScenario(f"expect {key}: {error}", where=scenario.id) from None
    return scenario


def body_bytes(body: Body) -> bytes:
    """The answer as it stands in the file."""
    if body.text is not None:
        return body.text.encode()
    return (FOLDER / str(body.file)).read_bytes()


def schema() -> dict[str, Any]:
    """The JSON schema of a situation's file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Situation)}


def guarded() -> dict[str, list[str]]:
    """Failure id -> the scenarios that guard against it."""
    table: dict[str, list[str]] = {}
    for id, scenario in scenarios().items():
        for failure in scenario.situation.guards:
            table.setdefault(failure, []).append(id)
    return table


__all__ = ["Body", "Scenario", "Situation", "body_bytes", "guarded", "read", "scenarios", "schema"]
