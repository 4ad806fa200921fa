"""The tool dispatcher: it checks the breaker of each call, and runs the tool's declared fallback if the call fails.

It is a middleware of the executor (``Executor(admit=…, around=…)``), which runs calls, applies timeouts and renders
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...conversation import Part, TextPart
from ...model import ToolCall
from ..block_rows import result_content
from ..errors import CircuitOpen, InvalidTool
from ..execution.exceptions import described, is_failure
from ..execution.executor import FinishedCall, RunCall
from ..execution.tool_results import failure
from ..execution.tools import Fallback, Tool
from ..machine.state import TOOL_FAILURES
from .breakers import Breakers
from .memory import quoted

#: Called with the call id, the name of the fallback that ran, and the reason.
OnSubstitution = Callable[[str, str, str], None]
#: Called before a call runs. It returns why the call must not run, or None.
Forbid = Callable[[ToolCall], str | None]
_MAX_QUOTE = 500


def check_fallbacks(tools: Mapping[str, Tool]) -> None:
    """Raise InvalidTool for a fallback that is missing, has no function, or is not parallel although its tool is."""
    for tool in tools.values():
        fallback = fallback_of(tool)
        if fallback is None:
            continue
        other = tools.get(fallback.tool)
        if other is None:
            raise InvalidTool(f"its fallback {fallback.tool!r} is not declared", where=tool.name)
        if other.function is None:
            what = f"its fallback {other.name!r} runs elsewhere"
            raise InvalidTool(what, where=tool.name, hint="use a fallback with a function")
        if tool.parallel and not other.parallel:
            what = f"it is parallel, but its fallback {other.name!r} is not"
            raise InvalidTool(what, where=tool.name, hint="declare both with parallel=False")


def fallback_of(tool: Tool) -> Fallback | None:
    """Return the fallback of a tool, None if it declares none."""
    return Fallback(tool.fallback) if isinstance(tool.fallback, str) else tool.fallback


class Dispatcher:
    """Provides ``admit`` and ``around`` for an executor.

    ``forbid``: enforces the limits, and counts each call that may run. ``on_substitution``: called when a fallback has
    replaced a call. Raises InvalidTool, see `check_fallbacks`.
    """

    def __init__(
        self, tools: Mapping[str, Tool], breakers: Breakers, forbid: Forbid, on_substitution: OnSubstitution
    ) -> None:
        check_fallbacks(tools)
        self._tools = tools
        self._breakers = breakers
        self._forbid = forbid
        self._on_substitution = on_substitution
        self._refusals: dict[str, str] = {}  # call id -> why its own tool is not tried, but only its fallbacks

    def admit(self, call: ToolCall) -> FinishedCall | None:
        """Return a result if neither the call nor a fallback may run. Otherwise count the call and return None."""
        refusal = self._breakers.refusal("tool", call.name)
        if refusal is not None:
            troubles = [refusal]
            for substitute in self._substitutes(call, troubles):
                why = self._breakers.refusal("tool", substitute.name)
                if why is None:
                    break
                troubles.append(why)
            else:
                return _failed(call, "\n".join(troubles))
        forbidden = self._forbid(call)
        if forbidden is not None:
            return FinishedCall(call, failure(call, f"This call was not executed: {forbidden}."), "skipped")
        if refusal is not None:
            self._refusals[call.id] = refusal
        else:
            self._breakers.admit("tool", call.name)
        return None

    async def around(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Run a call, or a fallback if it fails, and return one result, which names the fallback that ran."""
        refusal = self._refusals.pop(call.id, None)
        first = await self._run(call, run) if refusal is None else _failed(call, refusal)
        if first.outcome not in TOOL_FAILURES:
            return first
        last, troubles = first, list[str]()
        for substitute in self._substitutes(call, troubles):
            if last.outcome == "cancelled":
                break
            why = _summary(last)
            last = await self._run_substitute(substitute, run)
            if last.outcome == "returned":
                self._on_substitution(call.id, substitute.name, why)
                instead = f"{substitute.name}({substitute.arguments_text})"
                note = TextPart(f"[{call.name} failed: {why}. {instead} was run in its place.]")
                return replace(last, result=replace(last.result, parts=[note, *last.result.parts], plain=False))
            troubles.append(f"{substitute.name}, tried in its place, failed: {_summary(last)}")
        if not troubles:
            return first
        parts: list[Part] = [*first.result.parts, TextPart("\n" + "\n".join(troubles))]
        return replace(first, result=replace(first.result, parts=parts, plain=False))

    async def _run_substitute(self, call: ToolCall, run: RunCall) -> FinishedCall:
        try:
            self._breakers.admit("tool", call.name)
        except CircuitOpen as error:
            return _failed(call, error.what)
        return await self._run(call, run)

    async def _run(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Run a call and report success or failure to its breaker."""
        finished = await run(call)
        if finished.outcome in ("raised", "timeout", "unsayable"):
            self._breakers.failed("tool", call.name)
        elif finished.outcome in ("returned", "failed"):  # a tool that reports its own failure works
            self._breakers.succeeded("tool", call.name)
        return finished

    def _substitutes(self, call: ToolCall, troubles: list[str]) -> Iterator[ToolCall]:
        """Yield the fallback calls in order, each with arguments derived from the call before.

        A tool comes once at most. The chain ends at a tool that needs approval, or whose arguments cannot be derived;
        the reason goes into ``troubles``.
        """
        seen = {call.name}
        before = call
        while (tool := self._tools.get(before.name)) is not None and (fallback := fallback_of(tool)) is not None:
            if fallback.tool in seen:
                return
            seen.add(fallback.tool)
            arguments: Any = before.arguments or {}
            try:
                if fallback.arguments is not None:
                    arguments = fallback.arguments(dict(arguments))
                text = json_codec.text(arguments)
            except BaseException as error:
                if not is_failure(error):
                    raise
                troubles.append(f"{fallback.tool} was not tried in its place: no arguments: {described(error)}")
                return
            if self._tools[fallback.tool].needs_approval(arguments):
                troubles.append(f"{fallback.tool} was not tried in its place: it needs approval")
                return
            before = replace(before, name=fallback.tool, arguments=arguments, arguments_text=text)
            yield before


def _failed(call: ToolCall, text: str) -> FinishedCall:
    return FinishedCall(call, failure(call, text), "failed")


def _summary(finished: FinishedCall) -> str:
    content = result_content(finished.result)
    return quoted((content if isinstance(content, str) else json_codec.text(content)).rstrip().rstrip("."), _MAX_QUOTE)
