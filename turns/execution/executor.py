"""Execution of the calls of a selection in parallel: exactly one result each, in call order.

    executor = Executor(tools)
    finished = await executor.run(selection.calls)
    messages = answer(response, selection, [call.result for call in finished])

A failing, hanging or cancelled call does not affect the results of the other calls. To run calls in sequence, pass them
one at a time, as a `Turn` does under the policy `batch`.

The module uses asyncio instead of anyio for two reasons. It must abandon a task that does not end when it is cancelled,
and a structured task group would wait for that task forever. And xAI's SDK needs grpc.aio, which runs on asyncio only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from toolparity.normalizer.conversation import ToolResult
from toolparity.normalizer.model import ToolCall

from ..machine.state import CallOutcome, key_of
from .barrier import Barrier
from .exceptions import is_failure
from .invoke import invoke, is_async
from .signatures import misfit
from .threads import Threads
from .tool import Tool
from .tool_results import MOST, failure, rendered
from .typed.injection import CallContext
from .typed.parameters import ArgumentsDoNotFit
from .validation import problems

#: Result texts of calls that were cancelled.
CANCELLED = "This call was cancelled while it ran."
NOT_STARTED = "This call was not executed: it was cancelled before it began."


class FinishedCall(Struct, frozen=True):
    """A call with its result, and how it came to it."""

    call: ToolCall
    result: ToolResult
    outcome: CallOutcome


#: Hooks of `Executor.run`: before a call starts (False prevents it), when it has its result, and on its progress.
OnStart = Callable[[ToolCall], Awaitable[bool]]
OnFinish = Callable[[FinishedCall], Awaitable[None]]
OnProgress = Callable[[ToolCall, Any], None]
#: Called just before a call starts: returns None to let it run, or the result that replaces the run.
Admit = Callable[[ToolCall], FinishedCall | None]
#: Wraps the run of a call: ``around(call, run)`` may call ``run`` once, never, or with another call.
RunCall = Callable[[ToolCall], Awaitable[FinishedCall]]
Around = Callable[[ToolCall, RunCall], Awaitable[FinishedCall]]


class Elsewhere(Protocol):
    """Decides on the calls of tools without a function, which run elsewhere."""

    def may_hand_over(self, call: ToolCall) -> bool:
        """Return whether a call is handed over now. If not, it goes through ``admit`` and ``around`` like others."""

    def ended(self, finished: FinishedCall) -> bool:
        """Take note of the result that a call came to elsewhere. Return whether a substitute must run in its place."""

    async def replaced(self, call: ToolCall, first: FinishedCall, run: RunCall) -> FinishedCall:
        """Return the result of a substitute of a call that came to ``first``. ``run`` runs it."""


class Executor:
    """Runs calls of these tools. Several turns of one event loop can share an executor, and with it the threads.

    A call of a tool without a function gets the result "not executed", because only a `Turn` can hand it over.
    ``most``: maximum characters of a result. ``grace``: seconds to clean up for a call that is cancelled or timed
    out. ``admit`` can prevent a call from starting (limits, circuit breakers). ``around`` wraps each call that starts
    (substitutes). ``elsewhere`` does both for calls that a turn hands over. ``inject``: the object for `Injected`
    parameters.

    Raises InvalidTool if the function of a tool requires another ``inject``.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        *,
        most: int = MOST,
        grace: float = 1.0,
        threads: Threads | None = None,
        admit: Admit | None = None,
        around: Around | None = None,
        elsewhere: Elsewhere | None = None,
        inject: Any = None,
    ) -> None:
        for tool in tools.values():
            if tool.typed is not None:
                tool.typed.injections.check(tool.name, inject)
        self.tools = tools
        self.grace = grace
        self.threads = threads if threads is not None else Threads()
        self.admit = admit
        self.around = around
        self.elsewhere = elsewhere
        self.inject = inject
        self._most = most
        self._abandoned: set[asyncio.Task[Any]] = set()

    @property
    def abandoned(self) -> int:
        """The number of threads and tasks that were abandoned and still run."""
        return self.threads.abandoned + len(self._abandoned)

    async def run(
        self,
        calls: Sequence[ToolCall],
        *,
        turn: str = "",
        round: int = 0,
        barrier: Barrier | None = None,
        cancellations: Mapping[str, asyncio.Future[None]] | None = None,
        on_start: OnStart | None = None,
        on_finish: OnFinish | None = None,
        on_progress: OnProgress | None = None,
        watch: Around | None = None,
        supplied: Mapping[str, FinishedCall] | None = None,
    ) -> list[FinishedCall]:
        """Run the calls in parallel, except for tools that are not ``parallel``, and return their results in order.

        ``turn`` and ``round`` are part of the permanent key of each call. ``barrier``: shared by runs that must not run
        conflicting calls. ``cancellations``: futures by call id; setting one cancels its call. ``watch``: wraps each
        run of a tool, also one in place of another. ``supplied``: by call id, the results of calls that ran elsewhere,
        in whose place substitutes run. Cancelling this coroutine cancels every call.
        """
        shared = barrier or Barrier(), cancellations or {}, supplied or {}
        return await _Run(self, turn, round, *shared, on_start, on_finish, on_progress, watch).all(calls)

    async def call(self, call: ToolCall, context: CallContext, cancellation: asyncio.Future[None]) -> FinishedCall:
        """Run one call now, without waiting for a barrier or a thread slot. Return a result even if it cannot run."""
        refused = self.refused(call)
        if refused is not None:
            return refused
        tool = self.tools[call.name]
        if tool.function is None:
            return _elsewhere(call)
        outcome = await invoke(
            tool, call, context, self.threads, cancellation, self.grace, self._abandoned, self.inject
        )
        if outcome.given_up == "timeout":
            return _failed(call, f"Tool execution timed out after {tool.timeout:g}s.", "timeout")
        if outcome.given_up is not None:
            return _failed(call, CANCELLED, "cancelled")
        return self.finished(call, outcome.returned if outcome.raised is None else outcome.raised)

    def finished(self, call: ToolCall, outcome: Any) -> FinishedCall:
        """Render the value that a tool returned, or the exception that it raised, as the result of the call."""
        return FinishedCall(call, *rendered(call, outcome, self._most))

    def refused(self, call: ToolCall) -> FinishedCall | None:
        """The error result of a call that cannot run: unknown tool, or arguments that do not fit. None if it can."""
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools) or "none"
            return _failed(call, f"No tool is called {call.name!r}. Known tools: {known}.", "unknown_tool")
        if call.status != "complete" or (call.arguments is None and call.kind == "function"):
            return _failed(call, f"The arguments of {call.name} are not a JSON object.", "invalid_arguments")
        if call.arguments is None or tool.kind != "function":
            return None
        misfits = problems(tool.parameters, call.arguments) if tool.parameters is not None else []
        subject = "schema"
        if not misfits and tool.function is not None and not tool.mapping and call.kind != "custom":
            misfits, subject = _misfits(tool, tool.function, call.arguments)
        if not misfits:
            return None
        text = f"The arguments of {call.name} do not fit its {subject}: {'; '.join(misfits)}"
        return _failed(call, text, "invalid_arguments", self._most)


