"""The law `dropped-warned`: a dropped call is never silent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..cases.case import CaseRound, Evidence
from .common import Failure, call_list

SENTENCE = "Each dropped call is warned of, with total, processed and dropped."
LEVEL = "must"
CLAIMS = ("select",)


def applies(evidence: Evidence) -> bool:
    """Applies if the policy drops a call, or if the subject drops one by itself."""
    return any(round.split.dropped or _vanished(round) for round in evidence.rounds)


def _vanished(round: CaseRound) -> bool:
    runnable = len(round.expected.runnable)
    return runnable > 1 and round.answer.error is None and len(round.answer.acted) < len(round.split.kept)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check that a warning names the dropped calls and states how many calls there were."""
    for round in evidence.rounds:
        dropped = round.split.dropped
        if not dropped and not _vanished(round):
            continue
        wanted = round.expected.calls
        names = [wanted[place].name for place in dropped]
        told = "\n".join(round.answer.warnings)
        total = len(wanted)
        if not told:
            acted = len(round.answer.acted)
            yield Failure(
                round.number,
                f"{total - acted} of {total} calls were dropped in silence: no warning tells of them"
                if acted < total
                else f"of {total} calls {len(dropped)} are to be dropped: all would run, and no warning tells of it",
                f"a warning with total {total}, processed {len(round.split.kept)}, dropped {len(dropped)}",
                "no warning",
            )
            continue
        lacking = [name for name in names if name not in told]
        figures = re.findall(r"\d+", told)
        if lacking:
            yield Failure(
                round.number, f"the warning does not name {', '.join(lacking)}", call_list(wanted), told[:300]
            )
        elif str(total) not in figures or str(len(dropped)) not in figures:
            yield Failure(
                round.number,
                "the warning does not tell how many calls there were and how many were dropped",
                f"total {total}, dropped {len(dropped)}",
                told[:300],
            )
