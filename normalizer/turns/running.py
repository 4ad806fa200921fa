"""One call of one tool: its function run until it returns, its time is up, or nobody wants it any more."""

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

from ..model import ToolCall
from .threads import Threads
from .tools import Tool

_log = logging.getLogger("toolparity")


class CallContext(Struct, frozen=True):
    """What a tool may know of its call: `current_call.get()`, in its own thread too.

    ``key``: the same whenever this call is run, so that whoever is called next can tell a repetition (an idempotency
    key). ``progress(data)`` tells how far it is (`call_progress`).
    """

    call_id: str
    name: str
    key: str
    turn: str
    round: int
    progress: Callable[[Any], None]


current_call: ContextVar[CallContext] = ContextVar("toolparity_call")


class Run(Struct, frozen=True):
    """How it went: what was ``returned``, or ``raised``, or that it was given up: ``timeout`` or ``cancelled``."""

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
    """Run it. ``unwanted`` is set by whoever does not want it any more.

    What is given up is cancelled, and has ``grace`` seconds to clean up; a task that goes on all the same is left to
    itself, in ``left`` until it ends. Cancelling this does the same and raises CancelledError.
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
    if task.cancelled():  # by another one's doing, before it began
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
    """Never raises: SystemExit and KeyboardInterrupt would end the loop from within a task, and all other turns."""
    own = tool.function
    assert own is not None  # whoever has none is run elsewhere
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
    """Whether calling it gives something to be awaited, as far as it can be told without calling it."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _bound(tool: Tool, function: Callable[..., Any], call: ToolCall) -> Callable[[], Any]:
    """The function with the call's arguments: a copy, so that no tool changes the history."""
    if tool.kind == "custom" or call.kind == "custom":
        return functools.partial(function, call.arguments_text)
    arguments = copy.deepcopy(call.arguments or {})
    if tool.mapping:
        return functools.partial(function, arguments)
    return functools.partial(function, **arguments)
