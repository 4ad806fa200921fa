"""The tool dispatcher: it checks the breaker of each call, and runs the tool's declared fallback if the call fails.

It is a middleware of the executor (``Executor(admit=…, around=…, elsewhere=…)``), which runs calls, applies timeouts
and renders results. A call that runs elsewhere is handed over only if the breaker of its tool allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolparity.normalizer.model import ToolCall

from ..errors import CircuitOpen
from ..execution.executor import FinishedCall, RunCall
from ..execution.fallbacks import Fallbacks, OnSubstitution
from ..execution.tool import Tool
from ..execution.tool_results import failure
from .breakers import Breakers

#: Called before a call runs. It returns why the call must not run, or None.
Forbid = Callable[[ToolCall], str | None]


class Dispatcher:
    """Provides ``admit``, ``around`` and ``elsewhere`` for an executor.

    ``forbid``: enforces the limits, and counts each call that may run. ``on_substitution``: called when a fallback has
    replaced a call. Raises InvalidTool like `Fallbacks`.
    """

    def __init__(
        self, tools: Mapping[str, Tool], breakers: Breakers, forbid: Forbid, on_substitution: OnSubstitution
    ) -> None:
        self._fallbacks = Fallbacks(tools, on_substitution)
        self._breakers = breakers
        self._forbid = forbid
        self._refusals: dict[str, str] = {}  # call id -> why its own tool is not tried, but only its fallbacks

    def admit(self, call: ToolCall) -> FinishedCall | None:
        """Return a result if neither the call nor a fallback may run. Otherwise count the call and return None."""
        refusal = self._breakers.refusal("tool", call.name)
        if refusal is not None:
            troubles = [refusal]
            for substitute in self._fallbacks.substitutes(call, troubles):
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
        return await self.replaced(call, first, run)

    def may_hand_over(self, call: ToolCall) -> bool:
        """Return whether the breaker admits a call that runs elsewhere."""
        if self._breakers.refusal("tool", call.name) is not None:
            return False
        self._breakers.admit("tool", call.name)
        return True

    def ended(self, finished: FinishedCall) -> bool:
        """Report the result of a call that ran elsewhere to its breaker. Return whether its fallback must run.

        A failure that was supplied counts, also `ToolFailed`: the web application makes every error one.
        """
        if finished.outcome == "failed":
            self._breakers.failed("tool", finished.call.name)
        else:
            self._report(finished)
        return self._fallbacks.ended(finished)

    async def replaced(self, call: ToolCall, first: FinishedCall, run: RunCall) -> FinishedCall:
        """Return the result of a call that came to ``first``, or if it failed, that of a fallback."""

        async def run_substitute(substitute: ToolCall) -> FinishedCall:
            return await self._run_substitute(substitute, run)

        return await self._fallbacks.replaced(call, first, run_substitute)

    async def _run_substitute(self, call: ToolCall, run: RunCall) -> FinishedCall:
        try:
            self._breakers.admit("tool", call.name)
        except CircuitOpen as error:
            return _failed(call, error.what)
        return await self._run(call, run)

    async def _run(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Run a call and report success or failure to its breaker."""
        finished = await run(call)
        self._report(finished)
        return finished

    def _report(self, finished: FinishedCall) -> None:
        if finished.outcome in ("raised", "timeout", "unsayable"):
            self._breakers.failed("tool", finished.call.name)
        elif finished.outcome in ("returned", "failed"):  # a function that raises ToolFailed works
            self._breakers.succeeded("tool", finished.call.name)


def _failed(call: ToolCall, text: str) -> FinishedCall:
    return FinishedCall(call, failure(call, text), "failed")
