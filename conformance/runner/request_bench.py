"""The bench of the generated known-bad subjects that write requests: the reference's requests, which they change."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from toolparity.normalizer.wires.registry import wire_name

from ..answer import parse_request
from ..cases.case import Case, CaseRound, Evidence
from ..known_bad.generated.bodies import RequestMutant, places, request_mutants
from ..laws import LAWS
from ..laws.requests import follow_up
from ..oracle import judged_wires
from ..subjects import FollowUp, Subject
from ..subjects.reference import Reference
from .judge import verdict_of

_OWN = [LAWS["answered"], LAWS["replay"]]
_FOREIGN = [LAWS["handoff"]]


#: How many requests the bench keeps for each trait.
_ENOUGH = 3
_SEVERAL = "several "


class _Target(Reference):
    """The reference, which writes requests for one other wire only."""

    def __init__(self, wire: str) -> None:
        self.targets = (wire,)


class _CachedRequest(NamedTuple):
    """The requests of a case for one wire, by the round's number, each as a pickle, and the paths in them."""

    case: Case
    rounds: list[CaseRound]
    wire: str
    bodies: dict[int, bytes]
    traits: frozenset[str]

    @property
    def paths(self) -> list[str]:
        return sorted(trait for trait in self.traits if not trait.startswith(_SEVERAL))

    @property
    def own(self) -> bool:
        return self.wire == self.rounds[0].exchange.wire


class RequestBench:
    """All requests that the reference writes in these cases, the smallest first."""

    def __init__(self, cases: Iterable[tuple[Case, list[CaseRound]]]) -> None:
        found = (cached for case, rounds in cases if case.policy == "all" for cached in _requests(case, rounds))
        self._requests = _chosen(sorted(found, key=lambda cached: sum(map(len, cached.bodies.values()))))
        self._unchanged: dict[int, tuple[str, ...]] = {}

    def mutants(self) -> list[RequestMutant]:
        """Return the mutants of everything that these requests have."""
        paths: dict[tuple[str, bool], dict[str, None]] = {}
        for cached in self._requests:
            paths.setdefault((cached.wire, cached.own), {}).update(dict.fromkeys(sorted(cached.paths)))
        return [mutant for (wire, own), found in sorted(paths.items()) for mutant in request_mutants(wire, own, found)]

    def kill(self, mutant: RequestMutant) -> tuple[bool, Case | None, tuple[str, ...]]:
        """Return whether the subject changes a request, and the first case in which laws fail it, with these laws."""
        changed = False
        for index, cached in enumerate(self._requests):
            if (cached.wire, cached.own) != (mutant.wire, mutant.own) or mutant.path not in cached.traits:
                continue
            bodies = {number: pickle.loads(body) for number, body in cached.bodies.items()}
            changes = [mutant.change(body) for body in bodies.values()]
            if not any(changes):
                continue
            changed = True
            if index not in self._unchanged:
                self._unchanged[index] = _failed(
                    cached, {number: pickle.loads(body) for number, body in cached.bodies.items()}
                )
            if laws := tuple(law for law in _failed(cached, bodies) if law not in self._unchanged[index]):
                return True, cached.case, laws
        return changed, None, ()


def _chosen(requests: list[_CachedRequest]) -> list[_CachedRequest]:
    """Return the first requests that have each path, and that have it several times with different values."""
    count: Counter[tuple[str, bool, str]] = Counter()
    chosen = []
    for cached in requests:
        traits = [(cached.wire, cached.own, trait) for trait in cached.traits]
        if any(count[trait] < _ENOUGH for trait in traits):
            count.update(traits)
            chosen.append(cached)
    return chosen


def _requests(case: Case, rounds: list[CaseRound]) -> Iterator[_CachedRequest]:
    if not any(round.following for round in rounds):
        return
    for target in judged_wires():
        wire = wire_name(target.name)
        own = wire == rounds[0].exchange.wire
        bodies = {}
        for round in rounds:
            if round.following:
                provider = round.exchange.provider if own else target.owner
                bodies[round.number] = parse_request(Reference().next_request(follow_up(round, wire, provider))).body
        traits = frozenset(trait for body in bodies.values() for trait in _traits(body))
        dumped = {number: pickle.dumps(body) for number, body in bodies.items()}
        yield _CachedRequest(case, rounds, wire, dumped, traits)


def _traits(body: Any) -> Iterator[str]:
    """Yield the paths of a body, and again, marked, those that have several values."""
    seen: dict[str, Any] = {}
    for place in places(body):
        yield place.path
        if seen.setdefault(place.path, place.value) != place.value:
            yield _SEVERAL + place.path


def _failed(cached: _CachedRequest, bodies: dict[int, Any]) -> tuple[str, ...]:
    numbers = {id(round.exchange): round.number for round in cached.rounds}

    def next_request(follow_up: FollowUp) -> Any:
        return bodies[numbers[id(follow_up.exchange)]]

    subject = cast(Subject, _Target(cached.wire))
    evidence = Evidence(cached.case, subject, cached.rounds, [], lambda case, chunking: None, next_request)
    verdicts = (verdict_of(law, evidence) for law in (_OWN if cached.own else _FOREIGN))
    return tuple(verdict.check for verdict in verdicts if verdict is not None and verdict.outcome == "fail")
