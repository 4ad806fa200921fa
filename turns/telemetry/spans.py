"""Spans and metrics of turns.

A span's parent is the span that is current where the turn runs. A turn that resumes from a stored state continues the
trace of its first run instead: the state contains the trace context (`TurnState.trace`), and a link leads to the span
that is current. While a tool runs or a request is sent, its span is the current one, so that the spans of other
instrumentations become its children.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from msgspec import UNSET
from opentelemetry import context as contexts
from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.headers import ResponseHeaders
from toolparity.normalizer.model import Error, Response, ToolCall, Usage

from ..answer_reader import close
from ..execution.exceptions import described
from ..execution.executor import FinishedCall, RunCall
from ..execution.tool import Tool
from ..machine.state import TurnState, add_usage
from ..provider import Provider
from ..secrets import public
from . import content
from .conventions import (
    DURATION,
    TIME_TO_FIRST_CHUNK,
    TOKEN_USAGE,
    Histogram,
    finish_reasons,
    operation_attributes,
    provider_name,
    request_attributes,
    response_attributes,
    server_attributes,
    usage_attributes,
)

#: The environment variable with which OpenTelemetry's instrumentations switch on the recording of content, and the
#: values for content in spans. Others, such as EVENT_ONLY, leave it out of them.
CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_IN_SPANS = ("true", "span_only", "span_and_event")
#: Reasons why a turn ends that are errors of its span.
_FAILURES = ("provider_failed", "incomplete", "refused", "cancelled")

_log = logging.getLogger("toolparity")
_NAME = "toolparity.turns"
_PROPAGATOR = TraceContextTextMapPropagator()
_C = TypeVar("_C")


class Telemetry:
    """Makes spans and metrics of turns. Pass it as the option ``telemetry`` of turns, agents and coordinators.

    ``agent``, ``conversation``: the name of the agent and the id of the conversation for the spans. ``content``:
    whether spans contain instructions, messages, tool definitions, arguments and results; by default, the environment
    variable OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT decides, and without it they do not.
    ``tracer_provider``, ``meter_provider``: instead of the global ones.
    """

    def __init__(
        self,
        *,
        agent: str | None = None,
        conversation: str | None = None,
        content: bool | None = None,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        from toolparity import __version__

        self.agent = agent
        #: The attributes that the spans of turns and requests have in common.
        self.common = {"gen_ai.conversation.id": conversation} if conversation is not None else {}
        self.content = os.environ.get(CONTENT_VARIABLE, "").strip().lower() in _IN_SPANS if content is None else content
        self.tracer = trace.get_tracer(_NAME, __version__, tracer_provider)
        meter = metrics.get_meter(_NAME, __version__, meter_provider)
        self.token_usage = _histogram(meter, TOKEN_USAGE)
        self.duration = _histogram(meter, DURATION)
        self.time_to_first_chunk = _histogram(meter, TIME_TO_FIRST_CHUNK)

    def run(self, state: TurnState, provider: Provider, tools: Mapping[str, Tool]) -> TurnSpan:
        """Begin the span of one run of a turn."""
        return TurnSpan(self, state, provider, tools)

    def record(self, span: Span, attributes_of: Callable[[_C], dict[str, str]], value: _C) -> None:
        """Add the content of a value to a span, if content is switched on. What JSON cannot express is left out."""
        if not (self.content and span.is_recording()):
            return
        try:
            span.set_attributes(attributes_of(value))
        except (ValueError, TypeError) as error:
            _log.warning("a span lacks content: %s", described(error))


class TurnSpan:
    """The span `invoke_agent` of one run of a turn, and the parent of the others."""

    def __init__(self, telemetry: Telemetry, state: TurnState, provider: Provider, tools: Mapping[str, Tool]) -> None:
        self._telemetry = telemetry
        self._record = telemetry.record
        self._tools = tools
        self._usage: Usage | None = None  # of this run
        name = provider_name(provider.name, provider.wire)
        attributes = {
            **operation_attributes("invoke_agent", name, state.request.model),
            **telemetry.common,
            **({"gen_ai.agent.name": telemetry.agent} if telemetry.agent else {}),
            "toolparity.turn.id": state.id,
        }
        parent, links = None, []
        if state.trace is not UNSET:
            parent = _PROPAGATOR.extract(state.trace)
            current = trace.get_current_span().get_span_context()
            links = [Link(current)] if current.is_valid else []
        self._span = telemetry.tracer.start_span(
            f"invoke_agent {telemetry.agent}" if telemetry.agent else "invoke_agent",
            context=parent,
            attributes=attributes,
            links=links,
        )
        self._context = trace.set_span_in_context(self._span)
        if self._span.is_recording():
            self._span.set_attributes(request_attributes(state.request))
        self._record(self._span, content.request_content, state.request)

    @property
    def trace(self) -> dict[str, str]:
        """The trace context of this span, which a new turn stores."""
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier, self._context)
        return carrier

    @contextmanager
    def model_call(self, provider: Provider, request: Request) -> Iterator[ModelCallSpan]:
        """Make the span `chat` of one request, which is the current one inside the block."""
        call = ModelCallSpan(self._telemetry, provider, request, self._context)
        with _current(call.span):
            try:
                yield call
            except BaseException as error:
                call.end(_type_of(error))
                raise
        self._usage = add_usage(self._usage, call.usage)

    async def execute_tool(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Run a tool for a call inside the span `execute_tool`."""
        tool = self._tools.get(call.name)
        if tool is None or tool.function is None:
            return await run(call)  # it does not run here
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            **({"gen_ai.tool.description": tool.description} if tool.description else {}),
        }
        span = self._telemetry.tracer.start_span(
            f"execute_tool {call.name}", context=self._context, attributes=attributes
        )
        self._record(span, content.arguments_content, call)
        with _current(span):
            try:
                finished = await run(call)
            except BaseException as error:
                _end(span, _type_of(error))
                raise
        self._record(span, content.result_content, finished.result)
        _end(span, None if finished.outcome == "returned" else finished.outcome)
        return finished

    def end(self, state: TurnState, error: BaseException | None) -> None:
        """End the span with the usage of this run, and with the reason why it failed."""
        span = self._span
        span.set_attributes(usage_attributes(self._usage))  # without reasoning, which only a request has
        if state.termination is not None:
            span.set_attribute("toolparity.turn.termination", state.termination)
            self._record(span, content.answer_content, state.text)
        failure = None
        if state.termination in _FAILURES:
            failure = public(state.error).type if state.error is not None else state.termination
        elif error is not None:
            failure = _type_of(error)
        _end(span, failure)


