"""Running a coroutine from code without an event loop, even if a tool never ends.

`asyncio.run` waits at its end for every task, also for one that ignores its cancellation, and for every thread of
`asyncio.to_thread`. So a hanging tool, which the turn has abandoned, would keep the program waiting forever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

from .errors import TurnMisused

_log = logging.getLogger("toolparity")
_T = TypeVar("_T")
#: Seconds that tasks have to end after the coroutine.
_PATIENCE = 1.0


#: What `run_until_done` closes in the event loop of the current run. Other event loops have no such list.
_closed_at_end: ContextVar[list[Callable[[], Awaitable[object]]]] = ContextVar("_closed_at_end")


def close_at_end(close: Callable[[], Awaitable[object]]) -> None:
    """Close something that belongs to the running event loop, if that is one of `run_until_done`, before it ends."""
    closed = _closed_at_end.get(None)
    if closed is not None:
        closed.append(close)


def run_until_done(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in a new event loop and return its value. Tasks and threads that do not end are left behind.

    Raises TurnMisused inside a running event loop.
    """
    if asyncio._get_running_loop() is not None:
        work.close()
        raise TurnMisused("an event loop is running already, as in a notebook", hint="await run() instead")
    closed: list[Callable[[], Awaitable[object]]] = []
    token = _closed_at_end.set(closed)
    try:
        with asyncio.Runner() as runner:
            try:
                return runner.run(work)
            finally:
                runner.run(_leave_behind(closed))
    finally:
        _closed_at_end.reset(token)


async def _leave_behind(closed: list[Callable[[], Awaitable[object]]]) -> None:
    """Cancel all tasks, and hide from the event loop what does not end, so that closing the loop does not wait."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        _, hanging = await asyncio.wait(tasks, timeout=_PATIENCE)
        for task in hanging:
            _log.warning("a task ignored its cancellation and is left behind: %s", task.get_name())
            asyncio._unregister_task(task)  # documented for libraries: "Extending asyncio"
    for close in closed:
        try:
            await asyncio.wait_for(close(), _PATIENCE)
        except Exception as error:  # the run has its result already
            _log.warning("a client was not closed at the end of a run: %s", type(error).__name__)
    # Closing the loop joins the threads of its executor. The threads of the executor that this replaces end by
    # themselves when they are done.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
