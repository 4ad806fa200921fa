"""Fallbacks: when a tool fails, the one that it declares in its place runs, with adapted arguments.

fallbacks = Fallbacks(tools, on_substitution)
Executor(tools, around=fallbacks.around, elsewhere=fallbacks)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Part, TextPart
from toolparity.normalizer.model import ToolCall

from ..errors import InvalidTool
from ..machine.state import TOOL_FAILURES
from ..result_texts import failure_too, result_text, substituted
from .exceptions import described, is_failure
from .executor import Executor, FinishedCall, RunCall
from .tool import Fallback, Tool
from .tool_results import quoted

#: Called with the call id, the name of the fallback that ran, and the reason.
OnSubstitution = Callable[[str, str, str], None]
_MAX_QUOTE = 500


def executor_with_fallbacks(tools: Mapping[str, Tool], inject: Any, on_substitution: OnSubstitution) -> Executor:
    """Return an executor of these tools with their fallbacks, if any tool declares one. Raises as `Fallbacks`."""
    fallbacks = Fallbacks(tools, on_substitution)
    if not any(tool.fallback is not None for tool in tools.values()):
        return Executor(tools, inject=inject)
    return Executor(tools, inject=inject, around=fallbacks.around, elsewhere=fallbacks)


class Fallbacks:
    """The fallbacks of these tools. ``on_substitution``: called when a fallback has replaced a call.

    Raises InvalidTool for a fallback that is missing, has no function, or is not parallel although its tool is.
    """

    def __init__(self, tools: Mapping[str, Tool], on_substitution: OnSubstitution) -> None:
        for tool in tools.values():
            _check(tool, tools)
        self._tools = tools
        self._on_substitution = on_substitution

    async def around(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Run a call, or a fallback if it fails, and return one result, which names the fallback that ran."""
        return await self.replaced(call, await run(call), run)

    def may_hand_over(self, call: ToolCall) -> bool:
        """Return true: nothing keeps a call that runs elsewhere from being handed over."""
        return True

    def ended(self, finished: FinishedCall) -> bool:
        """Return whether a call that ran elsewhere failed, and its tool declares a fallback."""
        return finished.outcome in TOOL_FAILURES and self._tools[finished.call.name].fallback is not None

    async def replaced(self, call: ToolCall, first: FinishedCall, run: RunCall) -> FinishedCall:
        """Return the result of a call that came to ``first``, or if it failed, that of a fallback. ``run`` runs one."""
        if first.outcome not in TOOL_FAILURES:
            return first
        last, troubles = first, list[str]()
        for substitute in self.substitutes(call, troubles):
            if last.outcome == "cancelled":
                break
            last = await run(substitute)
            if last.outcome == "returned":
                why = ". ".join([_summary(first), *troubles])
                self._on_substitution(call.id, substitute.name, why)
                return replace(last, result=substituted(last.result, call, why, substitute))
            troubles.append(failure_too(substitute.name, _summary(last)))
        if not troubles:
            return first
        parts: list[Part] = [*first.result.parts, TextPart("\n" + "\n".join(troubles))]
        return replace(first, result=replace(first.result, parts=parts, plain=False))

    def substitutes(self, call: ToolCall, troubles: list[str]) -> Iterator[ToolCall]:
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


def fallback_of(tool: Tool) -> Fallback | None:
    """Return the fallback of a tool, None if it declares none."""
    return Fallback(tool.fallback) if isinstance(tool.fallback, str) else tool.fallback


def _check(tool: Tool, tools: Mapping[str, Tool]) -> None:
    fallback = fallback_of(tool)
    if fallback is None:
        return
    other = tools.get(fallback.tool)
    if other is None:
        raise InvalidTool(f"its fallback {fallback.tool!r} is not declared", where=tool.name)
    if other.function is None:
        what = f"its fallback {other.name!r} runs elsewhere"
        raise InvalidTool(what, where=tool.name, hint="use a fallback with a function")
    if tool.parallel and not other.parallel:
        what = f"it is parallel, but its fallback {other.name!r} is not"
        raise InvalidTool(what, where=tool.name, hint="declare both with parallel=False")


def _summary(finished: FinishedCall) -> str:
    return quoted(result_text(finished.result).rstrip().rstrip("."), _MAX_QUOTE)
