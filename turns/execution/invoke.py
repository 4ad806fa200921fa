"""Invocation of a tool's function for one call, until it returns, times out, or is cancelled."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from toolparity.normalizer.model import ToolCall

from .threads import Threads
from .tool import Tool
from .typed.injection import CallContext, current_call

_log = logging.getLogger("toolparity")


class Invocation(Struct, frozen=True):
    """The end of an invocation: a value, an exception, or ``given_up`` as "timeout" or "cancelled"."""

    returned: Any = None
    raised: BaseException | None = None
    given_up: str | None = None


async def invoke(
    tool: Tool,
    call: ToolCall,
    context: CallContext,
    threads: Threads,
    cancellation: asyncio.Future[None],
    grace: float,
    abandoned: set[asyncio.Task[Any]],
    injected: Any = None,
) -> Invocation:
    """Invoke the tool's function for a call. Setting ``cancellation`` cancels the call. ``injected``: for parameters
    that are `Injected`.

    After a timeout or a cancellation the task is cancelled and has ``grace`` seconds to clean up. A task that does not
    end is abandoned, and stays in ``abandoned`` until it ends. Cancelling this coroutine does the same and raises
    CancelledError.
    """
    token = current_call.set(context)
    try:
        work = _call_function(tool, call, context, threads, injected)
        task = asyncio.create_task(work, name=f"tool {call.name} {call.id}")
    finally:
        current_call.reset(token)
    try:
        futures: set[asyncio.Future[Any]] = {task, cancellation}
        await asyncio.wait(futures, timeout=tool.timeout, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await _end(task, grace, abandoned)
        raise
    if task.cancelled():  # by other code, before it began
        return Invocation(given_up="cancelled")
    if task.done():
        return task.result()
    await _end(task, grace, abandoned)
    if cancellation.done():
        return Invocation(given_up="cancelled")
    _log.warning("tool %s timed out after %gs: call %s", call.name, tool.timeout, call.id)
    return Invocation(given_up="timeout")


async def _end(task: asyncio.Task[Invocation], grace: float, abandoned: set[asyncio.Task[Any]]) -> None:
    abandoned.add(task)
    task.add_done_callback(abandoned.discard)
    task.cancel()
    await asyncio.wait({task}, timeout=grace)


async def _call_function(
    tool: Tool, call: ToolCall, context: CallContext, threads: Threads, injected: Any
) -> Invocation:
    """Call the function. Never raises, because SystemExit or KeyboardInterrupt in a task would end the event loop."""
    function = tool.function
    assert function is not None  # calls of tools without a function are handed over
    try:
        bound = _bound(tool, function, call, context, injected)
        if is_async(function):
            return Invocation(await bound())
        returned, raised = await threads.run(bound)
        if raised is None and inspect.isawaitable(returned):
            returned = await returned
    except BaseException as error:
        raised = error
    if raised is None:
        return Invocation(returned)
    if not _is_cancelled_by_task(raised):  # its traceback would show only where the function waited
        _log.warning("tool %s failed: call %s", call.name, call.id, exc_info=raised)
    return Invocation(raised=BaseException.with_traceback(raised, None))


def _is_cancelled_by_task(error: BaseException) -> bool:
    """Return whether the error is the cancellation of the running task, as after a timeout."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether it is a coroutine function, a partial of one, or an object whose ``__call__`` is one."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _bound(
    tool: Tool, function: Callable[..., Any], call: ToolCall, context: CallContext, injected: Any
) -> Callable[[], Any]:
    """Bind a copy of the call's arguments to the function, so that the tool cannot change the history.

    A function with typed parameters gets them converted, and the objects that it declares as injections.
    """
    if tool.kind == "custom" or call.kind == "custom":
        return functools.partial(function, call.arguments_text)
    if tool.typed is not None:
        tool.typed.injections.check(tool.name, injected)
        values = tool.typed.convert(call.arguments or {})
        return functools.partial(function, **values, **tool.typed.injections.values(injected, context))
    arguments = copy.deepcopy(call.arguments or {})
    if tool.mapping:
        return functools.partial(function, arguments)
    return functools.partial(function, **arguments)
