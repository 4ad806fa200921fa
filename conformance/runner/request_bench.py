"""The bench of the generated known-bad subjects that write requests: they change the reference's requests."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from toolparity.normalizer.model import Wire
from toolparity.normalizer.wires.registry import wire_name

from ..cases.case import Case, CaseRound, Evidence
from ..known_bad.generated.bodies import RequestMutant, request_mutants, request_traits
from ..laws import LAWS
from ..laws.requests import follow_up
from ..oracle import judged_wires
from ..oracle.replies import has_reading
from ..subjects import FollowUp, Subject
from ..subjects.reference import Reference
from .bench import Death, cached_cases, death
from .judge import CaseFilter, verdict_of

_OWN = [LAWS["answered"], LAWS["replay"]]
_FOREIGN = [LAWS["handoff"]]


#: How many requests the bench keeps for each trait.
_ENOUGH = 3


class Target(NamedTuple):
    """The requests for a wire. ``own``: they answer responses of this wire; else those of the other wires."""

    wire: Wire
    own: bool


def targets() -> list[Target]:
    """Return the targets whose requests the laws read whole (`oracle.replies`)."""
    wires = [wire_name(spec.name) for spec in judged_wires() if has_reading(spec.name)]
    return [Target(wire, own) for wire in wires for own in (True, False)]


class _Writer(Reference):
    """The reference, which writes requests for one other wire only."""

    def __init__(self, wire: str) -> None:
        self.targets = (wire,)


class _CachedRequest(NamedTuple):
    """The requests of a case for one wire, by the round's number, each as a pickle, and their traits."""

    case: Case
    rounds: list[CaseRound]
    requests: dict[int, bytes]
    traits: frozenset[str]

    @property
    def size(self) -> int:
        return sum(map(len, self.requests.values()))

    def written(self) -> dict[int, Any]:
        """Return a copy of the requests."""
        return {number: pickle.loads(request) for number, request in self.requests.items()}


class RequestBench:
    """All requests for one target that the reference writes in the selected cases, the smallest first."""

    def __init__(self, case_filter: CaseFilter, target: Target) -> None:
        self._target = target
        found = [
            cached
            for case, rounds, *_ in cached_cases(case_filter)
            if case.policy == "all" and (cached := _requests(case, rounds, target)) is not None
        ]
        self._requests = _chosen(sorted(found, key=lambda cached: cached.size))
        self._unchanged: dict[int, tuple[str, ...]] = {}

    def mutants(self) -> list[RequestMutant]:
        """Return the mutants of everything that these requests have."""
        traits = sorted({trait for cached in self._requests for trait in cached.traits})
        return list(request_mutants(*self._target, traits))

    def kill(self, mutant: RequestMutant) -> Death:
        """Return how the subject fares."""
        return death(mutant, self._verdicts(mutant))

    def _verdicts(self, mutant: RequestMutant) -> Iterator[tuple[Case, tuple[str, ...]]]:
        """Yield each case whose requests the subject changes, with the laws that fail it there."""
        for index, cached in enumerate(self._requests):
            if mutant.needs not in cached.traits:
                continue
            requests = cached.written()
            changes = [mutant.change(request) for request in requests.values()]
            if not any(changes):
                continue
            if index not in self._unchanged:
                self._unchanged[index] = self._failed(cached, cached.written())
            failed = self._failed(cached, requests)
            yield cached.case, tuple(law for law in failed if law not in self._unchanged[index])

    def _failed(self, cached: _CachedRequest, requests: Mapping[int, Any]) -> tuple[str, ...]:
        numbers = {id(round.exchange): round.number for round in cached.rounds}

        def next_request(follow_up: FollowUp) -> Any:
            return requests[numbers[id(follow_up.exchange)]]

        subject = cast(Subject, _Writer(self._target.wire))
        evidence = Evidence(cached.case, subject, cached.rounds, [], lambda case, chunking: None, next_request)
        verdicts = (verdict_of(law, evidence) for law in (_OWN if self._target.own else _FOREIGN))
        return tuple(verdict.check for verdict in verdicts if verdict is not None and verdict.outcome == "fail")


def _chosen(requests: Iterable[_CachedRequest]) -> list[_CachedRequest]:
    """Return the first requests that have each trait."""
    count: Counter[str] = Counter()
    chosen = []
    for cached in requests:
        if any(count[trait] < _ENOUGH for trait in cached.traits):
            count.update(cached.traits)
            chosen.append(cached)
    return chosen


def _requests(case: Case, rounds: list[CaseRound], target: Target) -> _CachedRequest | None:
    """Return the reference's requests of a case for a target, or None if it writes none."""
    asked = list(_follow_ups(rounds, target))
    if not asked:
        return None
    written = {number: Reference().next_request(follow_up) for number, follow_up in asked}
    traits = frozenset(trait for request in written.values() for trait in request_traits(request))
    return _CachedRequest(case, rounds, {number: pickle.dumps(each) for number, each in written.items()}, traits)


def _follow_ups(rounds: list[CaseRound], target: Target) -> Iterator[tuple[int, FollowUp]]:
    """Yield the follow-ups that the laws judge, each with the number of its round."""
    owner = next(spec.owner for spec in judged_wires() if wire_name(spec.name) == target.wire)
    for round in rounds:
        judged = round.following and (target.own or round.expected.calls)
        if judged and target.own == (round.exchange.wire == target.wire):
            yield round.number, follow_up(round, target.wire, round.exchange.provider if target.own else owner)
