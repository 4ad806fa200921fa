"""Probes: the scenarios that are played against an endpoint, each with the tool choice of its requests.

The default probes are written for real models: their requests leave no doubt about the calls and their arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from toolparity.cassettes.scripts import Script, ScriptedCall, probe_scripts
from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer.conversation import ToolChoice

#: Probe -> the tool choice of its requests, if it states one.
_CHOICES = {
    "choice-none": ToolChoice("none"),
    "choice-required": ToolChoice("required"),
    "choice-named": ToolChoice("named", "list_events"),
    "choice-allowed": ToolChoice("required"),
    "similar-tools": ToolChoice("auto"),
}
#: Probe -> the tools of which its tool choice requires a call.
_ALLOWED = {"choice-allowed": ("get_weather", "list_events")}
#: The largest number of requests in one conversation: a model that makes many calls one after the other fails anyway.
_MOST_REQUESTS = 12


class Probe(Struct, frozen=True):
    """One scenario to play. ``choice``: the tool choice, or None if the model decides.

    ``allowed``: the tools that a required call may name; none means all.
    """

    script: Script
    choice: ToolChoice | None = None
    allowed: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.script.id

    @property
    def most_requests(self) -> int:
        """The largest number of requests in one conversation: a model may make its calls one after the other."""
        rounds = self.script.rounds
        if self.forced or self.script.request is not None:
            return 1
        return min(len(rounds) + sum(max(len(round.calls) - 1, 0) for round in rounds), _MOST_REQUESTS)

    @property
    def forced(self) -> bool:
        """Whether the tool choice leaves the model no decision. Only the first response is played then."""
        return self.choice is not None and self.choice.mode != "auto"

    @property
    def limited(self) -> bool:
        """Whether the request has a small limit of output tokens."""
        return self.script.request is not None and self.script.request.length is not None

    @property
    def calls(self) -> list[ScriptedCall]:
        """The calls that the conversation should have, in the order of the script."""
        calls = [call for round in self.script.rounds for call in round.calls]
        mode = "auto" if self.choice is None else self.choice.mode
        if mode == "none":
            return []
        return [call for call in calls if mode != "named" or call.tool == (self.choice and self.choice.name)]


@cache
def default_probes() -> tuple[Probe, ...]:
    """Return the default probes, sorted by id."""
    return tuple(Probe(script, _CHOICES.get(id), _ALLOWED.get(id, ())) for id, script in probe_scripts().items())


def probes_of(scripts: Iterable[Script]) -> tuple[Probe, ...]:
    """Return a probe for each script that can be played: without faults, cuts and calls on the provider's servers."""
    return tuple(
        Probe(script)
        for script in scripts
        if not script.hosted
        and all(round.fault is None and round.ending is None for round in script.rounds)
        and all(call.arguments is not None for round in script.rounds for call in round.calls)
    )


def plays(surface: Surface, probe: Probe) -> bool:
    """Return whether the wire of a surface can represent the requests of a probe."""
    return surface.plays(probe.script)
