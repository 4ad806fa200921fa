"""Execution of the calls of a selection, in parallel or in sequence: exactly one result each, in call order.

    executor = Executor(tools)
    ran = await executor.run(kept(response, selection), policy=selection.policy)
    turns = answer(response, selection, [one.result for one in ran])

A failing, hanging or cancelled call does not affect the results of the other calls. The module uses asyncio instead of
anyio for two reasons. It must abandon a task that does not end when it is cancelled, and a structured task group would
wait for that task forever. And xAI's SDK needs grpc.aio, which runs on asyncio only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...conversation import ToolResult
from ...model import Policy, Response, ToolCall
from ...policies import Selection
from ..machine.state import CallOutcome, OnError, key_of
from .barrier import Gate
from .cancellation import is_failure
from .invoke import CallContext, is_async, run
from .signatures import misfit
from .threads import Threads
from .tool_results import MOST, failure, rendered
from .tools import Tool
from .validation import problems

#: The result text of a call that was cancelled while it ran.
CANCELLED = "This call was cancelled while it ran."
_UNKNOWN_OUTCOME = "This call was started before, and whether it took effect is not known. It was not run again."


class Ran(Struct, frozen=True):
    """A call with its result, and how it came to it."""

    call: ToolCall
    result: ToolResult
    outcome: CallOutcome


#: Hooks of `Executor.run`: before a call starts (False prevents it), when it has its result, and on its progress.
Starting = Callable[[ToolCall], Awaitable[bool]]
Finished = Callable[[Ran], Awaitable[None]]
Progress = Callable[[ToolCall, Any], None]
#: Called just before a call starts: returns None to let it run, or the result that replaces the run.
Admit = Callable[[ToolCall], Ran | None]
#: Wraps the run of a call: ``around(call, run)`` may call ``run`` once, never, or with another call.
Run = Callable[[ToolCall], Awaitable[Ran]]
Around = Callable[[ToolCall, Run], Awaitable[Ran]]
#: Call key (`state.key_of`) -> the result, or None for a call that was started and has no result.
Ledger = MutableMapping[str, ToolResult | None]


class Executor:
    """Runs calls of these tools. Several turns of one event loop can share an executor, and with it the threads.

    A call of a tool without a function gets the result "not executed", because only a `Turn` can hand it over.
    ``most``: maximum characters of a result. ``grace``: seconds to clean up for a call that is cancelled or timed
    out. ``admit`` can prevent a call from starting (limits, circuit breakers). ``around`` wraps each call that starts
    (substitutes).
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
    ) -> None:
        self._tools = tools
        self._most = most
        self._grace = grace
        self._threads = threads if threads is not None else Threads()
        self._admit = admit
        self._around = around
        self._left: set[asyncio.Task[Any]] = set()

    @property
    def grace(self) -> float:
        """Seconds that a call has to clean up after a cancellation or timeout."""
        return self._grace

    @property
    def abandoned(self) -> int:
        """The number of threads and tasks that were abandoned and still run."""
        return self._threads.abandoned + len(self._left)

    async def run(
        self,
        calls: Sequence[ToolCall],
        *,
        policy: Policy = "all",
        on_error: OnError = "continue",
        turn: str = "",
        round: int = 0,
        gate: Gate | None = None,
        ledger: Ledger | None = None,
        unwanted: Mapping[str, asyncio.Future[None]] | None = None,
        starting: Starting | None = None,
        finished: Finished | None = None,
        progress: Progress | None = None,
    ) -> list[Ran]:
        """Run the calls and return their results in call order.

        The policy `batch` runs them in sequence, and with ``on_error`` "stop" skips the calls after a failed one. Every
        other policy runs them in parallel, except for tools that are not ``parallel``. ``gate``: shared by runs that
        must respect each other's barriers. ``turn`` and ``round`` are part of the keys in the ``ledger``. A call in
        the ledger is not run again, unless it has no result there and its tool is idempotent. ``unwanted``: futures by
        call id; setting one cancels its call. Cancelling this coroutine cancels every call.
        """
        one = _One(self, turn, round, gate or Gate(), ledger, unwanted or {}, starting, finished, progress)
        if policy != "batch":
            return await one.all(calls)
        ran: list[Ran] = []
        failed: Ran | None = None
        for call in calls:
            if failed is not None and on_error == "stop":
                before = f"{failed.call.name} ({failed.call.id})"
                skipped = Ran(
                    call, failure(call, f"This call was not executed: {before}, before it, failed."), "skipped"
                )
                ran.append(await one.told(skipped))
                continue
            ran += await one.all([call])
            if ran[-1].result.is_error and failed is None:
                failed = ran[-1]
        return ran

    async def call(self, call: ToolCall, context: CallContext, unwanted: asyncio.Future[None]) -> Ran:
        """Run one call now, without waiting for a barrier or a thread slot. Return a result even if it cannot run."""
        tool = self._tools.get(call.name)
        refused = self.refused(call)
        if refused is not None or tool is None:
            return refused or self._unknown(call)
        if tool.function is None:
            return self._elsewhere(call)
        outcome = await run(tool, call, context, self._threads, unwanted, self._grace, self._left)
        if outcome.given_up == "timeout":
            return Ran(call, failure(call, f"Tool execution timed out after {_seconds(tool.timeout)}."), "timeout")
        if outcome.given_up is not None:
            return Ran(call, failure(call, CANCELLED), "cancelled")
        return self.ran(call, outcome.returned if outcome.raised is None else outcome.raised)

    def ran(self, call: ToolCall, outcome: Any) -> Ran:
        """Render the value that a tool returned, or the exception that it raised, as the result of the call."""
        result, how = rendered(call, outcome, self._most)
        return Ran(call, result, how)

    def refused(self, call: ToolCall) -> Ran | None:
        """The error result of a call that cannot run: unknown tool, or arguments that do not fit. None if it can."""
        tool = self._tools.get(call.name)
        if tool is None:
            return self._unknown(call)
        if call.status != "complete" or (call.arguments is None and call.kind == "function"):
            return Ran(call, failure(call, f"The arguments of {call.name} are no JSON object."), "invalid_arguments")
        if call.arguments is None or tool.kind != "function":
            return None
        wrong = problems(tool.parameters, call.arguments) if tool.parameters is not None else []
        said = f"The arguments of {call.name} do not fit its schema: {'; '.join(wrong)}" if wrong else None
        if said is None and tool.function is not None and not tool.mapping and call.kind != "custom":
            unfit = misfit(tool.function, call.arguments)  # the schema may allow undeclared properties
            said = f"The arguments of {call.name} do not fit its function: {unfit}" if unfit is not None else None
        return Ran(call, failure(call, said, self._most), "invalid_arguments") if said is not None else None

    def _elsewhere(self, call: ToolCall) -> Ran:
        return Ran(call, failure(call, f"This call was not executed: {call.name} is run elsewhere."), "skipped")

    def _unknown(self, call: ToolCall) -> Ran:
        known = ", ".join(self._tools) or "none"
        return Ran(call, failure(call, f"No tool is called {call.name!r}. Known tools: {known}."), "unknown_tool")


