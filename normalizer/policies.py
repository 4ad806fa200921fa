"""Policies, which select the client calls of a response that the caller acts on.

A policy is a function ``keep(runnable, limit)``, which returns how many of the runnable calls are kept, in order. It
does not execute calls; `turns` executes a selection. To add a policy, add an entry to `POLICIES` and its
name to `model.Policy`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from .errors import PolicyError
from .findings import Finding, finding
from .model import DEAD_STOPS, Choice, Policy, Response, ToolCall, WithFindings


def _keep_first(runnable: int, limit: int | None) -> int:
    return min(1, runnable) if limit is None else min(1, runnable, limit)


def _keep_all(runnable: int, limit: int | None) -> int:
    return runnable if limit is None else min(runnable, limit)


#: `all` and `batch` keep the same calls; under `batch` they run one after the other.
POLICIES: dict[Policy, Callable[[int, int | None], int]] = {"first": _keep_first, "all": _keep_all, "batch": _keep_all}


def policy_name(name: str) -> Policy:
    """Return a name that comes from outside as the name of a policy. Raises PolicyError if no policy has this name."""
    for known in POLICIES:
        if known == name:
            return known
    raise PolicyError(f"unknown policy: {name!r}", hint=f"one of {', '.join(POLICIES)}")


class Ref(Struct, frozen=True, gc=False):
    """A reference to a call: the indexes of its block and choice. ``reason``: why it was dropped or rejected."""

    block: int
    choice: int
    id: str
    name: str
    reason: str | None = None


class Selection(WithFindings, frozen=True, dict=True):
    """The result of a policy: every client call of the response is in exactly one of the three lists.

    ``findings``: one `dropped-call` or `rejected-call` for each call that is not kept. Copies and pickles keep the
    findings and the calls.
    """

    policy: Policy
    limit: int | None
    choice: int
    kept: list[Ref]
    dropped: list[Ref]
    rejected: list[Ref]

    @property
    def calls(self) -> list[ToolCall]:
        """The kept calls, in the order of ``kept``: the objects of the response. They are not part of the JSON.

        Raises PolicyError if calls are kept but `select` did not make this selection: `msgspec.structs.replace` and
        decoding from JSON make one that has no response to take the calls from.
        """
        calls: list[ToolCall] | None = self.__dict__.get("calls")
        if calls is not None:
            return calls
        if self.kept:
            raise PolicyError("the selection has no calls: select() did not make it", hint="call select() again")
        return []

    def _with_calls(self, calls: list[ToolCall]) -> Self:
        self.__dict__["calls"] = calls
        return self

    def __copy__(self) -> Self:
        return _restored(type(self), astuple(self), self.findings, self.__dict__.get("calls"))

    def __reduce__(self) -> Any:
        return _restored, (type(self), astuple(self), self.findings, self.__dict__.get("calls"))


_S = TypeVar("_S", bound=Selection)


def _restored(
    cls: type[_S], members: tuple[Any, ...], findings: tuple[Finding, ...], calls: list[ToolCall] | None
) -> _S:
    restored = cls(*members)
    if findings:
        restored.with_findings(list(findings))
    return restored if calls is None else restored._with_calls(calls)


def select(response: Response, policy: Policy = "all", limit: int | None = None, choice: int | None = 0) -> Selection:
    """Select the client calls of a response by a policy.

    ``policy``: a key of `POLICIES`. ``limit``: the maximum number of kept calls; None for no limit. ``choice``: the
    index (`Choice.index`) of the choice to act on; None for the first one.

    Calls that cannot run are rejected under every policy. The runnable calls of other choices are dropped, and so are
    those beyond the policy or the limit. Each dropped or rejected call gets a finding; if calls were dropped, one
    warning is logged with the totals. Raises PolicyError for an unknown policy, a negative limit, a missing choice, or
    an argument that is not a Response. For a response without choices the selection is empty.
    """
    selection = selection_of(response, policy, limit, choice)
    if selection.dropped:
        _log(selection)
    return selection


def checked_response(response: Response) -> None:
    """Raise PolicyError if the argument is not a Response."""
    if not isinstance(response, Response):
        raise PolicyError(
            f"response must be a Response, got {type(response).__name__}",
            hint="pass the result of normalize() or finish()",
        )


def selection_of(
    response: Response, policy: Policy = "all", limit: int | None = None, choice: int | None = None
) -> Selection:
    """Select like `select`, without a warning in the log: for callers that report the findings."""
    checked_response(response)
    keep = POLICIES[policy_name(policy)]
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise PolicyError(f"limit must be >= 0 or None, got {limit!r}", hint="pass a number of calls or None")
    if choice is None:
        choice = response.choices[0].index if response.choices else 0
    if (choice or response.choices) and not any(c.index == choice for c in response.choices):
        raise PolicyError(f"the response has no choice {choice}", hint=f"it has {[c.index for c in response.choices]}")
    selection = Selection(policy, limit, choice, [], [], [])
    runnable: list[Ref] = []
    calls: list[ToolCall] = []
    for answer in response.choices:
        dead = cannot_run(response, answer)
        for index, block in enumerate(answer.blocks):
            if type(block) is not ToolCall:
                continue
            reason = dead or _fault(block)
            if reason:
                selection.rejected.append(Ref(index, answer.index, block.id, block.name, reason))
            elif answer.index != choice:
                why = f"choice {choice} was selected"
                selection.dropped.append(Ref(index, answer.index, block.id, block.name, why))
            else:
                runnable.append(Ref(index, answer.index, block.id, block.name))
                calls.append(block)
    count = keep(len(runnable), limit)
    selection.kept.extend(runnable[:count])
    selection._with_calls(calls[:count])
    if count < len(runnable):
        why = f"the limit is {limit}" if limit is not None and count == limit else f"policy {policy} keeps one call"
        selection.dropped.extend(Ref(r.block, r.choice, r.id, r.name, why) for r in runnable[count:])
    if selection.dropped or selection.rejected:
        _report(selection)
    return selection


def cannot_run(response: Response, choice: Choice) -> str | None:
    """Return why no call of a choice can run, or None."""
    if not response.complete:
        return "the stream ended before the answer was complete"
    if response.error is not None:
        return f"the response is an error ({response.error.type})"
    return DEAD_STOPS.get(choice.stop.reason)


def _fault(call: ToolCall) -> str | None:
    if call.status == "complete":
        return None
    if call.status == "truncated":
        return "its arguments were truncated"
    if call.kind == "unresolved":
        return "the response does not specify whether the provider executes it"
    if call.extra.get("status") == "failed":
        return "the provider marked it as failed"
    return "its arguments are not a JSON object" if call.name else "it has no name"


def _report(selection: Selection) -> None:
    findings = [
        finding(code, f"{ref.name} ({ref.id}): {ref.reason}", ref.choice, ref.block)
        for code, refs in (("dropped-call", selection.dropped), ("rejected-call", selection.rejected))
        for ref in refs
    ]
    selection.with_findings(findings)


def _log(selection: Selection) -> None:
    import logging  # imported here because it takes a third of this package's import time

    kept, dropped = selection.kept, selection.dropped
    total = len(kept) + len(dropped) + len(selection.rejected)
    logging.getLogger("toolparity").warning(
        "%d tool calls returned, processing %d, dropped %d under policy %s: processing %s, dropped %s",
        total,
        len(kept),
        len(dropped),
        selection.policy,
        _named(kept),
        _named(dropped),
        extra={
            "total": total,
            "processing": [{"id": r.id, "name": r.name} for r in kept],
            "dropped": [{"id": r.id, "name": r.name} for r in dropped],
        },
    )


def _named(refs: list[Ref]) -> str:
    return "[" + ", ".join(f"{ref.name} ({ref.id})" for ref in refs) + "]"
