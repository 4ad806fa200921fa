"""The law `same-first`: the policy `first` keeps the first runnable call with every provider."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import Evidence
from .common import Failure, call_list, match_calls

SENTENCE = "Under the policy first, every provider yields the first client call that can run."
LEVEL = "must"
CLAIMS = ("select",)


def applies(evidence: Evidence) -> bool:
    """Applies under the policy `first` if there is a call."""
    return evidence.case.policy == "first" and any(round.expected.calls for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check that exactly this call is executed."""
    for round in evidence.rounds:
        wanted = round.expected.calls
        kept = round.split.kept
        places, _ = match_calls(wanted, round.answer.acted)
        if places == kept:
            continue
        first = call_list(wanted[place] for place in kept)
        got = round.answer.acted
        if len(got) == 1 and kept and places[0] is not None:
            which = "last" if places[0] == len(wanted) - 1 else f"{places[0] + 1}."
            reason = f"of {len(wanted)} calls the {which} one would run, not the first one that can"
        elif len(got) > len(kept):
            reason = f"{len(got)} calls would run where first keeps {len(kept)}"
        else:
            reason = "the first call that can run would not run"
        yield Failure(round.number, reason, first, call_list(got))
