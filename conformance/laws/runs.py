"""The laws for agents: they judge what ran, and the request that the agent sent afterwards.

An agent may refuse a response loudly, with an error: then nothing runs, and its caller knows. Refusing a response that
is broken, cut, failed or filtered, or that calls a tool which the agent does not have, keeps every law. Refusing any
other response is one failure, under `conservation`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.rule import Violation
from toolparity.reports.results import Effect

from ..answer import AnsweredCall
from ..cases.case import CaseRound, Evidence
from ..oracle import RequestItem, oracle
from ..oracle.settings import tools
from ..subjects.tools import result_text
from .law import Failure, agent_law, may_be_refused
from .matching import call_list, is_same_call, match_calls, texts_in
from .rounds import asked_again, compacts, continuation_failures, shows_the_break


def _refused(round: CaseRound) -> bool:
    return round.answer.error is not None and not round.answer.acted


def _need_not_run(round: CaseRound) -> bool:
    """Return whether an agent may refuse the response: nothing or not everything of it may run."""
    return may_be_refused(round) or round.expected.refusal or round.expected.stop == "refusal"


def _tools(round: CaseRound) -> set[str]:
    """Return the names of the tools that the agent has."""
    return {tool.name for tool in round.exchange.tools}


def _may_refuse(round: CaseRound) -> bool:
    """Return whether an agent may refuse the response. It has the suite's functions, and no tool of the provider."""
    expected, tools = round.expected, _tools(round)
    beyond = expected.servers or expected.approvals or any(call.name not in tools for call in expected.calls)
    return bool(beyond) or _need_not_run(round)


#: The stop reasons of a response of which nothing may run.
_FORBIDDING = frozenset(("refusal", "content_filter", "error", "malformed_call"))


def _matched_runs(round: CaseRound) -> list[int | None]:
    """Return, for each run, the index of its call, or None.

    A run with other arguments than the model's belongs to the first call of that name that did not run otherwise,
    unless it repeats a call: the law `arguments` compares them.
    """
    wanted, runs = round.expected.calls, round.answer.acted
    indexes, _ = match_calls(wanted, runs)
    for number, run in enumerate(runs):
        if indexes[number] is None and not any(is_same_call(call, run) for call in wanted):
            free = (index for index, call in enumerate(wanted) if call.name == run.name and index not in indexes)
            indexes[number] = next(free, None)
    return indexes


@agent_law("conservation", applies=lambda evidence: True)
def conservation(evidence: Evidence) -> Iterator[Failure]:
    """Check that each call ran once, and that nothing else ran. Only a call of an unknown tool need not run: then the
    next request answers it, or the agent returns it.
    """
    for round in evidence.rounds:
        wanted, answer, number = round.expected.calls, round.answer, round.number
        yield from asked_again(round)
        if _refused(round):
            if not _may_refuse(round):
                reason = f"the agent refused the response: {answer.error}"
                yield Failure(number, reason, call_list(wanted), "nothing ran", effect="refused")
            continue
        if not round.expected.complete or round.expected.failed:
            continue  # nothing may run: law `incomplete`
        indexes = _matched_runs(round)
        yield from _surplus_runs(round, indexes, round.selection.dropped)
        if _need_not_run(round):
            continue
        answered, returned = _answered_indexes(round), match_calls(wanted, answer.rejected or [])[0]
        both = call_list(wanted), call_list(answer.acted)
        for index in round.selection.kept:
            call = wanted[index]
            if index in indexes or (call.name not in _tools(round) and index in (*answered, *returned)):
                continue
            if answer.error is not None:
                reason = f"{call} did not run, because the agent failed: {answer.error}"
                yield Failure(number, reason, *both, effect="refused")
            elif index in returned:
                yield Failure(number, f"{call} did not run: the agent returned it", *both, effect="refused")
            elif index in answered:
                reason = f"{call} did not run, and the next request has a result that is not of the tool"
                yield Failure(number, reason, *both, effect="lost")
            else:
                yield Failure(number, f"{call} neither ran nor is reported as not run", *both, effect="lost")


def _surplus_runs(round: CaseRound, indexes: list[int | None], dropped: list[int]) -> Iterator[Failure]:
    wanted, runs = round.expected.calls, round.answer.acted
    both = call_list(wanted), call_list(runs)
    for index, run in zip(indexes, runs, strict=True):
        if index is None and any(is_same_call(call, run) for call in wanted):
            yield Failure(round.number, f"{run} ran more often than the model called it", *both, effect="duplicated")
        elif index is None and not (round.expected.servers or round.expected.approvals):
            yield Failure(round.number, f"{run} ran, but the model did not call it", *both, effect="executed")
        elif index is not None and index in dropped:
            why = "it belongs to another choice" if wanted[index].choice else "the policy drops it"
            yield Failure(round.number, f"{run} ran, but {why}", *both, effect="executed")


