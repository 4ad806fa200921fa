"""The laws in the form for gateways. A gateway runs nothing, so they check what its client and its provider get."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.requests import check_request

from ..cases.case import CaseRound, Evidence
from ..laws import LAWS, SERVER_LAWS, Failure, Law
from ..laws.law import Unjudged, may_be_refused, shows_break
from ..laws.requests import BREAKS_RULE
from .asked import altered_thinking, changes_for_the_same_wire, losses_on_the_way_up
from .http_rules import Fault


class GatewayRound(CaseRound, frozen=True):
    """A round with the rules of HTTP and of the official SDK that the gateway broke in it."""

    faults: tuple[Fault, ...] = ()


_CONSERVATION, _ANSWERED, _REPLAY, _HANDOFF = (LAWS[id] for id in ("conservation", "answered", "replay", "handoff"))


def _conservation(evidence: Evidence) -> Iterator[Failure]:
    """Also check that the gateway asked the upstream once, unless the response was an error or broken."""
    yield from _CONSERVATION.check(evidence)
    for round in evidence.rounds:
        if len(round.sent) > 1 and round.expected.complete and not round.expected.failed:
            reason = f"the gateway sent the request to the upstream {len(round.sent)} times"
            yield Failure(round.number, reason, 1, len(round.sent), effect="duplicated")


def _incomplete(evidence: Evidence) -> Iterator[Failure]:
    """Check that a reply ends like the response: complete, broken or with an error, streamed and plain."""
    for round in evidence.rounds:
        expected, answer = round.expected, round.answer
        broken = not expected.complete or expected.failed
        if broken and not shows_break(answer, evidence.subject.claims):
            what = "the error of the response is" if expected.failed else "the break of the stream is"
            yield Failure(round.number, f"{what} missing in the reply", "an error", answer.stop, effect="misreported")
        elif not broken and answer.complete is False and not may_be_refused(round):
            yield Failure(round.number, "a complete response arrives incomplete", True, False, effect="misreported")


def _answered(evidence: Evidence) -> Iterator[Failure]:
    """Judge a request by the rules of the upstream's provider; the response may have the dialect of another one."""
    provider = SURFACES[evidence.case.surface].provider
    for failure in _ANSWERED.check(evidence):
        wire = evidence.rounds[failure.round].exchange.wire
        if not failure.reason.startswith(BREAKS_RULE) or any(
            failure.reason.startswith(f"{BREAKS_RULE}{broken.rule}: ")
            for broken in check_request(failure.got, wire, provider=provider)
        ):
            yield failure


def _is_the_same_wire(evidence: Evidence) -> bool:
    client = getattr(evidence.subject, "client", None)
    return all(round.exchange.wire == client for round in evidence.rounds)


def _replay_applies(evidence: Evidence) -> bool:
    """Between equal wires, every request is judged, and the first one, too."""
    return _REPLAY.applies(evidence) or (_is_the_same_wire(evidence) and any(round.sent for round in evidence.rounds))


def _replay(evidence: Evidence) -> Iterator[Failure]:
    """Also check that each request reaches an upstream with the client's wire as the client sent it."""
    unjudged = yield from _unless_unjudged(_REPLAY.check(evidence))
    if _is_the_same_wire(evidence):
        for round in evidence.rounds:
            yield from changes_for_the_same_wire(round)
            yield from altered_thinking(round)
    if unjudged is not None:
        raise unjudged


def _is_handed_over(evidence: Evidence) -> bool:
    """Return whether the next request goes to the other upstreams."""
    return "handoff" in evidence.subject.claims and _HANDOFF.applies(evidence)


def _handoff_applies(evidence: Evidence) -> bool:
    """Between two wires, every request is judged, and the first one, too."""
    translated = not _is_the_same_wire(evidence) and any(round.sent for round in evidence.rounds)
    return translated or _is_handed_over(evidence)


def _handoff(evidence: Evidence) -> Iterator[Failure]:
    """Also check that each request reaches an upstream with another wire without losses."""
    unjudged = None
    if _is_handed_over(evidence):
        unjudged = yield from _unless_unjudged(_HANDOFF.check(evidence))
    if not _is_the_same_wire(evidence):
        for round in evidence.rounds:
            yield from losses_on_the_way_up(round)
    if unjudged is not None:
        raise unjudged


def _unless_unjudged(failures: Iterator[Failure]) -> Generator[Failure, None, Unjudged | None]:
    """Yield the failures; return why the rest is not judged, or None."""
    try:
        yield from failures
    except Unjudged as unjudged:
        return unjudged
    return None


_OF_GATEWAYS = {
    "answered": _ANSWERED._replace(check=_answered),
    "conservation": _CONSERVATION._replace(check=_conservation),
    "incomplete": LAWS["incomplete"]._replace(applies=lambda evidence: True, check=_incomplete),
    "replay": _REPLAY._replace(applies=_replay_applies, check=_replay),
    "handoff": _HANDOFF._replace(claims=frozenset(("answers",)), applies=_handoff_applies, check=_handoff),
}


def _with_faults(law: Law) -> Law:
    """Return the law, which also reports the faults of the rounds that belong to it."""

    def check(evidence: Evidence) -> Iterator[Failure]:
        unjudged = yield from _unless_unjudged(law.check(evidence))
        for round in evidence.rounds:
            faults = round.faults if isinstance(round, GatewayRound) else ()
            yield from (fault.failure for fault in faults if fault.law == law.id)
        if unjudged is not None:
            raise unjudged

    return law._replace(check=check)


#: All laws, as they judge a gateway.
GATEWAY_LAWS: tuple[Law, ...] = tuple(
    _with_faults(_OF_GATEWAYS.get(id, law)) for id, law in (LAWS | SERVER_LAWS).items()
)