class _Run(Struct, frozen=True):
    """One `Executor.run`. ``started``: the ids of the calls that started."""

    executor: Executor
    turn: str
    round: int
    barrier: Barrier
    cancellations: Mapping[str, asyncio.Future[None]]
    supplied: Mapping[str, FinishedCall]
    on_start: OnStart | None
    on_finish: OnFinish | None
    on_progress: OnProgress | None
    watch: Around | None
    started: set[str] = field(default_factory=set)

    async def all(self, calls: Sequence[ToolCall]) -> list[FinishedCall]:
        """Run the calls in parallel. An error that no tool raised ends the other calls and is raised.

        A call whose task is cancelled by other code still gets a result, and the other calls continue. Each task is
        cancelled at most once, because a second cancellation would interrupt the tool's clean-up.
        """
        tasks = {asyncio.create_task(self._execute(call)): call for call in calls}
        finished: dict[asyncio.Task[FinishedCall], FinishedCall] = {}
        pending = set(tasks)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    finished[task] = await self._cancelled(tasks[task]) if task.cancelled() else task.result()
        except BaseException:
            await _end_all(tasks)
            raise
        return [finished[task] for task in tasks]

    async def _execute(self, call: ToolCall) -> FinishedCall:
        """Return the one result of the call, and run it if it may run."""
        executor, is_supplied = self.executor, call.id in self.supplied
        refused = executor.refused(call) if not is_supplied else None
        if refused is not None:
            return await self._finish(refused)
        tool = executor.tools[call.name]
        if tool.function is None and executor.elsewhere is None:
            return await self._finish(self._not_admitted(call) or _elsewhere(call))
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.barrier.hold(alone=not tool.parallel))
            if self._blocks(call):
                await stack.enter_async_context(executor.threads)
            not_admitted = self._not_admitted(call) if not is_supplied else None
            if not_admitted is not None:
                return await self._finish(not_admitted)
            if self.on_start is not None and not await self.on_start(call):
                return _failed(call, "This call was not executed.", "skipped")
            self.started.add(call.id)
            return await self._finish(await self._run(call))

    async def _run(self, call: ToolCall) -> FinishedCall:
        loop = asyncio.get_running_loop()
        cancellation = self.cancellations.get(call.id) or loop.create_future()
        key = key_of(self.turn, self.round, call)

        def report(data: Any) -> None:
            if self.on_progress is not None:
                loop.call_soon_threadsafe(self.on_progress, call, data)

        async def invoked(actual: ToolCall) -> FinishedCall:
            context = CallContext(actual.id, actual.name, key, self.turn, self.round, report)
            return await self.executor.call(actual, context, cancellation)

        async def run(actual: ToolCall) -> FinishedCall:
            async with AsyncExitStack() as stack:
                if self._blocks(actual) and not self._blocks(call):  # a blocking substitute needs a slot, too
                    await stack.enter_async_context(self.executor.threads)
                return await (invoked(actual) if self.watch is None else self.watch(actual, invoked))

        first, around, elsewhere = self.supplied.get(call.id), self.executor.around, self.executor.elsewhere
        if first is None and around is None:
            return await run(call)
        try:
            if first is not None and elsewhere is not None:
                finished = await elsewhere.replaced(call, first, run)
            else:
                finished = await (around(call, run) if around is not None else run(call))
        except BaseException as error:
            if not is_failure(error):
                raise
            return self.executor.finished(call, error)
        result = replace(finished.result, call_id=call.id, name=call.name, kind=call.kind)
        return FinishedCall(call, result, finished.outcome)

    def _not_admitted(self, call: ToolCall) -> FinishedCall | None:
        return self.executor.admit(call) if self.executor.admit is not None else None

    async def _cancelled(self, call: ToolCall) -> FinishedCall:
        """Finish a call whose task was cancelled by other code."""
        started = call.id in self.started
        return await self._finish(
            _failed(call, CANCELLED, "cancelled") if started else _failed(call, NOT_STARTED, "skipped")
        )

    async def _finish(self, finished: FinishedCall) -> FinishedCall:
        if self.on_finish is not None:
            await self.on_finish(finished)
        return finished

    def _blocks(self, call: ToolCall) -> bool:
        tool = self.executor.tools.get(call.name)
        return tool is not None and tool.function is not None and not is_async(tool.function)


def _misfits(tool: Tool, function: Callable[..., Any], arguments: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return why the function cannot take arguments that its schema allows, and what they do not fit."""
    if tool.typed is None:
        unfit = misfit(function, arguments)  # the schema may allow undeclared properties
        return ([unfit] if unfit is not None else []), "function"
    try:
        tool.typed.convert(arguments)
    except ArgumentsDoNotFit as error:
        return error.problems, "types"
    return [], "types"


def _failed(call: ToolCall, text: str, outcome: CallOutcome, most: int = MOST) -> FinishedCall:
    return FinishedCall(call, failure(call, text, most), outcome)


def _elsewhere(call: ToolCall) -> FinishedCall:
    return _failed(call, f"This call was not executed: {call.name} is run elsewhere.", "skipped")


async def _end_all(tasks: Iterable[asyncio.Task[FinishedCall]]) -> None:
    """Cancel each running task once, and wait until all have cleaned up."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # mark it as retrieved, or asyncio logs it
