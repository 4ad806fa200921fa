"""Whose cancellation it is, and which exceptions are failures of the code that raised them."""

from __future__ import annotations

import asyncio

#: What ends the program, whichever code raises it. Those of a tool are failures of the tool all the same.
EXITS = (KeyboardInterrupt, SystemExit)


def is_wanted() -> bool:
    """Whether the running task itself is being cancelled. Else a CancelledError is a failure like any other."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def is_failure(error: BaseException) -> bool:
    """Whether this is a failure like any other: neither the end of the program nor of the running task."""
    if isinstance(error, asyncio.CancelledError):
        return not is_wanted()
    return not isinstance(error, EXITS)
