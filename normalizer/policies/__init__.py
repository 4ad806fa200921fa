"""Policies: which client calls of a response are acted on.

Each policy is a module with ``keep(runnable, limit) -> int``: how many of the calls that can run, in order, are kept.
What a policy executes and how is for whoever acts on the selection (`normalizer.turns`). Adding one is a module
beside these and a line in the table.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..errors import PolicyError
from ..findings import finding
from ..model import DEAD_STOPS, Choice, Found, Response, ToolCall
from . import all_calls, batch, first

POLICIES: dict[str, Any] = {"first": first, "all": all_calls, "batch": batch}


class Ref(Struct, frozen=True, gc=False):
    """A call by its place: ``block`` in ``choice``; ``reason`` where it was dropped or rejected."""

    block: int
    choice: int
    id: str
    name: str
    reason: str | None = None


class Selection(Found, frozen=True, dict=True):
    """What a policy made of a response: every client call on the wire is in exactly one of the three lists.

    ``findings``: one `dropped-call` or `rejected-call` for each call that is not kept.
    """

    policy: str
    limit: int | None
    choice: int
    kept: list[Ref]
    dropped: list[Ref]
    rejected: list[Ref]


def select(response: Response, policy: str = "all", limit: int | None = None, choice: int = 0) -> Selection:
    """Apply a policy. ``choice`` is the index (`Choice.index`) of the answer to act on.

    Calls that cannot run are rejected, whatever the policy; the calls of other choices are dropped; ``limit`` caps the
    kept ones and drops the rest. Each dropped call is a finding, and one log warning tells total, processing and
    dropped. Raises PolicyError for an unknown policy, a negative limit, or a choice that is not there (of a response
    without any, nothing is selected).
    """
    if not isinstance(response, Response):
        raise PolicyError(f"a {type(response).__name__} is no Response", hint="give what normalize() or finish() gave")
    rule = POLICIES.get(policy) if isinstance(policy, str) else None
    if rule is None:
        raise PolicyError(f"no policy is called {policy!r}", hint=f"one of {', '.join(POLICIES)}")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise PolicyError(f"a limit of {limit!r}", hint="give a number of calls, 0 or more, or None")
    if (choice or response.choices) and not any(c.index == choice for c in response.choices):
        raise PolicyError(f"the response has no choice {choice}", hint=f"it has {[c.index for c in response.choices]}")
    selection = Selection(policy, limit, choice, [], [], [])
    runnable: list[Ref] = []
    for answer in response.choices:
        dead = _dead(response, answer)
        for index, block in enumerate(answer.blocks):
            if type(block) is not ToolCall:
                continue
            reason = dead or _cannot_run(block)
            if reason:
                selection.rejected.append(Ref(index, answer.index, block.id, block.name, reason))
            elif answer.index != choice:
                why = f"choice {choice} was selected"
                selection.dropped.append(Ref(index, answer.index, block.id, block.name, why))
            else:
                runnable.append(Ref(index, answer.index, block.id, block.name))
    count = rule.keep(len(runnable), limit)
    selection.kept.extend(runnable[:count])
    why = f"the limit is {limit}" if limit is not None and count == limit else f"policy {policy} keeps one call"
    selection.dropped.extend(Ref(r.block, r.choice, r.id, r.name, why) for r in runnable[count:])
    if selection.dropped or selection.rejected:
        _report(selection)
    return selection


def _dead(response: Response, choice: Choice) -> str | None:
    if not response.complete:
        return "the stream ended before the answer was complete"
    if response.error is not None:
        return f"the response is an error ({response.error.type})"
    return DEAD_STOPS.get(choice.stop.reason)


def _cannot_run(call: ToolCall) -> str | None:
    if call.status == "complete":
        return None
    if call.status == "truncated":
        return "its arguments were cut"
    if call.kind == "unresolved":
        return "nobody says who executes it"
    if call.extra.get("status") == "failed":
        return "the provider says that it failed"
    return "its arguments are no JSON object" if call.name else "it has no name"


def _report(selection: Selection) -> None:
    kept, dropped, rejected = selection.kept, selection.dropped, selection.rejected
    findings = [
        finding(code, f"{ref.name} ({ref.id}): {ref.reason}", ref.choice, ref.block)
        for code, refs in (("dropped-call", dropped), ("rejected-call", rejected))
        for ref in refs
    ]
    selection.with_findings(findings)
    if dropped:
        total = len(kept) + len(dropped) + len(rejected)
        import logging  # a third of what importing this package would cost

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
