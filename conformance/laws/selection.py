"""Laws about the calls that would run: their order, which ones, and what is reported about the others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..cases.case import CaseRound, Evidence
from .law import Failure, expected_codes, law, missing_findings
from .matching import call_list, match_calls


@law(
    "order",
    "Calls keep the model's order.",
    applies=lambda evidence: any(len(round.expected.calls) > 1 for round in evidence.rounds),
)
def order(evidence: Evidence) -> Iterator[Failure]:
    """Check that the calls to execute are in wire order.

    If the subject returns blocks, the calls among the blocks must be in wire order, too.
    """
    for round in evidence.rounds:
        lists = [round.answer.acted]
        if round.answer.blocks is not None:
            lists.append(round.answer.calls)  # in block order, including dropped and rejected calls
        for calls in lists:
            indexes = [index for index in match_calls(round.expected.calls, calls)[0] if index is not None]
            if indexes != sorted(indexes):
                reason = "the calls are not in the model's order"
                yield Failure(round.number, reason, call_list(round.expected.calls), call_list(calls))


@law(
    "same-first",
    "Under the policy first, every provider yields the first client call that can run.",
    claims=("select",),
    applies=lambda evidence: evidence.case.policy == "first" and any(round.expected.calls for round in evidence.rounds),
)
def same_first(evidence: Evidence) -> Iterator[Failure]:
    """Check that exactly this call is executed."""
    for round in evidence.rounds:
        wanted, kept, got = round.expected.calls, round.selection.kept, round.answer.acted
        indexes, _ = match_calls(wanted, got)
        if indexes == kept:
            continue
        if len(got) == 1 and kept and indexes[0] is not None:
            which = "the last call" if indexes[0] == len(wanted) - 1 else f"call {indexes[0] + 1}"
            reason = f"{which} of {len(wanted)} would run instead of the first one that can run"
        elif len(got) > len(kept):
            reason = f"{len(got)} calls would run, but the policy first keeps {len(kept)}"
        else:
            reason = "the first call that can run would not run"
        yield Failure(round.number, reason, call_list(wanted[index] for index in kept), call_list(got))


def _drops_unasked(round: CaseRound) -> bool:
    """Return whether the subject itself drops calls that the policy keeps."""
    runnable = len(round.expected.runnable)
    return runnable > 1 and round.answer.error is None and len(round.answer.acted) < len(round.selection.kept)


@law(
    "dropped-warned",
    "Each dropped call is reported in a warning, with total, processed and dropped.",
    claims=("select",),
    applies=lambda evidence: any(round.selection.dropped or _drops_unasked(round) for round in evidence.rounds),
)
def dropped_warned(evidence: Evidence) -> Iterator[Failure]:
    """Check that a warning names the dropped calls and states how many calls there were."""
    for round in evidence.rounds:
        dropped, wanted = round.selection.dropped, round.expected.calls
        if not dropped and not _drops_unasked(round):
            continue
        total, acted = len(wanted), len(round.answer.acted)
        if not round.answer.warnings:
            reason = f"{total - acted} of {total} calls were dropped without a warning"
            if acted >= total:
                reason = f"{len(dropped)} of {total} calls must be dropped, but all would run, without a warning"
            figures = f"a warning with total {total}, processed {len(round.selection.kept)}, dropped {len(dropped)}"
            yield Failure(round.number, reason, figures, "no warning")
            continue
        warnings = "\n".join(round.answer.warnings)
        unnamed = [name for index in dropped if (name := wanted[index].name) not in warnings]
        numbers = re.findall(r"\d+", warnings)
        if unnamed:
            reason = f"the warning does not name {', '.join(unnamed)}"
            yield Failure(round.number, reason, call_list(wanted), warnings[:300])
        elif str(total) not in numbers or str(len(dropped)) not in numbers:
            reason = "the warning does not state how many calls there were and how many were dropped"
            yield Failure(round.number, reason, f"total {total}, dropped {len(dropped)}", warnings[:300])


def _may_not_run(round: CaseRound) -> bool:
    unfinished = not round.expected.complete or round.expected.failed or round.answer.complete is False
    return bool(round.selection.rejected) or unfinished or bool(expected_codes(round, "incomplete"))


@law(
    "incomplete",
    "Nothing from an unfinished, failed or refused response is executed, and no call that was cut.",
    claims=("select",),
    applies=lambda evidence: any(map(_may_not_run, evidence.rounds)),
)
def incomplete(evidence: Evidence) -> Iterator[Failure]:
    """Check that no rejected call would run, and that the subject reports correctly whether a response is complete."""
    for round in evidence.rounds:
        expected, answer = round.expected, round.answer
        acted = call_list(answer.acted)
        yield from missing_findings(evidence, round, "incomplete")
        if not expected.complete or expected.failed:
            if answer.acted:
                reason = f"{acted} would run, but the response is incomplete or failed"
                yield Failure(round.number, reason, "nothing is executed", acted)
            if answer.complete and not expected.complete:
                yield Failure(round.number, "a broken stream is reported as complete", False, True)
            continue
        if answer.complete is False and answer.error is None:
            yield Failure(round.number, "a complete response is reported as incomplete", True, False)
        indexes, _ = match_calls(expected.calls, answer.acted)
        if wrong := [expected.calls[index] for index in indexes if index in round.selection.rejected]:
            reason = f"{call_list(wrong)} would run, but it is {wrong[0].status}"
            yield Failure(round.number, reason, None, call_list(wrong))
