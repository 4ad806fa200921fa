"""The tools of a script as functions: each returns the script's result after a delay, and reports its progress."""

from __future__ import annotations

from typing import Any

from toolparity.cassettes.recorder.script_driver import UNSCRIPTED_RESULT
from toolparity.cassettes.scripts import Call, OfferedTool, Script
from toolparity.normalizer.conversation import TextPart, ToolResult
from toolparity.normalizer.turns.execution.invoke import current_call
from toolparity.normalizer.turns.execution.tools import Tool, Tools

from .throttle import STEPS, Throttle


class ScriptedTools:
    """Tools that return the script's result for a call with the same arguments, or for the next call of the same tool.

    ``ran``: how many calls ran. ``pace``: None for tools that return at once.
    """

    def __init__(self, script: Script, pace: Throttle | None = None, *, approval: bool = False) -> None:
        self.ran = 0
        self._pace = pace
        self._left = [call for round in script.rounds for call in round.calls]
        self.tools = Tools(self._tool(offer, approval) for offer in script.tools)

    def _tool(self, offer: OfferedTool, approval: bool) -> Tool:
        async def function(given: Any) -> Any:
            self.ran += 1
            match = self._foreseen(offer.name, given)
            if self._pace is not None:
                progress = current_call.get().progress
                for done in range(1, STEPS + 1):
                    await self._pace.step(offer.name)
                    progress({"done": done, "of": STEPS})
            return _returned(match)

        return Tool(
            name=offer.name,
            function=function,
            description=offer.description,
            parameters=offer.parameters or None,
            waiting_hint=offer.waiting_hint,
            kind=offer.kind,
            approval=approval,
            mapping=True,
        )

    def _foreseen(self, name: str, given: Any) -> Call | None:
        of_tool = [call for call in self._left if call.tool == name]
        alike = [call for call in of_tool if given in (call.arguments, call.arguments_text)]
        match = next(iter(alike or of_tool), None)
        if match is not None:
            self._left.remove(match)
        return match


def _returned(call: Call | None) -> Any:
    if call is None:
        return UNSCRIPTED_RESULT
    if not call.failed:
        return call.result
    text = call.result if isinstance(call.result, str) else str(call.result)
    return ToolResult("", [TextPart(text)], is_error=True)
