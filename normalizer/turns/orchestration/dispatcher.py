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

#: Called with the call id, the name of the fallback that ran, and the reason.
Substituted = Callable[[str, str, str], None]
#: Called before a call runs. It returns why the call must not run, or None.
Forbidden = Callable[[ToolCall], str | None]
_QUOTED = 500


def check_fallbacks(tools: Mapping[str, Tool]) -> None:
    """Raise InvalidTool for a fallback that is missing, has no function, or is not parallel although its tool is."""
    for tool in tools.values():
        fallback = fallback_of(tool)
        if fallback is None:
            continue
        other = tools.get(fallback.tool)
        if other is None:
            raise InvalidTool(f"{tool.name!r} falls back to {fallback.tool!r}, which is not there", where=tool.name)
        if other.function is None:
            said = f"{tool.name!r} falls back to {other.name!r}, which is run elsewhere"
            raise InvalidTool(said, where=tool.name, hint="fall back to a tool with a function")
        if tool.parallel and not other.parallel:
            said = f"{tool.name!r} may run beside others, and {other.name!r}, its fallback, may not"
            raise InvalidTool(said, where=tool.name, hint="declare both with parallel=False")


def fallback_of(tool: Tool) -> Fallback | None:
    """Return the fallback of a tool, None if it declares none."""
    return Fallback(tool.fallback) if isinstance(tool.fallback, str) else tool.fallback


class Dispatcher:
    """Provides ``admit`` and ``around`` for an executor.

    ``forbidden``: enforces the limits, and counts each call that may run. ``substituted``: called when a fallback has
    replaced a call. Raises InvalidTool, see `check_fallbacks`.
    """

    def __init__(
        self, tools: Mapping[str, Tool], breakers: Breakers, forbidden: Forbidden, substituted: Substituted
    ) -> None:
        check_fallbacks(tools)
        self._tools = tools
        self._breakers = breakers
        self._forbidden = forbidden
        self._substituted = substituted
        self._open: dict[str, str] = {}  # call id -> why its own tool is not tried, but only its fallbacks

    def admit(self, call: ToolCall) -> FinishedCall | None:
        """Return a result if neither the call nor a fallback may run. Otherwise count the call and return None."""
        refusal = self._breakers.refusal("tool", call.name)
        if refusal is not None:
            troubles = [refusal]
            for other in self._substitutes(call, troubles):
                why = self._breakers.refusal("tool", other.name)
                if why is None:
                    break
                troubles.append(why)
            else:
                return FinishedCall(call, failure(call, "\n".join(troubles)), "failed")
        forbidden = self._forbidden(call)
        if forbidden is not None:
            return FinishedCall(call, failure(call, f"This call was not executed: {forbidden}."), "skipped")
        if refusal is not None:
            self._open[call.id] = refusal
        else:
            self._breakers.admit("tool", call.name)
        return None

    async def around(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Run a call, or a fallback if it fails, and return one result, which names the fallback that ran."""
        refusal = self._open.pop(call.id, None)
        first = (
            await self._heard(call, run) if refusal is None else FinishedCall(call, failure(call, refusal), "failed")
        )
        if first.outcome not in TOOL_FAILURES:
            return first
        ran, troubles = first, list[str]()
        for other in self._substitutes(call, troubles):
            if ran.outcome == "cancelled":
                break
            why = _said(ran)
            ran = await self._instead(other, run)
            if ran.outcome == "returned":
                self._substituted(call.id, other.name, why)
                note = f"[{call.name} failed: {why}. {other.name}({other.arguments_text}) was run in its place.]"
                return replace(ran, result=replace(ran.result, parts=[TextPart(note), *ran.result.parts], plain=False))
            troubles.append(f"{other.name}, tried in its place, failed: {_said(ran)}")
        if not troubles:
            return first
        parts: list[Part] = [*first.result.parts, TextPart("\n" + "\n".join(troubles))]
        return replace(first, result=replace(first.result, parts=parts, plain=False))

    async def _instead(self, call: ToolCall, run: RunCall) -> FinishedCall:
        try:
            self._breakers.admit("tool", call.name)
        except CircuitOpen as error:
            return FinishedCall(call, failure(call, error.what), "failed")
        return await self._heard(call, run)

    async def _heard(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Run a call and report success or failure to its breaker."""
        ran = await run(call)
        if ran.outcome in ("raised", "timeout", "unsayable"):
            self._breakers.failed("tool", call.name)
        elif ran.outcome in ("returned", "failed"):  # a tool that reports its own failure works
            self._breakers.succeeded("tool", call.name)
        return ran

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
                troubles.append(f"{fallback.tool} has no arguments to be tried with: {described(error)}")
                return
            if self._tools[fallback.tool].needs_approval(arguments):
                troubles.append(f"{fallback.tool} was not tried in its place: it has to be allowed")
                return
            before = replace(before, name=fallback.tool, arguments=arguments, arguments_text=text)
            yield before


def _said(ran: FinishedCall) -> str:
    content = result_content(ran.result)
    text = " ".join((content if isinstance(content, str) else json_codec.text(content)).split()).rstrip(".")
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"
