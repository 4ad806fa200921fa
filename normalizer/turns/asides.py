"""What people and models say beside a turn: who allows a call, and what the user is told meanwhile.

What fails here fails nothing else: an approval that cannot be had is none, and an acknowledgement is left out.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ..model import ApprovalRequest, ToolCall
from .cancelling import is_failure
from .happenings import Decided
from .tools import Tool

#: Yes, no, no with a reason, or null: later.
Verdict = bool | str | None
Approver = Callable[[ToolCall | ApprovalRequest], Verdict | Awaitable[Verdict]]
#: What to tell the user while these calls run, null for nothing. A coroutine is awaited beside the tools.
Acknowledger = Callable[[Sequence[ToolCall], Mapping[str, Tool]], str | Awaitable[str | None] | None]

_log = logging.getLogger("toolparity")


async def decide(approve: Approver, asked: ToolCall | ApprovalRequest) -> Decided | None:
    """The decision; null for later. An approver that fails allows nothing."""
    try:
        verdict = approve(asked)
        if inspect.isawaitable(verdict):
            verdict = await verdict
    except BaseException as error:
        if not is_failure(error):
            raise
        _log.warning("the approval of call %s failed", asked.id, exc_info=error)
        verdict = f"the approval failed: {type(error).__name__}"
    if verdict is None:
        return None
    return Decided(asked.id, verdict is True, verdict if isinstance(verdict, str) else None)


def acknowledgement(
    acknowledge: Acknowledger, calls: Sequence[ToolCall], tools: Mapping[str, Tool]
) -> str | Awaitable[str | None] | None:
    """What there is to say at once, or will be; null for nothing."""
    try:
        return acknowledge(calls, tools)
    except BaseException as error:
        if not is_failure(error):
            raise
        _log.warning("the acknowledgement failed", exc_info=error)
        return None


async def written(text: Awaitable[str | None]) -> str | None:
    """What somebody takes time to write; null for nothing."""
    try:
        return await text
    except BaseException as error:
        if not is_failure(error):
            raise
        _log.warning("the acknowledgement failed", exc_info=error)
        return None
