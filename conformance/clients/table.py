"""The form of an agent's table: its headers, bodies, situations and needs.

A situation is one request of the agent and the provider's response. Several needs judge one situation.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec

from ..cases.case import Case

#: A body has the first in place of the second: agents send system prompts of this size.
_LONG, _LONG_TEXT = "LONG TEXT", "Keep to the harbour rules. " * 600


class Situation(Struct, frozen=True, forbid_unknown_fields=True):
    """A request of an agent, and the response of the provider.

    ``members``: what the body has instead of the members of the first one. ``path``: below the base path of the wire,
    if it is not the table's. ``headers``: instead of those of the table. ``scenario``: the one whose first recorded
    stream is sent. ``replace``: a text in it, and another one. ``first``: sent before its second piece. ``cut``: so
    many pieces at its end are left out; ``then`` follows. ``hold``: its rest is held back until the agent gets some of
    it. ``error``: the JSON that is sent with ``status`` instead. ``beside``: the JSON that the provider sends to this
    path, which is not the wire's.
    """

    members: str = ""
    path: str = ""
    headers: dict[str, str] = {}
    scenario: str = "both-files"
    replace: tuple[str, str] = ("", "")
    first: str = ""
    cut: int = 0
    then: str = ""
    status: int = 200
    error: str = ""
    hold: bool = False
    beside: str = ""

    def changed(self, pieces: Sequence[bytes]) -> list[bytes]:
        """Return the pieces that the provider sends."""
        old, new = map(str.encode, self.replace)
        kept = [piece.replace(old, new) if old else piece for piece in pieces[: len(pieces) - self.cut]]
        return [piece for piece in (*kept[:1], self.first.encode(), *kept[1:], self.then.encode()) if piece]


class Need(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that an agent needs. ``check``: a name of `need.CHECKS` with its arguments.

    ``law``: the law to which the verdict belongs. ``without``: what the agent does without it, or gets. ``source``: the
    situation of drive.py that showed it, "protocol", or "none" for a request without a fault. ``optional``: the agent
    has another way.
    """

    title: str
    situation: str
    check: str
    without: str
    source: str
    law: str = "replay"
    optional: bool = False


class CodingAgent(Struct, frozen=True, forbid_unknown_fields=True):
    """An agent. ``version``: that of the package in which its table was observed. ``surface``: its provider.

    ``model``: its default model, on which the members of its requests depend.

    ``headers``: those of each request that may matter to a provider. ``bodies``: JSON by name; the first one is whole.
    """

    name: str
    title: str
    package: str
    version: str
    surface: str
    model: str
    path: str
    headers: dict[str, str]
    situations: dict[str, Situation]
    bodies: dict[str, str]
    needs: dict[str, Need]

    @property
    def wire(self) -> str:
        return SURFACES[self.surface].wire

    def chosen(self, patterns: Sequence[str]) -> dict[str, Need]:
        """Return the needs whose ids match a pattern; all without a pattern."""
        if not patterns:
            return self.needs
        return {id: need for id, need in self.needs.items() if any(fnmatchcase(id, one) for one in patterns)}

    def left_out(self, patterns: Sequence[str]) -> list[Case]:
        """Return the other needs as cases."""
        others = self.needs.keys() - self.chosen(patterns).keys()
        return [Case(id, self.surface, mode, "all") for id in others for mode in ("plain", "stream")]

    def body(self, situation: Situation) -> Any:
        """Return the body of a request without its model; None for GET."""
        if situation.beside and not situation.members:
            return None
        changed = self._parsed(situation.members) if situation.members else {}
        body = {**self._parsed("first"), **changed}
        return {name: value for name, value in body.items() if value is not None}

    def _parsed(self, name: str) -> dict[str, Any]:
        parsed: dict[str, Any] = json_codec.decode(self.bodies[name].replace(_LONG, _LONG_TEXT))
        return parsed

    def requests(self) -> Iterator[tuple[Mapping[str, str], Any]]:
        """Yield the headers and the body of each request."""
        for situation in self.situations.values():
            yield {**self.headers, **situation.headers}, self.body(situation)


@cache
def coding_agent(name: str) -> CodingAgent:
    """Return the table of an agent."""
    file = resources.files(__package__) / f"{name.replace('-', '_')}.toml"
    return msgspec.convert({"name": name, **tomllib.loads(file.read_text("utf-8"))}, CodingAgent)
