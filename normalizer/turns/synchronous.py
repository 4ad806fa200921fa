"""Running a coroutine from code without an event loop, even if a tool never ends.

`asyncio.run` waits at its end for every task, also for one that ignores its cancellation, and for every thread of
`asyncio.to_thread`. So a hanging tool, which the turn has abandoned, would keep the program waiting forever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_log = logging.getLogger("toolparity")
_T = TypeVar("_T")
#: Seconds that tasks have to end after the coroutine.
_PATIENCE = 1.0


def run_until_done(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in a new event loop and return its value. Tasks and threads that do not end are left behind."""
    with asyncio.Runner() as runner:
        try:
            return runner.run(work)
        finally:
            runner.run(_leave_behind())


async def _leave_behind() -> None:
    """Cancel all tasks, and hide from the event loop what does not end, so that closing the loop does not wait."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        _, hanging = await asyncio.wait(tasks, timeout=_PATIENCE)
        for task in hanging:
            _log.warning("a task ignored its cancellation and is left behind: %s", task.get_name())
            asyncio._unregister_task(task)  # documented for libraries: "Extending asyncio"
    # Closing the loop joins the threads of its executor. The threads of the executor that this replaces end by
    # themselves when they are done.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