def _items(round: CaseRound) -> list[RequestItem]:
    """Return the calls and the results in the request that followed the response."""
    return list(oracle(round.exchange.wire).items(round.sent[0])) if round.sent else []


def _calls_with_results(round: CaseRound, text: str = "") -> list[AnsweredCall]:
    """Return the calls of the next request that have a result there: with a text, those whose result has it."""
    items = _items(round)
    ids = {item.id for item in items if item.kind == "result" and (not text or text in texts_in(item.content))}
    return [
        AnsweredCall(
            item.name, item.id, *((None, item.content) if isinstance(item.content, str) else (item.content, None))
        )
        for item in items
        if item.kind == "call" and item.id in ids
    ]


def _answered_indexes(round: CaseRound) -> list[int | None]:
    """Return the indexes of the calls that have a result in the next request.

    Names are not compared: a request has another name for a call whose own name its provider would refuse.
    """
    wanted = [replace(call, name="") for call in round.expected.calls]
    return match_calls(wanted, [replace(call, name="") for call in _calls_with_results(round)])[0]


@agent_law(
    "order",
    applies=lambda evidence: (
        evidence.case.policy == "batch" and any(len(round.selection.kept) > 1 for round in evidence.rounds)
    ),
)
def order(evidence: Evidence) -> Iterator[Failure]:
    """Check that the calls of a batch ran in their order."""
    for round in evidence.rounds:
        indexes = [index for index in _matched_runs(round) if index is not None]
        if indexes != sorted(indexes):
            both = call_list(round.expected.calls), call_list(round.answer.acted)
            yield Failure(round.number, "the calls of the batch ran in another order", *both, effect="altered")


@agent_law(
    "same-first",
    applies=lambda evidence: evidence.case.policy == "first" and any(round.expected.calls for round in evidence.rounds),
)
def same_first(evidence: Evidence) -> Iterator[Failure]:
    """Check that nothing ran except the first call that can run. The law `conservation` checks that it ran."""
    for round in evidence.rounds:
        kept = round.selection.kept
        if any(index not in kept for index in _matched_runs(round)):
            wanted, got = call_list(round.expected.calls[index] for index in kept), call_list(round.answer.acted)
            reason = f"{got} ran, but only the first call that can run may run"
            yield Failure(round.number, reason, wanted, got, effect="executed")


@agent_law(
    "server-side",
    applies=lambda evidence: any(round.expected.servers or round.expected.approvals for round in evidence.rounds),
)
def server_side(evidence: Evidence) -> Iterator[Failure]:
    """Check that no tool ran for a call that the provider runs."""
    for round in evidence.rounds:
        if not (round.expected.servers or round.expected.approvals):
            continue
        runs = zip(_matched_runs(round), round.answer.acted, strict=True)
        if surplus := [run for index, run in runs if index is None]:
            reason = f"the provider ran {call_list(surplus)}, and the agent ran it again"
            both = call_list(round.expected.calls), call_list(round.answer.acted)
            yield Failure(round.number, reason, *both, effect="executed")


@agent_law("arguments", applies=lambda evidence: any(round.expected.calls for round in evidence.rounds))
def arguments(evidence: Evidence) -> Iterator[Failure]:
    """Compare the arguments of each run with those of the model. The law `incomplete` judges broken ones."""
    for round in evidence.rounds:
        for index, run in zip(_matched_runs(round), round.answer.acted, strict=True):
            call = None if index is None else round.expected.calls[index]
            if call is not None and call.status == "complete" and not is_same_call(call, run):
                reason = f"{call.name} ran with other arguments than the model's"
                yield Failure(round.number, reason, str(call), str(run), effect="altered")


#: What shows the caller of an agent that a response broke or failed.
_SIGNS = "an error, complete: false, or rejected calls"


def _forbids_runs(round: CaseRound) -> bool:
    return not round.expected.complete or round.expected.failed or bool(round.selection.rejected)


@agent_law("incomplete", applies=lambda evidence: any(map(_forbids_runs, evidence.rounds)))
def incomplete(evidence: Evidence) -> Iterator[Failure]:
    """Check that nothing of a broken, failed, refused or filtered response ran, and no call that was cut.

    The caller of the agent must be able to see that a response broke or failed.
    """
    for round in filter(_forbids_runs, evidence.rounds):
        expected, runs = round.expected, round.answer.acted
        state = "failed" if expected.failed else f"ended with {expected.stop}" if expected.complete else "broke"
        if not expected.complete or expected.failed or expected.stop in _FORBIDDING:
            wrong = list(map(str, runs))
            reason = f"{call_list(runs)} ran, but the response {state}"
        else:
            indexes = _matched_runs(round)
            pairs = [(run, index) for run, index in zip(runs, indexes, strict=True) if index is not None]
            wrong = [
                f"{run}, which is {status},"
                for run, index in pairs
                if (status := expected.calls[index].status) != "complete"
            ]
            reason = f"{' '.join(wrong)} ran"
        if wrong:
            yield Failure(round.number, reason, "nothing of it runs", call_list(runs), effect="executed")
        elif (expected.failed or not expected.complete) and not shows_the_break(round):
            reason = f"the response {state}, but nothing that the agent returned shows it"
            yield Failure(round.number, reason, _SIGNS, "nothing", effect="misreported")


