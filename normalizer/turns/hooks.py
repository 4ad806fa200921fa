"""Calls of the approval and acknowledgement hooks of a turn.

An error in a hook does not fail the turn: a failed approver denies the call, and a failed acknowledgement is omitted.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ..model import ApprovalRequest, ToolCall
from .execution.exceptions import is_failure
from .execution.tools import Tool
from .machine.inputs import CallDecided

#: True approves, False denies, a string denies with this reason, None postpones the decision.
Verdict = bool | str | None
Approver = Callable[[ToolCall | ApprovalRequest], Verdict | Awaitable[Verdict]]
#: Returns the text for the user while these calls run, None for no text. An awaitable is awaited while the tools run.
Acknowledger = Callable[[Sequence[ToolCall], Mapping[str, Tool]], str | Awaitable[str | None] | None]

_log = logging.getLogger("toolparity")


async def decide(approve: Approver, asked: ToolCall | ApprovalRequest) -> CallDecided | None:
    """Return the approver's decision, or None if it is postponed. An approver that raises denies the call."""
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
    return CallDecided(asked.id, verdict is True, verdict if isinstance(verdict, str) else None)


def acknowledgement(
    acknowledge: Acknowledger, calls: Sequence[ToolCall], tools: Mapping[str, Tool]
) -> str | Awaitable[str | None] | None:
    """Return the text, an awaitable of it, or None if there is none or the hook raises."""
    try:
        return acknowledge(calls, tools)
    except BaseException as error:
        if not is_failure(error):
            raise
        _log.warning("the acknowledgement failed", exc_info=error)
        return None


async def written(text: Awaitable[str | None]) -> str | None:
    """Await the text of an acknowledgement. None if there is none or the awaitable raises."""
    try:
        return await text
    except BaseException as error:
        if not is_failure(error):
            raise
        _log.warning("the acknowledgement failed", exc_info=error)
        return None