class ModelCallSpan:
    """The span `chat` of one request to a model: a provider that sends the request and measures the answer.

    ``usage``: of the answer, None if it is an estimate.
    """

    def __init__(self, telemetry: Telemetry, provider: Provider, request: Request, context: Context) -> None:
        self.wire = provider.wire
        self.name = provider.name
        self.model = provider.model
        self.usage: Usage | None = None
        self._telemetry = telemetry
        self._provider = provider
        name = provider_name(provider.name, provider.wire)
        self._common = {
            **operation_attributes("chat", name, request.model),
            **server_attributes(_address(provider)),
        }
        self._started = time.perf_counter()
        self._ended: float | None = None
        self._ended_at: int | None = None  # as a time of spans
        self._chunks = 0
        self._until_first = 0.0
        self.span = telemetry.tracer.start_span(
            f"chat {request.model}" if request.model else "chat",
            context=context,
            kind=SpanKind.CLIENT,
            attributes={**self._common, **telemetry.common},
        )

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        """Send the request, and note when the chunks of its answer arrive."""
        self._started = time.perf_counter()
        chunks = self._provider.ask(body)
        try:
            async for chunk in chunks:
                if not isinstance(chunk, ResponseHeaders):
                    self._until_first = self._until_first or time.perf_counter() - self._started
                    self._chunks += 1
                yield chunk
        finally:
            self._ended, self._ended_at = time.perf_counter(), time.time_ns()
            await close(chunks)

    def answered(self, request: Request, response: Response | None, error: Error | None) -> None:
        """End the span with what was sent and received. Record the metrics."""
        span, streams = self.span, self._chunks > 1
        response_model = response.model if response is not None else None
        error = error or (response.error if response is not None else None)
        failure = public(error).type if error is not None else None
        if response is not None:
            self.usage = response.usage if response.usage is None or not response.usage.estimated else None
            if failure is None and not response.complete:
                failure = "incomplete"
        if span.is_recording():
            span.set_attributes(request_attributes(request))
            if streams:
                span.set_attribute("gen_ai.request.stream", True)
                span.set_attribute("gen_ai.response.time_to_first_chunk", self._until_first)
            if response is not None:
                reasons = finish_reasons(response)
                span.set_attributes(response_attributes(response.model, response.id, reasons, self.usage))
            self._telemetry.record(span, content.request_content, request)
            if response is not None:
                self._telemetry.record(span, content.response_content, response)
        labels = {**self._common, **({"gen_ai.response.model": response_model} if response_model else {})}
        if streams:
            self._telemetry.time_to_first_chunk.record(self._until_first, labels)
        if self.usage is not None:
            for kind, tokens in (("input", self.usage.input_tokens), ("output", self.usage.output_tokens)):
                if tokens is not None:
                    self._telemetry.token_usage.record(tokens, {**labels, "gen_ai.token.type": kind})
        self._end(failure, labels)

    def end(self, failure: str) -> None:
        """End the span of a request whose answer was given up."""
        self._end(failure, self._common)

    def _end(self, failure: str | None, labels: dict[str, Any]) -> None:
        """``labels``: the attributes of the metric."""
        ended = self._ended or time.perf_counter()
        if failure is not None:
            labels = {**labels, "error.type": failure}
        self._telemetry.duration.record(ended - self._started, labels)
        _end(self.span, failure, self._ended_at)


def _end(span: Span, failure: str | None, at: int | None = None) -> None:
    """End a span, now by default. ``failure``: the type of the error that ended the operation."""
    if failure is not None:
        span.set_attribute("error.type", failure)
        span.set_status(Status(StatusCode.ERROR))
    span.end(at)


@contextmanager
def _current(span: Span) -> Iterator[None]:
    """Make a span the current one inside the block."""
    token = contexts.attach(trace.set_span_in_context(span))
    try:
        yield
    finally:
        contexts.detach(token)


def _histogram(meter: metrics.Meter, histogram: Histogram) -> metrics.Histogram:
    return meter.create_histogram(
        histogram.name,
        histogram.unit,
        histogram.description,
        explicit_bucket_boundaries_advisory=histogram.boundaries,
    )


def _address(provider: Provider) -> str | None:
    """Return the URL of a provider that knows it (`clients.SdkClient.address`)."""
    address = getattr(provider, "address", None)
    with suppress(Exception):  # without its key, the SDK cannot be created; sending the request reports that
        return str(url) if callable(address) and (url := address()) is not None else None
    return None


def _type_of(error: BaseException) -> str:
    """Return the low-cardinality name of an exception."""
    name = type(error).__name__
    return "cancelled" if name in ("CancelledError", "GeneratorExit") else name