#: Names that all providers accept. Others have another name in a request.
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
#: Rules that agents are not judged by. `content-text`: users of xAI report that calls without content are refused, but
#: no recorded response shows it, its documentation does not say so, and it accepts an empty list there.
#: `server-result`, `container`: the suite gives agents no tools of the provider, so an agent may leave out their calls
#: and their container.
_NOT_JUDGED = frozenset(("content-text", "server-result", "container"))


def _issued(round: CaseRound, violation: Violation) -> bool:
    """Return whether a violation is about an item's id that the provider itself issued: the agent sends it back."""
    if violation.rule != "item-id":
        return False
    response = round.exchange.body.decode("utf-8", "replace")
    return any(repr(id) in violation.message for id in re.findall(r'"id"\s*:\s*"([^"]*)"', response))


def _must_be_answered(round: CaseRound) -> bool:
    return bool(round.selection.kept) and not _refused(round)


@agent_law("answered", applies=lambda evidence: any(map(_must_be_answered, evidence.rounds)))
def answered(evidence: Evidence) -> Iterator[Failure]:
    """Check that the request after the response has one result per call, and at each call that ran its result."""
    for round in filter(_must_be_answered, evidence.rounds):
        number, wire, runs = round.number, round.exchange.wire, round.answer.acted
        if not round.sent:
            if runs and not round.expected.approvals:  # with approvals, it waits for its caller's decision
                reason = f"the results of {call_list(runs)} were not sent: the agent sent no further request"
                error = round.answer.error
                effect: Effect = "lost" if error is None else "refused"
                yield Failure(number, reason, "a request with the results", error, effect=effect)
            continue  # otherwise nothing ran: law `conservation`
        body = round.sent[0]
        for violation in check_request(body, wire, provider=round.exchange.provider):
            if violation.rule in _NOT_JUDGED or _issued(round, violation):
                continue
            reason = f"the request breaks the rule {violation.rule}: {violation.message}"
            got = f"{violation.path}: {violation.message}"
            yield Failure(number, reason, f"the rule {violation.rule}", got, effect="malformed")
        calls, results = (
            Counter(item.id for item in _items(round) if item.kind == kind) for kind in ("call", "result")
        )
        if calls != results:
            missing, surplus = (", ".join(left) or "none" for left in (calls - results, results - calls))
            reason = f"calls without a result: {missing}; results without a call: {surplus}"
            yield Failure(number, reason, dict(calls), dict(results), effect="malformed")
        yield from _misplaced_results(round)
        if not compacts(round) and not any(oracle(wire).texts(body, "user")):
            yield Failure(number, "the user's message is missing in the next request", effect="lost")
        yield from continuation_failures(round)
        if len(round.sent) > 1 and runs:
            reason = f"the agent sent {len(round.sent)} requests, although the answer to the first one has no calls"
            yield Failure(number, reason, effect="duplicated")


def _renamed(round: CaseRound, name: str, names: set[str]) -> bool:
    """Return whether the next request declares the tool under another name, as wires with reserved names require."""
    declared = {tool.name for tool in tools(round.sent[0], round.exchange.wire)}
    return name not in declared and names <= declared


def _misplaced_results(round: CaseRound) -> Iterator[Failure]:
    """Yield the runs whose result is missing in the next request, or is at another call."""
    results = [item.content for item in _items(round) if item.kind == "result"]
    for position, (index, run) in enumerate(zip(_matched_runs(round), round.answer.acted, strict=True), 1):
        text = result_text(position, run.name)
        if not any(text in texts_in(result) for result in results):
            altered = any(text in str(result) for result in results)
            reason = f"the result of {run} is {'altered' if altered else 'missing'} in the next request"
            yield Failure(round.number, reason, text, results, effect="altered" if altered else "lost")
            continue
        calls = _calls_with_results(round, text)
        names = {call.name for call in calls}
        if _NAME.fullmatch(run.name) and names and run.name not in names and not _renamed(round, run.name, names):
            reason = f"the call of {run.name} has another name in the next request"
            yield Failure(round.number, reason, run.name, call_list(calls), effect="altered")
            continue
        if index is None or len(round.expected.calls) == 1:
            continue
        wanted = round.expected.calls[index]
        if wanted.status != "complete":
            continue  # it must not run: law `incomplete`
        if not any(is_same_call(wanted, replace(call, name=wanted.name)) or call.value == run.value for call in calls):
            reason = f"the result of {run} is at another call in the next request"
            yield Failure(round.number, reason, str(wanted), call_list(calls), effect="altered")
