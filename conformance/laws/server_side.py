"""The law `server-side`: the client does not run what the provider ran."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases.case import Evidence
from .common import Failure, call_list, match_calls

SENTENCE = "A server call never reaches the caller's tools, whatever its name or item type."
LEVEL = "must"
CLAIMS: tuple[str, ...] = ()


def applies(evidence: Evidence) -> bool:
    """Applies if there are server calls or approval requests."""
    return any(round.expected.servers or round.expected.approvals for round in evidence.rounds)


def check(evidence: Evidence) -> Iterator[Failure]:
    """Check that only client calls are executed.

    Blocks, if claimed, must include the server calls and the approval requests.
    """
    for round in evidence.rounds:
        if not (round.expected.servers or round.expected.approvals):
            continue
        _, strangers = match_calls(round.expected.calls, round.answer.acted)
        if strangers:
            yield Failure(
                round.number,
                f"{call_list(strangers)} was run by the provider and would be run again by the caller",
                call_list(round.expected.calls),
                call_list(round.answer.acted),
            )
        if "blocks" in evidence.subject.claims and round.answer.blocks is not None:
            told = [block["tool"] for block in round.answer.blocks if block["type"] == "server_tool_call"]
            if told != round.expected.servers:
                yield Failure(round.number, "the server's own calls are not told", round.expected.servers, told)
            waiting = [block["name"] for block in round.answer.blocks if block["type"] == "approval_request"]
            if waiting != round.expected.approvals:
                yield Failure(round.number, "what waits for approval is not told", round.expected.approvals, waiting)
