"""The laws in the form for gateways. A gateway runs nothing, so they check what its client and its provider get."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import Evidence
from ..laws import LAWS, Failure, Law
from ..laws.law import may_be_refused, shows_break

_CONSERVATION = LAWS["conservation"]


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


_OF_GATEWAYS = {
    "conservation": _CONSERVATION._replace(check=_conservation),
    "incomplete": LAWS["incomplete"]._replace(applies=lambda evidence: True, check=_incomplete),
}
#: All laws, as they judge a gateway.
GATEWAY_LAWS: tuple[Law, ...] = tuple(_OF_GATEWAYS.get(id, law) for id, law in LAWS.items())
