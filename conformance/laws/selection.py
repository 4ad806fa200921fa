"""Laws about the calls that would run: their order, which ones, and what is reported about the others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolparity.reports.results import Effect

from ..cases.case import CaseRound, Evidence
from ..cases.expected import ExpectedSelection
from .law import SIGNS_OF_A_BREAK, Failure, Unjudged, expected_codes, law, may_be_refused, missing_findings, shows_break
from .matching import call_list, match_calls


@law(
    "order",
    "Calls keep the model's order.",
    applies=lambda evidence: any(len(round.expected.calls) > 1 for round in evidence.rounds),
)
def order(evidence: Evidence) -> Iterator[Failure]:
    """Check that the calls to execute are in wire order: in that of their arrival, or of their indexes.

    If the subject returns blocks, the calls among the blocks must be in wire order, too.
    """
    for round in evidence.rounds:
        ranks = {index: rank for rank, index in enumerate(round.expected.by_index)}
        lists = [round.answer.acted]
        if round.answer.blocks is not None:
            lists.append(round.answer.calls)  # in block order, including dropped and rejected calls
        for calls in lists:
            indexes = [index for index in match_calls(round.expected.calls, calls)[0] if index is not None]
            if indexes != sorted(indexes) and not (ranks and indexes == sorted(indexes, key=ranks.__getitem__)):
                reason = "the calls are not in the model's order"
                yield Failure(round.number, reason, call_list(round.expected.calls), call_list(calls), effect="altered")


def applied_selection(round: CaseRound) -> ExpectedSelection:
    """Return what the policy keeps and drops. Under `first`, the call with the lowest index may be the first one."""
    expected, selection = round.expected, round.selection
    first = [index for index in expected.by_index if index in expected.runnable][:1]
    if round.exchange.policy != "first" or not first or match_calls(expected.calls, round.answer.acted)[0] != first:
        return selection
    dropped = sorted({*selection.kept, *selection.dropped} - {*first})
    return ExpectedSelection(first, dropped, selection.rejected)


@law(
    "same-first",
    "Under the policy first, every provider yields the first client call that can run.",
    claims=("select",),
    applies=lambda evidence: evidence.case.policy == "first" and any(round.expected.calls for round in evidence.rounds),
)
def same_first(evidence: Evidence) -> Iterator[Failure]:
    """Check that exactly this call is executed."""
    for round in evidence.rounds:
        wanted, kept, got = round.expected.calls, applied_selection(round).kept, round.answer.acted
        indexes, _ = match_calls(wanted, got)
        if indexes == kept:
            continue
        effect: Effect
        if len(got) == 1 and kept and indexes[0] is not None:
            which = "the last call" if indexes[0] == len(wanted) - 1 else f"call {indexes[0] + 1}"
            reason = f"{which} of {len(wanted)} would run instead of the first one that can run"
            effect = "executed"
        elif len(got) > len(kept):
            reason = f"{len(got)} calls would run, but the policy first keeps {len(kept)}"
            effect = "executed"
        else:
            reason, effect = "the first call that can run would not run", "lost"
        yield Failure(round.number, reason, call_list(wanted[index] for index in kept), call_list(got), effect=effect)


def _drops_unasked(round: CaseRound) -> bool:
    """Return whether the subject itself drops calls that the policy keeps."""
    runnable = len(round.expected.runnable)
    return runnable > 1 and len(round.answer.acted) < len(round.selection.kept)


def _drops(round: CaseRound) -> bool:
    return bool(round.selection.dropped) or _drops_unasked(round)


#: The code of the finding about a dropped call.
_FINDING = "dropped-call"


def _reports_drops(round: CaseRound) -> list[str]:
    """Return the findings about dropped calls, and the log lines that call one of the response's calls dropped."""
    names = {call.name for call in round.expected.calls if call.name}
    lines = [line for line in round.answer.warnings if re.search(r"\bdrop", line, re.IGNORECASE)]
    named = [line for line in lines if any(name in line for name in names)]
    return [*(code for code in round.answer.findings if code == _FINDING), *named]