class _One:
    """Runs single calls of one `Executor.run`."""

    def __init__(
        self,
        executor: Executor,
        turn: str,
        round: int,
        gate: Gate,
        ledger: Ledger | None,
        unwanted: Mapping[str, asyncio.Future[None]],
        starting: Starting | None,
        finished: Finished | None,
        progress: Progress | None,
    ) -> None:
        self._executor = executor
        self._turn = turn
        self._round = round
        self._gate = gate
        self._ledger = ledger
        self._unwanted = unwanted
        self._starting = starting
        self._finished = finished
        self._progress = progress
        self._began: set[str] = set()

    async def all(self, calls: Sequence[ToolCall]) -> list[Ran]:
        """Run the calls in parallel. An error that no tool raised ends the other calls and is raised.

        A call whose task is cancelled by other code still gets a result, and the other calls continue. Each task is
        cancelled at most once, because a second cancellation would interrupt the tool's clean-up.
        """
        tasks = {asyncio.create_task(self.execute(call)): call for call in calls}
        ran: dict[asyncio.Task[Ran], Ran] = {}
        pending = set(tasks)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    ran[task] = await self.told(self._lost(tasks[task])) if task.cancelled() else task.result()
        except BaseException:
            await _end_all(tasks)
            raise
        return [ran[task] for task in tasks]

    async def execute(self, call: ToolCall) -> Ran:
        """Return the one result of the call, and run it if it may run."""
        refused = self._executor.refused(call)
        if refused is not None:
            return await self.told(refused)
        key = key_of(self._turn, self._round, call)
        tool = self._executor._tools[call.name]
        if tool.function is None:
            return await self.told(self._admitted(call) or self._executor._elsewhere(call))
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._gate.through(alone=not tool.parallel))
            known = self._known(call, key, tool)
            if known is not None:
                return await self.told(known)
            if not is_async(tool.function):
                await stack.enter_async_context(self._executor._threads)
            kept_from = self._admitted(call)
            if kept_from is not None:
                return await self.told(kept_from)
            if self._starting is not None and not await self._starting(call):
                return Ran(call, failure(call, "This call was not executed."), "skipped")
            if self._ledger is not None:
                self._ledger[key] = None
            self._began.add(call.id)
            ran = await self._run(call, key)
            if self._ledger is not None:
                self._ledger[key] = ran.result
            return await self.told(ran)

    def _lost(self, call: ToolCall) -> Ran:
        """The result of a call whose task was cancelled by other code."""
        if call.id in self._began:
            return Ran(call, failure(call, CANCELLED), "cancelled")
        return Ran(call, failure(call, "This call was not executed: it was cancelled before it began."), "skipped")

    def _admitted(self, call: ToolCall) -> Ran | None:
        admit = self._executor._admit
        return admit(call) if admit is not None else None

    async def told(self, ran: Ran) -> Ran:
        """Pass the result to the ``finished`` hook and return it."""
        if self._finished is not None:
            await self._finished(ran)
        return ran

    def _known(self, call: ToolCall, key: str, tool: Tool) -> Ran | None:
        if self._ledger is None or key not in self._ledger:
            return None
        result = self._ledger[key]
        if result is not None:
            return Ran(call, result, "failed" if result.is_error else "returned")
        return None if tool.idempotent else Ran(call, failure(call, _UNKNOWN_OUTCOME), "unknown_outcome")

    async def _run(self, call: ToolCall, key: str) -> Ran:
        loop = asyncio.get_running_loop()
        unwanted = self._unwanted.get(call.id) or loop.create_future()

        def tell(data: Any) -> None:
            if self._progress is not None:
                loop.call_soon_threadsafe(self._progress, call, data)

        async def execute(wanted: ToolCall) -> Ran:
            context = CallContext(wanted.id, wanted.name, key, self._turn, self._round, tell)
            async with AsyncExitStack() as stack:
                if self._blocks(wanted) and not self._blocks(call):  # a blocking substitute needs a slot, too
                    await stack.enter_async_context(self._executor._threads)
                return await self._executor.call(wanted, context, unwanted)

        around = self._executor._around
        if around is None:
            return await execute(call)
        try:
            ran = await around(call, execute)
        except BaseException as error:
            if not is_failure(error):
                raise
            return self._executor.ran(call, error)
        return Ran(call, replace(ran.result, call_id=call.id, name=call.name, kind=call.kind), ran.outcome)

    def _blocks(self, call: ToolCall) -> bool:
        tool = self._executor._tools.get(call.name)
        return tool is not None and tool.function is not None and not is_async(tool.function)


async def _end_all(tasks: Iterable[asyncio.Task[Ran]]) -> None:
    """Cancel each running task once, and wait until all have cleaned up."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # mark it as retrieved, or asyncio logs it


def kept(response: Response, selection: Selection) -> list[ToolCall]:
    """Return the calls of the response that the selection keeps, in order."""
    blocks = next((choice.blocks for choice in response.choices if choice.index == selection.choice), [])
    return [call for ref in selection.kept if isinstance(call := blocks[ref.block], ToolCall)]


def _seconds(timeout: float | None) -> str:
    return f"{timeout:g}s"
