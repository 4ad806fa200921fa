"""The boundary of a turn: the requests that it sends, and the runs of its tools. An instrument that reports both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import Error, Response, ToolCall

from ..execution.executor import FinishedCall, RunCall
from ..execution.tool import Tool
from ..machine.state import TurnState
from ..provider import Provider


class Boundary:
    """The option ``telemetry`` of a turn.

    ``on_request``: called with each request as it was sent. ``on_run``: called after each run of a tool, also of one in
    place of another.
    """

    def __init__(self, on_request: Callable[[Request], None], on_run: Callable[[FinishedCall], None]) -> None:
        self._on_request = on_request
        self._on_run = on_run

    @property
    def trace(self) -> dict[str, str]:
        """See `InstrumentedRun`. A recording has none."""
        return {}

    def run(self, state: TurnState, provider: Provider, tools: Mapping[str, Tool]) -> Boundary:
        """See `Instrument`."""
        return self

    @contextmanager
    def model_call(self, provider: Provider, request: Request) -> Iterator[ReportedModelCall]:
        """See `InstrumentedRun`."""
        yield ReportedModelCall(provider, self._on_request)

    async def execute_tool(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """See `InstrumentedRun`."""
        finished = await run(call)
        self._on_run(finished)
        return finished

    def end(self, state: TurnState, error: BaseException | None) -> None:
        """See `InstrumentedRun`."""


class ReportedModelCall:
    """A provider that reports the request that it sent, once it is answered."""

    def __init__(self, provider: Provider, on_request: Callable[[Request], None]) -> None:
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self.ask: Callable[[Any], AsyncIterator[Any]] = provider.ask
        self._on_request = on_request

    def answered(self, request: Request, response: Response | None, error: Error | None) -> None:
        """See `InstrumentedModelCall`."""
        self._on_request(request)
