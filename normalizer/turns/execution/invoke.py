"""Invocation of a tool's function for one call, until it returns, times out, or is cancelled."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from ...model import ToolCall
from .threads import Threads
from .tools import Tool

_log = logging.getLogger("toolparity")


class CallContext(Struct, frozen=True):
    """Information for a tool about its call. Get it with `current_call.get()`, also in the tool's thread.

    ``key``: the same each time this call runs, for use as an idempotency key. ``progress(data)`` reports progress
    (`call_progress`).
    """

    call_id: str
    name: str
    key: str
    turn: str
    round: int
    progress: Callable[[Any], None]


current_call: ContextVar[CallContext] = ContextVar("toolparity_call")


class Run(Struct, frozen=True):
    """The end of an invocation: a value, an exception, or ``given_up`` as "timeout" or "cancelled"."""

    returned: Any = None
    raised: BaseException | None = None
    given_up: str | None = None


async def run(
    tool: Tool,
    call: ToolCall,
    context: CallContext,
    threads: Threads,
    unwanted: asyncio.Future[None],
    grace: float,
    left: set[asyncio.Task[Any]],
) -> Run:
    """Run the tool's function for a call. Setting ``unwanted`` cancels the call.

    After a timeout or a cancellation the task is cancelled and has ``grace`` seconds to clean up. A task that does not
    end is abandoned, and stays in ``left`` until it ends. Cancelling this coroutine does the same and raises
    CancelledError.
    """
    token = current_call.set(context)
    try:
        task = asyncio.create_task(_invoke(tool, call, threads), name=f"tool {call.name} {call.id}")
    finally:
        current_call.reset(token)
    try:
        waited: set[asyncio.Future[Any]] = {task, unwanted}
        await asyncio.wait(waited, timeout=tool.timeout, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await _end(task, grace, left)
        raise
    if task.cancelled():  # by other code, before it began
        return Run(given_up="cancelled")
    if task.done():
        return task.result()
    await _end(task, grace, left)
    return Run(given_up="cancelled" if unwanted.done() else "timeout")


async def _end(task: asyncio.Task[Run], grace: float, left: set[asyncio.Task[Any]]) -> None:
    left.add(task)
    task.add_done_callback(left.discard)
    task.cancel()
    await asyncio.wait({task}, timeout=grace)


async def _invoke(tool: Tool, call: ToolCall, threads: Threads) -> Run:
    """Call the function. Never raises, because SystemExit or KeyboardInterrupt in a task would end the event loop."""
    own = tool.function
    assert own is not None  # calls of tools without a function are handed over
    try:
        function = _bound(tool, own, call)
        if is_async(own):
            return Run(await function())
        returned, raised = await threads.run(function)
        if raised is None and inspect.isawaitable(returned):
            returned = await returned
    except BaseException as error:
        raised = error
    if raised is None:
        return Run(returned)
    _log.warning("tool %s failed: call %s", call.name, call.id, exc_info=raised)
    return Run(raised=BaseException.with_traceback(raised, None))


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether it is a coroutine function, a partial of one, or an object whose ``__call__`` is one."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _bound(tool: Tool, function: Callable[..., Any], call: ToolCall) -> Callable[[], Any]:
    """Bind a copy of the call's arguments to the function, so that the tool cannot change the history."""
    if tool.kind == "custom" or call.kind == "custom":
        return functools.partial(function, call.arguments_text)
    arguments = copy.deepcopy(call.arguments or {})
    if tool.mapping:
        return functools.partial(function, arguments)
    return functools.partial(function, **arguments)
