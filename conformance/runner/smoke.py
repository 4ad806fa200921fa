"""A quick check of a subject: one simple call on each wire, plain and streamed, each read twice.

The result says what to fix: the connection to the suite (it cannot read the answer's form), or the implementation (the
answer was read and is wrong).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from toolparity.cassettes.surfaces import SURFACES

from ..cases.case import Case, Evidence
from ..cases.scenarios import scenarios
from ..errors import InvalidAnswer, UnstableAnswer
from ..laws import LAWS, law_for
from ..subjects import Subject
from .judge import Judge, OutOfScope

#: A scenario with one call and one argument, which every provider can send.
SCENARIO = "single-call"
#: The first surface of each wire.
_FIRST_SURFACES = {surface.wire: name for name, surface in reversed(list(SURFACES.items()))}

Fault = Literal["", "connection", "implementation"]


class SmokeResult(Struct, frozen=True):
    """The result of one check. ``fault``: what to fix, "" if nothing. ``text``: the calls or the problem, in words."""

    wire: str
    mode: str
    fault: Fault
    text: str


def smoke_results(subject: Subject) -> Iterator[SmokeResult]:
    """Check each wire and mode that the subject supports.

    Raises UnreadableSource if the traffic of the suite is missing.
    """
    scenario, judge = scenarios()[SCENARIO], Judge(subject)
    for wire, surface in sorted(_FIRST_SURFACES.items()):
        for mode in scenario.modes(surface) if surface in scenario.surfaces else ():
            case = Case(SCENARIO, surface, mode, "all")
            if not judge.unsupported(case):
                yield SmokeResult(wire, mode, *_check(judge, case))


def _check(judge: Judge, case: Case) -> tuple[Fault, str]:
    subject = judge.subject
    try:
        rounds = judge.rounds(case)
    except UnstableAnswer as error:
        return "implementation", str(error)
    except OutOfScope as error:
        return "implementation", f"the subject reads the wire, but not this response: {error}"
    except InvalidAnswer as error:
        return "connection", str(error)
    evidence = Evidence(case, subject, rounds, [], lambda case, chunking: None, lambda follow_up: None)
    for law in filter(None, (law_for(LAWS[id], subject.claims) for id in ("conservation", "arguments"))):
        if (failure := next(law.check(evidence), None)) is not None:
            return "implementation", f"{law.id}: {failure.reason}"
    return "", ", ".join(str(call) for round in rounds for call in round.answer.acted) or "no call"
