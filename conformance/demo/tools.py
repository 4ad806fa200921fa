"""The tools of a script as functions: each returns the script's result after a delay, and reports its progress."""

from __future__ import annotations

import asyncio
from typing import Any

from toolparity.cassettes.recorder.script_driver import UNSCRIPTED_RESULT
from toolparity.cassettes.scripts import OfferedTool, Script, ScriptedCall
from toolparity.normalizer.conversation import TextPart, ToolResult
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.execution.typed.injection import current_call

#: The number of progress reports of a tool.
STEPS = 4


class Throttle:
    """``piece``: the delay before each piece of a response, in seconds.

    ``tool``: the duration of a tool, in seconds.
    """

    def __init__(self, piece: float = 0.02, tool: float = 1.2) -> None:
        self._piece = piece
        self._tool = tool

    async def piece(self) -> None:
        """Wait before a piece of a response is passed on."""
        await asyncio.sleep(self._piece)

    async def step(self, tool: str, slower: float = 1.0) -> None:
        """Wait before a tool's next step, ``slower`` times as long as usual."""
        await asyncio.sleep(self._tool * slower / STEPS)


class ScriptedTools:
    """Tools that return the script's result for a call with the same arguments, or for the next call of the same tool.

    ``ran``: how many calls ran. ``throttle``: None for tools that return at once. ``slower``: see `Throttle.step`.
    """

    def __init__(
        self, script: Script, throttle: Throttle | None = None, *, approval: bool = False, slower: float = 1.0
    ) -> None:
        self.ran = 0
        self._throttle = throttle
        self._slower = slower
        self._remaining = [call for round in script.rounds for call in round.calls]
        self.tools = Tools(self._tool(offer, approval) for offer in script.tools)

    def _tool(self, offer: OfferedTool, approval: bool) -> Tool:
        async def function(arguments: Any) -> Any:
            self.ran += 1
            match = self._next_call(offer.name, arguments)
            if self._throttle is not None:
                progress = current_call.get().progress
                for done in range(1, STEPS + 1):
                    await self._throttle.step(offer.name, self._slower)
                    progress({"done": done, "of": STEPS})
            return _return_value(match)

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

    def _next_call(self, name: str, arguments: Any) -> ScriptedCall | None:
        calls_of_tool = [call for call in self._remaining if call.tool == name]
        with_same_arguments = [call for call in calls_of_tool if arguments in (call.arguments, call.arguments_text)]
        match = next(iter(with_same_arguments or calls_of_tool), None)
        if match is not None:
            self._remaining.remove(match)
        return match


def _return_value(call: ScriptedCall | None) -> Any:
    if call is None:
        return UNSCRIPTED_RESULT
    if not call.failed:
        return call.result
    text = call.result if isinstance(call.result, str) else str(call.result)
    return ToolResult("", [TextPart(text)], is_error=True)
