"""Faults of a tool, and the collection of tools that injects them."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..errors import InvalidTool
from ..execution.invoke import is_async
from ..execution.tool import Tool
from ..execution.tool_results import MOST, ToolFailed
from ..execution.tools import ToolLike, Tools
from .faults import Hang, Injection, Slow, ToolFault, check_exception, check_fault, check_least, check_number


class Raise(Struct, frozen=True):
    """Raise an exception instead of running. ``error``: the exception, a RuntimeError by default."""

    error: BaseException = RuntimeError("the tool failed (injected)")

    def __post_init__(self) -> None:
        check_exception(self.error)

    def call(self, run: Callable[[], Any], is_async: bool) -> Any:
        """See `ToolFault`."""
        raise self.error.with_traceback(None)


class Return(Struct, frozen=True):
    """Return this value instead of running. The default is not serializable."""

    value: Any = ...

    def call(self, run: Callable[[], Any], is_async: bool) -> Any:
        """See `ToolFault`."""
        return self.value


class ReturnText(Struct, frozen=True):
    """Return a text of so many characters instead of running. The default is above the limit of a result."""

    characters: int = MOST + 1

    def __post_init__(self) -> None:
        check_least("characters", self.characters, 0)

    def call(self, run: Callable[[], Any], is_async: bool) -> Any:
        """See `ToolFault`."""
        return "x" * self.characters


class IgnoreCancelling(Struct, frozen=True):
    """Run until the call is cancelled, and so many seconds longer, however often it is cancelled in them.

    A function that is not async hangs in its thread, as with `Hang`, because nothing cancels a thread.
    """

    seconds: float = 3.0

    def __post_init__(self) -> None:
        check_least("seconds", self.seconds, 0)

    def call(self, run: Callable[[], Any], is_async: bool) -> Any:
        """See `ToolFault`."""
        return self._stay() if is_async else threading.Event().wait()

    async def _stay(self) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        end = time.monotonic() + self.seconds
        while (left := end - time.monotonic()) > 0:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(left)


#: One fault of each kind, by name, for parametrized tests.
TOOL_FAULTS: dict[str, ToolFault] = {
    "fails": Raise(ToolFailed("the tool reports a failure (injected)")),
    "raises": Raise(),
    "exits": Raise(SystemExit()),
    "interrupts": Raise(KeyboardInterrupt()),
    "hangs": Hang(),
    "ignores cancelling": IgnoreCancelling(0.2),
    "is slow": Slow(0.001),
    "returns nothing": Return(None),
    "returns what is not serializable": Return(),
    "returns too much": ReturnText(),
}


class FaultyTools(Tools):
    """The same tools, some of whose calls go wrong.

    ``faults``: by tool for each of its calls, or by tool and number of the call from 1, which has precedence.
    ``injected``: the faults so far. Tools of a source (an MCP server) are those that it has now. Raises InvalidTool for
    a tool in ``faults`` that does not exist, or that runs elsewhere, and PolicyError for faults that could not happen.
    """

    def __init__(self, tools: Iterable[ToolLike] | Tools, faults: Mapping[str | tuple[str, int], ToolFault]) -> None:
        declared = tools if isinstance(tools, Tools) else Tools(tools)
        self.faults = dict(faults)
        self.injected: list[Injection] = []
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()  # tools that are not async run in threads
        for position, fault in self.faults.items():
            if not isinstance(position, str):
                check_number(position[1], "call")
            check_fault(fault, "call")
        names = {position if isinstance(position, str) else position[0] for position in self.faults}
        for name in names - set(declared):
            raise InvalidTool("no such tool", where=name, hint=f"the tools are {', '.join(declared) or 'none'}")
        super().__init__(self._faulty(tool) if tool.name in names else tool for tool in declared.values())

    def _faulty(self, tool: Tool) -> Tool:
        """Return the tool with a function that injects the faults."""
        function = tool.function
        if function is None:
            raise InvalidTool("it runs elsewhere", where=tool.name, hint="supply a faulty result with `Turn.answer`")
        called = self._async(tool.name, function) if is_async(function) else self._sync(tool.name, function)
        typed = replace(tool.typed, function=called) if tool.typed is not None else None
        return replace(tool, function=called, typed=typed)

    def _async(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def called(*arguments: Any, **named: Any) -> Any:
            fault = self._next(name)
            run = functools.partial(function, *arguments, **named)
            returned = fault.call(run, True) if fault is not None else run()
            return await returned if inspect.isawaitable(returned) else returned

        return called

    def _sync(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            fault = self._next(name)
            run = functools.partial(function, *arguments, **named)
            return fault.call(run, False) if fault is not None else run()

        return called

    def _next(self, name: str) -> ToolFault | None:
        """Count a call, and return its fault."""
        with self._lock:
            self._counts[name] += 1
            number = self._counts[name]
            fault = self.faults.get((name, number), self.faults.get(name))
            if fault is not None:
                self.injected.append(Injection((name, number), fault))
            return fault
