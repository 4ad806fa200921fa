"""The interface between a turn and its telemetry, the option ``telemetry`` (`telemetry.Telemetry` implements it).

A turn without the option calls nothing and imports nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import Error, Response, ToolCall

from .execution.executor import FinishedCall, RunCall
from .execution.tool import Tool
from .machine.state import TurnState
from .provider import Provider


class Instrument(Protocol):
    """Measures any number of turns."""

    def run(self, state: TurnState, provider: Provider, tools: Mapping[str, Tool]) -> InstrumentedRun:
        """Begin to measure a run of a turn: from its beginning, or from the state in which it resumes."""


class InstrumentedRun(Protocol):
    """One run of a turn."""

    @property
    def trace(self) -> dict[str, str]:
        """The trace context for the state of a new turn (`TurnState.trace`), empty if there is none."""

    def model_call(self, provider: Provider, request: Request) -> AbstractContextManager[InstrumentedModelCall]:
        """Measure a request to the model, which is sent through the object that the context manager returns."""

    async def execute_tool(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Run a tool for a call, and measure the run. An `Around` of the executor."""

    def end(self, state: TurnState, error: BaseException | None) -> None:
        """End the run. ``error``: the exception that ended it, if it was one."""


class InstrumentedModelCall(Provider, Protocol):
    """A provider that passes one request on to another one."""

    def answered(self, request: Request, response: Response | None, error: Error | None) -> None:
        """Report the request as it was sent, and the answer or why there is none."""
