"""Classification of exceptions: cancellation of the running task, end of the program, or failure of the called code."""

from __future__ import annotations

import asyncio

#: Exceptions that end the program. If a tool raises one, it counts as a failure of the tool.
EXITS = (KeyboardInterrupt, SystemExit)


def is_wanted() -> bool:
    """Return whether the running task itself is being cancelled. If not, a CancelledError is an ordinary failure."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def is_failure(error: BaseException) -> bool:
    """Return whether the error is an ordinary failure: it ends neither the program nor the running task."""
    if isinstance(error, asyncio.CancelledError):
        return not is_wanted()
    return not isinstance(error, EXITS)
