"""The law `incomplete`: calls of an incomplete response are not executed."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import Evidence
from .common import Failure, call_list, expected_codes, match_calls, missing_findings

SENTENCE = "Nothing from an unfinished, failed or refused response is executed, and no call that was cut."
LEVEL = "must"
CLAIMS = ("select",)


def applies(evidence: Evidence) -> bool:
    """Applies if a call is rejected, or if the response is incomplete, failed, or reported as incomplete."""
    return any(
        round.split.rejected
        or not round.expected.complete
        or round.expected.failed
        or round.answer.complete is False
        or expected_codes(round, "incomplete")
        for round in evidence.rounds
    )


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check that no rejected call would run, and that the subject reports correctly whether a response is complete."""
    for round in evidence.rounds:
        expected = round.expected
        yield from missing_findings(evidence, round, "incomplete")
        if not expected.complete or expected.failed:
            if round.answer.acted:
                yield Failure(
                    round.number,
                    f"{call_list(round.answer.acted)} would run, and the answer never came to its end",
                    "nothing is executed",
                    call_list(round.answer.acted),
                )
            if round.answer.complete and not expected.complete:
                yield Failure(round.number, "a stream that broke is told to be complete", False, True)
            continue
        if round.answer.complete is False and round.answer.error is None:
            yield Failure(round.number, "an answer that came to its end is told to have broken off", True, False)
        places, _ = match_calls(expected.calls, round.answer.acted)
        wrong = [expected.calls[place] for place in places if place in round.split.rejected]
        if wrong:
            yield Failure(
                round.number, f"{call_list(wrong)} cannot run ({wrong[0].status}), and would", None, call_list(wrong)
            )