@law(
    "dropped-warned",
    "Each dropped call is reported in a warning, with total, processed and dropped.",
    claims=("select",),
    applies=lambda evidence: any(_drops(round) or _reports_drops(round) for round in evidence.rounds),
)
def dropped_warned(evidence: Evidence) -> Iterator[Failure]:
    """Check that a warning names the dropped calls and states how many calls there were.

    A report of a drop that did not happen is false. Other log lines are free.
    """
    for round in evidence.rounds:
        dropped, wanted = applied_selection(round).dropped, round.expected.calls
        if not _drops(round):
            if reports := _reports_drops(round):
                reason = "a dropped call is reported, but none was dropped"
                yield Failure(round.number, reason, "no such report", reports, effect="misreported")
            continue
        if dropped and "findings" in evidence.subject.claims and _FINDING not in round.answer.findings:
            reason = f"missing finding: {_FINDING}"
            yield Failure(round.number, reason, _FINDING, round.answer.findings, effect="misreported")
        total, acted = len(wanted), len(round.answer.acted)
        effect: Effect
        if not round.answer.warnings:
            reason, effect = f"{total - acted} of {total} calls were dropped without a warning", "lost"
            if acted >= total:
                reason = f"{len(dropped)} of {total} calls must be dropped, but all would run, without a warning"
                effect = "executed"
            figures = f"a warning with total {total}, processed {len(round.selection.kept)}, dropped {len(dropped)}"
            yield Failure(round.number, reason, figures, "no warning", effect=effect)
            continue
        warnings = "\n".join(round.answer.warnings)
        unnamed = [name for index in dropped if (name := wanted[index].name) not in warnings]
        numbers = re.findall(r"\d+", warnings)
        if unnamed:
            reason = f"the warning does not name {', '.join(unnamed)}"
            yield Failure(round.number, reason, call_list(wanted), warnings[:300], effect="misreported")
        elif str(total) not in numbers or str(len(dropped)) not in numbers:
            reason = "the warning does not state how many calls there were and how many were dropped"
            figures = f"total {total}, dropped {len(dropped)}"
            yield Failure(round.number, reason, figures, warnings[:300], effect="misreported")


def _may_not_run(round: CaseRound) -> bool:
    unfinished = _is_broken(round) or round.answer.complete is False
    return bool(round.selection.rejected) or unfinished or bool(expected_codes(round, "incomplete"))


@law(
    "incomplete",
    "Nothing from an unfinished, failed or refused response is executed, no call that was cut, and a break is visible.",
    applies=lambda evidence: any(map(_may_not_run, evidence.rounds)),
)
def incomplete(evidence: Evidence) -> Iterator[Failure]:
    """Check that no rejected call would run, and that the subject shows whether a response is complete.

    A subject that runs nothing is judged by what it shows of broken streams. Raises Unjudged if no stream broke.
    """
    acts = "select" in evidence.subject.claims
    for round in evidence.rounds:
        expected, answer = round.expected, round.answer
        yield from missing_findings(evidence, round, "incomplete")
        if _is_broken(round):
            if acts and answer.acted:
                acted = call_list(answer.acted)
                reason = f"{acted} would run, but the response is incomplete or failed"
                yield Failure(round.number, reason, "nothing is executed", acted, effect="executed")
            if evidence.case.stream and not shows_break(answer, evidence.subject.claims):
                shown = {"complete": answer.complete, "stop": answer.stop, "failed": answer.failed}
                reason = "the stream broke, but nothing in the answer shows it"
                yield Failure(round.number, reason, SIGNS_OF_A_BREAK, shown, effect="misreported")
            continue
        if answer.complete is False and not may_be_refused(round):
            reason = "a complete response is reported as incomplete"
            yield Failure(round.number, reason, True, False, effect="misreported")
        indexes, _ = match_calls(expected.calls, answer.acted)
        wrong = [expected.calls[index] for index in indexes if index in round.selection.rejected]
        if acts and wrong:
            status = wrong[0].status
            why = f"it is {status}" if status != "complete" else f"the response is refused or filtered: {expected.stop}"
            reason = f"{call_list(wrong)} would run, but {why}"
            yield Failure(round.number, reason, None, call_list(wrong), effect="executed")
    if not acts and not any(evidence.case.stream and _is_broken(round) for round in evidence.rounds):
        raise Unjudged("the subject does not claim select")


def _is_broken(round: CaseRound) -> bool:
    return not round.expected.complete or round.expected.failed
